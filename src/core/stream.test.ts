import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { textBlock, toolCall } from './builders.ts'
import type { StreamChunk, StreamRecord } from './events.ts'
import type { JsonValue } from './json.ts'
import { type Assembled, assembleStream, packStream, StreamAssembler, type TimedChunk } from './stream.ts'

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
const finish = (kind: 'stop' | 'tool-calls' | 'max-tokens' = 'stop', replayState?: JsonValue): StreamChunk => ({
  type: 'finish',
  reason: { kind },
  ...(replayState === undefined ? {} : { replayState }),
})
const usage: StreamChunk = { type: 'usage', usage: { inputTokens: 3, outputTokens: 4 } }
const at = (...timed: readonly (readonly [number, StreamChunk])[]): TimedChunk[] =>
  timed.map(([time, chunk]) => ({ time, chunk }))

/** The chunks a list of records stands for: what a reader makes of them, written from the format. */
function unpack(records: readonly StreamRecord[]): TimedChunk[] {
  return records.flatMap((record): TimedChunk[] => {
    if (record.type === 'chunk') return [{ time: record.time, chunk: record.chunk }]
    const { index, time0, dt } = record
    const parts = record.type === 'tool-call-chunks' ? record.args : record.texts
    let time = time0
    return parts.map((part, member): TimedChunk => {
      if (member > 0) time += dt[member - 1] as number
      if (record.type === 'text-chunks') return { time, chunk: text(part, index) }
      if (record.type === 'reasoning-chunks') return { time, chunk: thought(part, index) }
      return { time, chunk: args(part, record.id, record.name, index) }
    })
  })
}

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
    expect(unpack(records)).toEqual(chunks)
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
    expect(unpack(packStream(chunks))).toEqual(chunks)
  })

  it.each([
    ['too far', -Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
    ['no integer', 1, 2.5],
  ])('[L13, case 87] starts a new run when the gap is %s', (_name, first, second) => {
    const chunks = at([first, text('a')], [second, text('b')])
    expect(packStream(chunks)).toHaveLength(2)
    expect(unpack(packStream(chunks))).toEqual(chunks)
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
    expect(unpack(packStream(chunks))).toEqual(chunks)
  })

  it('[L13] unpacked is what was packed, for any stream', () => {
    const index = fc.nat({ max: 1 })
    const part = fc.constantFrom('', 'a', 'b')
    const chunk = fc.oneof(
      fc.tuple(part, index).map(([part, index]) => text(part, index)),
      fc.tuple(part, index).map(([part, index]) => thought(part, index)),
      fc
        .tuple(part, fc.constantFrom('', 'c1', 'c2'), fc.constantFrom(undefined, '', 'n', 'm'), index)
        .map(all => args(...all)),
      fc.constantFrom(usage, finish(), start(0, 'text')),
    )
    // No clock says −0, and no log could hold it.
    const anyTime = fc.oneof(fc.integer({ min: 0, max: 20 }), fc.maxSafeInteger(), fc.double({ noNaN: true }))
    const time = anyTime.filter(each => !Object.is(each, -0))
    fc.assert(
      fc.property(fc.array(fc.record({ time, chunk }), { maxLength: 30 }), chunks => {
        const records = packStream(chunks)
        expect(unpack(records)).toEqual(chunks)
        for (const record of records) {
          if (record.type === 'chunk') continue
          const members = record.type === 'tool-call-chunks' ? record.args : record.texts
          expect(members.length).toBe(record.dt.length + 1)
          expect(record.dt.every(Number.isSafeInteger)).toBe(true)
        }
      }),
      { numRuns: 300 },
    )
  })
})

