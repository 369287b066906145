import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { SessionError } from './errors.ts'
import type { StreamChunk } from './events.ts'
import { expandStream, packStream, type TimedChunk } from './stream-records.ts'

const text = (part: string, index = 0): StreamChunk => ({ type: 'text-delta', index, text: part })
const thought = (part: string, index = 0): StreamChunk => ({ type: 'reasoning-delta', index, text: part })
const args = (part: string, id = 'c1', name?: string, index = 1): StreamChunk => ({
  type: 'tool-call-delta',
  index,
  id,
  argumentsDelta: part,
  ...(name === undefined ? {} : { name }),
})
const start = (index: number, blockType: string): StreamChunk => ({ type: 'block-start', index, blockType })
const finish = (kind: 'stop' | 'tool-calls' = 'stop'): StreamChunk => ({ type: 'finish', reason: { kind } })
const usage: StreamChunk = { type: 'usage', usage: { inputTokens: 3, outputTokens: 4 } }
const at = (...timed: readonly (readonly [number, StreamChunk])[]): TimedChunk[] =>
  timed.map(([time, chunk]) => ({ time, chunk }))

describe('packing', () => {
  it('[L13, case 86] keeps runs of deltas in columns, each boundary apart, and the rest as it came', () => {
    const chunks = at(
      [1000, text('hel')],
      [1006, text('lo')],
      [1008, args('{', 'c1', 'read')],
      [1011, args('}', 'c1', 'read')],
      [1020, finish('tool-calls')],
    )
    const records = packStream(chunks)
    expect(records).toEqual([
      { type: 'text-chunks', time0: 1000, index: 0, dt: [6], texts: ['hel', 'lo'] },
      { type: 'tool-call-chunks', time0: 1008, index: 1, dt: [3], id: 'c1', name: 'read', args: ['{', '}'] },
      { type: 'chunk', time: 1020, chunk: finish('tool-calls') },
    ])
    expect(expandStream(records)).toEqual(chunks)
  })

  it('[L13] has exactly the keys of each record', () => {
    const records = packStream(
      at([1, text('a')], [2, thought('b')], [3, args('c')], [4, args('d', 'c1', 'n')], [5, usage]),
    )
    expect(records.map(record => Object.keys(record).sort())).toEqual([
      ['dt', 'index', 'texts', 'time0', 'type'],
      ['dt', 'index', 'texts', 'time0', 'type'],
      ['args', 'dt', 'id', 'index', 'time0', 'type'],
      ['args', 'dt', 'id', 'index', 'name', 'time0', 'type'],
      ['chunk', 'time', 'type'],
    ])
  })

  it('[L13] has no smallest run: one delta is a run of one', () => {
    expect(packStream(at([5, thought('hm')]))).toEqual([
      { type: 'reasoning-chunks', time0: 5, index: 0, dt: [], texts: ['hm'] },
    ])
    expect(packStream([])).toEqual([])
  })

  it('[L13] never joins texts, and keeps empty ones', () => {
    expect(packStream(at([1, text('')], [1, text('a')], [1, text('')]))).toMatchObject([
      { dt: [0, 0], texts: ['', 'a', ''] },
    ])
  })

  it.each<[string, readonly [StreamChunk, StreamChunk]]>([
    ['another kind', [thought('a'), text('b')]],
    ['another index', [text('a', 0), text('b', 1)]],
    ['another call', [args('a', 'c1'), args('b', 'c2')]],
    ['a name after none', [args('a', 'c1'), args('b', 'c1', 'read')]],
    ['no name after one', [args('a', 'c1', 'read'), args('b', 'c1')]],
    ['another name', [args('a', 'c1', 'read'), args('b', 'c1', 'write')]],
  ])('[L13, case 87] starts a new run for %s', (_name, [first, second]) => {
    const chunks = at([1, first], [2, second])
    expect(packStream(chunks)).toHaveLength(2)
    expect(expandStream(packStream(chunks))).toEqual(chunks)
  })

  it('[L13, case 87] starts a new run when the gap is too far', () => {
    const chunks = at([-Number.MAX_SAFE_INTEGER, text('a')], [Number.MAX_SAFE_INTEGER, text('b')])
    expect(packStream(chunks)).toHaveLength(2)
    expect(expandStream(packStream(chunks))).toEqual(chunks)
  })

  it('[L13, case 87] starts a new run when the gap is no integer', () => {
    expect(packStream(at([1, text('a')], [2.5, text('b')]))).toHaveLength(2)
  })

  it('[L13] keeps gaps of a clock that stepped back', () => {
    expect(packStream(at([10, text('a')], [7, text('b')], [12, text('c')]))).toMatchObject([{ time0: 10, dt: [-3, 5] }])
  })

  it('[L13] ends a run at anything that is no delta of it', () => {
    for (const between of [start(1, 'text'), usage, finish(), args('x')]) {
      expect(packStream(at([1, text('a')], [2, between], [3, text('b')]))).toHaveLength(3)
    }
  })

  it('[L13] keeps a tool-call delta without id, or with an empty name, as it came', () => {
    const chunks = at([1, args('a', '')], [2, args('b', '')], [3, args('c', 'c1', '')], [4, args('d', 'c1', '')])
    expect(packStream(chunks).map(record => record.type)).toEqual(['chunk', 'chunk', 'chunk', 'chunk'])
    expect(expandStream(packStream(chunks))).toEqual(chunks)
  })

  it('[L13] keeps a delta no run can hold as it came', () => {
    const odd = [
      text('a', -1),
      text('b', 1.5),
      thought(3 as never),
      { ...text('c'), more: 1 },
      { ...args('d'), more: 1 },
      args('e', 7 as never),
      args(null as never),
      args('f', 'c1', 5 as never),
      args('g', 'c1', 'n', -2),
    ].map((chunk, time) => ({ time, chunk }))
    expect(packStream(odd).every(({ type }) => type === 'chunk')).toBe(true)
    expect(expandStream(packStream(odd))).toStrictEqual(odd)
  })
})

