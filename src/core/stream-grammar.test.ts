import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { assistant, textBlock, toolCall } from './builders.ts'
import type { ContentBlock, EventData, FinishReason, StreamChunk } from './events.ts'
import type { JsonValue } from './json.ts'
import { assembleStream, StreamAssembler } from './stream.ts'
import { streamMismatch, streamProblem } from './stream-grammar.ts'
import { wellFormedBlock } from './well-formed.ts'
import { packStream } from './stream-records.ts'

const text = (part: string, index = 0): StreamChunk => ({ type: 'text-delta', index, text: part })
const thought = (part: string, index = 0): StreamChunk => ({ type: 'reasoning-delta', index, text: part })
const args = (part: string, index = 0, id = 'c1', name = 'read'): StreamChunk => ({
  type: 'tool-call-delta',
  index,
  id,
  name,
  argumentsDelta: part,
})
const start = (blockType: string, index = 0): StreamChunk => ({ type: 'block-start', index, blockType })
const end = (block: ContentBlock, index = 0): StreamChunk => ({ type: 'block-end', index, block })
const usage: StreamChunk = { type: 'usage', usage: { inputTokens: 3, outputTokens: 4 } }
const failure = { code: 'SERVER', message: 'no' }
const reasonOf = (kind: FinishReason['kind']): FinishReason =>
  kind === 'error' || kind === 'aborted' ? { kind, failure } : { kind }
const finish = (kind: FinishReason['kind'] = 'stop', replayState?: JsonValue): StreamChunk => ({
  type: 'finish',
  reason: reasonOf(kind),
  ...(replayState === undefined ? {} : { replayState }),
})
const settlements = ['message', 'interrupted', 'attempt'] as const

