/** Logs as text: lines, rows, torn tails and damage, before anything is known of a session. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { throughJson } from '../core/builders.ts'
import type { StreamChunk } from '../core/events.ts'
import { expandStream, packStream, type TimedChunk } from '../core/stream-records.ts'
import { FormatError } from './errors.ts'
import { LogReader, type ReadLog } from './log-reader.ts'
import { SourceSeqs } from './source-seqs.ts'
import { catalogOf, migrationsFrom } from './versions.ts'

/** How much longer than usual to look (`CONTRIBUTING.md`). */
const FUZZ = Number(import.meta.env['PALIMPSEST_FUZZ'] ?? 1)

type Entry = readonly [type: string, data: unknown, more?: object]
const HEADER = { type: 'session', version: 0, id: 's', createdAt: 1, delegationDepth: 0 }
const V3 = { type: 'session', version: 3, id: 's', createdAt: 1, isSeeded: false, delegationDepth: 0 }

const turnStart = (turn = 1): Entry => ['turn/start', { turn }]
const turnEnd = (turn = 1): Entry => ['turn/end', { turn, reason: { kind: 'completed' } }]
const stepStart: Entry = ['step/start', { turn: 1, step: 1 }]
const stepEnd: Entry = ['step/end', { turn: 1, step: 1 }]
const said = (text = 'hi', more: object = {}): Entry => [
  'user/message',
  { id: `u:${text}`, role: 'user', content: [{ type: 'text', text }], source: { kind: 'user' } },
  { surfaceOp: 'append', ...more },
]
/** Rows with the seqs they should have. */
const rows = (...entries: readonly Entry[]): object[] =>
  entries.map(([type, data, more], seq) => ({ type, seq, time: 10 + seq, data, ...more }))

type Lines = readonly (object | string | null)[]
const lineOf = (line: object | string | null): string | null =>
  typeof line === 'object' && line !== null ? JSON.stringify(line) : line

type Options = { readonly mode?: 'strict' | 'recoverable'; readonly rest?: string; readonly damage?: string }
function read(lines: Lines, { mode = 'strict', rest = '', damage }: Options = {}): ReadLog & { reader: LogReader } {
  const reader = new LogReader({ mode, sha256: text => `hash of ${text}` })
  for (const line of lines) reader.line(lineOf(line))
  return { ...reader.end(rest, damage === undefined ? null : { what: damage, isTorn: true }), reader }
}
const refusal = (lines: Lines, options?: Options): FormatError => {
  try {
    read(lines, options)
  } catch (error) {
    if (error instanceof FormatError) return error
    throw error
  }
  return expect.fail('The log was read')
}
const typesOf = ({ events }: ReadLog): string[] => events.map(({ type }) => type)
const at = (seq: number, [type, data]: Entry) => ({ type, seq, time: 99, data })
const closed = rows(turnStart(), stepStart, said(), stepEnd, turnEnd())

