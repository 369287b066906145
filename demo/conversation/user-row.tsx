/** What a person said, or software in a person's place: the latter is one quiet line where it sums itself up. */
import type { UserItem } from 'palimpsest/views'
import { type FC, memo, type ReactElement, useEffect, useRef, useState } from 'react'
import { LongText } from '../text/long-text.tsx'
import { Aside } from './aside.tsx'
import { Attachments } from './attachments.tsx'
import { attachmentsOf, contentText, textBeside } from './content.ts'
import { kinOf, ReplacedBy } from './item-rows.tsx'
import { PromptEditor } from './prompt-editor.tsx'
import { Row } from './row.tsx'
import type { TurnActions } from './turn-actions.ts'

export type UserRowProps = {
  readonly item: UserItem
  /** A turn began with it. */
  readonly canEdit: boolean
  readonly edit: TurnActions['edit']
}

export const UserRow: FC<UserRowProps> = memo(function UserRow({ item, canEdit, edit }: UserRowProps): ReactElement {
  const { source, content } = item.message
  const { kind, plugin, summary } = source
  if (kind !== 'user' && typeof summary === 'string' && summary !== '') {
    return (
      <Aside seq={item.seq} kin={kinOf(item)} of="Notice" words={summary}>
        <LongText text={contentText(content)} />
        <ReplacedBy item={item} />
      </Aside>
    )
  }
  if (kind !== 'user') {
    return (
      <Row kind="plugin" who={plugin ?? kind} seq={item.seq} kin={kinOf(item)}>
        <Said item={item} />
      </Row>
    )
  }
  return <Prompt item={item} canEdit={canEdit} edit={edit} />
})

function Prompt({ item, canEdit, edit }: UserRowProps): ReactElement {
  const [isEditing, setEditing] = useState(false)
  const button = useRef<HTMLButtonElement>(null)
  const wasEditing = useRef(false)
  useEffect(() => {
    // Back from where it was pressed.
    if (wasEditing.current && !isEditing) button.current?.focus()
    wasEditing.current = isEditing
  }, [isEditing])
  const { seq, message } = item
  const text = textBeside(message.content)
  return (
    <Row
      kind="user"
      who="You"
      seq={seq}
      kin={kinOf(item)}
      after={
        canEdit && !isEditing ? (
          <button
            type="button"
            className="quiet small edit-prompt"
            ref={button}
            aria-label={`Edit message #${seq}`}
            title="Say it otherwise, in a new branch; this one stays as it is"
            onClick={() => setEditing(true)}
          >
            Edit
          </button>
        ) : null
      }
    >
      {isEditing ? (
        <>
          <Attachments blocks={attachmentsOf(message.content)} />
          <PromptEditor text={text} save={other => edit(seq, other)} cancel={() => setEditing(false)} />
        </>
      ) : (
        <Said item={item} />
      )}
    </Row>
  )
}

function Said({ item }: { readonly item: UserItem }): ReactElement {
  const { content } = item.message
  const text = textBeside(content)
  return (
    <>
      <Attachments blocks={attachmentsOf(content)} />
      {text !== '' && <LongText text={text} />}
      <ReplacedBy item={item} />
    </>
  )
}