describe('the order of chunks', () => {
  const hello = [start('text'), text('hel'), text('lo'), end(textBlock('hello'))]
  const asMessage = (...chunks: readonly StreamChunk[]) => streamProblem(chunks, { settled: 'message' })
  const asAttempt = (...chunks: readonly StreamChunk[]) => streamProblem(chunks, { settled: 'attempt' })

  it('[L14] takes a whole answer as all three', () => {
    const call = [start('tool-call', 1), args('{', 1), args('}', 1), end(toolCall('c1'), 1)]
    for (const settled of settlements) {
      expect(streamProblem([...hello, ...call, usage, finish('tool-calls')], { settled })).toBeNull()
      expect(streamProblem([], { settled })).toBeNull()
    }
    expect(
      asMessage(start('text'), start('reasoning', 1), thought('hm', 1), text('a'), ...closing(), finish()),
    ).toBeNull()
    expect(asMessage(usage, ...hello, finish('max-tokens'))).toBeNull()
    expect(asMessage(...hello, args('{', 1), finish('max-tokens'))).toBeNull()
    expect(asMessage({ type: 'finish', reason: { kind: 'pause' } as never })).toBeNull()
  })
  const closing = () => [end(textBlock('a')), end({ type: 'reasoning', text: 'hm' }, 1)]

  it('[L14] lets a block open by its first delta, or come as its end alone', () => {
    expect(
      asMessage(text('a'), thought('b', 1), args('{}', 2), ...closing(), end(toolCall('c1'), 2), finish()),
    ).toBeNull()
    expect(asMessage(end(textBlock('a')), end(toolCall('c1'), 1), finish())).toBeNull()
    expect(asMessage(end({ type: 'video' } as never), finish())).toBeNull()
  })

  it.each<[string, string, readonly StreamChunk[]]>([
    ['Chunk 2 opens block 0 again', 'a second start', [start('text'), text('a'), start('text')]],
    ['Chunk 1 opens block 0 again', 'a start after the first delta', [text('a'), start('text')]],
    ['Chunk 4 opens block 0 again', 'a start after the end', [...hello, start('text')]],
    ['Chunk 1 writes reasoning into block 0 of kind text', 'a delta of another kind', [start('text'), thought('a')]],
    ['Chunk 1 writes text into block 0 of kind tool-call', 'text in a call', [args('{'), text('a')]],
    ['Chunk 1 writes tool-call into block 0 of kind audio', 'a delta of an unknown kind', [start('audio'), args('a')]],
    ['Chunk 4 belongs to block 0, which has ended', 'a delta after the end', [...hello, text('!')]],
    ['Chunk 4 belongs to block 0, which has ended', 'a second end', [...hello, end(textBlock('!'))]],
    ['Chunk 1 belongs to block 0, which has ended', 'a delta after an end alone', [end(textBlock('a')), text('!')]],
    ['Chunk 2 reports usage again', 'usage twice', [usage, text('a'), usage]],
    ['Chunk 5 comes after the finish', 'a second finish', [...hello, finish(), finish()]],
    ['Chunk 1 comes after the finish', 'usage after the finish', [finish('error'), usage]],
    ['Chunk 2 finishes while block 0 is open', 'an open block at the finish', [start('text'), text('a'), finish()]],
    [
      'Chunk 2 finishes while block 1 is open',
      'a call left open',
      [end(textBlock('a')), args('{', 1), finish('tool-calls')],
    ],
  ])('[L14] finds that %s: %s', (problem, _name, chunks) => {
    for (const settled of settlements) expect(streamProblem(chunks, { settled })).toBe(problem)
  })

  it('[L14] lets a failure leave blocks open', () => {
    expect(asAttempt(start('text'), text('a'), finish('error'))).toBeNull()
    expect(asAttempt(start('audio'), args('{', 1), finish('aborted'))).toBeNull()
  })

  it('[L14] asks a message, and only a message, for a finish that is no failure', () => {
    expect(asMessage(...hello)).toBe('Chunk 4 is missing: a message needs a finish')
    expect(asMessage(...hello, finish('error'))).toBe('Chunk 4 finishes a message with error')
    expect(asMessage(finish('aborted'))).toBe('Chunk 0 finishes a message with aborted')
    for (const settled of ['interrupted', 'attempt'] as const) {
      for (const tail of [[], [finish()], [finish('error')], [finish('aborted')]]) {
        expect(streamProblem([...hello, ...tail], { settled })).toBeNull()
      }
      expect(streamProblem([text('half')], { settled })).toBeNull()
    }
  })

  it.each<[string, unknown]>([
    ['is of no known type', { type: 'audio-delta', index: 0 }],
    ['is of no known type', null],
    ['has no valid index', { type: 'block-start', index: -0, blockType: 'text' }],
    ['has no valid blockType', { type: 'block-start', index: 0 }],
    ['has no valid index', { type: 'text-delta', text: 'a' }],
    ['has no valid text', { type: 'reasoning-delta', index: 0, text: 5 }],
    ['has no valid name', { ...args('{'), name: null }],
    ['has no valid argumentsDelta', { type: 'tool-call-delta', index: 0, id: 'c1' }],
    ['has no valid block', { type: 'block-end', index: 0 }],
    ['has no valid block', end({ type: 'text' } as never)],
    ['has no valid block', end({ ...toolCall('c1'), arguments: {} } as never)],
    ['has no valid usage', { type: 'usage' }],
    ['has no valid reason', { type: 'finish', reason: 'stop' }],
  ])('[L14] finds that a chunk %s', (problem, chunk) => {
    expect(asMessage(text('a', 9), chunk as StreamChunk)).toBe(`Chunk 1 ${problem}`)
  })

  it('[L14] takes any interleaving of well-formed blocks, and none with a chunk too many', () => {
    const kinds = fc.array(fc.constantFrom('text', 'reasoning', 'tool-call'), { maxLength: 4 })
    fc.assert(
      fc.property(kinds, fc.array(fc.nat(), { maxLength: 40 }), fc.nat(), (kinds, picks, again) => {
        const queues = kinds.map((kind, index): StreamChunk[] => {
          if (kind === 'tool-call')
            return [start(kind, index), args('{', index), args('}', index), end(toolCall('c'), index)]
          const delta = kind === 'text' ? text : thought
          return [start(kind, index), delta('a', index), end({ type: kind as 'text', text: 'a' }, index)]
        })
        const chunks: StreamChunk[] = []
        for (let turn = 0; queues.some(queue => queue.length > 0); turn += 1) {
          const left = queues.filter(queue => queue.length > 0)
          chunks.push(left[(picks[turn] ?? 0) % left.length]?.shift() as StreamChunk)
        }
        chunks.push(usage, finish())
        expect(asMessage(...chunks)).toBeNull()
        // Everything but a delta of a block that is still open is one too many.
        const at = again % chunks.length
        const chunk = chunks[at] as StreamChunk
        if (!chunk.type.endsWith('-delta')) expect(asMessage(...chunks.toSpliced(at, 0, chunk))).not.toBeNull()
      }),
    )
  })
})

