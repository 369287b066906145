import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { expandStream } from '../core/stream-records.ts'
import { FormatError } from './errors.ts'
import {
  answer,
  delta,
  type Entry,
  endSeed,
  finish,
  logOf,
  queued,
  runMigration,
  type MigrationRun,
  stepEnd,
  stepStart,
  todo,
  turnEnd,
  turnStart,
  user,
  userMessage,
} from './migration-kit.ts'
import type { StoredEvent, StoredHeader } from './stored.ts'
import { v1ToV2 } from './v1-to-v2.ts'

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')
const v1 = (more: object = {}): StoredHeader => ({ version: 1, id: 's', createdAt: 900, delegationDepth: 0, ...more })

const run = (entries: readonly Entry[], header: object = {}, mayRepair = false): MigrationRun =>
  runMigration(v1ToV2, { header: v1(header), events: logOf(...entries), sha256, mayRepair })

const refusal = (entries: readonly Entry[], header: object = {}, mayRepair = false): FormatError => {
  try {
    run(entries, header, mayRepair)
  } catch (error) {
    if (error instanceof FormatError) return error
    throw error
  }
  throw new Error('nothing was refused')
}

/** Type, seq and time of each event. */
const outline = ({ events }: MigrationRun): readonly string[] =>
  events.map(({ type, seq, time }) => `${seq} ${type} @${time}`)
const textOf = (event: StoredEvent | undefined): string => {
  const { stream } = event?.data as { stream: unknown }
  return expandStream(stream)
    .map(({ chunk }) => ('text' in chunk ? chunk.text : chunk.type))
    .join('|')
}
const cites = (...sourceEventSeqs: number[]): Partial<StoredEvent> => ({ sourceEventSeqs })
const open = [turnStart(), stepStart()]
const close = [stepEnd(), turnEnd()]
const retry: Entry = ['llm/retry', { turn: 1, step: 1 }]
const retryStarted: Entry = ['llm/retry-started', { turn: 1, step: 1 }]

describe('records of delivery', () => {
  const delivered = (data: object): Entry => ['session-log-deepseek/delivery-accepted', { throughSeq: 0, ...data }]

  it('[F5] of version 1 name this session, unless they are inherited', () => {
    const foreign = delivered({ sessionId: 'other', sessionFormatVersion: 1 })
    expect(refusal([foreign])).toMatchObject({ code: 'delivery', seq: 0, path: '$.sessionId' })
    expect(run([foreign, todo], { seedLength: 1 }).events[0]?.type).toBe(foreign[0])
    // Others are looked at by the migration of their version.
    for (const data of [{ sessionId: 's', sessionFormatVersion: 1 }, { sessionId: 'other' }]) {
      expect(run([delivered(data)]).events).toHaveLength(1)
    }
  })
})

describe('retries', () => {
  it('[F5] settle the attempt before them when they are planned, and when they start', () => {
    const late = delta('late')
    const done = run([...open, delta('early'), retry, late, retryStarted, delta('new'), finish(), ...close])
    expect(outline(done).map(line => line.split(' ')[1])).toEqual([
      'turn/start',
      'step/start',
      'assistant/attempt',
      'llm/retry',
      'assistant/attempt',
      'llm/retry-started',
      'assistant/attempt',
      'step/end',
      'turn/end',
    ])
    expect([2, 4, 6].map(seq => textOf(done.events[seq]))).toEqual(['early', 'late', 'new|finish'])
  })
})

