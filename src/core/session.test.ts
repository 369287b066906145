import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import scenario from '../../e2e/cases/sur-11-listeners.json'
import {
  answered,
  append,
  appendAny,
  assistant,
  called,
  citing,
  counter,
  type Draft,
  header,
  headed,
  idsOf,
  log,
  loopLog,
  newSession,
  over,
  prompted,
  restored,
  returned,
  said,
  stepEnd,
  stepStart,
  storedEvents,
  surfaceLog,
  throughJson,
  turnEnd,
  turnStart,
  user,
  toolResult,
} from './builders.ts'
import type { SessionErrorCode } from './errors.ts'
import type { EventOf, SessionEvent, SessionHeader } from './events.ts'
import type { Committed, Fold } from './fold.ts'
import { requestFold } from './request-header.ts'
import { Session } from './session.ts'
import type { AppendableEventType, RestoreOptions } from './session-options.ts'
import { foldSurface } from './surface.ts'
import { turnsFold } from './turns.ts'

const refusal = (code: SessionErrorCode, facts: object = {}): unknown =>
  expect.objectContaining({ name: 'SessionError', code, ...facts })
const toAppend = { surfaceOp: 'append' } as const
/** Everything there is to see of a session. */
const observed = (session: Session): unknown => ({
  length: session.length,
  events: storedEvents(session),
  nodes: session.surface.nodes,
  generations: [session.surface.replaceGeneration, session.surface.contentGeneration],
  messages: session.deriveMessages(),
  turns: session.fold(turnsFold),
  request: session.fold(requestFold),
  firstLiveSeq: session.firstLiveSeq,
  inheritedEventCount: session.inheritedEventCount,
})
const choices = fc.array(fc.nat({ max: 1 << 16 }), { maxLength: 80 })

describe('append', () => {
  it('[L1] gives each event the next seq and the time of the clock, and returns it', () => {
    const session = Session.create({ id: 'a', now: counter(10) })
    const start = session.append('turn/start', { turn: 1 })
    const said = session.append('user/message', user('hi'), toAppend)
    expect(start).toEqual({ type: 'turn/start', seq: 0, time: 12, data: { turn: 1 } })
    expect(said).toEqual({ type: 'user/message', seq: 1, time: 13, data: user('hi'), surfaceOp: 'append' })
    expect([session.eventAt(0), session.eventAt(1), session.eventAt(2), session.eventAt(-1)]).toEqual([
      start,
      said,
      undefined,
      undefined,
    ])
    expect(session.eventAt(1)).toBe(said)
    expect(session.length).toBe(2)
  })

  it('[S1, case 1] derives the messages of the surface', () => {
    const session = newSession(turnStart(1), said('hi'), answered('hello'), turnEnd(1))
    expect(session.surface.nodes).toEqual([1, 2])
    expect(session.deriveMessages()).toEqual([user('hi'), assistant('hello')])
  })

  it('[S5, S9, case 2] replaces a range', () => {
    const session = newSession(turnStart(1), said('hi'), answered('hello'), turnEnd(1))
    const event = append(session, over(said('summary'), 1, 2, [1, 2]))
    expect(event).toMatchObject({
      seq: 4,
      surfaceOp: { op: 'replace', startSeq: 1, endSeq: 2 },
      sourceEventSeqs: [1, 2],
    })
    expect(session.surface.nodes).toEqual([4])
    expect(session.deriveMessages()).toEqual([user('summary')])
    expect([session.surface.replaceGeneration, session.surface.contentGeneration]).toEqual([1, 1])
  })

  it('[S10, case 30] an emptied system head keeps its node and is no message', () => {
    const session = newSession(prompted('text'), said('a'), over(prompted(''), 0, 0, [0]))
    expect(session.deriveMessages().map(message => message.role)).toEqual(['user'])
    expect(session.surface.length).toBe(2)
    expect([session.surface.at(0), session.surface.at(-1), session.surface.at(2)]).toEqual([2, 1, undefined])
  })

  it('[L4, case 35] deep-freezes what it took and does not see what the caller does later', () => {
    const session = newSession(said('a'))
    const data = { ...user('b'), content: [{ type: 'text', text: 'b' }] }
    const surfaceOp = { op: 'replace', startSeq: 0, endSeq: 0 }
    const sourceEventSeqs = [0]
    const event = appendAny(session, 'user/message', data, { surfaceOp, sourceEventSeqs })
    const before = structuredClone(event)
    data.content[0] = { type: 'text', text: 'changed' }
    surfaceOp.startSeq = 7
    sourceEventSeqs.push(7)
    expect(event).toEqual(before)
    expect(session.eventAt(1)).toEqual(before)
    const { data: message, ...envelope } = event as EventOf<'user/message'>
    const frozen: object[] = [event, message, message.content, message.content[0] as object, message.source]
    frozen.push(envelope.surfaceOp as object, envelope.sourceEventSeqs as object)
    expect(frozen.map(Object.isFrozen)).toEqual(frozen.map(() => true))
    expect(() => Object.assign(message, { role: 'system' })).toThrow(TypeError)
    expect(() => (envelope.sourceEventSeqs as unknown as number[]).push(1)).toThrow(TypeError)
  })

  it('[L4, case 33] reads getters once, in data and in the intent', () => {
    const session = newSession(said('a'))
    const counts = { text: 0, startSeq: 0, surfaceOp: 0, sources: 0 }
    const once = <Value>(name: keyof typeof counts, value: Value): Value => {
      counts[name] += 1
      return counts[name] === 1 ? value : (1n as never)
    }
    const event = appendAny(
      session,
      'user/message',
      {
        ...user('b'),
        content: [
          {
            type: 'text',
            get text() {
              return once('text', 'ok')
            },
          },
        ],
      },
      {
        get surfaceOp() {
          return once('surfaceOp', {
            op: 'replace',
            get startSeq() {
              return once('startSeq', 0)
            },
            endSeq: 0,
          })
        },
        get sourceEventSeqs() {
          return once('sources', [0])
        },
      },
    )
    expect(counts).toEqual({ text: 1, startSeq: 1, surfaceOp: 1, sources: 1 })
    expect(event).toMatchObject({
      data: { content: [{ text: 'ok' }] },
      surfaceOp: { startSeq: 0, endSeq: 0 },
      sourceEventSeqs: [0],
    })
  })

  it('[L3] refuses payloads JSON cannot carry, naming the type and the path', () => {
    const session = newSession()
    const bad = { ...user('x'), content: [{ type: 'text', text: undefined }] }
    const refused = refusal('not-json', { seq: 0, eventType: 'user/message', path: '$.content[0].text' })
    expect(() => appendAny(session, 'user/message', bad, toAppend)).toThrow(refused)
    expect(() => appendAny(session, 'turn/start', undefined)).toThrow(refusal('not-json', { path: '$' }))
  })

  it('[S2, case 34] refuses a surfaceOp that is a class instance', () => {
    class Op {
      op = 'replace'
      startSeq = 0
      endSeq = 0
    }
    const session = newSession(said('a'))
    expect(() => append(session, { ...over(said('b'), 0, 0, [0]), surfaceOp: new Op() })).toThrow(refusal('not-json'))
  })

  it('[L1, L10] an event appended while another is being read comes before it', () => {
    const session = newSession()
    const nosy = {
      get turn() {
        append(session, said('inside'))
        return 1
      },
    }
    const outer = appendAny(session, 'turn/start', nosy)
    expect(outer).toMatchObject({ type: 'turn/start', seq: 1 })
    expect(storedEvents(session).map(({ type, seq }) => [type, seq])).toEqual([
      ['user/message', 0],
      ['turn/start', 1],
    ])
    expect(session.surface.nodes).toEqual([0])
  })

  it('[L1, L10] an event appended by the clock comes before the one it was read for', () => {
    let session: Session | null = null
    let inside = false
    const now = (): number => {
      if (session === null || inside) return 1
      inside = true
      append(session, said('inside'))
      return 2
    }
    session = Session.create({ id: 'a', now })
    expect(append(session, said('outer'))).toMatchObject({ seq: 1, time: 2 })
    expect(storedEvents(session).map(({ seq }) => seq)).toEqual([0, 1])
    expect(session.surface.nodes).toEqual([0, 1])
  })

  it.each([NaN, Infinity, 1.5, '2026', undefined, null, 2 ** 53])('[L8, L16] refuses the time %s', time => {
    let now: unknown = 1
    const session = Session.create({ id: 'a', now: () => now as number })
    append(session, said('a'))
    now = time
    expect(() => append(session, said('b'))).toThrow(refusal('envelope', { seq: 1, eventType: 'user/message' }))
    expect(session.length).toBe(1)
    now = -5
    expect(append(session, said('b'))).toMatchObject({ seq: 1, time: -5 })
    expect(restored(storedEvents(session)).length).toBe(3)
  })
})

