import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  answered,
  append,
  called,
  counter,
  type Draft,
  header,
  idsOf,
  log,
  logFrom,
  over,
  residentSeqs,
  restored,
  said,
  stepStart,
  storedEvents,
  throughJson,
  toolCall,
  turnEnd,
  turnStart,
  user,
} from './builders.ts'
import { compactionFold } from './compaction-fold.ts'
import type { SessionErrorCode } from './errors.ts'
import type { SessionEvent } from './events.ts'
import type { Committed } from './fold.ts'
import { inboxFold, planCancellation, planReturn } from './inbox.ts'
import {
  answers,
  countFold,
  framed,
  image,
  knowing,
  note,
  observed,
  openWith,
  projectedHistory,
  redact,
  redacting,
  resumed,
} from './projected-history.ts'
import { Session } from './session.ts'
import { foldTurns } from './turns.ts'

const refusal = (code: SessionErrorCode, facts: object = {}): unknown =>
  expect.objectContaining({ name: 'SessionError', code, ...facts })
const choices = fc.array(fc.nat({ max: 1 << 16 }), { maxLength: 120, size: 'max' })
const turn = (number: number, text: string): readonly Draft[] => [turnStart(number), said(text), turnEnd(number)]
const spliced = (data: object): Draft => ({ type: 'agent/inbox/spliced', data: { start: 0, inserted: [], ...data } })