describe('header', () => {
  it('[F3] a newer version is refused before its shape is looked at, and no event is read', () => {
    for (const header of [
      { version: 4 },
      { ...V3, version: 4 },
      { version: 99, alien: [] },
      { type: 'x', version: 1e9 },
    ]) {
      expect(refusal([header, 'not JSON'])).toMatchObject({ code: 'newer-version', line: 1, actual: header.version })
    }
    expect(refusal([{ version: 99 }]).message).toContain('Nothing was changed')
  })

  it('[F3, case 113] a version 99 of a foreign shape, and a header that is no object', () => {
    expect(refusal([{ version: 99, events: [] }]).code).toBe('newer-version')
    for (const line of ['[]', 'null', '7', '"session"', 'not JSON', null])
      expect(refusal([line]).code).toBe('foreign-header')
  })

  it('[F3] what is wrong with a version is told apart', () => {
    expect(refusal([{ ...V3, version: '3' }]).code).toBe('malformed-version')
    expect(refusal([{ ...V3, version: null }]).code).toBe('malformed-version')
    expect(refusal([{ ...V3, version: -1 }]).code).toBe('no-route')
    expect(refusal([{ ...V3, version: 1.5 }]).code).toBe('no-route')
    expect(refusal([JSON.stringify(V3).replace('"version":3', '"version":-0')]).code).toBe('no-route')
    expect(refusal([{ ...V3, type: 'conversation' }]).code).toBe('foreign-header')
    expect(refusal([{ ...V3, type: undefined }]).code).toBe('foreign-header')
    expect(refusal([{ name: 'palimpsest' }]).code).toBe('foreign-header')
    expect(refusal([]).code).toBe('foreign-header')
    expect(refusal(['', '  ']).code).toBe('foreign-header')
  })

  it.each<[version: number, path: string, change: object]>([
    [3, '$.id', { id: '' }],
    [3, '$.id', { id: 7 }],
    [3, '$.createdAt', { createdAt: 1.5 }],
    [3, '$.createdAt', { createdAt: undefined }],
    [3, '$.isSeeded', { isSeeded: undefined }],
    [2, '$.isSeeded', { isSeeded: 'no' }],
    [3, '$.seedLength', { seedLength: 0 }],
    [0, '$.isSeeded', { isSeeded: false }],
    [0, '$.seedLength', { seedLength: -1 }],
    [1, '$.origin', { origin: 'me' }],
    [3, '$.cwd', { cwd: null }],
    [3, '$.delegationDepth', { delegationDepth: '0' }],
    [0, '$.delegationDepth', { delegationDepth: undefined }],
    [3, '$.extra', { extra: 1 }],
    [3, '$.__proto__', JSON.parse('{"__proto__":{"cwd":"/"}}') as object],
  ])('[F3] a header of version %i is checked: %s', (version, path, change) => {
    const base = version < 2 ? { ...HEADER, version } : { ...V3, version }
    const text = JSON.stringify(base).slice(0, -1)
    // Not by spreading: a `__proto__` is to arrive as it is written in a file.
    const merged = { ...base, ...change }
    const header = path === '$.__proto__' ? `${text},"__proto__":{"cwd":"/"}}` : merged
    expect(refusal([header])).toMatchObject({ code: 'header', line: 1, path })
  })

  it('[F10] members a version does not have are left out in recoverable mode, and listed', () => {
    const { header, repairs } = read([{ ...V3, extra: 1, seedLength: 2 }], { mode: 'recoverable' })
    expect(header).toEqual({ version: 3, id: 's', createdAt: 1, isSeeded: false, delegationDepth: 0 })
    expect(repairs).toMatchObject([{ code: 'header-member', line: 1 }, { code: 'header-member' }])
    const { delegationDepth: _depth, ...shallow } = V3
    expect(read([shallow], { mode: 'recoverable' }).repairs).toMatchObject([{ code: 'header-member', line: 1 }])
  })

  it('[F2] the migrations reach the current version without gap or branch', () => {
    expect(migrationsFrom(0).map(({ from, to }) => [from, to])).toEqual([
      [0, 1],
      [1, 2],
      [2, 3],
    ])
    expect(migrationsFrom(3)).toEqual([])
    const [one, two] = migrationsFrom(0)
    if (one === undefined || two === undefined) throw new Error('no steps')
    expect(catalogOf([two, one], 2)).toEqual([one, two])
    expect(() => catalogOf([one, one], 2)).toThrow('Expected a migration from 1 to 2')
    expect(() => catalogOf([two], 2)).toThrow('Expected a migration from 0 to 1')
    expect(() => catalogOf([one], 2)).toThrow('up to version 2')
  })
})