describe('a message and its stream', () => {
  type Payload = EventData['assistant/message']
  const payload = (chunks: readonly StreamChunk[], content: readonly ContentBlock[], more: object = {}): Payload => ({
    turn: 1,
    step: 1,
    message: assistant(content),
    stream: packStream(chunks.map((chunk, time) => ({ time, chunk }))),
    ...more,
  })
  const withReplay = (data: Payload, replayState: JsonValue): Payload => ({
    ...data,
    message: { ...data.message, source: { ...data.message.source, replayState } },
  })
  const exactly = (data: Payload) => streamMismatch(data, { exact: true })
  const roughly = (data: Payload) => streamMismatch(data, { exact: false })
  const both = (data: Payload) => [exactly(data), roughly(data)]
  const counts = { inputTokens: 3, outputTokens: 4 }

  it('[L14] are the same when content, usage and replay state are', () => {
    const chunks = [thought('hm'), text('a', 1), args('{}', 2), usage, finish('tool-calls', { blocks: [1, 2, 3] })]
    const content = [{ type: 'reasoning', text: 'hm' } as const, textBlock('a'), toolCall('c1')]
    const data = withReplay(payload(chunks, content, { usage: counts }), { blocks: [1, 2, 3] })
    expect(both(data)).toEqual([null, null])
  })

  it('[L14] are not compared when there is no stream', () => {
    expect(both(withReplay(payload([], [textBlock('imported')], { usage: counts }), 'opaque'))).toEqual([null, null])
  })

  it.each<[string, Payload]>([
    ['message.content[0] differs from what the stream yields', payload([text('a'), finish()], [textBlock('b')])],
    ['message.content has 0 blocks; the stream yields 1', payload([text('a'), finish()], [])],
    ['message.content has 1 blocks; the stream yields 0', payload([finish()], [textBlock('a')])],
    [
      'message.content has 1 blocks; the stream yields 0',
      payload([args('{}'), finish('max-tokens')], [toolCall('c1')]),
    ],
    ['usage differs from what the stream yields', payload([usage, finish()], [])],
    ['usage differs from what the stream yields', payload([finish()], [], { usage: counts })],
    [
      'usage differs from what the stream yields',
      payload([usage, finish()], [], { usage: { ...counts, totalTokens: 7 } }),
    ],
    ['message.source.replayState differs from what the stream yields', payload([finish('stop', 'r')], [])],
    ['message.source.replayState differs from what the stream yields', withReplay(payload([finish()], []), 'r')],
    [
      'message.source.replayState differs from what the stream yields',
      withReplay(payload([text('a'), finish('stop', { blocks: [] })], [textBlock('a')]), { blocks: [] }),
    ],
    ['Block 0 of kind audio was never closed', payload([start('audio'), finish()], [])],
    ['Chunk 1 has no valid block', payload([text('a'), { type: 'block-end', index: 1 } as never], [textBlock('a')])],
    ['Chunk 0 is of no known type', payload([{ type: 'audio' } as never], [])],
    ['Expected an array of records at $; found an object', payload([], [], { stream: {} })],
    [
      'Expected a non-empty string at $[0].id; found ""',
      payload([], [], { stream: [{ type: 'tool-call-chunks', time0: 0, index: 0, dt: [], id: '', args: [''] }] }),
    ],
  ])('[L14] differ: %s', (mismatch, data) => {
    expect(both(data)).toEqual([mismatch, mismatch])
  })

  it('[L14, case 90, case 91] are the same up to where the answer was cancelled', () => {
    const chunks = [text('closed'), end(textBlock('closed')), text(' \n', 1), args('{"pa', 2), usage]
    const content = [textBlock('closed')]
    const interrupted = { interrupted: true, usage: counts }
    expect(both(payload(chunks, content, interrupted))).toEqual([null, null])
    expect(exactly(payload(chunks, [...content, toolCall('c1', '{"pa')], interrupted))).toContain('has 2 blocks')
    expect(exactly(payload(chunks, content, { interrupted: true }))).toContain('usage')
    // A finish that came before the cancel was noticed changes nothing: no state goes with half an answer.
    const late = payload([...chunks, finish('stop', 'r')], content, interrupted)
    expect(both(late)).toEqual([null, null])
    expect(exactly(withReplay(late, 'r'))).toContain('replayState')
    expect(exactly(payload(chunks, content, { usage: counts }))).toContain('has 1 blocks')
  })

  it('[L14, R9, I9] are the same when half a surrogate pair at the cut is left out, mended, or there as it came', () => {
    const chunks = [text('net \ud83c')]
    const cut = (said: string, of = chunks) => both(payload(of, [textBlock(said)], { interrupted: true }))
    for (const said of ['net ', 'net \ufffd', 'net \ud83c']) expect(cut(said)).toEqual([null, null])
    const mismatch = 'message.content[0] differs from what the stream yields'
    for (const said of ['net', 'ne', 'net \ud83d', 'net \ufffd ']) expect(cut(said)).toEqual([mismatch, mismatch])
    // Nothing cut these: one is whole, one ended, one is half of another kind.
    expect(cut('net ', [text('net \ud83c'), text('\udf10')])).toEqual([mismatch, mismatch])
    expect(cut('net ', [end(textBlock('net \ud83c'))])).toEqual([mismatch, mismatch])
    expect(cut('net ', [text('net \udf10')])).toEqual([mismatch, mismatch])
    expect(both(payload([...chunks, finish()], [textBlock('net ')]))).toEqual([mismatch, mismatch])
    // A block of nothing else goes whole.
    const two = [text('a'), thought('\ud83c', 1)]
    expect(both(payload(two, [textBlock('a')], { interrupted: true }))).toEqual([null, null])
    expect(both(payload(two, [], { interrupted: true }))[0]).toContain('has 0 blocks')
  })

  describe('without exactness', () => {
    it('[L14, A3] blank text may be left out, with its entry of the replay state', () => {
      const chunks = [text('\n'), text('a', 1), finish('stop', { blocks: ['blank', 'a'] })]
      const whole = withReplay(payload(chunks, [textBlock('\n'), textBlock('a')]), { blocks: ['blank', 'a'] })
      const left = withReplay(payload(chunks, [textBlock('a')]), { blocks: ['a'] })
      expect(both(whole)).toEqual([null, null])
      expect(exactly(left)).toContain('replayState')
      expect(roughly(left)).toBeNull()
      expect(roughly(withReplay(left, { blocks: ['blank', 'a'] }))).not.toBeNull()
      expect(roughly(withReplay(whole, { blocks: ['a'] }))).not.toBeNull()
      expect(roughly(payload([thought(' '), finish()], []))).toContain('has 0 blocks')
    })

    it('[L14, A3, I9] halves of surrogate pairs may be mended, with exactness too', () => {
      const chunks = [text('a\ud800'), thought('\udc00', 1), args('"\ud83d"', 2, 'c\ud800', 'r\ud800'), finish()]
      const mended = [
        textBlock('a\ufffd'),
        { type: 'reasoning', text: '\ufffd' } as const,
        toolCall('c\ufffd', '"\ufffd"', 'r\ufffd'),
      ]
      expect(both(payload(chunks, mended))).toEqual([null, null])
      for (const said of ['?', '', 'a\ufffd', '\udc00', '\ufffd\ufffd']) {
        const mismatch = 'message.content[0] differs from what the stream yields'
        expect(both(payload([text('\ud800'), finish()], [textBlock(said)]))).toEqual([mismatch, mismatch])
      }
      // A pair that came in two deltas is whole.
      expect(exactly(payload([text('\ud83d'), text('\ude00'), finish()], [textBlock('\u{1f600}')]))).toBeNull()
    })

    it('[L14, A3] used ids and missing names of calls may be made up', () => {
      const said = (id: string, name = 'read', streamed = 'read', wanted = 'c1') =>
        payload([end({ ...toolCall(wanted), name: streamed }), finish()], [toolCall(id, '{}', name)])
      for (const id of ['c1_2', 'c1_9', 'c1_10', 'c1_123']) {
        expect(roughly(said(id))).toBeNull()
        expect(exactly(said(id))).toContain('content[0]')
      }
      for (const id of ['c1_', 'c1_1', 'c1_0', 'c1_02', 'c1-2', 'c1_2x', 'c2', 'c', 'xc1_2']) {
        expect(roughly(said(id))).toContain('content[0]')
      }
      expect(roughly(said('call', 'unknown', '', ''))).toBeNull()
      expect(roughly(said('call_2', 'read', 'read', ''))).toBeNull()
      expect(roughly(said('c1', 'unknown', 'read'))).toContain('content[0]')
      expect(roughly(payload([args('{}'), finish()], [toolCall('c1_2', '{"a":1}')]))).toContain('content[0]')
    })
  })

  it('[L14] never differ when the message is what assembly or the loop makes of the stream, and always when it is not', () => {
    const index = fc.nat({ max: 3 })
    const part = fc.constantFrom('', ' ', 'a', 'b\ud800')
    const chunk = fc.oneof(
      fc.tuple(part, index).map(([part, index]) => text(part, index)),
      fc.tuple(part, index).map(([part, index]) => thought(part, index)),
      fc.tuple(part, index, fc.constantFrom('', 'c1', 'c2'), fc.constantFrom('', 'n')).map(all => args(...all)),
      fc.tuple(part, index).map(([part, index]) => end(textBlock(part), index)),
      fc.constant(usage),
    )
    const last = fc.constantFrom(finish(), finish('max-tokens'), finish('stop', { blocks: ['x', 'y'] }))
    fc.assert(
      fc.property(fc.array(chunk, { minLength: 1, maxLength: 8 }), last, (chunks, last) => {
        const all = [...chunks, last]
        const { blocks, usage, replayState } = assembleStream(all)
        const more = usage === undefined ? {} : { usage }
        const data = payload(all, blocks, more)
        const whole = replayState === undefined ? data : withReplay(data, replayState)
        expect(both(whole)).toEqual([null, null])
        const extra = payload(all, [...blocks, textBlock('extra')], more)
        expect(exactly(replayState === undefined ? extra : withReplay(extra, replayState))).not.toBeNull()

        const assembler = new StreamAssembler()
        for (const each of all) assembler.push(each)
        const kept = assembler.assemble({ dropBlankText: true })
        const wellFormed = payload(all, assembler.assemble({ wellFormed: true }).blocks, more)
        const told = replayState === undefined ? wellFormed : withReplay(wellFormed, replayState)
        expect(both(told)).toEqual([null, null])
        const mended = payload(
          all,
          kept.blocks
            .map(wellFormedBlock)
            .map((block, at) =>
              block.type === 'tool-call'
                ? { ...block, id: `${block.id}_${at + 2}` as never, name: block.name || 'unknown' }
                : block,
            ),
          more,
        )
        expect(roughly(kept.replayState === undefined ? mended : withReplay(mended, kept.replayState))).toBeNull()

        const visible = assembler.interruptedPrefix()
        const cut = payload(chunks, visible, { ...more, interrupted: true })
        expect(both(cut)).toEqual([null, null])
        const sound = assembler.interruptedPrefix({ wellFormed: true })
        expect(both(payload(chunks, sound, { ...more, interrupted: true }))).toEqual([null, null])
      }),
      { numRuns: 300 },
    )
  })
})
