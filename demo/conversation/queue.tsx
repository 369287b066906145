/** Prompts that wait: for this turn to end, or for its next step. */
import type { UserMessage } from 'palimpsest/core'
import type { Agent } from 'palimpsest/react'
import { type ReactElement, useState } from 'react'
import { counted } from '../app/format.ts'
import { attachmentsOf, textBeside } from './content.ts'

export type QueueProps = {
  readonly agent: Agent
  /** Told what went wrong. */
  readonly onError: (error: unknown) => void
}

/** Nothing while nothing waits. */
export function Queue({ agent, onError }: QueueProps): ReactElement | null {
  const { inbox, isRunning, status } = agent
  if (inbox.nextStep.length === 0 && inbox.nextTurn.length === 0) return null
  return (
    <section className="queue" aria-label="Queued messages">
      <ul className="plain">
        {inbox.nextStep.map(message => (
          <QueuedItem key={message.id} message={message} when="before the next step" agent={agent} onError={onError} />
        ))}
        {inbox.nextTurn.map(message => (
          <QueuedItem key={message.id} message={message} when="after this turn" agent={agent} onError={onError} />
        ))}
      </ul>
      {!isRunning && status.kind !== 'offline' && (
        <p>
          <button type="button" onClick={() => void agent.resume().catch(onError)}>
            Send what is queued
          </button>
        </p>
      )}
    </section>
  )
}

type QueuedItemProps = QueueProps & { readonly message: UserMessage; readonly when: string }

function QueuedItem({ message, when, agent, onError }: QueuedItemProps): ReactElement {
  const text = textBeside(message.content)
  const attached = attachmentsOf(message.content).length
  const [edited, setEdited] = useState<string | null>(null)
  if (edited !== null) {
    const save = () => {
      agent.editQueued(message.id, { text: edited }).then(() => setEdited(null), onError)
    }
    return (
      // No form: it stands in the composer's.
      <li className="queued">
        <input
          aria-label="Queued message"
          value={edited}
          autoFocus
          onChange={event => setEdited(event.target.value)}
          onKeyDown={event => {
            if (event.nativeEvent.isComposing) return
            if (event.key === 'Enter') {
              event.preventDefault()
              save()
            } else if (event.key === 'Escape') {
              event.stopPropagation()
              setEdited(null)
            }
          }}
        />
        <button type="button" onClick={save}>
          Save
        </button>
      </li>
    )
  }
  return (
    <li className="queued">
      <span className="preview">{text.length > 200 ? `${text.slice(0, 200)}…` : text}</span>
      {attached > 0 && <span className="about">{counted(attached, 'attachment')}</span>}
      <span className="about">
        {agent.isRunning ? when : agent.status.kind === 'offline' ? 'once there is a network' : 'waiting'}
      </span>
      <button type="button" className="quiet" onClick={() => setEdited(text)}>
        Edit
      </button>
      <button
        type="button"
        className="quiet"
        onClick={() => {
          agent.removeQueued(message.id).catch(onError)
        }}
      >
        Remove
      </button>
    </li>
  )
}