describe('a fork', () => {
  it('[R7, case 79] of an empty session is empty but for its mark', () => {
    const child = Session.create({ id: 'parent', now: counter() }).fork({ id: 'child' })
    expect(storedEvents(child)).toMatchObject([{ type: 'session/end-seed', seq: 0, data: { inherited: true } }])
    expect([child.firstLiveSeq, child.inheritedEventCount]).toEqual([0, 0])
  })

  it('[R7, case 79] inherits all, or what came up to a boundary, log-only events after a turn included', () => {
    const parent = openWith(
      log(...turn(1, 'a'), { type: note.type, data: { text: 'n' } }, turnStart(2), said('b'), turnEnd(2)),
    )
    const all = parent.fork({ id: 'child' })
    expect(residentSeqs(all)).toEqual([1, 5, 8])
    expect(storedEvents(all, storedEvents(parent)).slice(0, -1)).toEqual(storedEvents(parent))
    expect(all.deriveMessages()).toEqual(parent.deriveMessages())
    expect([all.inheritedEventCount, all.firstLiveSeq]).toEqual([8, 8])
    const early = parent.fork({ id: 'child', boundary: 3 })
    expect(residentSeqs(early)).toEqual([1, 4])
    expect(early.eventAt(1)).toEqual(parent.eventAt(1))
    expect(early.eventAt(4)).toMatchObject({ type: 'session/end-seed', data: { inherited: true } })
    expect(early.length).toBe(5)
    expect(parent.fork({ id: 'child', boundary: 2 }).inheritedEventCount).toBe(3)
  })

  it('[R7] has the lineage of its parent and works where it does', () => {
    const parent = Session.create({
      id: 'parent',
      now: counter(),
      header: { cwd: '/home', agentPreset: 'x', origin: 'subagent', delegationDepth: 2 },
    })
    const child = parent.fork({ id: 'child' })
    expect(child.header).toEqual({
      version: 3,
      id: 'child',
      createdAt: expect.any(Number) as number,
      isSeeded: true,
      parentSession: 'parent',
      cwd: '/home',
    })
    const grandchild = child.fork({ id: 'grandchild' })
    expect(grandchild.header).toMatchObject({ id: 'grandchild', parentSession: 'child', cwd: '/home' })
    expect(restored([]).fork({ id: 'child' }).header).not.toHaveProperty('cwd')
  })

  it.each([-1, -0, 4, 99, 1.5, NaN, Infinity, null, '1', 2 ** 60])('[R7] at %s is refused', boundary => {
    const parent = openWith(log(...turn(1, 'a')))
    const at = boundary as number
    expect(() => parent.fork({ id: 'child', boundary: at })).toThrow(refusal('invalid-boundary', { sessionId: 'test' }))
    expect(() => Session.create({ id: 'p', now: counter() }).fork({ id: 'child', boundary: 0 })).toThrow(
      refusal('invalid-boundary'),
    )
    expect(parent.length).toBe(4)
  })

  it('[R7, FRK-03] inside a turn is refused, wherever it is', () => {
    const open = [turnStart(2), stepStart(2, 1), answered([toolCall('c')], 2), called('c', 2)]
    const parent = openWith(log(...turn(1, 'a'), ...open), { readOnly: true })
    for (const boundary of [0, 1, 3, 4, 5, 6, undefined]) {
      const at = boundary === undefined ? {} : { boundary }
      expect(() => parent.fork({ id: 'child', ...at })).toThrow(
        refusal('open-turn', { sessionId: 'test', seq: boundary ?? 6 }),
      )
    }
    expect(parent.fork({ id: 'child', boundary: 2 }).inheritedEventCount).toBe(3)
  })

  it('[R6, case 81] marks in the child what a running parent has open, and not in the parent', () => {
    const parent = Session.create({ id: 'parent', now: counter() })
    for (const draft of turn(1, 'a')) append(parent, draft)
    append(parent, { type: 'compaction/start', data: { compactionId: 'x', turn: null } })
    const child = parent.fork({ id: 'child' })
    expect(parent.snapshotEvents().some(({ type }) => type === 'session/end-seed')).toBe(false)
    expect(child.eventAt(4)).toMatchObject({ type: 'session/end-seed', data: { inherited: true } })
  })

  it('[R7] is its own: what comes after in one is not in the other', () => {
    const parent = openWith(log(...turn(1, 'a')))
    const child = parent.fork({ id: 'child' })
    const before = observed(child)
    append(parent, said('later'))
    parent.append(redact, { seq: 1, text: 'changed' })
    append(parent, over(said('all'), 1, 1, [1]))
    expect(observed(child)).toEqual(before)
    append(child, said('mine'))
    expect(idsOf(parent.messages)).toEqual(['u:all', 'u:later'])
    expect(idsOf(child.messages)).toEqual(['u:a', 'u:mine'])
  })

  it('[R7, FRK-02] a range of the parent only is refused, and the error names the child', () => {
    const parent = openWith(log(...turn(1, 'a'), ...turn(2, 'b')))
    const inherited = storedEvents(parent).slice(0, 3)
    const child = parent.fork({ id: 'child', boundary: 2 })
    append(parent, said('p7'))
    append(parent, said('p8'))
    for (let seq = child.length; seq < 9; seq += 1) append(child, turnStart(seq))
    const range = over(said('summary'), 7, 8, [7, 8])
    const before = observed(child)
    expect(() => append(child, range)).toThrow(refusal('surface-range', { sessionId: 'child', seq: 9 }))
    expect(() => child.append(redact, { seq: 7, text: 'x' })).toThrow(refusal('projection', { sessionId: 'child' }))
    expect(() => child.append('image/offload', { targets: [{ seq: 7 as never, imageIndexes: [0] }] })).toThrow(
      refusal('projection', { sessionId: 'child' }),
    )
    expect(observed(child)).toEqual(before)
    append(parent, range)
    const events = [...storedEvents(child, inherited), logFrom(9, range)[0]] as SessionEvent[]
    expect(() => Session.fromRestore({ ...knowing, header: child.header, events })).toThrow(
      refusal('surface-range', { sessionId: 'child', seq: 9, index: 9 }),
    )
  })

  it('[R7, M1] of a session with projections reads as the parent did at the boundary', () => {
    const session = openWith(log(...turn(1, 'a'), said([image('i')], 'i')))
    session.append(redact, { seq: 1, text: 'once' })
    const at = session.length - 1
    const then = session.deriveMessages()
    session.append(redact, { seq: 1, text: 'twice' })
    session.append('image/offload', { targets: [{ seq: 3 as never, imageIndexes: [0] }] })
    const child = session.fork({ id: 'child', boundary: at })
    expect(child.deriveMessages()).toEqual(then)
    expect(session.fork({ id: 'child' }).deriveMessages()).toEqual(session.deriveMessages())
    // With all that was registered, also later on.
    child.append('image/offload', { targets: [{ seq: 3 as never, imageIndexes: [0] }] })
    expect(child.fold(countFold)['test/redact']).toBe(1)
  })

  it('[R7, L18] knows what was registered later, and keeps the rules that are kept now', () => {
    const parent = Session.create({ id: 'parent', now: counter() })
    parent.registerEventType(redact)
    const removeProjection = parent.registerMessageProjection(redacting)
    const never = {
      key: 'no-title',
      problem: ({ event }: { event: SessionEvent }) => (event.type === 'session/title' ? 'no' : null),
    }
    const removeRule = parent.registerInvariant(never)
    append(parent, said('a'))
    const child = parent.fork({ id: 'child' })
    child.append(redact, { seq: 0, text: 'x' })
    const title = { type: 'session/title', data: { title: 't' } }
    expect(() => append(child, title)).toThrow(refusal('invariant', { sessionId: 'child' }))
    removeRule()
    removeProjection()
    append(parent, title)
    expect(append(parent.fork({ id: 'other' }), title).seq).toBe(3)
    child.append(redact, { seq: 0, text: 'y' })
  })

  it('[R8] cancels what waits in the inbox, next-step first, and does not put back what a torn turn had', () => {
    const [p, q, r] = ['p', 'q', 'r'].map(id => user(id)) as [
      ReturnType<typeof user>,
      ReturnType<typeof user>,
      ReturnType<typeof user>,
    ]
    const parent = openWith(
      log(
        spliced({ target: 'next-turn', inserted: [p, q] }),
        spliced({ target: 'next-step', inserted: [r] }),
        turnStart(1),
        spliced({ target: 'next-turn', removedCount: 1 }),
      ),
      { repair: true },
    )
    expect(parent.fold(inboxFold)).toEqual({
      nextTurn: [q],
      nextStep: [r],
      claimed: [{ target: 'next-turn', message: p }],
    })
    const child = parent.fork({ id: 'child' })
    const canceled = (target: string) => ({ target, start: 0, removedCount: 1, inserted: [], outcome: 'canceled' })
    expect(child.snapshotEvents(parent.length).map(({ type, data }) => [type, data])).toEqual([
      ['session/end-seed', { inherited: true }],
      ['agent/inbox/spliced', canceled('next-step')],
      ['agent/inbox/spliced', canceled('next-turn')],
    ])
    expect(child.fold(inboxFold)).toEqual({ nextTurn: [], nextStep: [], claimed: [] })
    expect(planReturn(child.fold(inboxFold))).toEqual([])
    expect(planReturn(parent.fold(inboxFold))).toHaveLength(1)
    const events = storedEvents(child, storedEvents(parent))
    const again = Session.fromRestore({ ...knowing, header: child.header, events })
    expect(again.fold(inboxFold)).toEqual(child.fold(inboxFold))
  })

  it('[R6, R7] of a fork has a cut of its own; a restored one keeps it', () => {
    const parent = openWith(log(...turn(1, 'a')))
    const child = parent.fork({ id: 'child' })
    const inherited = storedEvents(child, storedEvents(parent))
    // What it inherits is read before it can be cut there.
    expect(() => child.fork({ id: 'grandchild', boundary: 2 })).toThrow(refusal('not-resident', { sessionId: 'child' }))
    const grandchild = child.replay(inherited).fork({ id: 'grandchild', boundary: 2 })
    const other = child.fork({ id: 'other' })
    expect([child, grandchild, other].map(({ inheritedEventCount }) => inheritedEventCount)).toEqual([4, 3, 5])
    const all = storedEvents(other, inherited)
    const again = Session.fromRestore({ ...knowing, header: other.header, events: all })
    expect([again.inheritedEventCount, again.length]).toEqual([5, 6])
    expect(again.snapshotEvents(4).map(({ data }) => data)).toEqual([{ inherited: true }, { inherited: true }])
    // What was when only a part of it had come: all of that is another session's.
    for (const count of [0, 3, 5]) expect(other.replay(all.slice(0, count)).inheritedEventCount).toBe(count)
    expect(other.replay(all).inheritedEventCount).toBe(5)
  })

  it('[R7] of a follower writes', () => {
    const child = openWith(log(...turn(1, 'a')), { readOnly: true }).fork({ id: 'child' })
    expect(append(child, said('b')).seq).toBe(4)
  })

  it('[L4] copies: the events of the parent may be anybody else’s', () => {
    const events = log(...turn(1, 'a'))
    const parent = openWith(events)
    const child = parent.fork({ id: 'child' })
    expect(child.eventAt(1)).not.toBe(events[1])
    expect(Object.isFrozen(child.eventAt(1))).toBe(true)
    expect(Object.isFrozen(events[1])).toBe(false)
  })
})

