/**
 * For tests only: histories with message projections and events of extensions, and a few interpreters to attack with.
 * Takes numbers, not a random source, as the generators of `builders.ts` do.
 */
import {
  answered,
  called,
  counter,
  type Draft,
  header,
  headed,
  logFrom,
  over,
  prompted,
  returned,
  said,
  stepEnd,
  stepStart,
  textBlock,
  throughJson,
  toolCall,
  turnEnd,
  turnStart,
  user,
} from './builders.ts'
import { defineEvent, type EventDefinition } from './event-definition.ts'
import type { ContentBlock, ImageBlock, SessionEvent, SessionHeader, ToolResultMessage } from './events.ts'
import type { ExtensionOptions } from './extensions.ts'
import type { Fold } from './fold.ts'
import type { SessionSeq } from './ids.ts'
import { imageOffloading } from './interpreters/image-offload.ts'
import { toolResultTrim, toolResultTrimming, trimText } from './interpreters/tool-result-trim.ts'
import type { JsonValue } from './json.ts'
import type { Keyframe } from './keyframe.ts'
import type { MessageProjection } from './message-projection.ts'
import { Session } from './session.ts'
import type { SessionOptions } from './session-options.ts'

export const image = (name: string, more: object = {}): ImageBlock => ({
  type: 'image',
  attachment: { attachmentId: name, mediaType: 'image/png', bytes: 1, width: 1, height: 1 },
  ...more,
})

/** A required type of an extension that projects nothing. */
export const note: EventDefinition<{ readonly text: string }> = defineEvent('test/note')
export const hint: EventDefinition<JsonValue> = defineEvent('test/hint', { ignorable: true })
/** A required type that changes messages: `{seq, text}` puts a text in the place of what a message says. */
export const redact: EventDefinition<{ readonly seq: number; readonly text: string }> = defineEvent('test/redact', {
  projects: true,
})
export const redacting: MessageProjection = {
  type: redact.type,
  version: 3,
  project({ data }, context) {
    const { seq, text } = data as { readonly seq: SessionSeq; readonly text: string }
    const message = context.messageAt(seq)
    if (message === undefined) throw new TypeError(`nothing at ${seq}`)
    return [[seq, { ...message, content: text === '' ? [] : [textBlock(text)] }]]
  },
}

/** Counts events of each type: a fold of somebody else's, with a key that is no ordinary name. */
export const countFold: Fold<Readonly<Record<string, number>>> = {
  key: '__proto__',
  version: 2,
  initial: () => ({}),
  evolve: (state, { event: { type } }) => {
    return { ...state, [type]: (Object.hasOwn(state, type) ? (state[type] as number) : 0) + 1 }
  },
  toJSON: state => state,
  fromJSON(json) {
    if (typeof json !== 'object' || json === null || !Object.values(json).every(Number.isSafeInteger))
      throw new TypeError('no counts')
    return json as Readonly<Record<string, number>>
  },
}

export const extensions: ExtensionOptions = {
  eventTypes: [note, hint, redact, toolResultTrim],
  projections: [imageOffloading, toolResultTrimming, redacting],
}
/** Options of a session that knows all of the above. */
export const knowing: SessionOptions = { ...extensions, folds: [countFold], now: counter() }

export const openWith = (
  events: readonly SessionEvent[],
  more: object = {},
  of: Partial<SessionHeader> = {},
): Session => Session.fromRestore({ ...knowing, header: header(of), events, ...more })

/** A session from a keyframe of `source` at its end, all of it through JSON, with `tail` after it. */
export const resumed = (source: Session, tail: readonly SessionEvent[] = [], more: object = {}): Session =>
  Session.fromKeyframe({ ...knowing, header: source.header, ...throughJson(framed(source)), events: tail, ...more })

export const framed = (source: Session): { keyframe: Keyframe; surfaceEvents: SessionEvent[] } => ({
  keyframe: source.keyframe(),
  // In any order.
  surfaceEvents: [...source.surface.nodes].reverse().map(seq => source.eventAt(seq) as SessionEvent),
})

