import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  append,
  appendAny,
  counter,
  log,
  logFrom,
  over,
  said,
  storedEvents,
  throughJson,
  turnEnd,
  turnStart,
} from './builders.ts'
import type { SessionErrorCode } from './errors.ts'
import type { SessionEvent } from './events.ts'
import type { Committed } from './fold.ts'
import {
  countFold,
  knowing,
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
const follower = (events: readonly SessionEvent[] = []): Session => openWith(events, { readOnly: true })
const live = (seen: unknown): object => ({ ...(seen as object), firstLiveSeq: 0 })

describe('a read-only session', () => {
  it('[O4, R6] marks nothing, repairs nothing and asks no clock', () => {
    const now = () => {
      throw new Error('asked')
    }
    const torn = log(turnStart(1), said('a'))
    for (const events of [[], torn]) {
      const session = openWith(events, { readOnly: true, repair: true, now })
      expect(storedEvents(session)).toEqual(events)
      expect(session.firstLiveSeq).toBe(events.length)
    }
    const again = resumed(follower(torn), [], { readOnly: true, repair: true, now })
    expect(again.length).toBe(2)
  })

  it('[O4] refuses every append, before anything else is looked at', () => {
    const session = follower(log(said('a')))
    const before = observed(session)
    const writes: readonly (readonly unknown[])[] = [
      ['user/message', said('b').data, { surfaceOp: 'append' }],
      ['turn/start', { turn: 1 }],
      ['session/end-seed', {}],
      ['never/known', undefined, 7],
      [redact, { seq: 0, text: 'x' }],
    ]
    for (const write of writes) expect(() => appendAny(session, ...write)).toThrow(refusal('read-only', { seq: 1 }))
    expect(observed(session)).toEqual(before)
  })

  it('[O4] only a follower follows', () => {
    const session = openWith([])
    expect(() => session.follow(logFrom(1, said('a'))[0] as SessionEvent)).toThrow(refusal('read-only'))
    expect(session.length).toBe(1)
  })

  it('[O4, L4] takes the events as they are, and tells its listeners', () => {
    const session = follower(log(said('a')))
    const told: Committed[] = []
    session.subscribe(committed => told.push(committed))
    const [event] = logFrom(1, over(said('b'), 0, 0, [0])) as [SessionEvent]
    session.follow(event)
    expect(session.eventAt(1)).toBe(event)
    expect(told).toEqual([{ event, surfaceChange: { kind: 'replace', seq: 1, from: 0, to: 0 } }])
    expect(session.last).toMatchObject({ seq: 1, type: 'user/message' })
  })

  it('[O4, L17] refuses what a restore refuses, and goes on', () => {
    const session = follower(log(said('a')))
    const before = observed(session)
    const wrong: readonly (readonly [SessionErrorCode, unknown])[] = [
      ['envelope', null],
      ['envelope', { ...logFrom(1, said('b'))[0], more: 1 }],
      ['seq', logFrom(0, said('b'))[0]],
      ['seq', logFrom(2, said('b'))[0]],
      ['unknown-type', logFrom(1, { type: 'other/thing', data: 1 })[0]],
      ['payload', logFrom(1, { ...said('b'), data: {} })[0]],
      ['surface-range', logFrom(1, over(said('b'), 7, 7, [0]))[0]],
      ['projection', logFrom(1, { type: redact.type, data: { seq: 7, text: '' } })[0]],
    ]
    for (const [code, event] of wrong) expect(() => session.follow(event as SessionEvent)).toThrow(refusal(code))
    expect(observed(session)).toEqual(before)
    session.follow(logFrom(1, said('b'))[0] as SessionEvent)
    expect(session.length).toBe(2)
  })

  it('[O4, L10] does not follow from inside a listener', () => {
    const session = follower()
    const inner: unknown[] = []
    session.subscribe(() => {
      inner.push(outcome(() => session.follow(logFrom(1, said('b'))[0] as SessionEvent)))
    })
    session.follow(log(said('a'))[0] as SessionEvent)
    expect(inner).toMatchObject([{ refused: { code: 'reentrant' } }])
    expect(session.length).toBe(1)
  })

  it('[O4, L1, L10] does not follow from inside the event it is given', () => {
    const session = follower()
    const [event] = log(said('a')) as [SessionEvent]
    const inner: unknown[] = []
    const hostile = Object.defineProperty({ ...event }, 'time', {
      enumerable: true,
      get: () => inner.push(outcome(() => session.follow(event))),
    })
    session.follow(hostile)
    expect(inner[0]).toMatchObject({ refused: { code: 'reentrant' } })
    expect([session.length, session.surface.nodes]).toEqual([1, [0]])
  })

  it('[O4] follows a child from its cut on', () => {
    const parent = openWith(log(turnStart(1), said('a'), turnEnd(1)))
    const child = parent.fork({ id: 'child' })
    const session = Session.fromRestore({
      ...knowing,
      header: child.header,
      events: storedEvents(child, storedEvents(parent)),
      readOnly: true,
    })
    expect(session.inheritedEventCount).toBe(4)
    append(child, said('b'))
    session.follow(throughJson(child.eventAt(5) as SessionEvent))
    expect(live(observed(session))).toEqual(live(observed(child)))
  })

  it('[O4, L15] is at every event what its writer is, whenever it came', () => {
    fc.assert(
      fc.property(choices, fc.nat(), fc.nat(), fc.boolean(), (numbers, from, cut, isWritten) => {
        // Unknown types cannot be appended: histories that have them are only followed.
        const events = storedEvents(projectedHistory(numbers, !isWritten))
        const writer = Session.create({ ...knowing, now: counter(999), id: 'test', header: { createdAt: 1 } })
        const first = follower()
        const start = events.slice(0, from % (events.length + 1))
        const second = follower(start)
        const early = resumed(follower(start), [], { readOnly: true })
        const told: SessionEvent[] = []
        second.subscribe(({ event }) => told.push(event))
        for (const event of events) {
          const { seq, time: _, ...draft } = event
          if (isWritten) append(writer, draft)
          first.follow(throughJson(event))
          if (seq >= start.length) for (const session of [second, early]) session.follow(event)
          if (isWritten && seq % 7 === cut % 7) {
            expect(live(observed(first))).toEqual(live(observed(writer)))
            expect(first.fold(countFold)).toEqual(writer.fold(countFold))
          }
        }
        expect(told).toEqual(events.slice(start.length))
        expect(live(observed(second))).toEqual(live(observed(first)))
        expect(live(observed(early))).toEqual(live(observed(first)))
        expect(storedEvents(first)).toEqual(events)
      }),
      { numRuns: 80 },
    )
  })
})

describe('a session that is opened to write', () => {
  it('[R6, FRK-06] is marked once, however often it is opened, from a keyframe too', () => {
    let session = openWith(log(turnStart(1), said('a'), turnEnd(1)))
    const events = storedEvents(session)
    for (let count = 0; count < 10; count += 1) {
      session = count % 2 === 0 ? openWith(events) : resumed(session)
      expect(session.length).toBe(4)
      expect(session.firstLiveSeq).toBe(4)
    }
    append(session, said('b'))
    const again = resumed(session)
    expect([again.length, again.firstLiveSeq, again.last?.type]).toEqual([6, 5, 'session/end-seed'])
    expect(resumed(again).length).toBe(6)
  })
})
