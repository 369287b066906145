/** What a page holds of a message it sent: whether it waits, the turn that has it, and how that ended. */
import type { TurnEndReason } from '../core/events.ts'

/** What became of a message at once: a turn began with it, or it waits in the inbox. */
export type TakenMessage = { readonly kind: 'started' | 'queued'; readonly messageId: string }

type ClientTurnParts = {
  readonly taken: Promise<TakenMessage>
  readonly accepted: Promise<number>
  readonly done: Promise<TurnEndReason>
  readonly cancel: () => Promise<void>
}

/** A message on its way through a turn, as `send` and `steer` return it. */
export class ClientTurn {
  readonly #taken: Promise<TakenMessage>
  readonly #accepted: Promise<number>
  /**
   * How the turn ended that has the message; pending for as long as it waits. Rejects when the message was refused (then
   * nothing was logged: `empty-prompt`, `malformed-prompt` …), when it was removed while it waited (`AgentError`
   * `canceled`), and when the session or its worker is gone.
   */
  readonly done: Promise<TurnEndReason>
  /** Takes the message back: out of the inbox, or by stopping its turn; what was visible of the answer is kept. */
  readonly cancel: () => Promise<void>

  /** Made by `send` and `steer`. @internal */
  constructor({ taken, accepted, done, cancel }: ClientTurnParts) {
    this.#taken = taken
    this.#accepted = accepted
    this.done = done
    this.cancel = cancel
    // A refusal reaches the caller through `done` as well; what happens to a message that waits, through the inbox.
    accepted.catch(() => undefined)
    taken.then(
      ({ kind }) => {
        if (kind === 'queued') done.catch(() => undefined)
      },
      () => undefined,
    )
  }

  /** What became of the message at once; the page's `inbox` has it by then. Rejects when it was refused. */
  get taken(): Promise<TakenMessage> {
    // Who asks here learns of a refusal here; `done` need not be looked at too.
    this.done.catch(() => undefined)
    return this.#taken
  }

  /** The number of the turn that has the message, once it is committed as part of it. Rejects as `done`. */
  get accepted(): Promise<number> {
    this.done.catch(() => undefined)
    return this.#accepted
  }
}