const images = (content: readonly ContentBlock[]): readonly ImageBlock[] =>
  content.flatMap(block =>
    block.type === 'image' ? [block] : block.type === 'tool-result' ? images(block.content) : [],
  )

/** A follower of a log that `choices` wrote: turns, replacements, projections of three kinds, an inbox, unknown events. */
export function projectedHistory(choices: readonly number[], hasUnknown = true): Session {
  let next = 0
  const pick = (below: number): number => (choices[next++] ?? 0) % below
  const session = openWith([], { readOnly: true })
  const { surface } = session
  const put = (draft: Draft): number => {
    session.follow(logFrom(session.length, draft)[0] as SessionEvent)
    return session.length - 1
  }
  const nodeAt = (position: number) => surface.at(position) as SessionSeq
  let turn = 0
  let calls = 0
  while (next < choices.length) {
    const name = String(session.length)
    const position = surface.length === 0 ? -1 : pick(surface.length)
    const event = position === -1 ? undefined : session.eventAt(nodeAt(position))
    const message = session.messages.atNode(position)
    switch (pick(12)) {
      case 0:
      case 1: {
        turn += 1
        put(turnStart(turn))
        put(said([textBlock(`question ${name}`), image(`a${name}`), image(`b${name}`)], `q${name}`))
        put(stepStart(turn, 1))
        if (surface.length === 1) put(prompted(pick(2) === 0 ? '' : 'prompt', turn, 1))
        put(headed('change'))
        const ids = Array.from({ length: pick(3) }, () => `c${(calls += 1)}`)
        put(answered([textBlock(`answer ${name}`), ...ids.map(id => toolCall(id))], turn, 1))
        for (const id of ids) {
          put(called(id, turn, 1))
          if (pick(6) === 0) break
          put(
            returned(id, [textBlock(`long ${'😀'.repeat(20)}`), image(`r${name}`), textBlock('the end')], {}, turn, 1),
          )
        }
        if (pick(5) !== 0) put(stepEnd(turn, 1))
        if (pick(5) !== 0) put(turnEnd(turn))
        break
      }
      case 2:
      case 3: {
        const all = message === null || message.role !== 'user' ? [] : images(message.content)
        const left = all.flatMap((block, index) => (block.offloaded === true ? [] : [index]))
        if (left.length === 0) break
        const imageIndexes = left.slice(0, 1 + pick(left.length))
        put({ type: 'image/offload', data: { targets: [{ seq: nodeAt(position), imageIndexes }] } })
        break
      }
      case 4: {
        if (event?.type !== 'tool/result') break
        const target = { seq: event.seq, headChars: pick(4), tailChars: pick(4) }
        const [block] = (message as ToolResultMessage).content
        if (trimText(block.content, target.headChars, target.tailChars) === null) break
        put({ type: toolResultTrim.type, data: { targets: [target] }, ignorable: true })
        break
      }
      case 5: {
        if (event === undefined || event.type === 'tool/result') break
        const isEmptied = event.type === 'assistant/message' && pick(2) === 0
        put({ type: redact.type, data: { seq: event.seq, text: isEmptied ? '' : `redacted ${name}` } })
        break
      }
      case 6: {
        if (position === -1) break
        const to = position + pick(surface.length - position)
        if (position === 0 && event?.type === 'system/message') {
          put(over(prompted(`prompt ${name}`), nodeAt(0), nodeAt(0), [nodeAt(0)]))
        } else {
          const shadowed = surface.nodes.slice(position, to + 1)
          put(over(said(`summary ${name}`), nodeAt(position), nodeAt(to), shadowed))
        }
        break
      }
      case 7: {
        if (event?.type !== 'tool/result') break
        const old = event.data.message
        const content = [{ ...old.content[0], content: [textBlock('pruned'), image(`p${name}`)] }]
        const data = { ...event.data, message: { ...old, content } }
        put(over({ type: 'tool/result', data }, event.seq, event.seq, [event.seq]))
        break
      }
      case 8:
        put({ type: note.type, data: { text: name } })
        break
      case 9: {
        const target = pick(2) === 0 ? 'next-turn' : 'next-step'
        const removedCount = pick(2)
        const inserted = pick(3) === 0 ? [] : [user(`pending ${name}`)]
        const outcome = pick(2) === 0 ? { outcome: 'canceled' } : {}
        put({ type: 'agent/inbox/spliced', data: { target, start: 0, removedCount, inserted, ...outcome } })
        break
      }
      case 10:
        if (hasUnknown)
          put({ type: pick(2) ? 'constructor' : '__proto__', data: name, ignorable: true, surfaceOp: { any: 'thing' } })
        break
      default:
        put({ type: 'request/context', data: { provider: 'demo', model: `model ${pick(3)}` } })
    }
  }
  return session
}