describe('which error of append wins', () => {
  const cyclic: Record<string, unknown> = {}
  cyclic['self'] = cyclic
  type Wrong = readonly [type: unknown, data: unknown, intent?: unknown]

  it.each<[string, SessionErrorCode, Wrong]>([
    ['an unknown type before a wrong intent', 'unknown-type', ['other/thing', cyclic, 7]],
    ['a type that is no string', 'unknown-type', [7, cyclic, 7]],
    ['a symbol as type', 'unknown-type', [Symbol('t'), {}]],
    ['a reserved type before a wrong intent', 'reserved-type', ['session/end-seed', cyclic, 7]],
    ['a type whose interpreter is not loaded', 'interpreter-missing', ['image/offload', { targets: [] }]],
    ['a wrong intent before data', 'intent', ['user/message', cyclic, { surfaceOp: 'append', ignorable: true }]],
    ['data before its shape', 'not-json', ['user/message', { role: cyclic }, { surfaceOp: 7 }]],
    ['an intent JSON cannot carry before shapes', 'not-json', ['user/message', {}, { surfaceOp: cyclic }]],
    ['the payload before the surface', 'payload', ['user/message', {}, { surfaceOp: 7 }]],
    ['the op before the sources', 'surface-op', ['user/message', user('x'), { surfaceOp: 7, sourceEventSeqs: [] }]],
    ['the sources before the range', 'surface-sources', ['user/message', user('x'), intentOver(0, 0, [9])]],
    ['the range before the coverage', 'surface-range', ['user/message', user('x'), intentOver(1, 0, [1])]],
    ['the coverage before the head', 'surface-coverage', ['user/message', user('x'), intentOver(0, 1, [0])]],
    ['the head at last', 'system-head', ['user/message', user('x'), intentOver(0, 1, [0, 1])]],
  ])('[L5, L6, L7, L17] %s', (_name, code, args) => {
    const session = newSession(prompted('p'), said('a'), turnStart(1))
    const before = observed(session)
    expect(() => appendAny(session, ...args)).toThrow(refusal(code, { seq: 3 }))
    expect(observed(session)).toEqual(before)
  })

  function intentOver(startSeq: number, endSeq: number, sourceEventSeqs: readonly number[]): object {
    return { surfaceOp: { op: 'replace', startSeq, endSeq }, sourceEventSeqs }
  }
})

describe('the intent', () => {
  it.each<[string, unknown]>([
    ['null', null],
    ['text', 'append'],
    ['an array', []],
    ['a class instance', new (class Intent {})()],
    ['an inherited intent', Object.create({ surfaceOp: 'append' })],
    ['an unknown key', { surfaceOp: 'append', other: 1 }],
    ['an unknown key that is undefined', { surfaceOp: 'append', other: undefined }],
    ['a symbol key', { surfaceOp: 'append', [Symbol('x')]: 1 }],
    ['a hidden key', Object.defineProperty({ surfaceOp: 'append' }, 'x', { value: 1 })],
    ['a hidden marker', Object.defineProperty({}, 'surfaceOp', { value: 'append' })],
    ['ignorable', { surfaceOp: 'append', ignorable: true }],
  ])('[L5] of a surface type refuses %s', (_name, intent) => {
    const session = newSession()
    expect(() => appendAny(session, 'user/message', user('x'), intent)).toThrow(refusal('intent'))
    expect(session.length).toBe(0)
  })

  it.each<[string, unknown]>([
    ['a marker', { surfaceOp: 'append' }],
    ['sources', { sourceEventSeqs: [0] }],
    ['ignorable, which core types never are', { ignorable: true }],
    ['null', null],
    ['text', 'append'],
  ])('[L5, S1, case 17] of a log-only type refuses %s', (_name, intent) => {
    const session = newSession()
    expect(() => appendAny(session, 'turn/start', { turn: 1 }, intent)).toThrow(refusal('intent'))
    expect(session.length).toBe(0)
  })

  it('[L5] may have no prototype, and may hold undefined', () => {
    const session = newSession()
    const bare = Object.assign(Object.create(null) as object, { surfaceOp: 'append' })
    appendAny(session, 'user/message', user('x'), bare)
    appendAny(session, 'user/message', user('y'), { surfaceOp: 'append', sourceEventSeqs: undefined })
    appendAny(session, 'turn/start', { turn: 1 }, undefined)
    appendAny(session, 'turn/end', { turn: 1, reason: { kind: 'completed' } }, {})
    expect(storedEvents(session).map(event => Object.keys(event))).toEqual([
      ['type', 'seq', 'time', 'data', 'surfaceOp'],
      ['type', 'seq', 'time', 'data', 'surfaceOp'],
      ['type', 'seq', 'time', 'data'],
      ['type', 'seq', 'time', 'data'],
    ])
  })

  it.each(['user/message', 'assistant/message', 'system/message', 'tool/result'] as const)(
    '[S1, SUR-10] a widened type compiles without intent, and %s is refused when it runs',
    type => {
      const session = newSession()
      const drafts = { 'user/message': said('x'), 'assistant/message': answered('x') }
      const draft = { ...drafts, 'system/message': prompted('x'), 'tool/result': returned('c') }[type]
      const appendWidened = (widened: AppendableEventType): unknown => session.append(widened, draft.data as never)
      expect(() => appendWidened(type)).toThrow(refusal('surface-op'))
      expect(() => appendAny(session, type, draft.data, {})).toThrow(refusal('surface-op'))
      expect(() => appendAny(session, type, draft.data, { surfaceOp: undefined })).toThrow(refusal('surface-op'))
      expect(session.length).toBe(0)
    },
  )

  it('[S3, case 13] refuses sources on an assistant/message', () => {
    const session = newSession(said('a'))
    for (const sources of [[], [0]]) {
      expect(() => append(session, citing(answered('b'), sources))).toThrow(refusal('surface-sources'))
    }
  })

  it('[S6, case 14] refuses an assistant/message as a replacement and leaves everything as it was', () => {
    const session = newSession(said('a'))
    const before = observed(session)
    const op = { surfaceOp: { op: 'replace', startSeq: 0, endSeq: 0 } }
    const { data } = answered('b')
    expect(() => appendAny(session, 'assistant/message', data, op)).toThrow(refusal('surface-coverage'))
    expect(observed(session)).toEqual(before)
  })
})