describe('chunks', () => {
  it('[F5] move into the message that cites exactly them, with their times and every boundary', () => {
    const entries = [...open, delta('a'), delta(''), delta('b'), finish(), answer('m', {}, cites(2, 3, 4, 5)), ...close]
    const result = run(entries)
    expect(outline(result)).toEqual([
      '0 turn/start @1000',
      '1 step/start @1010',
      '2 assistant/message @1060',
      '3 step/end @1070',
      '4 turn/end @1080',
    ])
    const message = result.events[2] as StoredEvent
    expect(Object.keys(message)).toEqual(['type', 'seq', 'time', 'data', 'surfaceOp'])
    expect(message.data).toMatchObject({
      stream: [
        { type: 'text-chunks', time0: 1020, index: 0, dt: [10, 10], texts: ['a', '', 'b'] },
        { type: 'chunk', time: 1050, chunk: { type: 'finish', reason: { kind: 'stop' } } },
      ],
    })
    expect(Object.keys(message.data as object).at(-1)).toBe('stream')
    expect(result.map).toEqual([0, 1, null, null, null, null, 2, 3, 4])
  })

  it('[F5, case 121] of a failed attempt become one attempt, at the time and place of the last one', () => {
    const result = run([...open, delta('p'), delta('q'), todo, ...close])
    expect(outline(result).slice(2)).toEqual([
      '2 assistant/attempt @1030',
      '3 todo/write @1040',
      '4 step/end @1050',
      '5 turn/end @1060',
    ])
    expect(result.events[2]).toEqual({
      type: 'assistant/attempt',
      seq: 2,
      time: 1030,
      data: { turn: 1, step: 1, stream: [{ type: 'text-chunks', time0: 1020, index: 0, dt: [10], texts: ['p', 'q'] }] },
    })
    expect(result.origins).toEqual([0, 1, 3, 4, 5, 6])
    expect(result.map).toEqual([0, 1, null, null, 3, 4, 5])
  })

  it('[F5, case 122] before a retry are an attempt of their own; the message has only its own', () => {
    const entries = [...open, delta('p'), retry, retryStarted, delta('q'), answer('m', {}, cites(5)), ...close]
    const result = run(entries)
    expect(result.events.map(event => event.type).slice(2, 6)).toEqual([
      'assistant/attempt',
      'llm/retry',
      'llm/retry-started',
      'assistant/message',
    ])
    expect(textOf(result.events[2])).toBe('p')
    expect(textOf(result.events[5])).toBe('q')
  })

  it.each<[string, readonly Entry[]]>([
    ['the end of the step', [todo, stepEnd()]],
    ['the end of the turn', [todo, turnEnd()]],
    ['a retry', [todo, retry]],
    ['a retry that began', [todo, retryStarted]],
    ['the end of the log', [todo]],
    ['a chunk of another step', [todo, delta('z', 1, 2)]],
    ['a chunk of another turn', [todo, delta('z', 2, 1)]],
    ['a message of another step', [todo, answer('m', { step: 2 }, cites(77))]],
  ])('[F5] are settled by %s, before what came after them', (_name, entries) => {
    const result = run([...open, delta('a'), delta('b'), ...entries])
    expect(outline(result).slice(2, 4)).toEqual(['2 assistant/attempt @1030', '3 todo/write @1040'])
    expect(textOf(result.events[2])).toBe('a|b')
  })

  it('[F5] after a finish are the next attempt', () => {
    const result = run([...open, delta('a'), finish(), todo, delta('b'), answer('m', {}, cites(5)), ...close])
    expect(outline(result).slice(2, 5)).toEqual([
      '2 assistant/attempt @1030',
      '3 todo/write @1040',
      '4 assistant/message @1060',
    ])
    expect(textOf(result.events[4])).toBe('b')
  })

  it('[F5] leave what stands between them before the attempt they become', () => {
    const result = run([...open, delta('a'), todo, delta('b'), user('u'), ...close])
    expect(outline(result).slice(2, 5)).toEqual([
      '2 todo/write @1030',
      '3 assistant/attempt @1040',
      '4 user/message @1050',
    ])
    expect(textOf(result.events[3])).toBe('a|b')
  })

  it.each<[string, Entry]>([
    ['no list', answer('m')],
    ['an empty list', answer('m', {}, cites())],
  ])('[F5] are none for a message with %s and nothing before it', (_name, entry) => {
    const { events } = run([...open, entry])
    expect(events[2]?.data).toMatchObject({ stream: [] })
    expect(events[2]).not.toHaveProperty('sourceEventSeqs')
  })

  it('[F5] are an attempt where the message says it has none', () => {
    const result = run([...open, delta('a'), todo, answer('m', {}, cites())])
    expect(outline(result).slice(2)).toEqual([
      '2 assistant/attempt @1020',
      '3 todo/write @1030',
      '4 assistant/message @1040',
    ])
    expect(result.events[4]?.data).toMatchObject({ stream: [] })
  })

  it.each<[string, readonly Entry[]]>([
    ['cites none of them', [delta('a'), answer('m')]],
    ['cites some of them', [delta('a'), delta('b'), answer('m', {}, cites(2))]],
    ['cites them in another order', [delta('a'), delta('b'), answer('m', {}, cites(3, 2))]],
    ['cites more than them', [delta('a'), answer('m', {}, cites(1, 2))]],
    ['cites those of a settled attempt', [delta('a'), retry, answer('m', {}, cites(2))]],
    ['cites no list', [delta('a'), answer('m', {}, { sourceEventSeqs: '2' })]],
    ['cites chunks that are not there', [answer('m', {}, cites(1))]],
  ])('[F5, case 123] refuse a message that %s', (_name, entries) => {
    const error = refusal([...open, ...entries])
    expect(error).toMatchObject({ code: 'stream', eventType: 'assistant/message', seq: entries.length + 1 })
  })

  it('[F5, case 123] cannot be referred to once they are part of something', () => {
    const settled = refusal([...open, delta('a'), stepEnd(), user('u', {}, cites(2))])
    expect(settled).toMatchObject({ code: 'reference', seq: 4, path: 'sourceEventSeqs[0]' })
    const held = refusal([...open, delta('a'), ['session/title', { messageSeqs: [2] }], stepEnd()])
    expect(held).toMatchObject({ code: 'reference', seq: 3, path: '$.messageSeqs[0]' })
  })

  it.each<[string, Entry, object]>([
    ['ignorable', ['assistant/chunk', delta('a')[1], { ignorable: true }], { code: 'envelope', path: 'ignorable' }],
    ['a surfaceOp', ['assistant/chunk', delta('a')[1], { surfaceOp: 'append' }], { code: 'envelope' }],
    ['a time between two ms', ['assistant/chunk', delta('a')[1], { time: 0.5 }], { code: 'envelope', path: 'time' }],
    ['a surplus member', ['assistant/chunk', { turn: 1, step: 1, chunk: {}, x: 1 }], { code: 'payload', path: '$.x' }],
    ['no turn', ['assistant/chunk', { step: 1, chunk: {} }], { code: 'payload', path: '$.turn' }],
    ['a step that is none', ['assistant/chunk', { turn: 1, step: '1', chunk: {} }], { code: 'payload' }],
    ['a chunk that is a list', ['assistant/chunk', { turn: 1, step: 1, chunk: [] }], { path: '$.chunk' }],
    ['no payload', ['assistant/chunk', null], { code: 'payload', path: '$' }],
  ])('[F5] are exactly that: refuses one with %s', (_name, entry, facts) => {
    expect(refusal([...open, entry])).toMatchObject({ seq: 2, ...facts })
  })

  it('[F5] of unknown kinds and broken deltas are kept as they came', () => {
    const chunks = [{ type: 'weird', x: [1] }, {}, { type: 'text-delta', index: -1, text: 4 }]
    const entries = chunks.map((chunk): Entry => ['assistant/chunk', { turn: 1, step: 1, chunk }])
    const { events } = run([...open, ...entries])
    const { stream } = events[2]?.data as { stream: unknown }
    expect(expandStream(stream).map(({ chunk }) => chunk)).toEqual(chunks)
  })

  it('[F5] refuses a message that has a stream already, or no payload', () => {
    expect(refusal([...open, answer('m', { stream: [] })])).toMatchObject({ code: 'payload', path: '$.stream' })
    expect(refusal([...open, ['assistant/message', [], {}]])).toMatchObject({ code: 'payload', path: '$' })
  })
})