/** Everything there is to see of a session, but which events are resident. */
export const observed = (session: Session): unknown => ({
  header: session.header,
  length: session.length,
  last: session.last && { seq: session.last.seq, type: session.last.type, time: session.last.time },
  nodes: session.surface.nodes,
  generations: [session.surface.replaceGeneration, session.surface.contentGeneration],
  surfaceEvents: session.surface.nodes.map(seq => session.eventAt(seq)),
  messages: session.deriveMessages(),
  byNode: session.surface.nodes.map((_, position) => session.messages.atNode(position)),
  keyframe: session.keyframe(),
  firstLiveSeq: session.firstLiveSeq,
  inheritedEventCount: session.inheritedEventCount,
})

/** What a session answers: the code of its refusal, or what it looks like afterwards. */
export function outcome(of: () => unknown): unknown {
  try {
    return of()
  } catch (error) {
    const { name, code, seq, eventType } = error as Record<string, unknown>
    return { refused: { name, code, seq, eventType } }
  }
}

/** What might come next: right, wrong, and meant to harm. */
function nextEvents(session: Session): readonly Draft[] {
  const { surface, length } = session
  const first = surface.at(0) ?? 0
  const last = surface.at(-1) ?? 0
  const everySeq = Array.from({ length }, (_, seq) => seq)
  return [
    said('next'),
    turnStart(9),
    prompted('next'),
    headed('change'),
    { type: note.type, data: { text: 'x' } },
    { type: 'other/unknown', data: 1 },
    { type: 'constructor', data: 1, ignorable: true },
    over(said('all'), first, last, everySeq),
    over(said('nothing cited'), first, last, [0]),
    over(prompted('head'), first, first, [first]),
    over(said('gone'), Math.max(0, last - 1), last, everySeq),
    over(said('the future'), length, length, everySeq),
    over(returned('c1', 'rewritten'), last, last, everySeq),
    ...[first, last].flatMap(seq => [
      { type: 'image/offload', data: { targets: [{ seq, imageIndexes: [0] }] } },
      { type: 'image/offload', data: { targets: [{ seq, imageIndexes: [1, 0] }] } },
      { type: toolResultTrim.type, data: { targets: [{ seq, headChars: 2, tailChars: 1 }] }, ignorable: true },
      { type: redact.type, data: { seq, text: 'redacted' } },
    ]),
    { type: redact.type, data: { seq: length + 3, text: '' } },
    { type: 'agent/inbox/spliced', data: { target: 'next-turn', start: 0, removedCount: 1, inserted: [] } },
    { type: 'session/end-seed', data: {} },
    { ...said('x'), ignorable: 'yes' },
    { ...turnStart(1), surfaceOp: 'append' },
  ]
}

/** The session after each of those, or the refusal of it; asked one after another. */
export function answers(session: Session): readonly unknown[] {
  return nextEvents(session).map(draft => {
    const [event] = logFrom(session.length, draft)
    const answer = outcome(() => session.follow(event as SessionEvent))
    return [answer, observed(session)]
  })
}