describe('a fork from what is resident', () => {
  /** A child as it was made before: from a copy of all that it inherits. */
  function copied(parent: Session, events: readonly SessionEvent[], more: object = {}): Session {
    const lineage = { parentSession: parent.id, isSeeded: true }
    const options = { ...knowing, ...still, ...more, id: 'child', header: lineage }
    const child = Session.create({ ...options, seed: events, inheritedEventCount: events.length })
    for (const splice of planCancellation(child.fold(inboxFold))) child.append('agent/inbox/spliced', splice)
    return child
  }
  const still = { now: () => 7 }

  it('[R10] asks for nothing that is not resident, whatever was let go of', () => {
    const parent = openWith(log(...turn(1, 'a'), ...turn(2, 'b'), over(said('c'), 1, 1, [1])), { readOnly: true })
    const child = parent.fork({ id: 'child' })
    parent.evict(parent.length)
    expect(residentSeqs(parent)).toEqual([4, 6])
    const late = parent.fork({ id: 'child' })
    expect(residentSeqs(late)).toEqual([4, 6, 7])
    expect(late.deriveMessages()).toEqual(child.deriveMessages())
    expect(parent.fork({ id: 'child', boundary: parent.length - 1 }).deriveMessages()).toEqual(child.deriveMessages())
    expect(() => parent.fork({ id: 'child', boundary: 2 })).toThrow(refusal('not-resident', { sessionId: 'test' }))
    expect(late.requestAt(late.length)).toEqual(parent.requestAt(parent.length))
    // A child of the child, and one that is opened from a keyframe.
    expect(late.fork({ id: 'grandchild' }).deriveMessages()).toEqual(child.deriveMessages())
    expect(resumed(late).fork({ id: 'grandchild' }).inheritedEventCount).toBe(8)
  })

  it('[R10, I1] has the folds of rules that were registered later, as they are by then', () => {
    const parent = openWith(log({ type: 'compaction/start', data: { compactionId: 'x', turn: null } }), {
      readOnly: true,
    })
    parent.registerInvariant({ key: 'any', folds: [compactionFold], problem: () => null })
    expect(parent.fold(compactionFold).open).not.toBeNull()
    parent.evict(1)
    // The mark ends it.
    expect(parent.fork({ id: 'child' }).fold(compactionFold).open).toBeNull()
    const counts = { key: 'counts', folds: [{ ...countFold, key: 'late' }], problem: () => null }
    const other = openWith(log(...turn(1, 'a')), { readOnly: true, folds: [] })
    other.registerInvariant(counts)
    for (const boundary of [2, undefined]) {
      const child = other.fork({ id: 'child', ...(boundary === undefined ? {} : { boundary }) })
      expect(child.fold(counts.folds[0] as typeof countFold)).toEqual({
        'turn/start': 1,
        'user/message': 1,
        'turn/end': 1,
        'session/end-seed': 1,
      })
    }
  })

  it('[R10, I1] is made of a log that breaks the rules which are asked of live events only', () => {
    const rule = {
      key: 'no-title',
      problem: ({ event: { type } }: Committed) => (type === 'session/title' ? 'no' : null),
    }
    const title = { type: 'session/title', data: { title: 't' } }
    const parent = openWith(log(title, said('a'), title), { liveInvariants: [rule] })
    for (const boundary of [1, 3]) {
      const child = parent.fork({ id: 'child', boundary })
      expect(idsOf(child.messages)).toEqual(['u:a'])
      expect(() => append(child, title)).toThrow(refusal('invariant', { sessionId: 'child' }))
    }
  })

  it('[R10] is in all else the one made of a copy of what it inherits, and answers alike', () => {
    fc.assert(
      fc.property(choices, fc.nat(), fc.nat(), (numbers, at, evicted) => {
        const parent = openWith(storedEvents(projectedHistory(numbers)), { ...still, repair: true })
        const events = storedEvents(parent)
        const ends = events.flatMap(({ seq }) => (foldTurns(events.slice(0, seq + 1)).openTurn === null ? [seq] : []))
        const boundary = ends[at % ends.length] as number
        const count = boundary + 1
        const early = parent.fork({ id: 'child', boundary })
        const whole = copied(parent, events.slice(0, count))
        expect(observed(early)).toEqual(observed(whole))
        // The same from a session as it was there, opened from an older keyframe.
        const start = evicted % (count + 1)
        const then = resumed(parent.replay(events.slice(0, start)), events.slice(start, count), {
          ...still,
          readOnly: true,
          isPrefix: true,
        })
        const child = then.fork({ id: 'child' })
        expect(observed(child)).toEqual(observed(whole))
        expect(residentSeqs(child)).toEqual(residentSeqs(early))
        parent.evict(evicted % (events.length + 1))
        expect(observed(parent.fork({ id: 'child' }))).toEqual(observed(copied(parent, events)))
        // Followed on, as its log is.
        const stored = storedEvents(whole)
        const more = { readOnly: true, header: whole.header }
        const follower = Session.fromRestore({ ...knowing, ...more, events: throughJson(stored) })
        const keyed = Session.fromKeyframe({ ...knowing, ...more, ...throughJson(framed(child)), events: [] })
        expect(answers(keyed)).toEqual(answers(follower))
        // Nothing is shared that could change.
        for (const seq of residentSeqs(child)) expect(Object.isFrozen(child.eventAt(seq))).toBe(true)
      }),
      { numRuns: 30 },
    )
  })
})