describe('renumbering', () => {
  it('[F5] is dense and moves every reference, and changes no other event', () => {
    const entries = [
      ...open,
      user('u'),
      delta('a'),
      answer('m', {}, cites(3)),
      user('v', {}, { sourceEventSeqs: [2, 4], surfaceOp: { op: 'replace', start: 2, end: 4 } }),
      ['session/title', { messageSeqs: [2, 5] }],
    ] satisfies Entry[]
    const events = logOf(...entries)
    const result = runMigration(v1ToV2, { header: v1(), events, sha256 })
    expect(result.events[0]).toBe(events[0])
    expect(result.events[2]).toBe(events[2])
    expect(result.events[4]).toMatchObject({ sourceEventSeqs: [2, 3], surfaceOp: { op: 'replace', start: 2, end: 3 } })
    expect(result.events[5]?.data).toEqual({ messageSeqs: [2, 4] })
    expect(result.events.map(event => event.seq)).toEqual([0, 1, 2, 3, 4, 5])
  })

  it('[F5] refuses an operation whose keys upstream lets vanish', () => {
    const surfaceOp = { op: 'replace', start: 2, end: 2, note: 1 }
    expect(refusal([...open, user('u'), user('v', {}, { surfaceOp })])).toMatchObject({ code: 'surface-op', seq: 3 })
  })
})

