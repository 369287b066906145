import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { textBlock, toolCall } from './builders.ts'
import type { StreamChunk } from './events.ts'
import type { JsonValue } from './json.ts'
import { type Assembled, assembleStream, StreamAssembler } from './stream.ts'
import { expandStream, packStream } from './stream-records.ts'

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
    expect(assembler.finish).toBeNull()
    assembler.push(finish('tool-calls'))
    expect(assembler.finish?.kind).toBe('tool-calls')
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

  it('[L14, case 93] refuses a block that was never closed even where calls are dropped', () => {
    expect(() => assembleStream([start(0, 'audio'), args('{'), finish('max-tokens')])).toThrow('never closed')
    expect(blocksOf(args('{', '', 'read'), finish('max-tokens'))).toEqual([])
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
    expect(assembleStream(expandStream(packStream(timed)).map(({ chunk }) => chunk))).toEqual(assembleStream(chunks))
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
    // All blocks that were seen count, also those that are dropped.
    expect(replayOf({ id: 'r', blocks: ['text'] }, {}, text('a', 0), args('{', 'c', 'n', 1))).toBeUndefined()
    expect(replayOf({ id: 'r', blocks: ['text', 'start'] }, {}, text('a', 0), start(1, 'reasoning'))).toEqual({
      id: 'r',
      blocks: ['text', 'start'],
    })
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

  it('[L14, R9] is well-formed when asked for, without the half of a surrogate pair it was cut after', () => {
    const assembler = new StreamAssembler()
    for (const chunk of [text('\ud83c', 0), text('a\udf10b\ud83c', 1), thought('net \ud83c', 2)]) assembler.push(chunk)
    assembler.push({ type: 'block-end', index: 2, block: { type: 'reasoning', text: 'net \ud83c' } })
    expect(assembler.interruptedPrefix({ wellFormed: true })).toEqual([
      textBlock('a\ufffdb'),
      { type: 'reasoning', text: 'net \ufffd' },
    ])
    expect(assembler.interruptedPrefix()).toHaveLength(3)
    expect(assembler.assemble({ wellFormed: true }).blocks).toEqual([
      textBlock('\ufffd'),
      textBlock('a\ufffdb\ufffd'),
      { type: 'reasoning', text: 'net \ufffd' },
    ])
  })

  it('[L14, case 91] is empty when only a tool call, blank text or unknown blocks came', () => {
    expect(prefixOf(args('{"pa', 'c1', 'write'))).toEqual([])
    expect(prefixOf({ type: 'block-end', index: 0, block: toolCall('c1') })).toEqual([])
    expect(prefixOf(text(' \n'), thought('\t', 1), start(2, 'audio'))).toEqual([])
    expect(prefixOf()).toEqual([])
  })

  it('[L14] has open and closed blocks in first-seen order, without whole calls and other kinds', () => {
    const video = { type: 'video', data: 'x' } as never
    expect(
      prefixOf(
        start(3, 'reasoning'),
        text('open', 1),
        start(5, 'video'),
        text('inside', 5),
        thought('hm', 3),
        { type: 'block-end', index: 3, block: { type: 'reasoning', text: 'thought through' } },
        { type: 'block-end', index: 0, block: toolCall('c1') },
        { type: 'block-end', index: 2, block: textBlock(' ') },
        { type: 'block-end', index: 4, block: video },
        usage,
        finish(),
      ),
    ).toEqual([{ type: 'reasoning', text: 'thought through' }, textBlock('open')])
  })

  it('[L14] leaves usage to be read', () => {
    const assembler = new StreamAssembler()
    assembler.push(text('a'))
    expect(assembler.usage).toBeUndefined()
    assembler.push(usage)
    expect(assembler.usage).toEqual({ inputTokens: 3, outputTokens: 4 })
  })
})
