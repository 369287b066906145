/** What was sent here and has not had its turn to the end: who sent it is told how that went. */
import type { TurnEndReason, UserMessage } from '../core/events.ts'
import type { MessageId } from '../core/ids.ts'
import { type Inbox, isPending } from '../core/inbox.ts'
import { AgentError } from './errors.ts'

/** A message that was taken: by a turn, or into the inbox. */
export type SentMessage = {
  readonly messageId: MessageId
  /** The turn that began with it; null when it waits in the inbox. */
  readonly turn: number | null
  /**
   * How the turn ended that had it; pending for as long as it waits. Rejects with {AgentError} `canceled` when it is
   * removed before; that rejection need not be handled.
   */
  readonly done: Promise<TurnEndReason>
}

type Waiter = {
  readonly resolve: (reason: TurnEndReason) => void
  readonly reject: (error: AgentError) => void
}

export class SentMessages {
  readonly #waiters = new Map<string, Waiter>()

  /** A message that is sent now; `turn` is the one that begins with it, `inbox` what waits after that. */
  add({ id }: UserMessage, turn: number | null, inbox: Inbox): SentMessage {
    const done = new Promise<TurnEndReason>((resolve, reject) => this.#waiters.set(id, { resolve, reject }))
    done.catch(() => undefined)
    return { messageId: id, turn: isPending(inbox, id) ? null : turn, done }
  }

  has(messageId: string): boolean {
    return this.#waiters.has(messageId)
  }

  /** It was taken back before a turn had it. */
  remove(messageId: string): void {
    const message = 'The message was taken back before a turn had it'
    this.#waiters.get(messageId)?.reject(new AgentError('canceled', message))
    this.#waiters.delete(messageId)
  }

  /** A turn has ended: what was sent and does not wait in `inbox` any more was part of it. */
  settle(reason: TurnEndReason, inbox: Inbox): void {
    for (const [id, { resolve }] of this.#waiters) {
      if (isPending(inbox, id)) continue
      this.#waiters.delete(id)
      resolve(reason)
    }
  }
}
