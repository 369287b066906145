import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { append, appendAny, counter, header, log, logFrom, over, said, storedEvents, throughJson } from './builders.ts'
import { defineEvent, type EventDefinition, isEventOf } from './event-definition.ts'
import type { SessionErrorCode } from './errors.ts'
import type { SessionEvent } from './events.ts'
import { toolResultTrim } from './interpreters/tool-result-trim.ts'
import type { JsonValue } from './json.ts'
import { hint, note, observed, openWith, outcome, redact } from './projected-history.ts'
import { Session } from './session.ts'
import type { SessionOptions } from './session-options.ts'
import { pluginEventTypes } from './vocabulary.ts'

const refusal = (code: SessionErrorCode, facts: object = {}): unknown =>
  expect.objectContaining({ name: 'SessionError', code, ...facts })
const create = (...eventTypes: readonly EventDefinition[]): Session =>
  Session.create({ id: 'test', now: counter(), header: { createdAt: 1 }, eventTypes })
const restore = (events: readonly SessionEvent[], ...eventTypes: readonly EventDefinition[]): Session =>
  Session.fromRestore({ header: header(), now: counter(), events, eventTypes, readOnly: true })
const names = ['acme/thing', '__proto__', 'constructor', 'toString', 'hasOwnProperty', 'ünï/códé', ' ', '\ud800']

describe('a definition', () => {
  it.each(['', 'turn/start', 'user/message', 'session/end-seed', 'image/offload', 'session/title'])(
    '[L18] of %j is refused',
    type => {
      expect(() => defineEvent(type)).toThrow(refusal('registration'))
    },
  )

  it('[L18] of a type of the format is refused where it is registered, too', () => {
    const forged = { type: 'turn/start', ignorable: false, projects: false }
    expect(() => create(forged)).toThrow(refusal('registration'))
    expect(() => create().registerEventType(forged)).toThrow(refusal('registration'))
  })

  it('[L18] is frozen, and required unless it says otherwise', () => {
    expect(note).toEqual({ type: 'test/note', ignorable: false, projects: false })
    expect(hint).toMatchObject({ ignorable: true })
    expect(Object.isFrozen(note)).toBe(true)
  })

  it.each(names)('[L18, L16] of %j makes the type known to one session, stored and restored', type => {
    const definition = defineEvent<JsonValue>(type)
    const session = create(definition)
    const event = session.append(definition, { at: [1] })
    expect(event).toEqual({ type, seq: 0, time: event.time, data: { at: [1] } })
    expect(Object.isFrozen(event.data)).toBe(true)
    const stored = storedEvents(session)
    expect(observed(restore(stored, definition))).toEqual({ ...(observed(session) as object), firstLiveSeq: 1 })
    const unknown = refusal('unknown-type', { index: 0, seq: 0, eventType: type })
    expect(() => restore(stored)).toThrow(unknown)
    expect(() => Session.create({ id: 'x', now: counter(), seed: stored })).toThrow(unknown)
    expect(() => create().append(definition, 1)).toThrow(refusal('unknown-type', { eventType: type }))
    expect(session.keyframe().extensions).toEqual({ interpreters: {}, types: [type], ignored: [] })
  })

  it('[L18] a token that is not the registered one is refused', () => {
    const session = create(note)
    const twin = defineEvent<{ text: string }>('test/note')
    expect(() => session.append(twin, { text: 'x' })).toThrow(
      refusal('unknown-type', { seq: 0, eventType: 'test/note' }),
    )
    expect(() => session.registerEventType(twin)).toThrow(refusal('registration'))
    session.registerEventType(note)
    expect(session.length).toBe(0)
    session.append(note, { text: 'x' })
    expect(() => appendAny(session, { ...note }, {})).toThrow(refusal('unknown-type'))
    expect(() => appendAny(session, { type: 'turn/start' }, { turn: 1 })).toThrow(refusal('unknown-type'))
  })

  it('[L18] two sessions know their own types only', () => {
    const [one, other] = [create(note), create(hint)]
    one.append(note, { text: 'x' })
    other.append(hint, 'x')
    expect(() => one.append(hint, 'x')).toThrow(refusal('unknown-type'))
    expect(() => other.append(note, { text: 'x' })).toThrow(refusal('unknown-type'))
  })

  it('[L18] can come later, also from a listener', () => {
    const session = create()
    session.subscribe(() => session.registerEventType(note))
    append(session, said('a'))
    session.append(note, { text: 'b' })
    expect(session.length).toBe(2)
  })

  it('[L18] is refused once events of its type were passed over', () => {
    const passed = log(said('a'), { type: 'test/note', data: 1, ignorable: true })
    const late = refusal('registration')
    expect(() => restore(passed).registerEventType(note)).toThrow(late)
    const follower = restore(passed.slice(0, 1))
    follower.registerEventType(hint)
    follower.follow(passed[1] as SessionEvent)
    expect(() => follower.registerEventType(note)).toThrow(late)
    // By a listener of that very event, too.
    const told: unknown[] = []
    const other = restore(passed.slice(0, 1))
    other.subscribe(() => told.push(outcome(() => other.registerEventType(note))))
    other.follow(passed[1] as SessionEvent)
    expect(told).toMatchObject([{ refused: { code: 'registration' } }])
    // A refused event was not passed over.
    const third = restore(passed.slice(0, 1))
    expect(() => third.follow({ ...(passed[1] as SessionEvent), seq: 9 as never })).toThrow(refusal('seq'))
    third.registerEventType(note)
  })
})

