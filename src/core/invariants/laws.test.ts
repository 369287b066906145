/** Laws of all invariants together, over whole histories and over histories with something wrong in them. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { counter, header, loopLog, storedEvents, throughJson } from '../builders.ts'
import type { SessionEvent } from '../events.ts'
import { SessionSeq } from '../ids.ts'
import { isSurfaceEvent } from '../surface.ts'
import { Session } from '../session.ts'
import { allInvariants } from './all.ts'
import { refusalOf, restoredWith, wordsOf, written } from './kit.ts'
import { validHistory } from './valid-history.ts'

const choices = (maxLength: number) => fc.array(fc.nat(5_000), { maxLength, size: 'max' })
const invariants = allInvariants

/** The log of a history, without the mark that opening it leaves. */
const eventsOf = (numbers: readonly number[], crashes = true): readonly SessionEvent[] =>
  storedEvents(validHistory(numbers, { crashes }))

/** What happens when a writer appends the events one by one, closing and opening the log where they say so. */
function liveOutcome(events: readonly SessionEvent[]): string {
  const now = counter()
  let session = Session.create({ id: 'test', header: { createdAt: 1 }, now, invariants })
  for (const { type, data, seq, ...event } of events) {
    const error = refusalOf(() => {
      if (type === 'session/end-seed') {
        session = Session.fromRestore({ header: header(), events: storedEvents(session), now, invariants })
        return
      }
      const { surfaceOp, sourceEventSeqs } = event as { surfaceOp?: unknown; sourceEventSeqs?: unknown }
      const intent = { surfaceOp, sourceEventSeqs }
      const append = session.append.bind(session) as (...args: unknown[]) => unknown
      append(type, data, ...(surfaceOp === undefined ? [] : [intent]))
    })
    if (error !== null) return `${seq} ${error.code} ${wordsOf(error)}`
    // A mark right after another one is not written: then the rest has other seqs.
    if (session.length !== seq + 1) return 'not writable'
  }
  return 'accepted'
}

/** The same for a reader that gets the whole log at once, and for one that is told event by event. */
function restoredOutcome(events: readonly SessionEvent[]): string {
  const error = refusalOf(() => restoredWith(events, invariants))
  return error === null ? 'accepted' : `${error.index} ${error.code} ${wordsOf(error)}`
}
function followedOutcome(events: readonly SessionEvent[]): string {
  const reader = Session.fromRestore({ header: header(), events: [], now: counter(), invariants, readOnly: true })
  for (const event of throughJson(events)) {
    const error = refusalOf(() => reader.follow(event))
    if (error !== null) return `${event.seq} ${error.code} ${wordsOf(error)}`
  }
  return 'accepted'
}
const stripped = (outcome: string): string => outcome.replace(/Invalid event at index \d+: /, '')

type Change = { readonly kind: 'drop' | 'double' | 'swap'; readonly at: number }
const change: fc.Arbitrary<Change> = fc.record({
  kind: fc.constantFrom('drop' as const, 'double' as const, 'swap' as const),
  at: fc.nat(10_000),
})

/** One event left out, written twice or swapped with the next; numbered anew, and what cites events follows. */
function changed(events: readonly SessionEvent[], { kind, at }: Change): readonly SessionEvent[] {
  const position = at % Math.max(events.length, 1)
  const [event, next] = [events[position], events[position + 1]]
  if (event === undefined) return events
  const [count, put] =
    kind === 'drop' ? [1, []] : kind === 'double' ? [1, [event, event]] : next === undefined ? [1, [event]] : [2, [next, event]] // biome-ignore format: one line
  const list = events.toSpliced(position, count, ...put)
  const seqs = new Map(list.map((each, index) => [each.seq, SessionSeq(index)]))
  const move = (seq: SessionSeq): SessionSeq => seqs.get(seq) ?? seq
  return list.map((each, index) => renumbered(each, SessionSeq(index), move))
}

function renumbered(event: SessionEvent, seq: SessionSeq, move: (seq: SessionSeq) => SessionSeq): SessionEvent {
  if (event.type === 'compaction/summary' || event.type === 'compaction/prune') {
    const { shadowedSeqs, shadowedRange } = event.data
    const range = { start: move(shadowedRange.start), end: move(shadowedRange.end) }
    const data = { ...event.data, shadowedSeqs: shadowedSeqs.map(move), shadowedRange: range }
    return { ...event, seq, data } as SessionEvent
  }
  if (!isSurfaceEvent(event)) return { ...event, seq }
  const { surfaceOp: op, sourceEventSeqs } = event
  const surfaceOp = op === 'append' ? op : { ...op, startSeq: move(op.startSeq), endSeq: move(op.endSeq) }
  const sources = sourceEventSeqs === undefined ? {} : { sourceEventSeqs: sourceEventSeqs.map(move) }
  return { ...event, seq, surfaceOp, ...sources }
}