describe('one admission for append, seed and restore', () => {
  const wrong: readonly [string, SessionErrorCode, Draft][] = [
    ['[S2, case 15] old names', 'surface-op', { ...over(said('x'), 0, 0, [0]), surfaceOp: old({ start: 0, end: 0 }) }],
    ['[S2, case 15] mixed names', 'surface-op', { ...said('x'), surfaceOp: old({ startSeq: 0, end: 0 }) }],
    ['[S2, case 15] extra key', 'surface-op', { ...said('x'), surfaceOp: old({ startSeq: 0, endSeq: 0, x: 0 }) }],
    ['[S2, case 15] −1', 'surface-op', over(said('x'), -1, 0, [0])],
    ['[S1] no marker', 'surface-op', { type: 'user/message', data: user('x') }],
    ['[S3, case 11] self', 'surface-sources', citing(said('x'), [1])],
    ['[S3, case 11] twice', 'surface-sources', citing(said('x'), [0, 0])],
    ['[S4] itself', 'surface-range', over(said('x'), 1, 1, [0])],
    ['[S6, case 10] not covered', 'surface-coverage', { ...said('x'), surfaceOp: old({ startSeq: 0, endSeq: 0 }) }],
    ['[S7, case 21] result over user', 'tool-result-rewrite', over(returned('c'), 0, 0, [0])],
    ['[L9, case 43] empty tools', 'payload', withHeader({ config: { provider: 'p', model: 'm' }, tools: [] })],
    ['[L9, case 50] no id', 'payload', { ...said('x'), data: { ...user('x'), id: '' } }],
  ]
  function old(keys: object): object {
    return { op: 'replace', ...keys }
  }
  function withHeader(header: object): Draft {
    return { type: 'request/header', data: { header, reason: 'initial' } }
  }

  it.each(wrong)('%s is refused by all three, with the same code', (_name, code, draft) => {
    const session = newSession(said('a'))
    const events = log(said('a'), draft)
    const atSeed = refusal(code, { index: 1, seq: 1 })
    expect(() => append(session, draft)).toThrow(refusal(code, { seq: 1 }))
    expect(() => Session.create({ id: 'b', now: counter(), seed: events })).toThrow(atSeed)
    expect(() => restored(events)).toThrow(atSeed)
    expect(session.length).toBe(1)
  })

  it('[S2, case 15] −0 is refused by all three', () => {
    const draft = over(said('x'), -0, 0, [0])
    const events = log(said('a'), draft)
    expect(() => append(newSession(said('a')), draft)).toThrow(refusal('not-json'))
    expect(() => Session.create({ id: 'b', now: counter(), seed: events })).toThrow(refusal('not-json', { index: 1 }))
    expect(() => restored(events)).toThrow(refusal('surface-op', { index: 1 }))
  })
})

describe('what no path takes', () => {
  const head = { config: { provider: 'p', model: 'm' } }
  const headerWith = (more: object, reason: unknown = 'initial', rest: object = {}): Draft => ({
    type: 'request/header',
    data: { header: { ...head, ...more }, reason, ...rest },
  })
  const settled = (change: object): Draft => ({
    ...answered('x'),
    data: { ...(answered('x').data as object), ...change },
  })
  const said2 = (change: object): Draft => ({ ...said('x'), data: { ...user('x'), ...change } })
  const prompt = prompted('p')
  const { message } = prompt.data as { message: object }
  const returned2 = (content: unknown, source: object = { kind: 'tool', callId: 'c' }): Draft => ({
    ...returned('c'),
    data: { turn: 1, step: 1, message: { ...toolResult('c'), content, source } },
  })

  it.each<[string, Draft, string]>([
    ...['', ' ', null, [], {}, undefined].map((system): [string, Draft, string] => [
      `42: a header with system ${JSON.stringify(system)}`,
      headerWith({ system }),
      '$.header.system',
    ]),
    ['43: empty tools', headerWith({ tools: [] }), '$.header.tools'],
    ['43: empty adapter defaults', headerWith({ adapterDefaults: {} }), '$.header.adapterDefaults'],
    ...['fallback', 'unknown', null].map((reason): [string, Draft, string] => [
      `49: the reason ${String(reason)}`,
      headerWith({}, reason),
      '$.reason',
    ]),
    ...[false, 1, 'true'].map((startsSeries): [string, Draft, string] => [
      `49: startsSeries ${JSON.stringify(startsSeries)}`,
      headerWith({}, 'change', { startsSeries }),
      '$.startsSeries',
    ]),
    ['50: a user message of an assistant', said2({ role: 'assistant' }), '$.role'],
    ['50: a source that is null', said2({ source: null }), '$.source'],
    ['50: content that is text', said2({ content: 'x' }), '$.content'],
    [
      '50: two results in one',
      returned2([...toolResult('c').content, ...toolResult('c').content]),
      '$.message.content',
    ],
    [
      '50: a result for another call',
      returned2(toolResult('c').content, { kind: 'tool', callId: 'other' }),
      '$.message.content[0].toolCallId',
    ],
    [
      '50: a system message of a user',
      { ...prompt, data: { turn: 1, step: 1, message: { ...message, role: 'user' } } },
      '$.message.role',
    ],
    [
      '50: a system message of a plugin without a name',
      { ...prompt, data: { turn: 1, step: 1, message: { ...message, source: { kind: 'plugin', plugin: '' } } } },
      '$.message.source.plugin',
    ],
    ...['1', -1, 1.5].map((turn): [string, Draft, string] => [
      `51: the turn ${JSON.stringify(turn)}`,
      settled({ turn }),
      '$.turn',
    ]),
    ['51: a stream that is null', settled({ stream: null }), '$.stream'],
    ['51: no data', { type: 'assistant/attempt', data: null }, '$'],
  ])('[L9, L16] case %s', (_what, draft, path) => {
    const facts = { path, eventType: draft.type }
    const refusedBy = (code: SessionErrorCode, more: object = {}) => refusal(code, { ...facts, ...more })
    const own = Object.values((draft.data as object) ?? {}).some(part =>
      Object.hasOwn((part ?? {}) as object, 'system'),
    )
    const session = newSession(said('before'))
    // A member that is there and undefined is no JSON: the snapshot finds it first.
    const isUndefined = own && (draft.data as { header: { system?: unknown } }).header.system === undefined
    const code = isUndefined ? 'not-json' : 'payload'
    expect(() => append(session, draft)).toThrow(refusedBy(code, { seq: 1 }))
    expect(session.length).toBe(1)
    const events = log(said('before'), draft)
    const seeded = isUndefined ? { index: 1 } : { ...facts, index: 1, seq: 1 }
    expect(() => Session.create({ id: 's', now: () => 1, seed: events })).toThrow(refusal(code, seeded))
    expect(() => restored(events)).toThrow(refusal('payload', { ...facts, index: 1, seq: 1 }))
    expect(() => restored(events)).toThrow(/index 1.*seq 1/s)
  })
})

