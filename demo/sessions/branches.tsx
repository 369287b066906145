/** The family of the session on the page: where it came from and what branched off, one step from each other. */
import type { SessionSummary } from 'palimpsest'
import { type FamilyMember, useFamily } from 'palimpsest/react'
import { type KeyboardEvent, type ReactElement, useEffect, useRef, useState } from 'react'
import { onChange } from '../app/channel.ts'
import { counted } from '../app/format.ts'
import { Visible } from '../text/visible-text.tsx'
import { goTo } from './address.ts'
import { BranchMark } from './branch-mark.tsx'
import { familyWords, memberWords } from './family-words.ts'
import { titleOf } from './titles.ts'
import './branches.css'

export type BranchesProps = {
  /** The session on the page. */
  readonly id: string
  readonly named: <Each extends Pick<SessionSummary, 'id' | 'title'>>(session: Each) => Each
}

const NOBODY: readonly FamilyMember[] = []

export function Branches({ id, named }: BranchesProps): ReactElement {
  const [family, setFamily] = useState(NOBODY)
  /** Counts the changes of other tabs, which the hook is not told of. */
  const [changes, setChanges] = useState(0)
  useEffect(() => onChange('sessions', () => setChanges(before => before + 1)), [])
  const [isOpen, setOpen] = useState(false)
  const [now, setNow] = useState(() => Date.now())
  const list = useRef<HTMLUListElement>(null)
  useEffect(() => {
    if (isOpen) list.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest' })
  }, [isOpen, id])

  const reader = <FamilyReader key={changes} id={id} onRead={setFamily} />
  const shown = family.map(named)
  // Until the family of another session was read, it is the one it was, if that has the session.
  const current = shown.find(each => each.id === id)
  if (current === undefined || shown.length < 2) return reader
  const parent = shown.find(each => each.id === current.parent)
  return (
    <nav id="branches" aria-label="Branches">
      {reader}
      <details
        open={isOpen}
        onToggle={toggled => {
          setOpen(toggled.currentTarget.open)
          setNow(Date.now())
        }}
      >
        <summary>
          <BranchMark />
          <Visible text={familyWords(current, parent)} />
          <span className="count">{counted(shown.length, 'session')}</span>
        </summary>
        <ul className="plain" ref={list} onKeyDown={moveFocus}>
          {shown.map(member => (
            <Member key={member.id} member={member} isCurrent={member.id === id} now={now} />
          ))}
        </ul>
      </details>
    </nav>
  )
}

type FamilyReaderProps = { readonly id: string; readonly onRead: (members: readonly FamilyMember[]) => void }

function FamilyReader({ id, onRead }: FamilyReaderProps): null {
  const { members } = useFamily(id)
  useEffect(() => {
    if (members !== null) onRead(members)
  }, [members, onRead])
  return null
}

/** Levels there is room for. */
const DEEPEST = 6

type MemberProps = { readonly member: FamilyMember; readonly isCurrent: boolean; readonly now: number }

function Member({ member, isCurrent, now }: MemberProps): ReactElement {
  const level = Math.min(member.depth, DEEPEST)
  if (member.isMissing) {
    return (
      <li data-level={level}>
        <p className="member about">A session that was deleted for good, or never came here</p>
      </li>
    )
  }
  const title = titleOf(member)
  return (
    <li data-level={level}>
      <button
        type="button"
        className="member"
        title={title}
        aria-current={isCurrent ? 'true' : undefined}
        onClick={() => goTo(member.id)}
      >
        {member.depth > 0 && <span className="unseen">{`Level ${member.depth + 1}: `}</span>}
        <Visible text={title} />
        <span className="about">{memberWords(member, now)}</span>
      </button>
    </li>
  )
}

/** ↑ and ↓ go from one to the next, as in other lists of things to choose from. */
function moveFocus(event: KeyboardEvent<HTMLUListElement>): void {
  const buttons = [...event.currentTarget.querySelectorAll<HTMLElement>('button')]
  const at = buttons.findIndex(each => each === document.activeElement)
  const last = buttons.length - 1
  const next = { ArrowDown: Math.min(at + 1, last), ArrowUp: Math.max(at - 1, 0), Home: 0, End: last }[event.key]
  if (next === undefined) return
  event.preventDefault()
  buttons[next]?.focus()
}