describe('a session as it was', () => {
  it('[K6] is opened from an older keyframe and what came up to there, also before what it inherits ends', () => {
    fc.assert(
      fc.property(choices, fc.nat(), fc.nat(), (numbers, at, from) => {
        const parent = openWith(storedEvents(projectedHistory(numbers)), { repair: true })
        const child = parent.fork({ id: 'child' })
        append(child, said('mine'))
        const events = storedEvents(child, storedEvents(parent))
        const count = at % (events.length + 1)
        const start = from % (count + 1)
        const { inheritedEventCount } = child
        const more = { readOnly: true, isPrefix: true, inheritedEventCount }
        const then = child.replay(events.slice(0, count))
        const session = resumed(child.replay(events.slice(0, start)), events.slice(start, count), more)
        expect(observed(session)).toEqual(observed(then))
        expect(session.inheritedEventCount).toBe(Math.min(inheritedEventCount, count))
        expect(session.requestAt(count)).toEqual(then.requestAt(count))
        const restored = Session.fromRestore({
          ...knowing,
          ...more,
          header: child.header,
          events: events.slice(0, count),
        })
        expect(observed(restored)).toEqual(observed(then))
      }),
      { numRuns: 60 },
    )
  })

  it('[K6] only follows: a writer has to have the whole log', () => {
    const parent = openWith(log(...turn(1, 'a')))
    const child = parent.fork({ id: 'child' })
    const then = child.replay(storedEvents(parent))
    expect(() => resumed(then, [], { isPrefix: true })).toThrow(refusal('keyframe'))
    const session = resumed(then, [], { isPrefix: true, readOnly: true })
    expect(session.inheritedEventCount).toBe(0)
    expect(() => append(session, said('b'))).toThrow(refusal('read-only'))
  })
})