describe('assembling', () => {
  const blocksOf = (...chunks: readonly StreamChunk[]): Assembled['blocks'] => assembleStream(chunks).blocks

  it('[L14] joins deltas to blocks, in the order the blocks were first seen', () => {
    const chunks = [thought('hm', 5), text('hel', 2), args('{', 'c1', 'read', 3), text('lo', 2), thought('m', 5)]
    expect(blocksOf(...chunks, args('}', 'c1', undefined, 3))).toEqual([
      { type: 'reasoning', text: 'hmm' },
      textBlock('hello'),
      toolCall('c1', '{}', 'read'),
    ])
  })

  it('[L14] opens a block at its start, even when nothing follows', () => {
    expect(blocksOf(start(0, 'text'), start(1, 'tool-call'))).toEqual([textBlock(''), toolCall('call-1', '', '')])
  })

  it('[L14] ignores a second start', () => {
    expect(blocksOf(start(0, 'text'), text('a'), start(0, 'tool-call'), text('b'))).toEqual([textBlock('ab')])
  })

  it('[L14] takes the block of its first end, whatever came before and comes after', () => {
    const end = (content: string): StreamChunk => ({ type: 'block-end', index: 0, block: textBlock(content) })
    expect(blocksOf(text('draft'), end('final'), text('late'), end('later'))).toEqual([textBlock('final')])
    expect(blocksOf(end('alone'))).toEqual([textBlock('alone')])
    const call = toolCall('c9', '{"a":1}', 'write')
    expect(blocksOf(args('{'), { type: 'block-end', index: 1, block: call }, args('late', 'c1', 'read'))).toEqual([
      call,
    ])
  })

  it('[L14] names a call without id after its block', () => {
    expect(blocksOf(args('{}', '', 'read', 4))).toEqual([toolCall('call-4', '{}', 'read')])
    expect(blocksOf(args('{', '', 'read', 4), args('}', 'c7', undefined, 4))).toEqual([toolCall('c7', '{}', 'read')])
  })

  it('[L14] keeps the first id and the first name of a call', () => {
    expect(blocksOf(args('{', 'c1'), args('', 'c1', 'read'), args('}', '', 'write'), args('', 'c2'))).toEqual([
      toolCall('c1', '{}', 'read'),
    ])
  })

  it('[L14] refuses a block of an unknown kind that was never closed', () => {
    const error = expect.objectContaining({ name: 'SessionError', code: 'stream' }) as Error
    expect(() => assembleStream([start(0, 'audio'), finish()])).toThrow(error)
    const image = { type: 'audio', data: 'x' } as never
    expect(blocksOf(start(0, 'audio'), { type: 'block-end', index: 0, block: image })).toEqual([image])
  })

  it('[L14] a stream without finish counts as stop', () => {
    expect(assembleStream([text('a')])).toEqual({ blocks: [textBlock('a')], finish: { kind: 'stop' } })
    const assembler = new StreamAssembler()
    assembler.push(text('a'))
    expect(assembler.finished).toBe(false)
    assembler.push(finish('tool-calls'))
    expect(assembler.finished).toBe(true)
    expect(assembler.assemble().finish).toEqual({ kind: 'tool-calls' })
  })

  it('[L14] reports usage when there was any', () => {
    expect(assembleStream([text('a'), usage]).usage).toEqual({ inputTokens: 3, outputTokens: 4 })
    expect(Object.keys(assembleStream([text('a')]))).toEqual(['blocks', 'finish'])
  })

  it('[L14, case 93] drops the tool calls of a max-tokens finish, complete ones too', () => {
    const chunks = [text('I will'), args('{}', 'c1', 'a', 1), args('{"x', 'c2', 'b', 2), finish('max-tokens')]
    expect(blocksOf(...chunks)).toEqual([textBlock('I will')])
    expect(blocksOf({ type: 'block-end', index: 0, block: toolCall('c1') }, finish('max-tokens'))).toEqual([])
    expect(blocksOf(...chunks.slice(0, 3), finish('stop'))).toHaveLength(3)
  })

  it('[L14] gives the same answer however text deltas are cut', () => {
    fc.assert(
      fc.property(fc.string(), fc.array(fc.nat()), (whole, cuts) => {
        const sorted = [0, ...cuts.map(cut => cut % (whole.length + 1)).sort((a, b) => a - b), whole.length]
        const parts = sorted.slice(1).map((end, index) => whole.slice(sorted[index], end))
        expect(blocksOf(...parts.map(part => text(part)))).toEqual([textBlock(whole)])
      }),
    )
  })

  it('[L14] what was packed assembles to the same', () => {
    const chunks = [thought('hm'), text('a', 1), text('b', 1), args('{}', 'c1', 'read', 2), usage, finish()]
    const timed = chunks.map((chunk, time) => ({ time, chunk }))
    expect(assembleStream(unpack(packStream(timed)).map(({ chunk }) => chunk))).toEqual(assembleStream(chunks))
  })
})