describe('the marker ignorable', () => {
  const both = [note, hint]
  it.each<[string, unknown, boolean]>([
    ['nothing', undefined, false],
    ['an empty intent', {}, false],
    ['undefined', { ignorable: undefined }, false],
    ['true', { ignorable: true }, true],
  ])('[L5, L16] %s on a defined type', (_name, intent, isIgnorable) => {
    const session = create(...both)
    expect(Object.hasOwn(appendAny(session, note, { text: 'x' }, intent), 'ignorable')).toBe(isIgnorable)
    // A type that is ignorable is so always.
    expect(appendAny(session, hint, 'x', intent)).toMatchObject({ ignorable: true })
    expect(observed(restore(storedEvents(session), ...both))).toMatchObject({ length: 2 })
  })

  it.each<[string, unknown]>([
    ['false', { ignorable: false }],
    ['a text', { ignorable: 'true' }],
    ['with a place', { ignorable: true, surfaceOp: 'append' }],
    ['sources', { sourceEventSeqs: [0] }],
    ['a place', { surfaceOp: undefined }],
    ['null', null],
  ])('[L5] %s is refused on a defined type', (_name, intent) => {
    for (const token of both) {
      expect(() => appendAny(create(...both), token, { text: 'x' }, intent)).toThrow(refusal('intent'))
    }
  })

  it.each(['user/message', 'turn/start', ...pluginEventTypes])('[L5] is refused on %s', type => {
    expect(() => appendAny(create(), type, {}, { ignorable: true })).toThrow(refusal('intent'))
  })

  it('[S1, L16] a defined type is known: fields of the surface are refused, marked or not', () => {
    for (const more of [{ surfaceOp: 'append' }, { sourceEventSeqs: [] }, { surfaceOp: null }]) {
      for (const ignorable of [{}, { ignorable: true }]) {
        const events = log({ type: 'test/note', data: { text: 'x' }, ...more, ...ignorable })
        expect(() => restore(events, note)).toThrow(refusal('surface-op', { seq: 0 }))
      }
      const unknown = log({ type: 'test/note', data: 1, ...more, ignorable: true })
      expect(restore(unknown).eventAt(0)).toEqual(unknown[0])
    }
  })
})