describe('header', () => {
  it('[F5] says whether the session is seeded, in the place of the length', () => {
    const plain = v1ToV2.header({
      version: 1,
      id: 's',
      createdAt: 1,
      cwd: '/',
      delegationDepth: 0,
      agentPreset: 'code',
    })
    expect(JSON.stringify(plain)).toBe(
      '{"version":2,"id":"s","createdAt":1,"cwd":"/","isSeeded":false,"delegationDepth":0,"agentPreset":"code"}',
    )
    const seeded = v1ToV2.header({ version: 1, id: 's', createdAt: 1, seedLength: 0, parentSession: 'p' })
    expect(JSON.stringify(seeded)).toBe('{"version":2,"id":"s","createdAt":1,"isSeeded":true,"parentSession":"p"}')
    expect(v1ToV2.header({ version: 1, id: 's', createdAt: 1 })['isSeeded']).toBe(false)
  })
})

describe('the cut', () => {
  const log = [...open, delta('a'), delta('b'), todo, answer('m', {}, cites(2, 3)), ...close]

  it('[F5] tags the end of the seed that stands exactly there', () => {
    const result = run([turnStart(), turnEnd(), endSeed(), turnStart(2)], { seedLength: 2 })
    expect(outline(result)[2]).toBe('2 session/end-seed @1020')
    expect(result.events[2]?.data).toEqual({ inherited: true })
    expect(result.events).toHaveLength(4)
    expect(result.inherited).toBe(2)
  })

  it('[F5] gets a marker of its own elsewhere, at the time of what comes next', () => {
    const result = run([turnStart(), turnEnd(), turnStart(2), endSeed()], { seedLength: 2 })
    expect(outline(result)).toEqual([
      '0 turn/start @1000',
      '1 turn/end @1010',
      '2 session/end-seed @1020',
      '3 turn/start @1020',
      '4 session/end-seed @1030',
    ])
    expect(result.events[2]?.data).toEqual({ inherited: true })
    expect(result.events[4]?.data).toEqual({})
    expect(result.origins).toEqual([0, 1, 2, 2, 3])
    expect(result.map).toEqual([0, 1, 3, 4])
    expect(result.inherited).toBe(2)
  })

  it('[F5] at the end has the last time, or that of the log', () => {
    const result = run([turnStart(), turnEnd()], { seedLength: 2 })
    expect(outline(result)[2]).toBe('2 session/end-seed @1010')
    expect(result.inherited).toBe(2)
    const empty = run([], { seedLength: 0 })
    expect(outline(empty)).toEqual(['0 session/end-seed @900'])
    expect(empty.inherited).toBe(0)
  })

  it.each([
    [0, 0, ['0 session/end-seed @1000', '1 turn/start @1000', '2 step/start @1010']],
    [1, 1, ['0 turn/start @1000', '1 session/end-seed @1010', '2 step/start @1010']],
    [2, 2, ['1 step/start @1010', '2 session/end-seed @1040', '3 todo/write @1040']],
    [6, 4, ['3 assistant/message @1050', '4 session/end-seed @1060', '5 step/end @1060']],
    [7, 5, ['4 step/end @1060', '5 session/end-seed @1070', '6 turn/end @1070']],
    [8, 6, ['5 turn/end @1070', '6 session/end-seed @1070']],
  ])('[F5] before seq %i is before seq %i of the newer log', (seedLength, cut, part) => {
    const result = run(log, { seedLength })
    expect(result.inherited).toBe(cut)
    expect(outline(result)).toEqual(expect.arrayContaining(part))
    expect(result.events.filter(({ type }) => type === 'session/end-seed')).toHaveLength(1)
  })

  it.each([3, 4, 5])('[F5, case 123] refuses to split an answer at seq %i', seedLength => {
    expect(refusal(log, { seedLength })).toMatchObject({ code: 'inherited-cut' })
  })

  it('[F5] between an attempt nobody claims and what comes next splits nothing', () => {
    for (const entry of [todo, delta('z', 1, 2), retry, answer('m', {}, cites()), endSeed()]) {
      const result = run([...open, delta('a'), entry, ...close], { seedLength: 3 })
      expect(outline(result).slice(2, 4)).toEqual(['2 assistant/attempt @1020', '3 session/end-seed @1030'])
      expect(result.inherited).toBe(3)
    }
  })

  it('[F5] refuses one beyond the log, one that is no length, and one that others know better', () => {
    expect(refusal([turnStart()], { seedLength: 2 })).toMatchObject({ code: 'inherited-cut' })
    expect(refusal([], { seedLength: -1 })).toMatchObject({ code: 'header', path: '$.seedLength' })
    const end = (header: object, inherited: number) => () =>
      runMigration(v1ToV2, { header: v1(header), events: logOf(turnStart()), sha256, inherited })
    expect(end({ seedLength: 1 }, 0)).toThrow(FormatError)
    expect(end({}, 1)).toThrow(FormatError)
    expect(end({ seedLength: 1 }, 1)().inherited).toBe(1)
    expect(end({}, 0)().inherited).toBeNull()
  })

  it('[F5] refuses a marker that version 1 cannot have', () => {
    expect(refusal([endSeed({ inherited: true })])).toMatchObject({ code: 'payload', seq: 0 })
    expect(refusal([endSeed({ x: 1 })], { seedLength: 0 })).toMatchObject({ code: 'payload', seq: 0 })
  })
})