describe('lines', () => {
  it('[F8] a byte order mark, carriage returns and blank lines say nothing', () => {
    const [first, ...rest] = [HEADER, ...closed].map(line => `${JSON.stringify(line)}\r`)
    const { events, eventCount } = read([`\ufeff${first}`, '', ...rest, '   ', '\r'])
    expect(eventCount).toBe(5)
    expect(events).toEqual(read([HEADER, ...closed]).events)
  })

  it('[F8] a mark anywhere else is damage', () => {
    const marked = closed.map((row, index) => (index === 2 ? `\ufeff${JSON.stringify(row)}` : row))
    expect(refusal([HEADER, ...marked])).toMatchObject({ code: 'corrupt', line: 4, seq: 2 })
  })

  it('[F8] lines are counted as they stand in the file, blank ones and rows of several events too', () => {
    const row = {
      type: 'text-chunks',
      seq0: 2,
      time0: 5,
      data: { turn: 1, step: 1, index: 0, dt: [1, 1], texts: ['a', 'b', 'c'] },
    }
    const [start, step] = rows(turnStart(), stepStart)
    const bad = { type: 'demo/unknown', seq: 5, time: 1, data: {} }
    expect(refusal([HEADER, '', start as object, step as object, row, '', bad])).toMatchObject({ line: 7, seq: 5 })
    const { reader } = read([HEADER, '', start as object, step as object, row, '', '{'])
    expect([0, 1, 2, 3].map(seq => reader.originOf(seq))).toEqual([
      { seq: 0, line: 3 },
      { seq: 1, line: 4 },
      { seq: 1, line: 4 }, // the empty head, put beside the step
      { seq: 4, line: 5 }, // the attempt, where its last chunk was
    ])
  })

  it('[F8] a last line without newline is taken when it is good, and left out when it is not', () => {
    const rest = JSON.stringify(closed[4])
    const whole = read([HEADER, ...closed.slice(0, 4)], { rest })
    expect([whole.eventCount, whole.isUnterminated, whole.repairs]).toEqual([5, true, []])
    const torn = read([HEADER, ...closed.slice(0, 4)], { rest: rest.slice(0, -5) })
    expect([torn.eventCount, torn.isUnterminated]).toEqual([4, false])
    expect(torn.repairs).toMatchObject([{ code: 'torn-tail', line: 6, seq: 4 }])
    expect(read([], { rest: JSON.stringify(HEADER) })).toMatchObject({ eventCount: 0, isUnterminated: false })
  })

  it.each<[what: string, rest: object]>([
    ['a turn/end with another seq', at(99, turnEnd())],
    ['a type its version does not have', at(4, ['demo/x', {}])],
    ['a member more', { ...at(4, stepEnd), extra: 1 }],
  ])('[F8] a last line without newline that is %s is left out, and proves nothing', (_what, rest) => {
    const log = read([HEADER, ...closed.slice(0, 4)], { rest: JSON.stringify(rest) })
    expect([log.eventCount, log.isUnterminated]).toEqual([4, false])
    expect(log.repairs).toMatchObject([{ code: 'torn-tail', line: 6, seq: 4 }])
    expect(log.reader.seqMap()).toHaveLength(4)
  })

  it('[F8] nothing is taken from a line of a file that is known to go on', () => {
    const { eventCount, repairs } = read([HEADER, ...closed.slice(0, 4)], {
      rest: JSON.stringify(closed[4]),
      damage: 'The file ends in the middle of a zstd frame',
    })
    expect(eventCount).toBe(4)
    expect(repairs).toMatchObject([{ code: 'torn-tail', seq: 4, line: 6 }])
  })
})

const open = rows(turnStart(), stepStart, said(), stepEnd, turnEnd(), turnStart(2), [
  'step/start',
  { turn: 2, step: 1 },
])

