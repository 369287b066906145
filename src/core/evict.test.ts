/** Letting go of events: the session is then the one a keyframe taken there would open (SPEC K5). */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  append,
  counter,
  header,
  log,
  logFrom,
  over,
  residentSeqs,
  said,
  storedEvents,
  throughJson,
  turnEnd,
  turnStart,
} from './builders.ts'
import type { SessionErrorCode } from './errors.ts'
import type { SessionEvent } from './events.ts'
import { allInvariants } from './invariants/all.ts'
import { validHistory } from './invariants/valid-history.ts'
import {
  answers,
  countFold,
  image,
  observed,
  openWith,
  outcome,
  projectedHistory,
  redact,
  resumed,
} from './projected-history.ts'
import { Session } from './session.ts'

const refusal = (code: SessionErrorCode, facts: object = {}): unknown =>
  expect.objectContaining({ name: 'SessionError', code, ...facts })
const choices = fc.array(fc.nat({ max: 1 << 16 }), { maxLength: 120, size: 'max' })
const readOnly = { readOnly: true }

describe('evict', () => {
  it('[K5] keeps the surface and what comes after, in memory and nothing else', () => {
    const session = openWith(log(turnStart(1), said('a'), said('b'), over(said('c'), 1, 1, [1]), turnEnd(1)), readOnly)
    const before = observed(session)
    session.evict(4)
    expect(residentSeqs(session)).toEqual([2, 3, 4])
    session.evict(5)
    expect(residentSeqs(session)).toEqual([2, 3])
    expect(observed(session)).toEqual(before)
  })

  it('[K5] lets go of an early event when it leaves the surface later', () => {
    const session = openWith(log(said('a'), said('b')), readOnly)
    session.evict(2)
    for (const event of logFrom(2, said('c'), over(said('d'), 0, 2, [0, 1, 2]))) session.follow(event)
    expect(residentSeqs(session)).toEqual([2, 3])
    session.evict(3)
    expect(residentSeqs(session)).toEqual([3])
  })

  it('[K5] never goes back, and nothing happens where events were let go of already', () => {
    const session = openWith(log(turnStart(1), said('a'), turnEnd(1)), readOnly)
    session.evict(2)
    for (const seq of [0, 1, 2]) session.evict(seq)
    expect(residentSeqs(session)).toEqual([1, 2])
  })

  it.each([-1, -0, 4, 99, 1.5, NaN, Infinity, null, '1', undefined, 2 ** 60])('[K5] before %s is refused', seq => {
    const session = openWith(log(turnStart(1), said('a'), turnEnd(1)), readOnly)
    expect(() => session.evict(seq as number)).toThrow(refusal('invalid-boundary', { sessionId: 'test' }))
    expect(residentSeqs(session)).toEqual([0, 1, 2])
  })

  it('[K5, L12] no snapshot has what was let go of', () => {
    const session = openWith(log(turnStart(1), said('a'), turnEnd(1)), readOnly)
    session.snapshotEvents()
    session.evict(1)
    expect(() => session.snapshotEvents()).toThrow(refusal('not-resident', { seq: 0, expected: 1 }))
    expect(session.snapshotEvents(1).map(({ seq }) => seq)).toEqual([1, 2])
  })

  it('[K5] what needs the events before it says so', () => {
    const session = openWith(log(turnStart(1), said('a'), turnEnd(1)))
    session.evict(1)
    const notResident = refusal('not-resident', { sessionId: 'test' })
    expect(() => session.requestAt(2)).toThrow(notResident)
    expect(() => session.fork({ id: 'child', boundary: 2 })).toThrow(notResident)
    expect(() => session.registerInvariant({ key: 'any', problem: () => null })).toThrow(notResident)
  })

  it('[K5, L10] a listener may do it, and the event stands', () => {
    const session = openWith(log(turnStart(1), said([image('a')]), said('b')))
    session.subscribe(({ event }) => session.evict(event.seq + 1))
    session.append(redact, { seq: 1, text: 'x' })
    append(session, over(said('c'), 1, 2, [1, 2]))
    append(session, said('d'))
    expect(residentSeqs(session)).toEqual([5, 6])
    expect(session.surface.nodes).toEqual([5, 6])
  })

  it('[K5, K2] whenever it is done, the session is that of the whole log, and the one of a keyframe taken there', () => {
    const cuts = fc.array(fc.tuple(fc.nat(), fc.nat()), { maxLength: 6 })
    fc.assert(
      fc.property(choices, cuts, fc.nat(), (numbers, early, at) => {
        const events = storedEvents(projectedHistory(numbers))
        const cut = at % (events.length + 1)
        const whole = openWith(throughJson(events), readOnly)
        const late = openWith(throughJson(events), readOnly)
        late.evict(cut)
        const evicted = openWith([], readOnly)
        throughJson(events).forEach((event, seq) => {
          if (seq === cut) evicted.evict(cut)
          for (const [when, back] of early) {
            if (seq % 20 === when % 20) evicted.evict(Math.max(0, Math.min(seq, cut) - (back % 30)))
          }
          evicted.follow(event)
        })
        if (cut === events.length) evicted.evict(cut)
        const keyed = resumed(openWith(events.slice(0, cut), readOnly), throughJson(events.slice(cut)), readOnly)
        expect(residentSeqs(evicted)).toEqual(residentSeqs(keyed))
        expect(residentSeqs(late)).toEqual(residentSeqs(keyed))
        for (const session of [whole, late, evicted]) expect(seen(session)).toEqual(seen(keyed))
        expect(evicted.fold(countFold)).toEqual(whole.fold(countFold))
        expect(evicted.verify(events)).toBeNull()
        const seqs = [0, cut - 1, cut, events.length, events.length + 1]
        const asked = (session: Session) =>
          seqs.map(seq => [
            outcome(() => session.requestAt(seq)),
            outcome(() => session.snapshotEvents(seq)),
            outcome(() => session.fork({ id: 'child', boundary: seq }).deriveMessages()),
          ])
        expect(asked(evicted)).toEqual(asked(keyed))
        // And then on.
        const told = (session: Session) => answers(session).map(answer => JSON.stringify(answer, withoutFirst))
        const answered = told(keyed)
        for (const session of [whole, late, evicted]) expect(told(session)).toEqual(answered)
        expect(residentSeqs(evicted)).toEqual(residentSeqs(keyed))
        expect(residentSeqs(late)).toEqual(residentSeqs(keyed))
      }),
      { numRuns: 40 },
    )
  })

  it('[K5, R1] what is opened from its keyframe is repaired as the whole log is', () => {
    fc.assert(
      fc.property(choices, fc.nat(), fc.nat(), (numbers, at, until) => {
        const whole = storedEvents(validHistory(numbers, { crashes: true }))
        const events = whole.slice(0, until % (whole.length + 1))
        const session = Session.fromRestore({
          header: header(),
          events: [],
          now: counter(),
          readOnly: true,
          invariants: allInvariants,
        })
        const cut = at % (events.length + 1)
        for (const event of throughJson(events)) {
          session.follow(event)
          if (session.length > cut) session.evict(session.length - (event.seq % 3))
        }
        const surfaceEvents = session.surface.nodes.map(seq => session.eventAt(seq) as SessionEvent)
        const parts = throughJson({ keyframe: session.keyframe(), surfaceEvents })
        const more = { header: header(), repair: true, invariants: allInvariants }
        const again = Session.fromKeyframe({ ...more, ...parts, events: [], now: counter() })
        const restored = Session.fromRestore({ ...more, events: throughJson(events), now: counter() })
        expect(observed(again)).toEqual(observed(restored))
        expect(again.snapshotEvents(events.length)).toEqual(restored.snapshotEvents(events.length))
      }),
      { numRuns: 80 },
    )
  })
})

/** Sessions that followed a log were given fewer events when they were opened. */
const seen = (session: Session): unknown => ({ ...(observed(session) as object), firstLiveSeq: null })
const withoutFirst = (key: string, value: unknown): unknown => (key === 'firstLiveSeq' ? undefined : value)