describe('what a definition says of a payload', () => {
  const picky = (problem: unknown): EventDefinition<JsonValue> =>
    defineEvent('acme/picky', { problem: problem as () => null })
  const words = Object.defineProperty(new Error('x'), 'message', { get: () => Object.create(null) as string })

  it.each<[string, unknown]>([
    ['says what is wrong', () => 'too small'],
    ['says nothing in words', () => ''],
    ['answers later', () => Promise.resolve(null)],
    ['answers yes or no', () => true],
    ['answers no or yes', () => false],
    [
      'throws',
      () => {
        throw new Error('inside')
      },
    ],
    [
      'throws what has no words',
      () => {
        throw Object.create(null)
      },
    ],
    [
      'throws an error without words',
      () => {
        throw words
      },
    ],
    [
      'changes what it sees',
      (data: unknown[]) => {
        data.push(1)
        return null
      },
    ],
    ['is no function', 7],
  ])('[L18, L17] refuses it when it %s, live and stored', (name, problem) => {
    const definition = picky(problem)
    const session = create(definition)
    append(session, said('a'))
    const before = observed(session)
    expect(() => session.append(definition, [])).toThrow(refusal('payload', { seq: 1, eventType: 'acme/picky' }))
    expect(observed(session)).toEqual(before)
    // What is stored is not frozen: only there it could be changed.
    if (name === 'changes what it sees') return
    const events = log(said('a'), { type: 'acme/picky', data: [] })
    expect(() => restore(events, definition)).toThrow(refusal('payload', { seq: 1, index: 1 }))
    expect(() => Session.create({ id: 'x', now: counter(), seed: events, eventTypes: [definition] })).toThrow(
      refusal('payload', { seq: 1, index: 1 }),
    )
  })

  it('[L18] tells its events apart', () => {
    const session = openWith([])
    const event = session.append(note, { text: 'hi' })
    expect([isEventOf(note, event), isEventOf(hint, event)]).toEqual([true, false])
  })

  it('[L18] is fine when it has no answer', () => {
    const session = create(
      picky(() => undefined),
      defineEvent('acme/other', { problem: () => null }),
    )
    expect(appendAny(session, picky(() => null).type, {})).toMatchObject({ seq: 0 })
  })

  it('[L10, L18] it cannot append', () => {
    const session: Session = create(picky(() => append(session, said('inner')) && null))
    expect(() => appendAny(session, 'acme/picky', 1)).toThrow(refusal('payload'))
    expect(session.length).toBe(0)
    append(session, said('a'))
  })

  it('[L18] is asked after the marker, for ignorable events too', () => {
    const events = log({ type: 'acme/picky', data: 1, ignorable: true })
    expect(() =>
      restore(
        events,
        picky(() => 'wrong'),
      ),
    ).toThrow(refusal('payload'))
    expect(restore(events).length).toBe(1)
  })
})

describe('laws', () => {
  it('[L16, L18] what a session with extensions accepts, a restore accepts, and the other way round', () => {
    const small = defineEvent<JsonValue>('acme/small', {
      problem: data => (typeof data === 'number' && data < 3 ? null : 'not small'),
    })
    const options: Partial<SessionOptions> = { eventTypes: [note, hint, small, redact, toolResultTrim] }
    const draft = fc.record(
      {
        type: fc.constantFrom(
          'test/note',
          'test/hint',
          'acme/small',
          'test/redact',
          'other/thing',
          'turn/start',
          '__proto__',
        ),
        // As storage has it: −0 would come back as 0.
        data: fc
          .oneof(fc.nat(5), fc.constant({ seq: 0, text: 'x' }), fc.constant({ turn: 1 }), fc.jsonValue())
          .map(throughJson),
        ignorable: fc.constant(true),
      },
      { requiredKeys: ['type', 'data'] },
    )
    fc.assert(
      fc.property(fc.array(draft, { maxLength: 12 }), drafts => {
        const start = log(said('a'))
        const live = openWith(start, options)
        const follower = openWith(storedEvents(live), { ...options, readOnly: true })
        for (const each of drafts) {
          const [event] = throughJson(logFrom(live.length, each)) as [SessionEvent]
          const appended = outcome(() => append(live, each).seq)
          const followed = outcome(() => follower.follow({ ...event, time: live.last?.time ?? 0 }))
          if (typeof appended === 'number') {
            // An ignorable type is marked live, a stored event may lack it: the rest is the same.
            expect(followed).toBeUndefined()
          } else if (followed === undefined) {
            // Only a log may hold unknown types, or marks on types of the format.
            expect(each.ignorable).toBe(true)
            expect(['other/thing', '__proto__', 'turn/start']).toContain(each.type)
            return
          } else {
            expect(appended).toMatchObject({ refused: { name: 'SessionError' } })
            expect(followed).toMatchObject({ refused: { name: 'SessionError' } })
          }
        }
        expect(live.deriveMessages()).toEqual(follower.deriveMessages())
        expect(follower.keyframe().extensions).toEqual(live.keyframe().extensions)
        expect(live.verify(storedEvents(live))).toBeNull()
        append(live, over(said('all'), 0, 0, [0]))
      }),
      { numRuns: 200 },
    )
  })
})
