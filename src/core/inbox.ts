/**
 * What people said and no turn has taken yet: two durable lists, changed by `agent/inbox/spliced` events only (SPEC
 * A11–A15). A fold reads them, `plan…` works out the splices.
 */
import type { SessionEvent, UserMessage } from './events.ts'
import type { Fold } from './fold.ts'
import { isSafeNonNegativeInteger } from './ids.ts'
import type { JsonValue } from './json.ts'
import type { InboxSplice } from './plugin-events.ts'

/** `next-turn`: each message gets a turn of its own. `next-step`: all go into the next step, of a turn that runs or comes. */
export type InboxTarget = InboxSplice['target']

/** What is pending. Immutable: as long as nothing changes it is the same object. */
export type Inbox = {
  readonly nextTurn: readonly UserMessage[]
  readonly nextStep: readonly UserMessage[]
  /** Taken by a turn and not said in it yet; between steps there are some only when a log was torn. */
  readonly claimed: readonly ClaimedMessage[]
}

export type ClaimedMessage = { readonly target: InboxTarget; readonly message: UserMessage }

const NONE: readonly never[] = Object.freeze([])
const EMPTY: Inbox = Object.freeze({ nextTurn: NONE, nextStep: NONE, claimed: NONE })

export const inboxFold: Fold<Inbox> = {
  key: 'inbox',
  version: 1,
  on: ['agent/inbox/spliced', 'user/message', 'assistant/message', 'assistant/attempt', 'session/end-seed', 'turn/end'],
  initial: () => EMPTY,
  evolve: (inbox, { event }) => evolveInbox(inbox, event),
  toJSON: inbox => inbox as unknown as JsonValue,
  fromJSON: json => json as unknown as Inbox,
}

/**
 * The inbox after `event`; the same object when the event is not about it. A splice that does not fit – beyond the end of
 * its list, malformed, or with a message that would be pending twice – is passed over whole: replay never fails.
 */
export function evolveInbox(inbox: Inbox, event: SessionEvent): Inbox {
  switch (event.type) {
    case 'agent/inbox/spliced':
      return isSplice(event.data) ? spliced(inbox, event.data) : inbox
    case 'user/message':
      if (inbox.claimed.length === 0) return inbox
      return withClaimed(
        inbox,
        inbox.claimed.filter(({ message }) => message.id !== event.data.id),
      )
    case 'assistant/message':
    case 'assistant/attempt':
      // Whoever took them went on without them.
      return withClaimed(inbox, NONE)
    case 'session/end-seed':
      // What another session's turn took is that session's to say.
      return event.data.inherited === true ? withClaimed(inbox, NONE) : inbox
    case 'turn/end':
      return event.data.reason.kind === 'interrupted' ? inbox : withClaimed(inbox, NONE)
    default:
      return inbox
  }
}

function spliced(inbox: Inbox, { target, start, removedCount = 0, inserted, outcome }: InboxSplice): Inbox {
  const key = target === 'next-turn' ? 'nextTurn' : 'nextStep'
  const list = inbox[key]
  if (start + removedCount > list.length || removedCount + inserted.length === 0) return inbox
  const next = { ...inbox, [key]: list.toSpliced(start, removedCount, ...inserted) }
  // Only what comes can be pending twice, or pending again.
  const ids = new Set(inserted.map(({ id }) => id))
  if (pendingMessages(next).filter(({ id }) => ids.has(id)).length > ids.size) return inbox
  const taken = outcome === 'canceled' ? [] : list.slice(start, start + removedCount)
  const claimed = [...inbox.claimed, ...taken.map(message => ({ target, message }))]
  return { ...next, claimed: claimed.filter(({ message }) => !ids.has(message.id)) }
}

const withClaimed = (inbox: Inbox, claimed: Inbox['claimed']): Inbox =>
  claimed.length === inbox.claimed.length ? inbox : { ...inbox, claimed }