describe('what old builds left undone', () => {
  it('[F5, case 125] ends a turn that the next one, queued just before, began inside of', () => {
    const result = run([turnStart(), queued([userMessage('x')]), turnStart(2)])
    expect(outline(result)).toEqual([
      '0 turn/start @1000',
      '1 agent/inbox/spliced @1010',
      '2 turn/end @1020',
      '3 turn/start @1020',
    ])
    expect(result.events[2]?.data).toEqual({ turn: 1, reason: { kind: 'interrupted' } })
    expect(result.map).toEqual([0, 1, 3])
    expect(result.origins).toEqual([0, 1, 2, 2])
  })

  it.each<[string, readonly Entry[]]>([
    ['nothing was queued', [turnStart(), turnStart(2)]],
    ['an empty list was queued', [turnStart(), queued([]), turnStart(2)]],
    ['it was queued for the next step', [turnStart(), queued([{}], 'next-step'), turnStart(2)]],
    ['something stands between', [turnStart(), queued([{}]), todo, turnStart(2)]],
    ['a chunk stands between', [turnStart(), queued([{}]), delta('a'), turnStart(2)]],
    ['a step is open', [turnStart(), stepStart(), queued([{}]), turnStart(2)]],
    ['the number is not the next', [turnStart(), queued([{}]), turnStart(3)]],
    ['the open turn has no number', [['turn/start', {}], queued([{}]), turnStart(2)]],
  ])('[F5, case 125] refuses any other turn inside a turn: %s', (_name, entries) => {
    expect(refusal(entries)).toMatchObject({ code: 'order', eventType: 'turn/start', seq: entries.length - 1 })
  })

  it('[F5] settles chunks before the turn it ends, and keeps a cut there before that end', () => {
    const settled = run([turnStart(), delta('a'), queued([{}]), turnStart(2), delta('b')])
    expect(settled.events.map(({ type }) => type)).toEqual([
      'turn/start',
      'assistant/attempt',
      'agent/inbox/spliced',
      'turn/end',
      'turn/start',
      'assistant/attempt',
    ])
    const cut = run([turnStart(), queued([{}]), turnStart(2)], { seedLength: 2 })
    expect(outline(cut).slice(2)).toEqual(['2 session/end-seed @1020', '3 turn/end @1020', '4 turn/start @1020'])
    expect(cut.inherited).toBe(2)
  })

  it('[F5] leaves a turn open that the log ends in', () => {
    expect(run([...open, user('u')]).events).toHaveLength(3)
  })

  it('[F5] takes the change of a goal out of the message about it', () => {
    const change = { kind: 'goal/change', version: 1, operation: 'create' }
    const source = { kind: 'goal', goalId: 'g', revision: 1, round: 0, change }
    const result = run([...open, user('u', { source }), user('v', { source: { kind: 'goal', round: 1 } })])
    expect(outline(result).slice(2)).toEqual(['2 goal/change @1020', '3 user/message @1020', '4 user/message @1030'])
    expect(result.events[2]).toEqual({ type: 'goal/change', seq: 2, time: 1020, data: change })
    expect(result.events[3]?.data).toEqual(userMessage('u', { source: { kind: 'plugin', plugin: 'goal' } }))
    expect(result.events[4]?.data).toEqual(userMessage('v', { source: { kind: 'goal', round: 1 } }))
    expect(result.map).toEqual([0, 1, 3, 4])
    const error = refusal([...open, user('u', { source: { kind: 'goal', change: 3 } })])
    expect(error).toMatchObject({ code: 'payload', path: '$.source.change' })
  })
})