describe('a refusal changes nothing', () => {
  const bad = fc.constantFrom<Draft>(
    said([{ type: 'text', text: 7 } as never]),
    { type: 'user/message', data: user('x') },
    { type: 'user/message', data: { bad: undefined }, surfaceOp: 'append' },
    { type: 'other/thing', data: 1 },
    { type: 'session/end-seed', data: {} },
    { ...turnStart(1), surfaceOp: 'append' },
    over(said('x'), 0, 0, [0, 99_999]),
    over(said('x'), 99_998, 99_999, [0]),
    over(returned('c', 'ok', { meta: 'other' }), 0, 0, [0]),
    citing(answered('x'), [0]),
    {
      type: 'turn/start',
      data: {
        get turn(): number {
          throw new RangeError('mine')
        },
      },
    },
  )

  it('[L17] an append after any refused ones behaves as if they had never been tried', () => {
    fc.assert(
      fc.property(choices, fc.array(bad, { minLength: 1, maxLength: 4 }), fc.nat(), (numbers, refused, at) => {
        const { drafts } = surfaceLog(numbers)
        const cut = at % (drafts.length + 1)
        const plain = Session.create({ id: 'test', now: () => 5 })
        const tried = Session.create({ id: 'test', now: () => 5 })
        const heard: Committed[] = []
        tried.subscribe(committed => heard.push(committed))
        drafts.forEach((draft, index) => {
          if (index === cut) {
            const [messages, nodes] = [tried.messages, tried.surface.nodes]
            for (const each of refused) expect(() => append(tried, each)).toThrow()
            expect(tried.messages).toBe(messages)
            expect(tried.surface.nodes).toBe(nodes)
          }
          expect(append(tried, draft)).toEqual(append(plain, draft))
        })
        expect(observed(tried)).toEqual(observed(plain))
        expect(heard).toHaveLength(drafts.length)
      }),
    )
  })

  it('[L17] a refused append is not seen by snapshots or listeners', () => {
    const session = newSession(said('a'))
    const snapshot = session.snapshotEvents()
    session.subscribe(() => expect.unreachable())
    expect(() => append(session, { ...said('b'), data: {} })).toThrow(refusal('payload'))
    expect(session.snapshotEvents()).toBe(snapshot)
  })
})