describe('torn tails and damage', () => {
  it('[F8, case 110] rows after a gap are no part of the log', () => {
    const log = read([HEADER, at(0, turnStart()), at(2, stepStart)])
    expect(typesOf(log)).toEqual(['turn/start'])
    expect(log.repairs).toMatchObject([{ code: 'torn-tail', line: 3, seq: 1 }])
  })

  it('[F8, case 111] a later end of a turn proves that they were: then the log is damaged', () => {
    const lines = [HEADER, at(0, turnStart()), at(2, stepStart), at(3, turnEnd())]
    expect(refusal(lines)).toMatchObject({ code: 'corrupt', line: 3, seq: 1, expected: 1, actual: 2 })
    const unparsable = [HEADER, at(0, turnStart()), '{"type":', at(1, turnEnd())]
    expect(refusal(unparsable)).toMatchObject({ code: 'corrupt', line: 3, seq: 1 })
  })

  it.each<[what: string, tail: Lines, outcome: 'torn' | 'damaged']>([
    ['a turn/end with a gap, and nothing after it', [at(9, turnEnd(2))], 'damaged'],
    ['a turn/end with a seq that was there, and nothing after it', [at(3, turnEnd(2))], 'damaged'],
    ['another row with a gap', [at(9, stepEnd)], 'torn'],
    ['a line that is no JSON', ['{"type":"turn/e'], 'torn'],
    ['a line that is no JSON, and a row that ends nothing', ['nonsense', at(7, stepEnd)], 'torn'],
    ['a line that is no JSON, and a turn/end', ['nonsense', at(7, turnEnd(2))], 'damaged'],
    ['a line that is no JSON, and hardly a turn/end', ['nonsense', { type: 'turn/end' }], 'damaged'],
    ['a line that is no JSON but names turn/end', ['{"type":"turn/end"', 'turn/end'], 'torn'],
    ['a line that is no UTF-8', [null], 'torn'],
    ['a line that is no UTF-8, and a turn/end', [null, at(7, turnEnd(2))], 'damaged'],
    ['a value that is no object', ['null'], 'torn'],
    ['a list, and a turn/end', ['[]', at(7, turnEnd(2))], 'damaged'],
    ['a number JSON values do not have', ['{"type":"todo/write","seq":7,"time":1,"data":{"todos":[1e999]}}'], 'torn'],
    [
      'many digits and an exponent',
      [`{"type":"todo/write","seq":7,"time":1,"data":{"todos":[1${'0'.repeat(211)}e99]}}`],
      'torn',
    ],
    ['minus zero', ['{"type":"todo/write","seq":7,"time":1,"data":{"todos":[-0]}}'], 'torn'],
    [
      'a row of deltas of the wrong length',
      [{ type: 'text-chunks', seq0: 7, time0: 1, data: { turn: 2, step: 1, index: 0, dt: [], texts: ['a', 'b'] } }],
      'torn',
    ],
    [
      'a row of deltas with a gap',
      [{ type: 'text-chunks', seq0: 8, time0: 1, data: { turn: 2, step: 1, index: 0, dt: [], texts: ['a'] } }],
      'torn',
    ],
    ['a source list that is none', [{ ...at(7, said('x')), sourceEventSeqs: ['0'] }], 'torn'],
  ])('[F8] %s', (_what, tail, outcome) => {
    const lines = [HEADER, ...open, ...tail]
    if (outcome === 'damaged') {
      expect(refusal(lines)).toMatchObject({ code: 'corrupt', line: 9, seq: 7 })
      const prefix = read(lines, { mode: 'recoverable' })
      expect(prefix.eventCount).toBe(7)
      expect(prefix.repairs).toMatchObject([{ code: 'kept-prefix', line: 9, seq: 7 }])
      return
    }
    const { eventCount, repairs } = read(lines)
    expect(eventCount).toBe(7)
    expect(repairs).toMatchObject([{ code: 'torn-tail', line: 9, seq: 7 }])
  })

  it('[F8] a line without an end proves nothing', () => {
    const rest = JSON.stringify(at(7, turnEnd(2)))
    expect(read([HEADER, ...open, 'nonsense'], { rest })).toMatchObject({ eventCount: 7, isUnterminated: false })
  })

  it.each([
    ['an unknown key', { extra: 1 }],
    ['a time that is no integer', { time: 1.5 }],
    ['no time', { time: undefined }],
    ['ignorable that is not true', { ignorable: false }],
    ['no data', { data: undefined }],
  ])('[F8] %s in the envelope of an old row is refused wherever it stands', (_what, change) => {
    expect(refusal([HEADER, ...open, { ...at(7, said('x')), ...change }])).toMatchObject({ line: 9, seq: 7 })
  })

  const v3Open = rows(turnStart(), stepStart, said(), said('more'))
  it.each<[what: string, change: object]>([
    ['an unknown key', { extra: 1 }],
    ['a time that is no integer', { time: 1.5 }],
    ['an old operation', { surfaceOp: { op: 'replace', start: 2, end: 2 }, sourceEventSeqs: [2] }],
    ['an operation over itself', { surfaceOp: { op: 'replace', startSeq: 2, endSeq: 4 }, sourceEventSeqs: [2] }],
    ['an empty list of sources', { sourceEventSeqs: [] }],
    ['a source twice', { sourceEventSeqs: [2, 2] }],
    [
      'empty tools',
      { type: 'request/header', data: { header: { config: {}, tools: [] }, reason: 'initial' }, surfaceOp: undefined },
    ],
    ['an error of a result that is none', { type: 'tool/result', data: { error: {}, message: { content: [{}] } } }],
  ])('[F8] in a row of version 3 %s may be a torn tail, and is damage before the end of a turn', (_what, change) => {
    const row = { ...at(4, said('x')), surfaceOp: 'append', ...change }
    expect(read([V3, ...v3Open, row])).toMatchObject({ eventCount: 4, repairs: [{ code: 'torn-tail', line: 6 }] })
    expect(refusal([V3, ...v3Open, row, at(5, turnEnd())])).toMatchObject({ code: 'corrupt', line: 6, seq: 4 })
  })

  it.each<[what: string, row: Entry, code: string]>([
    ['a prompt in a header', ['request/header', { header: { config: {}, system: '' }, reason: 'initial' }], 'payload'],
    ['an old tag', ['tool/code-dispatch', {}], 'withdrawn-type'],
    ['a malformed system message', ['system/message', { turn: 1, step: 1 }, { surfaceOp: 'append' }], 'payload'],
  ])('[F8] %s is refused in version 3 however torn the log is', (_what, [type, data, more], code) => {
    const row = { type, seq: 4, time: 1, data, ...more }
    expect(refusal([V3, ...v3Open, row])).toMatchObject({ code, seq: 4, line: 6 })
    expect(refusal([V3, ...v3Open, 'nonsense', row])).toMatchObject({ code })
  })

  it.each<[what: string, row: object]>([
    ['type', { type: { toString: null }, seq: 4 }],
    ['seq', { type: 'tool/code-dispatch', seq: { toString: null }, time: 1, data: {} }],
  ])('[F8] a %s that has no text is refused in words', (_what, row) => {
    for (const first of [V3, { type: 'session', version: 0, id: 's', createdAt: 1 }]) {
      expect(refusal([first, row, { type: 'turn/end' }])).toBeInstanceOf(FormatError)
    }
  })

  it("[F8] an old tag that may be ignored is nobody's business", () => {
    const row = { type: 'tool/code-dispatch', seq: 4, time: 1, data: {}, ignorable: true }
    expect(read([V3, ...v3Open, row]).eventCount).toBe(5)
  })
})