describe('marker and header', () => {
  const events = log(said('a'))
  const marked = log(said('a'), { type: 'session/end-seed', data: { inherited: true } })
  const seeded = header({ isSeeded: true })
  const wrong = refusal('header', { sessionId: 'test' })
  /** Then the whole log is restored, and says the same if it is the log that is wrong. */
  const stale = refusal('keyframe', { sessionId: 'test' })
  const open = { now: counter() }

  it('[L11, FRK-07] seeded without a mark is refused: restored, from a keyframe, as a follower', () => {
    const keyframe = restored(events).replay(events).keyframe()
    const parts = { keyframe, surfaceEvents: events, events: [] }
    for (const readOnly of [true, false]) {
      expect(() => Session.fromRestore({ ...open, header: seeded, events, readOnly })).toThrow(wrong)
      expect(() => Session.fromKeyframe({ ...open, header: seeded, ...throughJson(parts), readOnly })).toThrow(stale)
    }
  })

  it('[L11, FRK-07] a mark in a session that is not seeded is refused: restored, created, from a keyframe, followed', () => {
    const plain = header()
    const child = Session.fromRestore({ ...open, header: seeded, events: marked, readOnly: true })
    const parts = { keyframe: child.keyframe(), surfaceEvents: events, events: [] }
    for (const readOnly of [true, false]) {
      expect(() => Session.fromRestore({ ...open, header: plain, events: marked, readOnly })).toThrow(wrong)
      expect(() => Session.fromKeyframe({ ...open, header: plain, ...throughJson(parts), readOnly })).toThrow(stale)
    }
    expect(() => Session.create({ ...open, id: 'test', seed: marked })).toThrow(wrong)
    expect(Session.fromKeyframe({ ...open, header: seeded, ...throughJson(parts) }).inheritedEventCount).toBe(1)
  })

  it('[L11] a seeded session is created from its whole seed, and from nothing else', () => {
    const create = (more: object) => () => Session.create({ ...open, id: 'test', header: { isSeeded: true }, ...more })
    expect(create({})).toThrow(wrong)
    expect(create({ seed: events })).toThrow(wrong)
    expect(create({ seed: events, inheritedEventCount: 2 })).toThrow(wrong)
    expect(create({ seed: events, inheritedEventCount: 0 })).toThrow(wrong)
    expect(create({ header: {}, seed: events, inheritedEventCount: 1 })).toThrow(wrong)
    expect(create({ seed: events, inheritedEventCount: 1 })().inheritedEventCount).toBe(1)
  })
})