describe('histories as a program writes them', () => {
  it('[I1] are accepted while they are written, as a seed, restored, followed and registered later', () => {
    const types = new Set<string>()
    fc.assert(
      fc.property(choices(220), fc.boolean(), (numbers, crashes) => {
        const events = eventsOf(numbers, crashes)
        for (const { type } of events) types.add(type)
        expect(storedEvents(validHistory(numbers, { crashes, invariants }))).toEqual(events)
        expect(restoredOutcome(events)).toBe('accepted')
        expect(followedOutcome(events)).toBe('accepted')
        expect(liveOutcome(events)).toBe('accepted')
        const seeded = Session.create({ id: 'test', now: counter(), invariants, seed: events })
        expect(seeded.firstLiveSeq).toBe(events.length)
        const plain = restoredWith(events, [])
        for (const invariant of invariants) plain.registerInvariant(invariant)
        expect(plain.verify(plain.snapshotEvents())).toBeNull()
      }),
      { numRuns: 100 },
    )
    // The generator does write all of it.
    expect([...types].sort()).toEqual(
      [
        ...['assistant/attempt', 'assistant/message', 'compaction/end', 'compaction/prune', 'compaction/start'],
        ...['compaction/summary', 'llm/retry', 'llm/retry-started', 'request/context', 'request/header'],
        ...['session/end-seed', 'session/title', 'step/end', 'step/start', 'system/message', 'tool/call'],
        ...['tool/result', 'turn/end', 'turn/start', 'user/message'],
      ].sort(),
    )
  })

  it('[I1] a history cut off anywhere is accepted, repaired, and goes on', () => {
    fc.assert(
      fc.property(choices(160), fc.nat(10_000), (numbers, at) => {
        const events = eventsOf(numbers)
        const cut = events.slice(0, at % (events.length + 1))
        const restore = { header: header(), now: counter(), events: throughJson(cut), repair: true }
        const session = Session.fromRestore({ ...restore, invariants })
        const turn = session.snapshotEvents().filter(event => event.type === 'turn/start').length + 1
        session.append('turn/start', { turn })
        session.append('turn/end', { turn, reason: { kind: 'completed' } })
        expect(restoredOutcome(storedEvents(session))).toBe('accepted')
      }),
    )
  })

  it('[I2, I3, I4, I9] of the loop alone are accepted by all but the rules of its plugins', () => {
    const [session, , , stream] = invariants
    fc.assert(
      fc.property(choices(200), numbers => {
        const { drafts } = loopLog(numbers)
        expect(() =>
          written(
            drafts,
            [session, stream].flatMap(each => each ?? []),
          ),
        ).not.toThrow()
      }),
    )
  })
})

describe('histories with something wrong', () => {
  const refusals = new Map<string, number>()

  it('[I1, L16] are accepted or refused with a typed error, by every way alike', () => {
    fc.assert(
      fc.property(choices(140), change, (numbers, each) => {
        const events = changed(eventsOf(numbers), each)
        const outcome = restoredOutcome(events)
        expect(stripped(followedOutcome(events))).toBe(stripped(outcome))
        const live = liveOutcome(events)
        if (live !== 'not writable') expect(stripped(live)).toBe(stripped(outcome))
        const [, code = 'accepted'] = outcome.split(' ')
        refusals.set(code, (refusals.get(code) ?? 0) + 1)
      }),
      { numRuns: 400 },
    )
    // Most of what goes wrong is found by an invariant, not by admission.
    expect(refusals.get('invariant')).toBeGreaterThan(100)
    expect(refusals.get('accepted')).toBeGreaterThan(20)
  })

  it('[I11] payloads of plugins may be anything: words, or nothing to say', () => {
    const types = ['compaction/start', 'compaction/summary', 'compaction/end', 'compaction/prune']
    const type = fc.constantFrom(...types, 'llm/retry', 'llm/retry-started')
    const keys = ['compactionId', 'sourceCommandId', 'turn', 'shadowedSeqs', 'shadowedRange', 'shadowedTokenCount']
    const more = ['error', 'retryId', 'step', 'provider', 'policyKey', 'retry', 'mode', 'maxRetries', 'delayMs']
    const values = fc.oneof(
      fc.jsonValue(),
      fc.constantFrom<unknown>(1, 'c', 'normal', 'demo', [1], { start: 1, end: 1 }),
    )
    const data = fc.oneof(fc.jsonValue(), fc.dictionary(fc.constantFrom(...keys, ...more), values))
    fc.assert(
      fc.property(choices(60), fc.array(fc.record({ type, data }), { maxLength: 4 }), (numbers, drafts) => {
        const events = eventsOf(numbers).slice(0, -1)
        const appended = drafts.map(({ type: each, data: payload }, index) => {
          return { type: each, seq: events.length + index, time: 1, data: payload } as unknown as SessionEvent
        })
        const outcome = restoredOutcome(throughJson([...events, ...appended]))
        expect(outcome).toMatch(/^(accepted$|\d+ invariant expected)/)
      }),
      { numRuns: 200 },
    )
  })
})

describe('keyframes', () => {
  it('[I1, K1] from a keyframe anywhere the next event gets the same verdict', () => {
    fc.assert(
      fc.property(choices(120), change, fc.nat(10_000), (numbers, each, far) => {
        const whole = changed(eventsOf(numbers), each)
        const outcome = restoredOutcome(whole)
        const bad = outcome === 'accepted' ? whole.length : Number(outcome.split(' ')[0])
        const at = far % (bad + 1)
        const prefix = throughJson(whole.slice(0, at))
        const options = { header: header(), now: counter(), invariants, readOnly: true }
        const before = Session.fromRestore({ ...options, events: prefix })
        const keyframe = throughJson(before.keyframe())
        const surfaceEvents = throughJson(before.surface.nodes.map(seq => before.eventAt(seq) as SessionEvent))
        const error = refusalOf(() =>
          Session.fromKeyframe({ ...options, keyframe, surfaceEvents, events: throughJson(whole.slice(at)) }),
        )
        const words = error === null ? 'accepted' : `${error.seq} ${error.code} ${wordsOf(error)}`
        expect(stripped(words)).toBe(stripped(outcome))
      }),
      { numRuns: 200 },
    )
  })
})