describe('listeners', () => {
  it('[L10, case 37] a listener that throws and one that rejects are reported and change nothing', async () => {
    const errors: unknown[] = []
    const session = Session.create({ id: 'a', now: counter(), onListenerError: error => errors.push(error) })
    const heard: string[] = []
    session.subscribe(() => {
      heard.push('throws')
      throw new RangeError('thrown')
    })
    session.subscribe(async () => {
      heard.push('rejects')
      throw new RangeError('rejected')
    })
    session.subscribe(({ event, surfaceChange }) => heard.push(`${event.seq} ${surfaceChange.kind}`))
    const event = session.append('user/message', user('hi'), toAppend)
    expect(heard).toEqual(['throws', 'rejects', '0 append'])
    expect(session.eventAt(0)).toBe(event)
    await Promise.resolve()
    expect(errors.map(error => (error as Error).message)).toEqual(['thrown', 'rejected'])
    expect(session.append('turn/start', { turn: 1 }).seq).toBe(1)
  })

  it('[L10] a failing reporter and a broken thenable are contained', async () => {
    const session = Session.create({
      id: 'a',
      now: counter(),
      onListenerError: () => {
        throw new RangeError('reporter')
      },
    })
    const heard: string[] = []
    session.subscribe(() => {
      throw new RangeError('thrown')
    })
    session.subscribe(async () => Promise.reject(new RangeError('rejected')))
    session.subscribe(() => ({
      get then() {
        throw new RangeError('getter')
      },
    }))
    session.subscribe(() => ({
      then: () => {
        throw new RangeError('then')
      },
    }))
    session.subscribe(() => heard.push('last'))
    append(session, said('hi'))
    await Promise.resolve()
    expect(heard).toEqual(['last'])
    expect(append(session, said('again')).seq).toBe(1)
  })

  it('[L10, case 38] an append from inside a listener is refused, and the observers keep their order', () => {
    const errors: unknown[] = []
    const session = Session.create({ id: 'a', now: counter(), onListenerError: error => errors.push(error) })
    const heard: string[] = []
    session.subscribe(({ event }) => {
      heard.push(`first ${event.seq}`)
      append(session, said('inside'))
    })
    session.subscribe(({ event }) => heard.push(`second ${event.seq}`))
    append(session, said('a'))
    append(session, said('b'))
    expect(heard).toEqual(['first 0', 'second 0', 'first 1', 'second 1'])
    expect(errors).toEqual([
      refusal('reentrant', { seq: 1, eventType: 'user/message' }),
      refusal('reentrant', { seq: 2, eventType: 'user/message' }),
    ])
    expect(idsOf(session.messages)).toEqual(['u:a', 'u:b'])
  })

  it('[L10] the intent and the data are checked before re-entrancy, the payload and the surface after it', () => {
    const errors: unknown[] = []
    const session = Session.create({ id: 'a', now: counter(), onListenerError: error => errors.push(error) })
    for (const draft of [
      { type: 'turn/start', data: { turn: 1 }, surfaceOp: 'append' },
      { type: 'turn/start', data: { turn: NaN } },
      { type: 'turn/start', data: { turn: -1 } },
      over(said('x'), 9, 9, [9]),
    ]) {
      session.subscribe(() => append(session, draft))
    }
    append(session, said('a'))
    expect(errors.map(error => (error as { code: string }).code)).toEqual([
      'intent',
      'not-json',
      'reentrant',
      'reentrant',
    ])
  })

  it('[L10] a listener may append to another session', () => {
    const [one, two] = [newSession(), newSession()]
    one.subscribe(({ event }) => append(two, said(`copy of ${event.seq}`)))
    append(one, said('a'))
    expect(idsOf(two.messages)).toEqual(['u:copy of 0'])
  })

  it('[L10] a listener sees the event committed, with its place on the surface', () => {
    const session = newSession(said('a'), said('b'))
    const heard: unknown[] = []
    session.subscribe(({ event, surfaceChange }) => {
      expect(session.eventAt(event.seq)).toBe(event)
      heard.push(surfaceChange, [...session.surface.nodes], session.messages.length)
    })
    append(session, over(said('x'), 0, 1, [0, 1]))
    append(session, turnStart(1))
    expect(heard).toEqual([{ kind: 'replace', seq: 2, from: 0, to: 1 }, [2], 1, { kind: 'none' }, [2], 1])
  })

  it('[L10] a listener can be removed, and one added during a call hears the next event', () => {
    const session = newSession()
    const heard: string[] = []
    const remove = session.subscribe(({ event }) => {
      heard.push(`a ${event.seq}`)
      if (event.seq === 0) session.subscribe(({ event }) => heard.push(`b ${event.seq}`))
    })
    append(session, said('0'))
    append(session, said('1'))
    remove()
    remove()
    append(session, said('2'))
    expect(heard).toEqual(['a 0', 'a 1', 'b 1', 'b 2'])
  })

  it('[L10] removing one subscription of a listener twice leaves its other one', () => {
    const session = newSession()
    let heard = 0
    const listener = (): number => (heard += 1)
    const remove = session.subscribe(listener)
    session.subscribe(listener)
    remove()
    remove()
    append(session, said('a'))
    expect(heard).toBe(1)
  })

  it(`[L10, ${scenario.case}] ${scenario.title}`, async () => {
    // given an empty session with listeners A (throws), B (records), C (appends at once), D (appends after an await)
    const errors: unknown[] = []
    const session = Session.create({ id: 'a', now: counter(), onListenerError: error => errors.push(error) })
    const recorded: number[] = []
    const failure = new RangeError('A')
    let answered = false
    session.subscribe(({ event }) => {
      if (event.seq === 0) throw failure
    })
    session.subscribe(({ event }) => recorded.push(event.seq))
    session.subscribe(({ event }) => event.seq === 0 && append(session, turnStart(2)))
    session.subscribe(async () => {
      await Promise.resolve()
      if (answered) return
      answered = true
      append(session, turnEnd(1))
    })
    // when one event is appended
    append(session, turnStart(1))
    // then
    expect(session.length).toBe(1)
    expect(recorded).toEqual([0])
    expect(errors).toEqual([failure, refusal('reentrant')])
    await new Promise(resolve => setTimeout(resolve))
    expect(storedEvents(session).map(({ type, seq }) => [type, seq])).toEqual([
      ['turn/start', 0],
      ['turn/end', 1],
    ])
    expect(errors).toHaveLength(2)
  })

  it('[L10] a constructor tells nobody', () => {
    const seed = log(said('a'))
    const session = Session.create({ id: 'a', now: counter(), seed, onListenerError: () => expect.unreachable() })
    session.subscribe(() => expect.unreachable())
    expect(session.length).toBe(2)
  })
})

describe('seeds', () => {
  const turn = [turnStart(1), said('hi'), answered('hello'), turnEnd(1)]
  const create = (seed: readonly SessionEvent[] | undefined, more: object = {}): Session =>
    Session.create({ id: 'a', now: () => 77, ...(seed === undefined ? {} : { seed }), ...more })

  it('[R6, case 46] none leaves an empty log', () => {
    const session = create(undefined)
    expect([session.length, session.firstLiveSeq]).toEqual([0, 0])
  })

  it('[R6, case 46] an empty seed gets its mark, and a seed that ends in one gets none', () => {
    const session = create([])
    expect(storedEvents(session)).toEqual([{ type: 'session/end-seed', seq: 0, time: 77, data: {} }])
    expect(session.firstLiveSeq).toBe(0)
    expect(Object.isFrozen(session.eventAt(0)) && Object.isFrozen(session.eventAt(0)?.data)).toBe(true)
    const again = create(storedEvents(session))
    expect([again.length, again.firstLiveSeq]).toEqual([1, 1])
    const restoredAgain = restored(storedEvents(again))
    expect([restoredAgain.length, restoredAgain.firstLiveSeq]).toEqual([1, 1])
  })

  it('[R6, case 47] a closed turn is copied and marked, and derives the same', () => {
    const original = newSession(...turn)
    const session = create(storedEvents(original))
    expect(session.length).toBe(5)
    expect(session.firstLiveSeq).toBe(4)
    expect(session.eventAt(4)).toEqual({ type: 'session/end-seed', seq: 4, time: 77, data: {} })
    expect(session.deriveMessages()).toEqual(original.deriveMessages())
    expect(append(session, turnStart(2)).seq).toBe(5)
  })

  it('[R6] a mark in the middle does not count as one at the end', () => {
    const [mark] = storedEvents(create([])) as [SessionEvent]
    const session = create([mark, { ...(log(said('a'))[0] as SessionEvent), seq: 1 as never }])
    expect(storedEvents(session).map(({ type }) => type)).toEqual([
      'session/end-seed',
      'user/message',
      'session/end-seed',
    ])
  })

  it('[L4, case 33] the seed is copied and frozen; getters are read once, slots too', () => {
    const events = log(...turn)
    let reads = 0
    const [first, ...rest] = events as [SessionEvent, ...SessionEvent[]]
    const data = Object.defineProperty({}, 'turn', { enumerable: true, get: () => (reads++ === 0 ? 1 : 1n) })
    const seed = [{ ...first, data }, ...rest] as SessionEvent[]
    let slots = 0
    Object.defineProperty(seed, 1, { enumerable: true, get: () => (slots++ === 0 ? rest[0] : undefined) })
    const session = create(seed)
    expect([reads, slots]).toEqual([1, 1])
    expect(session.eventAt(0)?.data).toEqual({ turn: 1 })
    expect(session.eventAt(1)).not.toBe(rest[0])
    expect(session.eventAt(1)).toEqual(rest[0])
    expect(Object.isFrozen(rest[0])).toBe(false)
    expect(Object.isFrozen((session.eventAt(1) as EventOf<'user/message'>).data.content)).toBe(true)
  })

  it('[L1, case 45] a gap is refused with the index', () => {
    const [first, second] = log(said('a'), said('b')) as [SessionEvent, SessionEvent]
    const gap = { ...second, seq: 5 as never }
    expect(() => create([first, gap])).toThrow(refusal('seq', { index: 1, seq: 5 }))
    expect(() => restored([first, gap])).toThrow(refusal('seq', { index: 1, seq: 5 }))
    expect(() => create([second])).toThrow(refusal('seq', { index: 0 }))
  })

  it('[L1] a hole is refused', () => {
    const holey = log(said('a'), said('b'), said('c'))
    Reflect.deleteProperty(holey, 1)
    expect(() => create(holey)).toThrow(refusal('not-json', { index: 1 }))
    expect(() => restored(holey)).toThrow(refusal('envelope', { index: 1 }))
  })

  it('[L3] what JSON cannot carry is refused with index and path', () => {
    const bad = log(said('a'), { ...turnStart(1), data: { turn: 1, at: new Date(0) } })
    expect(() => create(bad)).toThrow(refusal('not-json', { index: 1, path: '$.data.at' }))
  })

  it('[L6] an unknown type is refused, unless it may be ignored; then it is kept as it is', () => {
    const unknown = { type: 'other/thing', data: null }
    expect(() => create(log(unknown))).toThrow(refusal('unknown-type', { index: 0, eventType: 'other/thing' }))
    expect(() => restored(log(unknown))).toThrow(refusal('unknown-type', { index: 0 }))
    const kept = { ...unknown, ignorable: true, surfaceOp: { any: [1] }, sourceEventSeqs: { x: 1 } }
    for (const session of [create(log(kept)), restored(log(kept))]) {
      expect(session.eventAt(0)).toEqual(log(kept)[0])
      expect(session.surface.nodes).toEqual([])
    }
  })

  it('[L6] a plugin event of a known type is kept', () => {
    const session = create(log({ type: 'session/title', data: { title: 'x' }, ignorable: true }))
    expect(session.eventAt(0)).toMatchObject({ ignorable: true, data: { title: 'x' } })
  })

  it('[L17] a refused seed leaves no trace in its events', () => {
    const events = log(said('a'), turnStart(-1))
    expect(() => create(events)).toThrow(refusal('payload'))
    expect(events.map(event => Object.isFrozen(event))).toEqual([false, false])
  })
})