describe('unknown types', () => {
  const unknown: Entry = ['x/y', { sourceEventSeq: 99 }, { ignorable: true, sourceEventSeqs: 'opaque', surfaceOp: 4 }]

  it('[F5, case 123] are refused, even where they may be ignored', () => {
    expect(refusal([['x/y', {}]])).toMatchObject({ code: 'unknown-type', seq: 0 })
    expect(refusal([unknown])).toMatchObject({ code: 'unknown-type', seq: 0 })
    expect(refusal([['assistant/attempt', {}]], {}, true)).toMatchObject({ code: 'unknown-type' })
  })

  it('[F5] that may be ignored are carried over untouched where repair is allowed', () => {
    const result = run([...open, delta('a'), unknown, ...close], {}, true)
    expect(result.events[3]).toEqual({ ...logOf(unknown)[0], seq: 3, time: 1030 })
    expect(result.repairs).toMatchObject([{ code: 'kept-verbatim', seq: 3 }])
    expect(refusal([['x/y', {}]], {}, true)).toMatchObject({ code: 'unknown-type' })
  })
})

describe('any log', () => {
  const number = fc.integer({ min: 1, max: 2 })
  const entry: fc.Arbitrary<Entry> = fc.oneof(
    { weight: 6, arbitrary: fc.tuple(fc.string(), number).map(([text, step]) => delta(text, 1, step)) },
    fc.constant(finish()),
    fc.constant(todo),
    fc.constant(retry),
    fc.constant(user('u')),
    number.map(step => answer('m', { step }, cites())),
    fc.constantFrom(stepStart(), stepEnd(), endSeed(), turnEnd()),
  )

  it('[F5] has every chunk once, with its time, in order, and dense seqs', () => {
    fc.assert(
      fc.property(fc.array(entry, { maxLength: 30 }), fc.array(fc.integer(), { maxLength: 30 }), (entries, times) => {
        const events = logOf(...entries).map((event, at) => ({ ...event, time: times[at] ?? event.time }))
        const text = JSON.stringify(events)
        const result = runMigration(v1ToV2, { header: v1(), events, sha256 })
        expect(result.events.map(event => event.seq)).toEqual([...result.events.keys()])
        const expected = events
          .filter(({ type }) => type === 'assistant/chunk')
          .map(({ time, data }) => ({ time, chunk: (data as { chunk: unknown }).chunk }))
        const streams = result.events.map(({ data }) => (data as { stream?: unknown }).stream ?? [])
        expect(streams.flatMap(stream => expandStream(stream))).toEqual(expected)
        const others = events.filter(({ type }) => type !== 'assistant/chunk')
        const kept = result.events.filter(({ type }) => type !== 'assistant/attempt')
        expect(kept.map(({ type, time }) => [type, time])).toEqual(others.map(({ type, time }) => [type, time]))
        expect(JSON.stringify(events)).toBe(text)
      }),
      { numRuns: 200 },
    )
  })

  it('[F5] of hostile payloads gives nothing but FormatErrors, and changes no input', () => {
    const types = ['assistant/chunk', 'assistant/message', 'turn/start', 'agent/inbox/spliced', 'session/end-seed']
    const hostile = fc.tuple(fc.constantFrom(...types, 'user/message', 'step/end', 'x'), fc.json(), fc.json())
    fc.assert(
      fc.property(fc.array(fc.oneof(hostile, entry), { maxLength: 12 }), fc.boolean(), (entries, mayRepair) => {
        const log = entries.map((each): Entry => {
          const [type, data, sources] = each
          if (typeof data !== 'string') return each as Entry
          return [type, JSON.parse(data), { sourceEventSeqs: JSON.parse(sources as string) as unknown }]
        })
        const text = JSON.stringify(log)
        try {
          run(log, { seedLength: 3 }, mayRepair)
        } catch (error) {
          expect(error).toBeInstanceOf(FormatError)
        }
        expect(JSON.stringify(log)).toBe(text)
      }),
      { numRuns: 200 },
    )
  })

  it('[F5] may hold payloads of any depth and own __proto__', () => {
    const deep: unknown = JSON.parse(`${'['.repeat(5000)}${']'.repeat(5000)}`)
    const proto: unknown = JSON.parse('{"turn":1,"step":1,"chunk":{"type":"x","__proto__":{"type":"finish"}}}')
    const result = run([...open, ['tool/result', { deep }, { surfaceOp: 'append' }], ['assistant/chunk', proto]])
    const attempt = JSON.stringify(result.events[3])
    expect(attempt).toContain('"__proto__":{"type":"finish"}')
  })
})