describe('rows of deltas', () => {
  const row = (data: object, more: object = {}) => ({
    type: 'text-chunks',
    seq0: 2,
    time0: 100,
    data: { turn: 1, step: 1, index: 0, ...data },
    ...more,
  })
  const [start, step] = rows(turnStart(), stepStart) as [object, object]
  const attemptOf = (...lines: Lines) => {
    const log = read([HEADER, start, step, ...lines])
    return log.events.find(({ type }) => type === 'assistant/attempt')?.data as { stream: unknown } | undefined
  }

  it('[F7, case 114] a row stands for its deltas, each with its own seq and time, gaps back in time too', () => {
    const packed = row({ dt: [5, -3, 0], texts: ['He', 'l', 'lo', ''] })
    const log = read([HEADER, start, step, packed])
    expect(log.eventCount).toBe(6)
    expect(expandStream(attemptOf(packed)?.stream)).toEqual(
      [100, 105, 102, 102].map((time, index) => ({
        time,
        chunk: { type: 'text-delta', index: 0, text: ['He', 'l', 'lo', ''][index] },
      })),
    )
    expect(log.reader.seqMap()).toEqual([0, 1, null, null, null, null])
  })

  it('[F7, case 114] rows and single deltas next to each other are one stream', () => {
    const single = at(4, ['assistant/chunk', { turn: 1, step: 1, chunk: { type: 'text-delta', index: 0, text: 'c' } }])
    const next = { ...row({ dt: [1], texts: ['d', 'e'] }), seq0: 5, time0: 200 }
    const stream = attemptOf(row({ dt: [1], texts: ['a', 'b'] }), single, next)?.stream
    expect(expandStream(stream).map(({ chunk }) => (chunk as { text: string }).text)).toEqual(['a', 'b', 'c', 'd', 'e'])
  })

  it.each([
    ['a key more', row({ dt: [1], texts: ['a', 'b'], extra: 1 })],
    ['a key more outside', row({ dt: [1], texts: ['a', 'b'] }, { ignorable: true })],
    ['too few gaps', row({ dt: [], texts: ['a', 'b'] })],
    ['a gap that is no integer', row({ dt: [1.5], texts: ['a', 'b'] })],
    ['a gap to where no time is', row({ dt: [Number.MAX_SAFE_INTEGER], texts: ['a', 'b'] })],
    ['no members', row({ dt: [], texts: [] })],
    ['a time that is no integer', row({ dt: [], texts: ['a'] }, { time0: 1.5 })],
    ['no turn', row({ turn: undefined, dt: [], texts: ['a'] })],
    ['a type inside', row({ dt: [], texts: ['a'], type: 'reasoning-chunks' })],
    ['data that is no object', row({}, { data: [] })],
  ])('[F7, LOAD-17] with %s it is damage, never one event and never a part of them', (_what, bad) => {
    expect(refusal([HEADER, start, step, bad, at(3, turnEnd())])).toMatchObject({ code: 'corrupt', line: 4, seq: 2 })
  })

  it('[F7, case 114] any chunks come back from rows as they were, times included', () => {
    const chunk: fc.Arbitrary<StreamChunk> = fc.oneof(
      fc.record({ type: fc.constant('text-delta' as const), index: fc.nat(2), text: fc.string() }),
      fc.record({ type: fc.constant('reasoning-delta' as const), index: fc.nat(2), text: fc.string() }),
      fc.record({
        type: fc.constant('tool-call-delta' as const),
        index: fc.nat(2),
        id: fc.constantFrom('a', 'b'),
        argumentsDelta: fc.string(),
      }),
    )
    const timed = fc.record({ time: fc.integer({ min: 0, max: 1e6 }), chunk })
    fc.assert(
      fc.property(fc.array(timed, { minLength: 1, maxLength: 30 }), chunks => {
        let seq0 = 2
        const lines = packStream(chunks).map(record => {
          if (record.type === 'chunk') throw new Error('a delta that is none')
          const { type, time0, ...run } = record
          const packed = { type, seq0, time0, data: { turn: 1, step: 1, ...run } }
          seq0 += run.dt.length + 1
          return packed
        })
        const back: readonly TimedChunk[] = expandStream(attemptOf(...lines)?.stream)
        expect(back).toEqual(chunks)
      }),
      { numRuns: 200 },
    )
  })
})