describe('seeded sessions', () => {
  const seed = log(turnStart(1), said('hi'), turnEnd(1))
  const isSeeded = { header: { isSeeded: true, parentSession: 'parent' } }
  const create = (more: object): Session => Session.create({ id: 'child', now: () => 77, ...more })
  const restore = (events: readonly SessionEvent[], more: Partial<RestoreOptions> = {}): Session =>
    Session.fromRestore({ header: header({ isSeeded: true }), events, now: () => 78, ...more })

  it('[R6] a fresh fork is marked as inherited', () => {
    const session = create({ ...isSeeded, seed, inheritedEventCount: 3 })
    expect(session.eventAt(3)).toEqual({ type: 'session/end-seed', seq: 3, time: 77, data: { inherited: true } })
    expect([session.length, session.firstLiveSeq, session.inheritedEventCount]).toEqual([4, 3, 3])
    expect(session.header).toMatchObject({ isSeeded: true, parentSession: 'parent', version: 3, id: 'child' })
  })

  it('[R6] a fresh fork is marked even when the prefix ends in the mark of an ancestor', () => {
    const parent = storedEvents(create({ ...isSeeded, seed, inheritedEventCount: 3 }))
    const session = create({ ...isSeeded, seed: parent, inheritedEventCount: 4 })
    expect(storedEvents(session).slice(3)).toMatchObject([
      { type: 'session/end-seed', data: { inherited: true } },
      { type: 'session/end-seed', seq: 4, data: { inherited: true } },
    ])
  })

  it('[R6] a restored fork keeps its mark and gets a plain one at the end', () => {
    const stored = storedEvents(create({ ...isSeeded, seed, inheritedEventCount: 3 }))
    const same = restore(stored, { inheritedEventCount: 3 })
    expect([same.length, same.firstLiveSeq, same.inheritedEventCount]).toEqual([4, 4, 3])
    const live = append(same, said('more'))
    const again = restore([...stored, throughJson(live)], { inheritedEventCount: 3 })
    expect(again.length).toBe(6)
    expect(again.eventAt(5)).toEqual({ type: 'session/end-seed', seq: 5, time: 78, data: {} })
  })

  it.each<[string, object]>([
    ['a seeded header without a seed', isSeeded],
    ['a seeded header without a seed but with a count', { ...isSeeded, inheritedEventCount: 0 }],
    ['a seeded header without a count', { ...isSeeded, seed }],
    ['a count below the seed', { ...isSeeded, seed, inheritedEventCount: 2 }],
    ['a count beyond the seed', { ...isSeeded, seed, inheritedEventCount: 4 }],
    ['a negative count', { ...isSeeded, seed, inheritedEventCount: -1 }],
    ['a count on an unseeded header', { seed, inheritedEventCount: 3 }],
  ])('[L11] create refuses %s', (_name, options) => {
    expect(() => create(options)).toThrow(refusal('header'))
  })

  it('[L11] restore refuses a count beyond the log, none, and one on an unseeded header', () => {
    expect(() => restore(seed, { inheritedEventCount: 4 })).toThrow(refusal('header'))
    expect(() => restore(seed)).toThrow(refusal('header'))
    expect(() => restore(seed, { header: header(), inheritedEventCount: 1 })).toThrow(refusal('header'))
    expect(restore(seed, { header: header(), inheritedEventCount: 0 }).inheritedEventCount).toBe(0)
  })
})

describe('restore', () => {
  it('[L4, case 53] takes the events over: same objects, neither copied nor frozen', () => {
    const events = log(turnStart(1), said('hi'))
    const session = restored(events)
    expect(session.eventAt(0)).toBe(events[0])
    expect(session.eventAt(1)).toBe(events[1])
    expect(session.deriveMessages()[0]).toBe(events[1]?.data)
    expect(events.map(event => Object.isFrozen(event) || Object.isFrozen(event.data))).toEqual([false, false])
    expect(events).toHaveLength(2)
    append(session, said('more'))
    expect(events).toHaveLength(2)
  })

  it('[L11] freezes the header in place', () => {
    const given = header({ cwd: '/home' })
    const session = Session.fromRestore({ header: given, events: [], now: counter() })
    expect(session.header).toBe(given)
    expect(Object.isFrozen(given)).toBe(true)
  })

  it('[R6] marks the end of what was restored', () => {
    const session = restored(log(said('a')))
    expect([session.firstLiveSeq, session.length]).toEqual([1, 2])
    expect(session.eventAt(1)).toMatchObject({ type: 'session/end-seed', data: {} })
  })

  it('[L15] brings every fold to where the live session was', () => {
    const live = newSession(turnStart(1), stepStart(1, 1), prompted('p'), headed(), said('hi'), answered('yes'))
    const session = restored(storedEvents(live))
    expect(session.fold(turnsFold)).toEqual(live.fold(turnsFold))
    expect(session.fold(requestFold)).toEqual(live.fold(requestFold))
    const unknown: Fold<number> = {
      key: 'mine',
      version: 1,
      initial: () => 0,
      evolve: state => state,
      toJSON: state => state,
      fromJSON: () => 0,
    }
    expect(() => session.fold(unknown)).toThrow(refusal('registration'))
  })
})

