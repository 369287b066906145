import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  answered,
  append,
  called,
  counter,
  header,
  headed,
  log,
  logFrom,
  over,
  prompted,
  returned,
  said,
  stepStart,
  storedEvents,
  textBlock,
  throughJson,
  toolCall,
  turnStart,
  user,
} from './builders.ts'
import { compactionFold } from './compaction-fold.ts'
import { defineEvent } from './event-definition.ts'
import type { SessionError, SessionErrorCode } from './errors.ts'
import type { SessionEvent } from './events.ts'
import { inboxFold } from './inbox.ts'
import { imageOffloading } from './interpreters/image-offload.ts'
import { toolResultTrim } from './interpreters/tool-result-trim.ts'
import { equalJson } from './json.ts'
import {
  answers,
  countFold,
  extensions,
  framed,
  hint,
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
import { turnsFold } from './turns.ts'

const refusal = (code: SessionErrorCode, facts: object = {}): unknown =>
  expect.objectContaining({ name: 'SessionError', code, ...facts })
const choices = fc.array(fc.nat({ max: 1 << 16 }), { maxLength: 120, size: 'max' })
const readOnly = { readOnly: true }

describe('a keyframe', () => {
  it('[K1] is plain JSON, whatever the types and folds are called', () => {
    const session = openWith(log(said([image('a')]), { type: '__proto__', data: 1, ignorable: true }))
    session.append('image/offload', { targets: [{ seq: 0 as never, imageIndexes: [0] }] })
    const keyframe = session.keyframe()
    expect(throughJson(keyframe)).toStrictEqual(keyframe)
    expect(Object.keys(keyframe.folds)).toEqual([
      'surface',
      'messages',
      'turns',
      'request',
      'seed',
      'inbox',
      '__proto__',
    ])
    expect(keyframe.extensions).toEqual({ interpreters: { 'image/offload': 1 }, types: [], ignored: ['__proto__'] })
    expect(keyframe).toMatchObject({ version: 1, sessionId: 'test', seq: 4, last: { seq: 3, type: 'image/offload' } })
  })

  it('[K1] of any history survives JSON', () => {
    fc.assert(
      fc.property(choices, numbers => {
        const keyframe = projectedHistory(numbers).keyframe()
        expect(throughJson(keyframe)).toStrictEqual(keyframe)
      }),
      { numRuns: 60 },
    )
  })

  it('[K1] does not change when the session goes on', () => {
    const session = openWith(log(said([image('a')]), said('b')))
    const keyframe = session.keyframe()
    const before = throughJson(keyframe)
    session.append(redact, { seq: 1, text: 'x' })
    append(session, over(said('all'), 0, 1, [0, 1]))
    expect(keyframe).toEqual(before)
  })

  it('[K2] opens an empty session, and one with nothing after it', () => {
    const empty = openWith([], readOnly)
    expect(observed(resumed(empty, [], readOnly))).toEqual(observed(empty))
    const session = openWith(log(said('a')))
    expect(observed(resumed(session))).toEqual({ ...(observed(session) as object), firstLiveSeq: 2 })
  })

  it('[K2] what is off the surface and before the tail is not resident', () => {
    const whole = openWith(log(turnStart(1), said('a'), said('b'), over(said('c'), 1, 1, [1])))
    const session = resumed(whole, logFrom(5, said('d'), over(said('e'), 3, 3, [3])))
    expect(session.surface.nodes).toEqual([6, 2, 5])
    const resident = Array.from({ length: session.length }, (_, seq) => session.eventAt(seq)?.seq)
    expect(resident).toEqual([undefined, undefined, 2, undefined, undefined, 5, 6, 7])
    expect(session.snapshotEvents(5).map(({ seq }) => seq)).toEqual([5, 6, 7])
    expect(session.snapshotEvents(6, 3)).toEqual([])
    const notResident = refusal('not-resident', { sessionId: 'test' })
    expect(() => session.snapshotEvents()).toThrow(notResident)
    expect(() => session.requestAt(6)).toThrow(notResident)
    expect(() => session.fork({ id: 'child', boundary: 6 })).toThrow(notResident)
    expect(() => session.registerInvariant({ key: 'any', problem: () => null })).toThrow(notResident)
    // Whoever reads the events can still do all of it.
    const all = [...storedEvents(whole), ...session.snapshotEvents(5)]
    expect(session.verify(all)).toBeNull()
    expect(session.replay(all).deriveMessages()).toEqual(session.deriveMessages())
  })

  it('[K2, R1] closes a turn that was cut off before it', () => {
    const torn = log(turnStart(1), stepStart(1, 1), answered([toolCall('a'), toolCall('b')]), called('a'))
    const follower = openWith(torn, readOnly)
    const session = resumed(follower, [], { repair: true, now: counter() })
    expect(observed(session)).toEqual(observed(openWith(torn, { repair: true, now: counter() })))
    expect(session.fold(turnsFold).openTurn).toBeNull()
  })

  it('[K2] at any cut, with the tail, is the replay of the whole log, and answers alike', () => {
    fc.assert(
      fc.property(choices, fc.nat(), fc.boolean(), fc.boolean(), (numbers, at, repair, writes) => {
        const events = storedEvents(projectedHistory(numbers))
        const cut = at % (events.length + 1)
        const more = writes ? { repair, now: counter() } : readOnly
        const whole = openWith(throughJson(events), more)
        const again = writes ? { repair, now: counter() } : readOnly
        const session = resumed(openWith(events.slice(0, cut), readOnly), throughJson(events.slice(cut)), again)
        expect(observed(session)).toEqual(observed(whole))
        expect(session.fold(countFold)).toEqual(whole.fold(countFold))
        expect(session.verify(storedEvents(whole))).toBeNull()
        // Once more from there, and then on.
        const follower = resumed(session, [], readOnly)
        const wholeFollower = openWith(storedEvents(whole), readOnly)
        expect(answers(follower)).toEqual(answers(wholeFollower))
      }),
      { numRuns: 120 },
    )
  })

  it('[K2, L18] a type passed over before it cannot be defined after it', () => {
    const session = resumed(openWith(log({ type: 'other/thing', data: 1, ignorable: true })))
    expect(() => session.registerEventType(defineEvent('other/thing'))).toThrow(refusal('registration'))
  })

  it('[K2, M3] an interpreter used before it counts as used', () => {
    const whole = openWith(log(said([image('a')])))
    whole.append('image/offload', { targets: [{ seq: 0 as never, imageIndexes: [0] }] })
    const { eventTypes = [] } = extensions
    const source = openWith(storedEvents(whole))
    const interpreters = resumed(source, [], { projections: extensions.projections, eventTypes })
    expect(interpreters.deriveMessages()).toEqual(whole.deriveMessages())
    expect(() => resumed(source, [], { projections: [redacting], eventTypes: [redact] })).toThrow(
      refusal('interpreter-missing', { eventType: 'image/offload' }),
    )
  })

  it('[K2, L11] keeps the inherited cut', () => {
    const parent = openWith(log(said('a'), said('b')))
    const child = parent.fork({ id: 'child' })
    const session = resumed(child)
    expect(session.inheritedEventCount).toBe(3)
    expect(observed(session)).toEqual({ ...(observed(child) as object), firstLiveSeq: 4 })
    // Also one made before the cut, of what is inherited only.
    const stored = storedEvents(child, storedEvents(parent))
    for (const cut of [0, 2, 3]) {
      const early = resumed(child.replay(stored.slice(0, cut)), stored.slice(cut))
      expect(observed(early)).toEqual({ ...(observed(child) as object), firstLiveSeq: 4 })
    }
    expect(() => resumed(child.replay(stored.slice(0, 3)))).toThrow(refusal('keyframe'))
    const told = { inheritedEventCount: 2 }
    expect(() => resumed(child, [], told)).toThrow(refusal('keyframe'))
  })
})

// ── What cannot be used ─────────────────────────────────────────────────────────────────────────────────────────────

/** A session that uses all there is. */
function rich(): Session {
  const session = openWith(
    log(
      turnStart(1),
      said([image('a'), image('b')], 'm'),
      prompted('p'),
      headed(),
      { type: 'request/context', data: { provider: 'demo', model: 'demo-chat' } },
      stepStart(1, 1),
      answered([toolCall('a'), toolCall('b')]),
      called('a'),
      returned('a', 'long enough'),
      called('b'),
      called('unasked'),
      { type: note.type, data: { text: 'n' } },
      { type: 'other/thing', data: 1, ignorable: true },
      { type: 'agent/inbox/spliced', data: { target: 'next-turn', start: 0, inserted: [user('p'), user('q')] } },
      { type: 'agent/inbox/spliced', data: { target: 'next-turn', start: 0, removedCount: 1, inserted: [] } },
      { type: 'image/offload', data: { targets: [{ seq: 1, imageIndexes: [0] }] } },
      { type: redact.type, data: { seq: 6, text: 'redacted' } },
    ),
    readOnly,
  )
  return session
}

type Parts = { readonly [key: string]: unknown }
type Change = (parts: Parts) => unknown

/** Whatever stands at `path`, such as `keyframe.folds.turns[0]`, and the key of it there. */
function placeOf(parts: Parts, path: string): [Record<string, unknown>, string] {
  const keys = path.split(/[.[\]]+/).filter(key => key !== '')
  let at: unknown = parts
  for (const key of keys.slice(0, -1)) at = (at as Record<string, unknown>)[key]
  return [at as Record<string, unknown>, keys.at(-1) as string]
}
const set =
  (path: string, value: unknown): Change =>
  parts => {
    const [at, key] = placeOf(parts, path)
    // Not an assignment: it may be `__proto__`.
    Object.defineProperty(at, key, { value, enumerable: true, configurable: true, writable: true })
  }
const push =
  (path: string, value: unknown): Change =>
  parts => {
    const [at, key] = placeOf(parts, path)
    ;(at[key] as unknown[]).push(value)
  }
const remove =
  (path: string): Change =>
  parts => {
    const [at, key] = placeOf(parts, path)
    if (Array.isArray(at)) at.splice(Number(key), 1)
    else Reflect.deleteProperty(at, key)
  }

/** Opens what `change` made of a good keyframe. */
const opened = (change: Change, more: object = {}): Session => {
  const parts = throughJson(framed(rich()))
  change(parts)
  return Session.fromKeyframe({ ...knowing, ...readOnly, header: header(), ...parts, events: [], ...more })
}

describe('a keyframe that cannot be used', () => {
  it('[K3] is a good one before it is changed', () => {
    const session = opened(() => undefined)
    expect(session.verify(storedEvents(rich()))).toBeNull()
    expect(observed(session)).toEqual(observed(rich()))
  })

  it.each<[string, Change]>([
    ['another layout', set('keyframe.version', 2)],
    ['another session', set('keyframe.sessionId', 'other')],
    ['another fold version', set('keyframe.folds.turns.version', 0)],
    ['another version of a fold of somebody else', set('keyframe.folds[__proto__].version', 1)],
    ['a missing fold', remove('keyframe.folds.inbox')],
    ['a missing fold of somebody else', remove('keyframe.folds.__proto__')],
    ['another interpreter version', set('keyframe.extensions.interpreters[test/redact]', 2)],
    ['an interpreter of nothing', set('keyframe.extensions.interpreters[turn/start]', 1)],
    ['a type not defined here', push('keyframe.extensions.types', 'other/defined')],
    ['a type that was not interpreted', push('keyframe.extensions.types', toolResultTrim.type)],
    ['a type passed over that is known here', push('keyframe.extensions.ignored', note.type)],
    ['a type passed over that is of the format', push('keyframe.extensions.ignored', 'turn/start')],
    ['types that are a text', set('keyframe.extensions.ignored', 'abc')],
    ['types that are numbers', set('keyframe.extensions.ignored', [1])],
    ['a seq that is not of the last event', set('keyframe.seq', 18)],
    ['no last event', set('keyframe.last', null)],
    ['a last event without a time', remove('keyframe.last.time')],
    [
      'a last event before the first',
      parts => [set('keyframe.seq', 0), set('keyframe.last', {})].forEach(change => change(parts)),
    ],
    ['a seq that is no seq', set('keyframe.seq', -0)],
    ['a missing surface event', remove('surfaceEvents[0]')],
    ['a surface event too many', push('surfaceEvents', logFrom(9, said('x'))[0])],
    ['a surface event twice', push('surfaceEvents', rich().eventAt(1))],
    ['one surface event for another', set('surfaceEvents[0]', rich().eventAt(1))],
    ['a surface event of the tail', push('surfaceEvents', logFrom(40, said('x'))[0])],
    ['a surface event of another type', set('surfaceEvents[0].type', 'user/message')],
    ['a surface event off the surface', remove('surfaceEvents[0].surfaceOp')],
    ['a surface event with a wrong place', set('surfaceEvents[0].surfaceOp', 7)],
    ['a surface event with wrong sources', set('surfaceEvents[0].sourceEventSeqs', [99])],
    ['a surface event without data', set('surfaceEvents[0].data', null)],
    ['a surface event that is nothing', set('surfaceEvents[0]', null)],
    ['no surface events', set('surfaceEvents', null)],
    ['a node twice', set('keyframe.folds.surface.state.nodes[1]', 1)],
    ['a node that is none', set('keyframe.folds.surface.state.nodes[1]', 0)],
    ['a node of the tail', push('keyframe.folds.surface.state.nodes', 40)],
    ['nodes that are texts', set('keyframe.folds.surface.state.nodes', ['1', '2', '6', '8'])],
    ['a message for no node', push('keyframe.folds.surface.state.projected', [0, user('x')])],
    ['a message that is nothing', set('keyframe.folds.surface.state.projected[0][1]', null)],
    ['a message of another id', set('keyframe.folds.surface.state.projected[0][1].id', 'other')],
    ['a message of another type', set('keyframe.folds.surface.state.projected[0][1].role', 'system')],
    ['a message without content', remove('keyframe.folds.surface.state.projected[0][1].content')],
    ['a generation that is none', set('keyframe.folds.surface.state.contentGeneration', null)],
    ['a turn that is none', set('keyframe.folds.turns.state.openTurn', 'one')],
    ['calls that are none', set('keyframe.folds.turns.state.pendingCalls', [{}])],
    ['a header that is none', set('keyframe.folds.request.state.header', {})],
    ['a context that is none', set('keyframe.folds.request.state.context', {})],
    ['a mark that is none', set('keyframe.folds.seed.state.endSeed', 'x')],
    ['a pending message that is none', set('keyframe.folds.inbox.state.nextTurn', [{ id: 'x' }])],
    ['a claimed message that is none', set('keyframe.folds.inbox.state.claimed', [null])],
  ])('[K3] says so: %s', (_name, change) => {
    expect(() => opened(change)).toThrow(refusal('keyframe'))
    expect(() => opened(change, { readOnly: false, repair: true })).toThrow(refusal('keyframe'))
  })

  it('[K3, case 119] says so for another set of interpreters, types and folds', () => {
    const without = (more: object) => () => resumed(rich(), [], more)
    const [, ...others] = extensions.projections ?? []
    expect(without({ projections: others })).toThrow(refusal('interpreter-missing', { eventType: 'image/offload' }))
    expect(without({ projections: [{ ...imageOffloading, version: 2 }, ...others] })).toThrow(refusal('keyframe'))
    expect(without({ eventTypes: [redact, toolResultTrim, hint] })).toThrow(refusal('keyframe'))
    const known = [...(extensions.eventTypes ?? []), defineEvent('other/thing')]
    expect(without({ eventTypes: known })).toThrow(refusal('keyframe'))
    const another = { ...countFold, key: 'another' }
    expect(without({ folds: [countFold, another] })).toThrow(refusal('keyframe'))
    // A fold that is not asked for is not missed.
    expect(without({ folds: [] })).not.toThrow()
  })

  it('[K3] says so when a fold of somebody else cannot read its state, whatever it throws', () => {
    for (const thrown of [new Error('no'), null, Object.create(null), { toString: () => Symbol('x') }]) {
      const fromJSON = (): never => {
        throw thrown
      }
      expect(() => opened(() => undefined, { folds: [{ ...countFold, fromJSON }] })).toThrow(refusal('keyframe'))
    }
  })

  it.each([null, 7, {}, [], { open: 7 }, { open: {} }, { open: { compactionId: '' } }])(
    '[K3] says so for a bracket of a compaction that is %j',
    state => {
      const more = { folds: [compactionFold], ...readOnly }
      const parts = throughJson(framed(openWith(log(said('a')), more)))
      const open = () => Session.fromKeyframe({ ...knowing, ...more, header: header(), ...parts, events: [] })
      expect(open().fold(compactionFold)).toEqual({ open: null })
      set('keyframe.folds.compaction.state', state)(parts)
      expect(open).toThrow(refusal('keyframe'))
    },
  )

  it('[K3, case 119] says so for JSON of any shape in any place', () => {
    const hostile = fc.oneof(
      fc.jsonValue(),
      fc.constantFrom<unknown>([], {}, '', 'x', -1, 0, 1, 1.5, 2 ** 53, null, true, [null], [[0, {}]], { length: 3 }),
      fc.constant(JSON.parse('{"__proto__": {"seq": 1}, "constructor": 1, "toString": null}') as unknown),
    )
    const good = throughJson(framed(rich()))
    const paths: string[] = []
    const visit = (value: unknown, path: string): void => {
      if (path !== '') paths.push(path)
      if (typeof value !== 'object' || value === null) return
      for (const [key, member] of Object.entries(value)) visit(member, `${path}[${key}]`)
    }
    visit(good, '')
    const stored = storedEvents(rich())
    fc.assert(
      fc.property(fc.constantFrom(...paths), hostile, (path, value) => {
        const parts = throughJson(good)
        set(path, value)(parts)
        const open = (more: object) =>
          Session.fromKeyframe({ ...knowing, header: header(), events: [], ...parts, ...more })
        let session: Session
        try {
          session = open(readOnly)
        } catch (error) {
          expect(error).toMatchObject({ name: 'SessionError' })
          expect((error as SessionError).code).toMatch(/^(keyframe|interpreter-missing)$/)
          expect(() => open({ repair: true })).toThrow(error)
          return
        }
        // What is taken is right, or verify says what is not.
        const difference = session.verify(stored)
        if (difference === null) expect(observed(session)).toEqual(observed(rich()))
        else expect(equalJson(difference.expected, difference.actual)).toBe(false)
        // And it goes on without breaking.
        expect(JSON.stringify(answers(session)).includes('TypeError')).toBe(false)
      }),
      { numRuns: 600 },
    )
  })

  it('[K3] leaves the parts it was given as they were', () => {
    const parts = throughJson(framed(rich()))
    const before = throughJson(parts)
    const open = () => Session.fromKeyframe({ ...knowing, header: header(), ...parts, events: [] })
    const first = open()
    first.append(redact, { seq: 6, text: 'x' })
    append(first, over(said('all'), 1, 1, [1]))
    expect(parts).toEqual(before)
  })
})

// ── Verify ──────────────────────────────────────────────────────────────────────────────────────────────────────────

describe('verify', () => {
  it.each<[string, string, string, Change]>([
    ['a node', 'surface', '$.nodes[0]', set('keyframe.folds.surface.state.nodes', [8, 6, 2, 1])],
    [
      'what a projected message says',
      'surface',
      '$.projected[1][1].content[0].text',
      set('keyframe.folds.surface.state.projected[1][1].content[0].text', 'other'),
    ],
    ['the generation', 'surface', '$.contentGeneration', set('keyframe.folds.surface.state.contentGeneration', 9)],
    ['the open turn', 'turns', '$.openTurn', set('keyframe.folds.turns.state.openTurn', null)],
    ['a call', 'turns', '$.pendingCalls[0].callSeq', set('keyframe.folds.turns.state.pendingCalls[0].callSeq', 1)],
    [
      'the header',
      'request',
      '$.header.data.header.config.model',
      set('keyframe.folds.request.state.header.data.header.config.model', 'other'),
    ],
    ['the mark', 'seed', '$.endSeed', set('keyframe.folds.seed.state.endSeed', 3)],
    ['an inbox', 'inbox', '$.claimed', set('keyframe.folds.inbox.state.claimed', [])],
    ['a fold of another', '__proto__', '$["turn/start"]', set('keyframe.folds[__proto__].state[turn/start]', 7)],
    ['the time of the last event', 'log', '$.last.time', set('keyframe.last.time', 1)],
    ['the types seen', 'log', '$.extensions.types', set('keyframe.extensions.types', [redact.type])],
    ['the types passed over', 'log', '$.extensions.ignored', set('keyframe.extensions.ignored', [])],
    [
      'an event of the surface',
      'log',
      '$.events[8].data.message.content[0].content[0].text',
      set('surfaceEvents[0].data.message.content[0].content[0].text', 'another result'),
    ],
  ])('[K4] names %s', (_name, fold, path, change) => {
    const session = opened(change)
    const difference = session.verify(storedEvents(rich()))
    expect(difference).toMatchObject({ fold, path })
    expect(difference?.expected).not.toEqual(difference?.actual)
  })

  it('[K4] is not led astray by a fold that is called log', () => {
    const logFold = { ...countFold, key: 'log' }
    const source = openWith(log(said('a')), { folds: [logFold] })
    const parts = throughJson(framed(source))
    set('keyframe.folds.log.state[user/message]', 7)(parts)
    const session = Session.fromKeyframe({ ...knowing, folds: [logFold], header: header(), events: [], ...parts })
    expect(session.verify(storedEvents(source))).toEqual({
      fold: 'log',
      path: '$["user/message"]',
      expected: 1,
      actual: 7,
    })
  })

  it('[K4] tells a log that is too short, too long or another', () => {
    const events = log(said('a'), said('b'), said('c'))
    const session = openWith(events, readOnly)
    expect(session.verify(events)).toBeNull()
    expect(session.verify(events.slice(0, 2))).toEqual({ fold: 'log', path: '$.seq', expected: 2, actual: 3 })
    expect(session.verify([...events, ...logFrom(3, said('d'))])).toMatchObject({ fold: 'log', path: '$.seq' })
    expect(session.verify(log(said('a'), said('x'), said('c')))).toMatchObject({
      fold: 'log',
      path: '$.events[1].data.id',
    })
    expect(() => session.verify(logFrom(1, said('a')))).toThrow(refusal('seq', { index: 0 }))
  })

  it('[K4] finds the differing place of payloads of any depth', () => {
    const deep = (end: string): unknown => {
      let value: unknown = end
      for (let depth = 0; depth < 100_000; depth += 1) value = { in: value }
      return value
    }
    const source = (end: string) => openWith(log(said('a'), { type: note.type, data: deep(end) }), readOnly)
    const session = resumed(source('x'), [], { ...readOnly })
    expect(session.verify([source('x').eventAt(0), source('x').eventAt(1)] as SessionEvent[])).toBeNull()
    const tail = [source('x').eventAt(1)] as SessionEvent[]
    const late = resumed(openWith(log(said('a')), readOnly), tail, readOnly)
    const difference = late.verify([source('y').eventAt(0), source('y').eventAt(1)] as SessionEvent[])
    expect(difference).toMatchObject({ fold: 'log', expected: 'y', actual: 'x' })
    expect(difference?.path.length).toBe('$.events[1].data'.length + 3 * 100_000)
  })

  it('[K4] a pending message as deep as it likes does not matter', () => {
    let value: unknown = 'end'
    for (let depth = 0; depth < 100_000; depth += 1) value = [value]
    const message = { ...user('x'), content: [textBlock('x'), { type: 'other', value }] }
    const splice = { target: 'next-turn', start: 0, inserted: [message] }
    const source = openWith(log({ type: 'agent/inbox/spliced', data: splice }), readOnly)
    const session = Session.fromKeyframe({ ...knowing, ...readOnly, header: header(), ...framed(source), events: [] })
    expect(session.fold(inboxFold).nextTurn).toHaveLength(1)
    expect(session.verify([source.eventAt(0) as SessionEvent])).toBeNull()
  })

  it('[K4] is null for every honest session', () => {
    fc.assert(
      fc.property(choices, numbers => {
        const follower = projectedHistory(numbers)
        expect(follower.verify(storedEvents(follower))).toBeNull()
        const session = openWith(storedEvents(follower), { repair: true })
        expect(session.verify(storedEvents(session))).toBeNull()
        const child = session.fork({ id: 'child' })
        expect(child.verify(storedEvents(child, storedEvents(session)))).toBeNull()
      }),
      { numRuns: 60 },
    )
  })
})