describe('lists of seqs', () => {
  const expand = (list: unknown, seq = 10) => new SourceSeqs().expand(list, seq)

  it('[F7] runs are written out, and a list without any is the very same', () => {
    expect(expand([0, [2, 5], 7])).toEqual([0, 2, 3, 4, 5, 7])
    expect(expand([[0, 1]])).toEqual([0, 1])
    const plain = [3, 1, 2]
    expect(expand(plain)).toBe(plain)
    expect(expand([])).toEqual([])
  })

  it.each<[what: string, list: unknown]>([
    ['no list', 'none'],
    ['a text', ['0']],
    ['a fraction', [0.5]],
    ['minus zero', [-0]],
    ['itself', [10]],
    ['a later one', [11]],
    ['one twice', [1, 1]],
    ['one twice, not in order', [2, 1, 2]],
    ['a run backwards', [[3, 2]]],
    ['a run of three numbers', [[1, 2, 3]]],
    ['a run to itself', [[3, 10]]],
    [
      'runs that overlap',
      [
        [1, 4],
        [4, 6],
      ],
    ],
    ['runs out of order', [5, [0, 2]]],
    ['a run that is no list', [{}]],
  ])('[F7] %s is no such list', (_what, list) => {
    expect(expand(list)).toEqual(expect.any(String))
  })

  it('[F7] few bytes cannot fill the memory', () => {
    const sources = new SourceSeqs()
    const huge = Number.MAX_SAFE_INTEGER
    expect(sources.expand([[0, huge - 1]], huge)).toContain('longer than')
    expect(expand([[0, 4]], huge)).toHaveLength(5)
  })

  it('[F7] they are read wherever they stand', () => {
    const row = { ...at(3, said('sum')), surfaceOp: { op: 'replace', start: 2, end: 2 }, sourceEventSeqs: [[0, 2]] }
    const { events } = read([HEADER, ...rows(turnStart(), stepStart, said()), row])
    expect(events.at(-1)).toMatchObject({
      sourceEventSeqs: [0, 1, 3],
      surfaceOp: { op: 'replace', startSeq: 3, endSeq: 3 },
    })
  })
})