describe('the header', () => {
  it('[L11] is made, snapshotted and frozen', () => {
    const given = { cwd: '/home', createdAt: 5 }
    const session = Session.create({ id: 'a', now: () => 9, header: given })
    given.cwd = 'changed'
    expect(session.header).toEqual({ version: 3, id: 'a', createdAt: 5, isSeeded: false, cwd: '/home' })
    expect(Object.isFrozen(session.header)).toBe(true)
    expect(Session.create({ id: 'a', now: () => 9 }).header).toEqual({
      version: 3,
      id: 'a',
      createdAt: 9,
      isSeeded: false,
    })
    expect(session.id).toBe('a')
  })

  it('[L11] keeps its version and id, whatever the options say', () => {
    const session = Session.create({ id: 'a', now: () => 9, header: { version: 2, id: 'b' } as never })
    expect(session.header).toMatchObject({ version: 3, id: 'a' })
  })

  it.each<[string, object]>([
    ['an empty id', { id: '' }],
    ['an id that is no text', { id: 7 }],
    ['version 2', { version: 2 }],
    ['version 4', { version: 4 }],
    ['a version as text', { version: '3' }],
    ['no version', { version: undefined }],
    ['a negative createdAt', { createdAt: -1 }],
    ['a fractional createdAt', { createdAt: 1.5 }],
    ['−0 as createdAt', { createdAt: -0 }],
    ['no createdAt', { createdAt: undefined }],
    ['no isSeeded', { isSeeded: undefined }],
    ['isSeeded as a number', { isSeeded: 0 }],
    ['a cwd that is no text', { cwd: 1 }],
    ['a parent that is no text', { parentSession: null }],
    ['another origin', { origin: 'agent' }],
    ['a negative depth', { delegationDepth: -1 }],
    ['a preset that is no text', { agentPreset: {} }],
    ['the seedLength of older formats', { seedLength: 0 }],
    ['an undefined seedLength', { seedLength: undefined }],
  ])('[L11] restore refuses %s', (_name, change) => {
    const wrong = { ...header(), ...change } as SessionHeader
    expect(() => Session.fromRestore({ header: wrong, events: [], now: counter() })).toThrow(refusal('header'))
  })

  it.each([null, [], 'header', undefined])('[L11] restore refuses %j as header', wrong => {
    expect(() => Session.fromRestore({ header: wrong as never, events: [], now: counter() })).toThrow(refusal('header'))
  })

  it('[L8] restore takes a list of events and nothing else for one', () => {
    for (const events of [undefined, {}, '', 7]) {
      expect(() => Session.fromRestore({ header: header(), events: events as never, now: () => 1 })).toThrow(
        refusal('envelope'),
      )
    }
  })

  it('[L11] restore takes a header without prototype', () => {
    const bare = Object.assign(Object.create(null) as SessionHeader, header())
    expect(Session.fromRestore({ header: bare, events: [], now: counter() }).header).toBe(bare)
  })
})

describe('what a session hands out', () => {
  it('[L12] snapshots are frozen, kept until the next append, and never grow', () => {
    const session = newSession(said('a'), said('b'))
    const snapshot = session.snapshotEvents()
    expect(snapshot).toEqual([session.eventAt(0), session.eventAt(1)])
    expect(Object.isFrozen(snapshot)).toBe(true)
    expect(session.snapshotEvents()).toBe(snapshot)
    append(session, said('c'))
    expect(snapshot).toHaveLength(2)
    expect(session.snapshotEvents()).not.toBe(snapshot)
    expect(session.snapshotEvents()).toHaveLength(3)
  })

  it('[L12] a range of a snapshot is half-open and frozen', () => {
    const session = newSession(said('a'), said('b'), said('c'))
    expect(session.snapshotEvents(1, 2)).toEqual([session.eventAt(1)])
    expect(session.snapshotEvents(1)).toEqual([session.eventAt(1), session.eventAt(2)])
    expect(session.snapshotEvents(3)).toEqual([])
    expect(Object.isFrozen(session.snapshotEvents(1, 2))).toBe(true)
  })

  it('[S10, case 54] derived arrays never grow and share frozen messages', () => {
    const session = newSession(said('a'))
    const first = session.deriveMessages()
    append(session, said('b'))
    const second = session.deriveMessages()
    expect([first.length, second.length]).toEqual([1, 2])
    expect(second[0]).toBe(first[0])
    expect(second[0]).toBe(session.eventAt(0)?.data)
    expect(Object.isFrozen(first[0])).toBe(true)
    second.pop()
    expect(session.deriveMessages()).toHaveLength(2)
  })

  it('[S10, case 55] after a replacement a derived array is as it was, and the new one is the replay', () => {
    const session = newSession(said('a'), answered('b'), said('c'))
    const before = session.deriveMessages()
    append(session, over(said('x'), 0, 1, [0, 1]))
    expect(idsOf(before)).toEqual(['u:a', 'a:b', 'u:c'])
    expect(session.deriveMessages()).toEqual(restored(storedEvents(session)).deriveMessages())
    expect(idsOf(session.deriveMessages())).toEqual(['u:x', 'u:c'])
  })

  it('[S11] messages are the same sequence until the surface changes', () => {
    const session = newSession(said('a'))
    const { messages } = session
    append(session, turnStart(1))
    append(session, called('c'))
    expect(session.messages).toBe(messages)
    append(session, said('b'))
    expect(session.messages).not.toBe(messages)
    expect([messages.length, session.messages.length]).toEqual([1, 2])
  })

  it('[S5] nodes are a frozen copy, kept until the surface changes', () => {
    const session = newSession(said('a'), said('b'))
    const { nodes } = session.surface
    expect(Object.isFrozen(nodes)).toBe(true)
    append(session, turnStart(1))
    expect(session.surface.nodes).toBe(nodes)
    append(session, over(said('x'), 1, 1, [1]))
    expect([nodes, session.surface.nodes]).toEqual([
      [0, 1],
      [0, 3],
    ])
    append(session, over(said('y'), 0, 3, [0, 3]))
    append(session, said('z'))
    expect(session.surface.nodes).toEqual([4, 5])
  })
})