describe('laws', () => {
  it('[R6, R7, R8] at every boundary between turns a child reads as its parent did then', () => {
    fc.assert(
      fc.property(choices, fc.nat(), (numbers, at) => {
        const parent = openWith(storedEvents(projectedHistory(numbers)), { repair: true })
        const boundary = at % parent.length
        const prefix = storedEvents(parent).slice(0, boundary + 1)
        if (foldTurns(prefix).openTurn !== null) {
          expect(() => parent.fork({ id: 'child', boundary })).toThrow(refusal('open-turn', { seq: boundary }))
          return
        }
        const then = parent.replay(prefix)
        const child = parent.fork({ id: 'child', boundary })
        const events = storedEvents(child, prefix)
        expect(events.slice(0, boundary + 1)).toEqual(prefix)
        expect(child.deriveMessages()).toEqual(then.deriveMessages())
        expect(child.surface.nodes).toEqual(then.surface.nodes)
        expect(child.inheritedEventCount).toBe(boundary + 1)
        expect(child.fold(inboxFold)).toEqual({ nextTurn: [], nextStep: [], claimed: [] })
        const again = Session.fromRestore({ ...knowing, header: child.header, events, readOnly: true })
        expect(observed(again)).toEqual({ ...(observed(child) as object), firstLiveSeq: events.length })
        expect(child.verify(events)).toBeNull()
      }),
      { numRuns: 80 },
    )
  })
})