describe('seqs in and out', () => {
  it('[F4] each event of the file is found in the log it became, and each refusal in the file', () => {
    const old = [HEADER, ...rows(turnStart(), stepStart, said(), stepEnd, turnEnd())]
    const { reader, events } = read(old)
    expect(reader.seqMap()).toEqual([0, 1, 3, 4, 5])
    expect(events.map(({ seq }) => reader.originOf(seq).seq)).toEqual([0, 1, 1, 2, 3, 4])
    expect(read([V3, ...closed]).reader.seqMap()).toEqual([0, 1, 2, 3, 4])
  })

  it('[F4] events of the file are not changed', () => {
    const lines = [HEADER, ...closed]
    const before = throughJson(lines)
    read(lines)
    expect(lines).toEqual(before)
  })
})

describe('anything at all', () => {
  const json = fc.jsonValue({ maxDepth: 3 })
  const type = fc.constantFrom('turn/start', 'turn/end', 'step/start', 'step/end', 'user/message', 'assistant/message', 'assistant/chunk', 'tool/call', 'tool/result', 'request/header', 'session/end-seed', 'compaction/start', 'llm/retry', 'text-chunks', 'demo/x') // biome-ignore format: a list
  const row = fc.record(
    { type: fc.oneof(type, json), seq: fc.nat(5), seq0: fc.nat(5), time: fc.nat(9), time0: fc.nat(9), data: json, ignorable: fc.constantFrom(true, false), surfaceOp: fc.oneof(fc.constant('append'), json), sourceEventSeqs: json },
    { requiredKeys: ['type'] },
  ) // biome-ignore format: a record
  const header = fc.oneof(
    fc.constantFrom(HEADER, { ...HEADER, version: 1 }, { ...V3, version: 2 }, V3),
    fc.constantFrom(HEADER, V3).map(base => ({ ...base, seedLength: 1, isSeeded: true })),
    json,
  )
  const line = fc.oneof(
    { weight: 3, arbitrary: row.map(value => JSON.stringify(value)) },
    json.map(value => JSON.stringify(value)),
    fc.string(),
    fc.constant(null),
  )
  const lawful = fc.integer({ min: 0, max: 5 }).map(count => open.slice(0, count).map(each => JSON.stringify(each)))

  it('[F8] gives a log or a typed error with its place, in either mode', { timeout: 60_000 * FUZZ }, () => {
    fc.assert(
      fc.property(
        header,
        lawful,
        fc.array(line, { maxLength: 6 }),
        fc.constantFrom('strict' as const, 'recoverable' as const),
        (first, begin, rest, mode) => {
          try {
            const { events, eventCount } = read([JSON.stringify(first), ...begin, ...rest], { mode })
            expect(events.every((event, seq) => event.seq === seq)).toBe(true)
            expect(eventCount).toBeLessThanOrEqual(begin.length + rest.length)
          } catch (error) {
            expect(error).toBeInstanceOf(FormatError)
            expect((error as FormatError).message).not.toBe('')
          }
        },
      ),
      { numRuns: 20_000 * FUZZ },
    )
  })
})
