import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { StreamChunk, StreamRecord } from '../core/events.ts'
import { StreamAssembler } from '../core/stream.ts'
import { visibleParts } from './stream-facts.ts'

const index = fc.constantFrom(0, 1, 2)
const text = fc.constantFrom('', ' ', '\n', 'a', 'b ', '\ud83d')
const kind = fc.constantFrom('text' as const, 'reasoning' as const)
const chunk: fc.Arbitrary<StreamChunk> = fc.oneof(
  fc.record({ type: fc.constantFrom('text-delta' as const, 'reasoning-delta' as const), index, text }),
  fc.record({ type: fc.constant('block-end' as const), index, block: fc.record({ type: kind, text }) }),
)
const run = fc.record({
  type: fc.constantFrom('text-chunks' as const, 'reasoning-chunks' as const),
  time0: fc.nat(),
  index,
  dt: fc.constant([]),
  texts: fc.array(text, { maxLength: 4 }),
})

it('[V2, A7] what is visible of a failed call is what is kept of one that was stopped', () => {
  const records = fc.array(
    fc.oneof(
      run,
      chunk.map(each => ({ type: 'chunk' as const, time: 0, chunk: each })),
    ),
    { maxLength: 12 },
  )
  fc.assert(
    fc.property(records, stream => {
      const assembler = new StreamAssembler()
      for (const record of stream) {
        if (record.type === 'chunk') assembler.push(record.chunk)
        else {
          const type = record.type === 'text-chunks' ? 'text-delta' : 'reasoning-delta'
          for (const each of record.texts) assembler.push({ type, index: record.index, text: each })
        }
      }
      const blocks = assembler.interruptedPrefix()
      const kept = (of: string) =>
        blocks.flatMap(block => (block.type === of && 'text' in block ? block.text : [])).join('\n\n')
      expect(visibleParts(stream)).toEqual({ text: kept('text'), reasoning: kept('reasoning') })
    }),
    { numRuns: 1000 },
  )
})

it('[V14] nothing is visible of records of any shape, and none is a fault', () => {
  const odd = fc.oneof(
    fc.jsonValue(),
    fc.record({
      type: fc.constantFrom('chunk', 'text-chunks', 'constructor'),
      index: fc.jsonValue(),
      texts: fc.constant(0),
    }),
    fc.record({ type: fc.constant('chunk'), chunk: fc.jsonValue() }),
    fc.record({
      type: fc.constant('chunk'),
      chunk: fc.record({ type: fc.constant('block-end'), block: fc.jsonValue() }),
    }),
  )
  fc.assert(
    fc.property(fc.array(odd), stream => {
      expect(visibleParts(stream as unknown as StreamRecord[])).toEqual({ text: '', reasoning: '' })
    }),
  )
})
