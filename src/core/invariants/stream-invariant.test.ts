import { describe, expect, it } from 'vitest'
import { assistant, type Draft, textBlock, toolCall, turnStart } from '../builders.ts'
import type { ContentBlock, StreamChunk } from '../events.ts'
import { tried } from './kit.ts'
import { streamInvariant } from './stream-invariant.ts'
import { chunksOf, finishOf, streamed, streamOf } from './valid-history.ts'

const accepted = (draft: Draft) => tried(streamInvariant, [turnStart(1)], draft)
const place = { turn: 1, step: 1 }
const message = (content: readonly ContentBlock[], stream: unknown, more: object = {}): Draft => ({
  type: 'assistant/message',
  data: { ...place, message: assistant(content), stream, ...more },
  surfaceOp: 'append',
})
const attempt = (stream: unknown): Draft => ({ type: 'assistant/attempt', data: { ...place, stream } })
const hello = textBlock('hello')
const interrupted = { interrupted: true }

describe('the stream of an answer', () => {
  it('[I9] is what the message was made from', () => {
    for (const kind of ['stop', 'tool-calls', 'max-tokens'] as const) {
      expect(accepted(streamed([hello, toolCall('c1')], place, kind, true))).toBe('accepted')
    }
    expect(accepted(streamed([], place))).toBe('accepted')
  })

  it('[I9] may be empty: then nothing is known', () => {
    for (const more of [{}, interrupted, { usage: { inputTokens: 1, outputTokens: 1 } }]) {
      expect(accepted(message([hello], [], more))).toBe('accepted')
    }
    expect(accepted(attempt([]))).toBe('accepted')
  })

  it('[I9] expands', () => {
    const run = { type: 'text-chunks', time0: 1, index: 0, dt: [], texts: [] }
    const words = 'Expected a non-empty array at $[0].texts; found an array of 0'
    expect(accepted(message([hello], [run]))).toBe(words)
    expect(accepted(message([hello], [run], interrupted))).toBe(words)
    expect(accepted(attempt([run]))).toBe(words)
    for (const record of [null, 7, 'text', [], {}]) expect(accepted(attempt([record]))).toMatch(/Expected/)
    expect(accepted(message([hello], [{ type: 'chunk', time: 1, chunk: {} }]))).toMatch(/Chunk 0/)
  })

  it('[I9] keeps the order of chunks its event asks for', () => {
    const whole = chunksOf([hello])
    const torn = whole.slice(0, 3)
    expect(accepted(message([hello], streamOf(torn), interrupted))).toBe('accepted')
    expect(accepted(message([hello], streamOf(torn)))).toBe('Chunk 3 is missing: a message needs a finish')
    expect(accepted(message([hello], streamOf([...torn, finishOf('stop')])))).toBe(
      'Chunk 3 finishes while block 0 is open',
    )
    expect(accepted(attempt(streamOf(torn)))).toBe('accepted')
    for (const kind of ['error', 'aborted'] as const) {
      const failed = streamOf([...torn, finishOf(kind)])
      expect(accepted(attempt(failed))).toBe('accepted')
      expect(accepted(message([hello], failed, interrupted))).toBe('accepted')
      expect(accepted(message([hello], failed))).toBe(`Chunk 3 finishes a message with ${kind}`)
    }
    const twice = streamOf([...whole, finishOf('stop'), finishOf('stop')])
    for (const draft of [message([hello], twice), message([hello], twice, interrupted)]) {
      expect(accepted(draft)).toBe('Chunk 5 comes after the finish')
    }
    // What failed may have failed in any way.
    expect(accepted(attempt(twice))).toBe('accepted')
  })

  it('[I9] yields the message', () => {
    const stream = streamOf([...chunksOf([hello]), finishOf('stop')])
    expect(accepted(message([textBlock('hullo')], stream))).toBe(
      'message.content[0] differs from what the stream yields',
    )
    expect(accepted(message([], stream))).toBe('message.content has 0 blocks; the stream yields 1')
    expect(accepted(message([textBlock('hell')], streamOf(chunksOf([hello])), interrupted))).toContain(
      'message.content[0]',
    )
    expect(accepted(message([hello], stream, { usage: { inputTokens: 1, outputTokens: 1 } }))).toContain(
      'usage differs',
    )
  })

  it('[I9] may hold what the message leaves out or mends', () => {
    const broken: StreamChunk[] = [
      ...chunksOf([textBlock(' \n'), textBlock('\ud800'), toolCall('a'), toolCall('a', '{}', '')]),
      finishOf('tool-calls'),
    ]
    const mended = [textBlock('\ufffd'), toolCall('a'), toolCall('a_2', '{}', 'unknown')]
    expect(accepted(message(mended, streamOf(broken)))).toBe('accepted')
    expect(accepted(message([textBlock('\ufffd'), toolCall('a'), toolCall('b')], streamOf(broken)))).toContain('content[2]') // biome-ignore format: one line
  })

  it('[I9] is looked at in answers only', () => {
    expect(accepted({ type: 'todo/write', data: { stream: [7] } })).toBe('accepted')
  })
})