describe('what a provider wants back', () => {
  const replayOf = (state: JsonValue, options: { dropBlankText?: boolean }, ...chunks: StreamChunk[]): unknown => {
    const assembler = new StreamAssembler()
    for (const chunk of [...chunks, finish('max-tokens', state)]) assembler.push(chunk)
    return assembler.assemble(options).replayState
  }

  it('[L14] loses the entries of dropped blocks', () => {
    const state = { id: 'r', blocks: ['thought', 'text', 'call'] }
    expect(replayOf(state, {}, thought('hm', 0), text('a', 1), args('{', 'c', 'n', 2))).toEqual({
      id: 'r',
      blocks: ['thought', 'text'],
    })
    expect(replayOf(state, { dropBlankText: true }, thought('hm', 0), text(' ', 1), args('{', 'c', 'n', 2))).toEqual({
      id: 'r',
      blocks: ['thought'],
    })
  })

  it('[L14] is dropped whole when its entries do not match the blocks', () => {
    expect(replayOf({ id: 'r', blocks: ['text'] }, {}, text('a', 0), text('b', 1))).toBeUndefined()
    expect(replayOf({ id: 'r', blocks: ['a', 'b', 'c'] }, {}, text('a', 0), text('b', 1))).toBeUndefined()
  })

  it('[L14] is kept as it is without entries', () => {
    for (const state of [{ id: 'r' }, 'opaque', ['x'], null, { blocks: 'no list' }]) {
      expect(replayOf(state, {}, text('a'), args('{', 'c', 'n'))).toEqual(state)
    }
  })
})

describe('blank text', () => {
  it('[L14, TRN-06] is dropped when asked for, and only then', () => {
    const assembler = new StreamAssembler()
    for (const chunk of [text('\n\n', 0), thought(' ', 1), text('a', 2), text('', 3), args('{}', 'c', 'n', 4)]) {
      assembler.push(chunk)
    }
    expect(assembler.assemble().blocks).toHaveLength(5)
    expect(assembler.assemble({ dropBlankText: true }).blocks).toEqual([
      { type: 'reasoning', text: ' ' },
      textBlock('a'),
      toolCall('c', '{}', 'n'),
    ])
  })
})

describe('the prefix of a cancelled stream', () => {
  const prefixOf = (...chunks: readonly StreamChunk[]): readonly unknown[] => {
    const assembler = new StreamAssembler()
    for (const chunk of chunks) assembler.push(chunk)
    return assembler.interruptedPrefix()
  }

  it('[L14, case 90] is what was visible', () => {
    expect(prefixOf(text('partial'))).toEqual([textBlock('partial')])
    expect(prefixOf(thought('let me'), text('Roses', 1), text(' are', 1))).toEqual([
      { type: 'reasoning', text: 'let me' },
      textBlock('Roses are'),
    ])
  })

  it('[L14, case 91] keeps closed text and leaves out half a tool call', () => {
    const closed: StreamChunk = { type: 'block-end', index: 0, block: textBlock('closed') }
    expect(prefixOf(text('draft'), closed, args('{"pa', 'c1', 'write'))).toEqual([textBlock('closed')])
  })

  it('[L14, case 91] is empty when only a tool call, blank text or unknown blocks came', () => {
    expect(prefixOf(args('{"pa', 'c1', 'write'))).toEqual([])
    expect(prefixOf({ type: 'block-end', index: 0, block: toolCall('c1') })).toEqual([])
    expect(prefixOf(text(' \n'), thought('\t', 1), start(2, 'audio'))).toEqual([])
    expect(prefixOf()).toEqual([])
  })

  it('[L14] leaves usage to be read', () => {
    const assembler = new StreamAssembler()
    assembler.push(text('a'))
    expect(assembler.usage).toBeUndefined()
    assembler.push(usage)
    expect(assembler.usage).toEqual({ inputTokens: 3, outputTokens: 4 })
  })
})