describe('laws', () => {
  it.each([
    ['any admissible log', surfaceLog],
    ['a log of the loop', loopLog],
  ])('[L16] what append accepts, restore and seed accept after JSON, and derive alike: %s', (_name, generate) => {
    fc.assert(
      fc.property(choices, numbers => {
        const { drafts, nodes } = generate(numbers)
        const live = newSession(...drafts)
        const stored = storedEvents(live)
        expect(live.surface.nodes).toEqual(nodes)
        for (const session of [restored(stored), Session.create({ id: 'b', now: counter(), seed: stored })]) {
          expect(session.deriveMessages()).toEqual(live.deriveMessages())
          expect(session.surface.nodes).toEqual(live.surface.nodes)
          expect(session.surface.contentGeneration).toBe(live.surface.contentGeneration)
          expect(session.fold(turnsFold)).toEqual(live.fold(turnsFold))
          expect(storedEvents(session).slice(0, stored.length)).toEqual(stored)
          expect(session.length).toBe(stored.length + 1)
        }
      }),
      { numRuns: 50 },
    )
  })

  it('[L16] what a seed refuses, append refuses, and the other way round', () => {
    const cut = fc.tuple(choices, fc.nat(), fc.nat(), fc.nat())
    fc.assert(
      fc.property(cut, ([numbers, at, start, end]) => {
        const { drafts } = surfaceLog(numbers)
        const prefix = drafts.slice(0, at % (drafts.length + 1))
        const length = prefix.length + 1
        const draft = over(said('x'), start % length, end % length, prefix.length === 0 ? [0] : [...prefix.keys()])
        const live = newSession(...prefix)
        const codeOf = (attempt: () => unknown): unknown => {
          try {
            attempt()
            return 'accepted'
          } catch (error) {
            return (error as { code: unknown }).code
          }
        }
        const code = codeOf(() => append(live, draft))
        expect(codeOf(() => restored(log(...prefix, draft)))).toBe(code)
        expect(codeOf(() => Session.create({ id: 'b', now: counter(), seed: log(...prefix, draft) }))).toBe(code)
      }),
    )
  })

  it('[S10, L15] at every event the live session is the replay of its log', () => {
    fc.assert(
      fc.property(choices, numbers => {
        const session = newSession()
        for (const draft of surfaceLog(numbers).drafts) {
          append(session, draft)
          if (session.length % 7 !== 0) continue
          const events = session.snapshotEvents()
          const folded = foldSurface(events)
          expect(session.surface.nodes).toEqual(folded.nodes)
          expect(session.deriveMessages()).toEqual(restored(storedEvents(session)).deriveMessages())
        }
      }),
      { numRuns: 50 },
    )
  })

  it('[T1] a generated log of the loop ends with every turn and step closed', () => {
    fc.assert(
      fc.property(choices, numbers => {
        const turns = newSession(...loopLog(numbers).drafts).fold(turnsFold)
        expect(turns).toMatchObject({ openTurn: null, openStep: null, pendingCalls: [] })
      }),
    )
    expect(loopLog([1, 1, 1, 1, 1, 1, 1]).drafts).toContainEqual(stepEnd(1, 1))
  })
})

describe('the largest numbers', () => {
  it('[L2] refuses a turn nothing could follow', () => {
    const session = Session.create({ id: 's', now: () => 1 })
    expect(() => session.append('turn/start', { turn: Number.MAX_SAFE_INTEGER })).toThrow(
      expect.objectContaining({ code: 'payload', path: '$.turn' }),
    )
    session.append('turn/start', { turn: Number.MAX_SAFE_INTEGER - 1 })
  })
})

describe('folds of its own', () => {
  const countingFold: Fold<number> = {
    key: 'counting',
    version: 1,
    initial: () => 0,
    evolve: state => state + 1,
    toJSON: state => state,
    fromJSON: json => json as number,
  }

  const types: Fold<readonly string[]> = {
    key: 'types',
    version: 1,
    initial: () => [],
    evolve: (state, { event }) => [...state, event.type],
    toJSON: state => state,
    fromJSON: json => json as string[],
  }

  it('[L15] a session has the folds it is made with, from its first event on, restored ones too', () => {
    const session = Session.create({ id: 's', now: () => 1, folds: [types] })
    expect(session.fold(types)).toEqual([])
    const seen: (readonly string[])[] = []
    session.subscribe(() => seen.push(session.fold(types)))
    session.append('turn/start', { turn: 1 })
    expect(() => session.append('turn/start', { turn: -1 })).toThrow()
    session.append('turn/end', { turn: 1, reason: { kind: 'completed' } })
    expect(seen).toEqual([['turn/start'], ['turn/start', 'turn/end']])
    const { header } = session
    const again = Session.fromRestore({ header, events: storedEvents(session), now: () => 1, folds: [types] })
    expect(again.fold(types)).toEqual(['turn/start', 'turn/end', 'session/end-seed'])
    expect(() => Session.create({ id: 's', now: () => 1 }).fold(types)).toThrow(refusal('registration'))
  })

  it('[L17] one that throws refuses the event: nothing has changed, other folds have not advanced', () => {
    const picky: Fold<number> = {
      ...types,
      key: 'picky',
      initial: () => 0,
      evolve: (state, { event }) => {
        if (event.type === 'turn/end') throw new TypeError('never ends')
        return state + 1
      },
      toJSON: state => state,
      fromJSON: json => json as number,
    }
    const session = Session.create({
      id: 's',
      now: () => 1,
      folds: [types, picky as Fold<unknown>, countingFold] as never,
    })
    const told: number[] = []
    session.subscribe(({ event }) => told.push(event.seq))
    append(session, turnStart(1))
    append(session, said('a'))
    const before = session.keyframe()
    const { messages } = session
    const end = () => append(session, turnEnd(1))
    expect(end).toThrow(refusal('fold', { seq: 2, eventType: 'turn/end' }))
    expect(end).toThrow(/could not be folded by picky/)
    expect(session.keyframe()).toEqual(before)
    expect([session.length, session.messages, session.eventAt(2)]).toEqual([2, messages, undefined])
    expect(append(session, said('b')).seq).toBe(2)
    expect(told).toEqual([0, 1, 2])
    expect(session.fold(countingFold)).toBe(3)
    expect(() =>
      Session.create({ id: 's', now: () => 1, folds: [picky as Fold<unknown>], seed: log(turnEnd(1)) }),
    ).toThrow(refusal('fold', { index: 0 }))
  })

  it('[L15] refuses two folds of one key', () => {
    for (const folds of [[types, types], [{ ...types, key: 'turns' }]]) {
      expect(() => Session.create({ id: 's', now: () => 1, folds })).toThrow(refusal('registration'))
    }
  })
})