function isSplice(data: unknown): data is InboxSplice {
  const { target, start, removedCount = 0, inserted } = (data ?? {}) as Partial<InboxSplice>
  return (
    (target === 'next-turn' || target === 'next-step') &&
    isSafeNonNegativeInteger(start) &&
    isSafeNonNegativeInteger(removedCount) &&
    Array.isArray(inserted) &&
    inserted.every(isUserMessage)
  )
}

/** What a turn could say: admission takes it as a `user/message`. Checked here anew: a page has this, and no admission. */
export function isUserMessage(value: unknown): value is UserMessage {
  const { id, role, content, source } = (value ?? {}) as Partial<UserMessage>
  return isText(id) && role === 'user' && Array.isArray(content) && content.every(isSaid) && isText(source?.kind)
}

/** A block of a person's message: nobody says a tool call or its result. */
function isSaid(block: unknown): boolean {
  const { type, text } = (block ?? {}) as { readonly type?: unknown; readonly text?: unknown }
  return (
    isText(type) &&
    !(type as string).startsWith('tool-') &&
    (typeof text === 'string' || (type !== 'text' && type !== 'reasoning'))
  )
}

const isText = (value: unknown): boolean => typeof value === 'string' && value !== ''

/** All pending messages, in the order turns will take them. */
export const pendingMessages = ({ nextStep, nextTurn }: Inbox): readonly UserMessage[] => [...nextStep, ...nextTurn]

export const isPending = (inbox: Inbox, id: string): boolean =>
  pendingMessages(inbox).some(message => message.id === id)

export const isEmptyInbox = ({ nextStep, nextTurn }: Inbox): boolean => nextStep.length + nextTurn.length === 0

/** Ids of the messages that were pending or claimed in `before` and are neither in `after`. */
export function goneMessages(before: Inbox, after: Inbox): readonly string[] {
  const ids = (inbox: Inbox) =>
    [...pendingMessages(inbox), ...inbox.claimed.map(each => each.message)].map(({ id }) => id)
  const left = new Set<string>(ids(after))
  return ids(before).filter(id => !left.has(id))
}

/** Puts a message at the end of a list. */
export function planInsertion(inbox: Inbox, target: InboxTarget, message: UserMessage): InboxSplice {
  const start = (target === 'next-turn' ? inbox.nextTurn : inbox.nextStep).length
  return { target, start, inserted: [message] }
}

/** Removes a pending message, or puts `inserted` in its place; null when it is not pending. */
export function planRemoval(inbox: Inbox, id: string, inserted: readonly UserMessage[] = []): InboxSplice | null {
  for (const [target, list] of [['next-step', inbox.nextStep] as const, ['next-turn', inbox.nextTurn] as const]) {
    const start = list.findIndex(message => message.id === id)
    if (start !== -1) return { target, start, removedCount: 1, inserted, outcome: 'canceled' }
  }
  return null
}

/** Removes all that is pending, marked `canceled`: next-step first. */
export function planCancellation({ nextStep, nextTurn }: Inbox): readonly InboxSplice[] {
  const cancel = (target: InboxTarget, removedCount: number): readonly InboxSplice[] =>
    removedCount === 0 ? [] : [{ target, start: 0, removedCount, inserted: [], outcome: 'canceled' }]
  return [...cancel('next-step', nextStep.length), ...cancel('next-turn', nextTurn.length)]
}

/** Takes what a step begins with: all of next-step, and at the start of a turn one message of next-turn after it. */
export function planClaim({ nextStep, nextTurn }: Inbox, startsTurn: boolean): readonly InboxSplice[] {
  const take = (target: InboxTarget, removedCount: number): readonly InboxSplice[] =>
    removedCount === 0 ? [] : [{ target, start: 0, removedCount, inserted: [] }]
  return [...take('next-step', nextStep.length), ...take('next-turn', startsTurn ? Math.min(1, nextTurn.length) : 0)]
}

/** Puts back, at the front, what was taken and never said. */
export function planReturn({ claimed }: Inbox): readonly InboxSplice[] {
  return (['next-step', 'next-turn'] as const).flatMap(target => {
    const inserted = claimed.filter(each => each.target === target).map(each => each.message)
    return inserted.length === 0 ? [] : [{ target, start: 0, inserted }]
  })
}
