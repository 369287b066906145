import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { StreamChunk } from '../core/events.ts'
import type { AssistantStreamFrame } from '../core/live.ts'
import { frameText, readFrames } from './frame-text.ts'

const chunk = fc.oneof(
  fc.record({
    type: fc.constantFrom('text-delta', 'reasoning-delta'),
    index: fc.nat({ max: 1 }),
    text: fc.string({ unit: fc.constantFrom('a', '"', '\ud83c', '\udf10') }),
  }),
  fc.constant({ type: 'text-delta', index: 0, text: 'a', more: 7 }),
  fc.constant({ type: 'tool-call-delta', index: 2, id: 'c', argumentsDelta: '{' }),
  fc.constant({ type: 'unknown', run: ['a', 7] }),
  fc.constant({ type: 'finish', reason: { kind: 'stop' } }),
) as fc.Arbitrary<StreamChunk>
const attempt = fc.constantFrom('one', 'two')
const revision = fc.nat({ max: 1 })
const frame = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('chunk'), attemptId: attempt, revision, index: fc.nat({ max: 3 }), time: fc.constantFrom(1, 2, 2.5), chunk }) }, // biome-ignore format: one line
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('start'), attemptId: attempt, messageId: attempt, revision }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('end'), attemptId: attempt, revision }) },
) as fc.Arbitrary<AssistantStreamFrame>

const answer = (count: number): AssistantStreamFrame[] =>
  Array.from({ length: count }, (_, index) => ({
    kind: 'chunk',
    attemptId: '00000000-0000-0000-0000-000000000000',
    revision: 1,
    index,
    time: 1_700_000_000_000 + Math.floor(index / 10),
    chunk: { type: 'text-delta', index: 0, text: 'a word, ' },
  }))

describe('frames as text', () => {
  it('[B6] are the same frames again', () => {
    const counted = fc
      .array(frame, { maxLength: 12 })
      .map(frames => frames.map((each, index) => (each.kind === 'chunk' && each.index > 0 ? { ...each, index } : each)))
    fc.assert(
      fc.property(counted, frames => {
        expect(readFrames(frameText(frames))).toEqual(frames)
      }),
      { numRuns: 2_000 },
    )
    const frames = answer(100)
    expect(readFrames(frameText(frames))).toEqual(frames)
  })

  it('[B6] say what the deltas of a block share once', () => {
    expect(frameText(answer(1000)).length).toBeLessThan(15_000)
  })

  it('[B6] hold JSON of any depth', () => {
    let deep: unknown = 'end'
    for (let depth = 0; depth < 20_000; depth += 1) deep = [deep]
    const finish = { type: 'finish', reason: { kind: 'stop' }, replayState: deep } as StreamChunk
    const [first] = answer(1)
    const [read] = readFrames(frameText([{ ...first, chunk: finish } as AssistantStreamFrame]))
    let inner = (read as unknown as { chunk: { replayState: unknown } }).chunk.replayState
    while (Array.isArray(inner)) inner = inner[0]
    expect(inner).toBe('end')
  })
})