describe('reading', () => {
  const run = { type: 'text-chunks', time0: 1000, index: 0, dt: [6], texts: ['hel', 'lo'] }
  const call = { type: 'tool-call-chunks', time0: 1, index: 1, dt: [], id: 'c1', name: 'read', args: ['{}'] }
  const raw = { type: 'chunk', time: 5, chunk: usage }
  const without = (record: Readonly<Record<string, unknown>>, gone: string) =>
    Object.fromEntries(Object.entries(record).filter(([key]) => key !== gone))
  const failureOf = (records: unknown): SessionError => {
    try {
      expandStream(records)
    } catch (error) {
      expect(error).toBeInstanceOf(SessionError)
      return error as SessionError
    }
    throw new Error('It was read')
  }

  it('[L13, case 86] gives back the chunks with their times', () => {
    expect(expandStream([run, { ...run, type: 'reasoning-chunks' }, call, without(call, 'name'), raw])).toStrictEqual(
      at(
        [1000, text('hel')],
        [1006, text('lo')],
        [1000, thought('hel')],
        [1006, thought('lo')],
        [1, args('{}', 'c1', 'read')],
        [1, args('{}', 'c1')],
        [5, usage],
      ),
    )
    expect(expandStream([])).toEqual([])
  })

  it('[L13] takes gaps of a clock that stepped back, and times at the ends of the safe integers', () => {
    const far = Number.MAX_SAFE_INTEGER
    expect(expandStream([{ ...run, dt: [-1006] }]).map(({ time }) => time)).toEqual([1000, -6])
    expect(expandStream([{ ...run, time0: -far, dt: [2 * far] }]).map(({ time }) => time)).toEqual([-far, far])
    expect(expandStream([{ ...raw, time: -far, chunk: {} }])).toEqual([{ time: -far, chunk: {} }])
  })

  it.each<[path: string, what: string, record: unknown]>([
    ['$[0]', 'no object', 'text-chunks'],
    ['$[0]', 'nothing', null],
    ['$[0]', 'an array', [run]],
    ['$[0].type', 'an unknown type', { ...run, type: 'audio-chunks' }],
    ['$[0].type', 'a type every object has', { ...run, type: '__proto__' }],
    ['$[0].type', 'no type', without(run, 'type')],
    ['$[0].extra', 'an extra key', { ...run, extra: 1 }],
    ['$[0].id', 'the id of a call in text', { ...run, id: 'c1' }],
    ['$[0].name', 'a name in text', { ...run, name: 'read' }],
    ['$[0].args', 'arguments in text', { ...run, args: ['x'] }],
    ['$[0].texts', 'texts in a call', { ...call, texts: ['x'] }],
    ['$[0].time', 'a time in a run', { ...run, time: 1 }],
    ['$[0].index', 'an index beside a chunk', { ...raw, index: 0 }],
    ['$[0].__proto__', 'a key that looks like the prototype', JSON.parse('{"type":"chunk","__proto__":{}}')],
    ['$[0].time0', 'no first time', without(run, 'time0')],
    ['$[0].time0', 'half a millisecond', { ...run, time0: 1.5 }],
    ['$[0].time0', 'a first time out of range', { ...run, time0: 2 ** 53 }],
    ['$[0].time0', 'a first time in words', { ...run, time0: '1000' }],
    ['$[0].time0', 'a first time of −0', { ...run, time0: -0 }],
    ['$[0].time', 'no time', without(raw, 'time')],
    ['$[0].time', 'a time that is no number', { ...raw, time: NaN }],
    ['$[0].time', 'a time out of range', { ...raw, time: -(2 ** 53) }],
    ['$[0].index', 'no index', without(run, 'index')],
    ['$[0].index', 'an index of −0', { ...run, index: -0 }],
    ['$[0].index', 'an index below 0', { ...run, index: -1 }],
    ['$[0].index', 'half an index', { ...run, index: 0.5 }],
    ['$[0].texts', 'no texts', without(run, 'texts')],
    ['$[0].texts', 'empty texts', { ...run, texts: [], dt: [] }],
    ['$[0].texts', 'one text, not in a list', { ...run, texts: 'hello' }],
    ['$[0].texts[1]', 'a text that is none', { ...run, texts: ['hel', 5] }],
    ['$[0].args', 'no arguments', without(call, 'args')],
    ['$[0].args', 'empty arguments', { ...call, args: [] }],
    ['$[0].args[0]', 'arguments already read', { ...call, args: [{}] }],
    ['$[0].dt', 'no gaps', without(run, 'dt')],
    ['$[0].dt', 'a gap that is no list', { ...run, dt: 6 }],
    ['$[0].dt', 'too few gaps', { ...run, dt: [] }],
    ['$[0].dt', 'a gap for each text', { ...run, dt: [0, 6] }],
    ['$[0].dt[0]', 'half a gap', { ...run, dt: [0.5] }],
    ['$[0].dt[0]', 'a gap in words', { ...run, dt: ['6'] }],
    ['$[0].dt[0]', 'a gap that leaves the safe integers', { ...run, dt: [Number.MAX_SAFE_INTEGER] }],
    ['$[0].dt[1]', 'gaps that leave them together', { ...run, dt: [2 ** 53 - 1001, 1], texts: ['a', 'b', 'c'] }],
    ['$[0].dt[0]', 'a gap of nothing', { ...run, dt: Array.from({ length: 1 }, () => undefined) }],
    ['$[0].id', 'a call without id', without(call, 'id')],
    ['$[0].id', 'a call with an empty id', { ...call, id: '' }],
    ['$[0].name', 'a call with an empty name', { ...call, name: '' }],
    ['$[0].name', 'a call whose name is none', { ...call, name: null }],
    ['$[0].chunk', 'no chunk', without(raw, 'chunk')],
    ['$[0].chunk', 'a chunk of nothing', { ...raw, chunk: null }],
    ['$[0].chunk', 'a list of chunks', { ...raw, chunk: [usage] }],
    ['$[0].chunk.at', 'a chunk JSON cannot hold', { ...raw, chunk: { at: new Date(0) } }],
  ])('[L13, case 89] refuses at %s: %s', (path, _what, record) => {
    expect(failureOf([record])).toMatchObject({ name: 'SessionError', code: 'stream', path })
    const second = failureOf([raw, record])
    expect(second.path).toBe(path.replace('[0]', '[1]'))
    expect(second.message).toMatch(/^Expected .* found /)
    expect(second.message).toContain(second.path)
  })

  it('[L13, case 89] says what it expected and found', () => {
    const messages = [
      [{ ...run, dt: [] }],
      [{ ...run, time0: 1.5 }],
      [{ ...run, type: 'x'.repeat(99) }],
      [{ ...run, texts: ['a secret', {}] }],
      {},
    ].map(records => failureOf(records).message)
    expect(messages).toEqual([
      'Expected an array of 1 at $[0].dt; found an array of 0',
      'Expected a safe integer at $[0].time0; found 1.5',
      `Expected the type of a record at $[0].type; found "${'x'.repeat(40)}"`,
      'Expected a string at $[0].texts[1]; found an object',
      'Expected an array of records at $; found an object',
    ])
  })

  it('[L13] passes on what a getter throws as its cause', () => {
    const records = {
      get length() {
        throw new RangeError('no')
      },
    }
    const failure = failureOf([records])
    expect(failure).toMatchObject({ code: 'stream', path: '$' })
    expect((failure.cause as Error).message).toBe('no')
  })

  const index = fc.oneof(fc.nat({ max: 1 }), fc.constantFrom(Number.MAX_SAFE_INTEGER, 7))
  const part = fc.oneof(fc.constantFrom('', 'a'), fc.string({ unit: 'binary' }), fc.constant('\ud800'))
  const chunk = fc.oneof(
    fc.tuple(part, index).map(([part, index]) => text(part, index)),
    fc.tuple(part, index).map(([part, index]) => thought(part, index)),
    fc
      .tuple(part, fc.constantFrom('', 'c1', 'c2'), fc.constantFrom(undefined, '', 'n', 'm'), index)
      .map(all => args(...all)),
    fc.constantFrom(usage, finish(), start(0, 'text')),
  )
  // No clock says −0, and no log could hold it.
  const time = fc
    .oneof(fc.integer({ min: 0, max: 20 }), fc.maxSafeInteger(), fc.constantFrom(2 ** 53 - 1, 1 - 2 ** 53))
    .map(each => each + 0)
  const stream = fc.array(fc.record({ time, chunk }, { noNullPrototype: true }), { maxLength: 30 })

  it('[L13, case 87] reads back what was packed, for any stream', () => {
    fc.assert(
      fc.property(stream, chunks => {
        expect(expandStream(packStream(chunks))).toStrictEqual(chunks)
        expect(expandStream(JSON.parse(JSON.stringify(packStream(chunks))))).toEqual(chunks)
      }),
      { numRuns: 300 },
    )
  })

  it('[L13, case 89] reads anything or refuses it with its own error', () => {
    const settles = (records: unknown) => {
      try {
        for (const { time } of expandStream(records)) expect(Number.isSafeInteger(time)).toBe(true)
      } catch (error) {
        expect(error).toMatchObject({
          name: 'SessionError',
          code: 'stream',
          path: expect.stringMatching(/^\$/) as string,
        })
      }
    }
    const key = fc.constantFrom('type', 'time0', 'time', 'index', 'dt', 'texts', 'args', 'id', 'name', 'chunk', 'other')
    fc.assert(fc.property(fc.anything({ withNullPrototype: true, withSparseArray: true }), settles))
    fc.assert(
      fc.property(stream, fc.nat(), key, fc.anything(), fc.boolean(), (chunks, at, key, value, isGone) => {
        const records = packStream(chunks).map((record): Record<string, unknown> => ({ ...record }))
        const record = records[at % Math.max(1, records.length)] ?? {}
        if (isGone) delete record[key]
        else record[key] = value
        settles(records)
      }),
      { numRuns: 300 },
    )
  })
})
