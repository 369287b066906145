import { describe, expect, it } from 'vitest'
import {
  called,
  citing,
  type Draft,
  log,
  over,
  prompted,
  returned,
  said,
  stepStart,
  system,
  textBlock,
  toolCall,
  turnStart,
  user,
} from '../core/builders.ts'
import {
  emptyTranscript,
  evolveTranscript,
  foldTranscript,
  streamTranscript,
  type Transcript,
  type TranscriptTurn,
} from './transcript.ts'
import type { TranscriptItem } from './turn-items.ts'
import {
  answer,
  attempted,
  chunkFrame,
  ended,
  endFrame,
  itemsOf,
  plainTurns,
  startFrame,
  streamed,
  textFrame,
  thought,
} from './view-kit.ts'

const shown = (...drafts: readonly Draft[]): Transcript => foldTranscript(log(...drafts))
const brief = (item: TranscriptItem): string => {
  switch (item.kind) {
    case 'tool':
      return `tool ${item.name}(${item.callId}) ${item.state}`
    case 'attempt':
      return `attempt ${item.reasoning}|${item.text}`
    case 'replacement':
      return `replacement of ${item.replaces.join()}`
    default:
      return item.kind
  }
}
const briefs = (transcript: Transcript): string[] => itemsOf(transcript).map(brief)
const only = (transcript: Transcript): TranscriptItem => itemsOf(transcript)[0] as TranscriptItem
const turnAt = (transcript: Transcript, index: number): TranscriptTurn => transcript.turns.at(index) as TranscriptTurn

describe('turns', () => {
  it('[V2] begin and end with their events', () => {
    const transcript = shown(turnStart(1), said('hi'), answer('yes'), ended(1))
    expect(plainTurns(transcript)).toMatchObject([
      { key: 'turn-1', turn: 1, startSeq: 0, startedAt: 1000, endedAt: 1003, endSeq: 3, reason: { kind: 'completed' } },
    ])
    expect(transcript).toMatchObject({ from: 0, to: 4, live: null })
    expect(turnAt(transcript, 0)).toMatchObject({ isCut: false })
    expect(briefs(transcript)).toEqual(['user', 'answer'])
  })

  it('[V2] are open until they end, and shown before anything is said in them', () => {
    expect(plainTurns(shown(turnStart(1)))).toMatchObject([
      { turn: 1, endedAt: null, reason: null, endSeq: null, items: [] },
    ])
  })

  it('[V2] what is said between turns has a group of its own', () => {
    const transcript = shown(
      said('before'),
      turnStart(1),
      ended(1),
      said('after'),
      said('more'),
      turnStart(2),
      ended(2),
    )
    expect(plainTurns(transcript).map(({ key, turn, items }) => [key, turn, items.length])).toEqual([
      ['start', null, 1],
      ['turn-1', 1, 0],
      ['turn-1+', null, 2],
      ['turn-2', 2, 0],
    ])
  })

  it('[V2] an end without a beginning ends nothing', () => {
    expect(plainTurns(shown(said('before'), ended(1), said('after'))).map(each => [each.turn, each.endSeq])).toEqual([
      [null, null],
    ])
  })

  it('[V2] a turn that never ended is over when the next begins', () => {
    const transcript = shown(turnStart(1), said('a'), turnStart(2), said('b'))
    expect(plainTurns(transcript).map(({ turn, items }) => [turn, items.length])).toEqual([
      [1, 1],
      [2, 1],
    ])
  })

  it('[V7] have names of their own, also when a number comes again', () => {
    const transcript = shown(turnStart(1), ended(1), turnStart(1), ended(1), said('x'), turnStart(2))
    expect(plainTurns(transcript).map(each => each.key)).toEqual(['turn-1', 'turn-1@2', 'turn-1@2+', 'turn-2'])
  })
})

describe('items', () => {
  it('[V2] show each surface event with its message', () => {
    const events = log(turnStart(1), prompted('p'), said('hi'), answer('yes'))
    const items = itemsOf(foldTranscript(events))
    expect(items).toMatchObject([
      { kind: 'system', key: '1', seq: 1, time: 1001, message: system('p'), replacedBy: null },
      { kind: 'user', key: '2', seq: 2, message: user('hi') },
      { kind: 'answer', key: '3', seq: 3, interrupted: false, usage: null, durationMs: null },
    ])
    expect(items[1]).toHaveProperty('message', events[2]?.data)
  })

  it('[V2] an answer says how long it took, what it cost and whether it was stopped', () => {
    const usage = { inputTokens: 1, outputTokens: 2 }
    const reported = { inputTokens: 3, outputTokens: 4 }
    const stream = [streamed('a', 100, [5]), { type: 'chunk', time: 130, chunk: { type: 'usage', usage: reported } }]
    expect(only(shown(answer('a', { stream, usage, interrupted: true })))).toMatchObject({
      interrupted: true,
      usage,
      durationMs: 30,
    })
    expect(only(shown(answer('a', { stream })))).toMatchObject({ usage: reported })
    expect(only(shown(answer('a', { stream: [streamed('a', 100, [5, -2, 40])] })))).toMatchObject({ durationMs: 43 })
    expect(only(shown(answer('a', { stream: [streamed('a', 100, [-5])] })))).toMatchObject({ durationMs: 0 })
  })

  it('[V2] a failed call is shown when something visible had arrived', () => {
    const closed = { type: 'chunk', time: 1, chunk: { type: 'block-end', index: 3, block: textBlock('whole') } }
    expect(briefs(shown(attempted([]), attempted([streamed(' \n'.trimEnd())]), attempted([streamed('half')])))).toEqual(
      ['attempt |.', 'attempt |half.'],
    )
    expect(briefs(shown(attempted([thought('hm'), streamed('half'), closed])))).toEqual(['attempt hm|half.\n\nwhole'])
    expect(briefs(shown(attempted([{ ...thought(' '), texts: [' ', '\n'] }])))).toEqual([])
  })

  it('[V14] streams and counts of any shape are no fault', () => {
    const streams: unknown[][] = [
      [null],
      [1, 'x', {}],
      [
        { type: 'chunk', chunk: null },
        { type: 'chunk', chunk: { type: 'block-end' } },
      ],
      [{ type: 'chunk', time: 'x', chunk: { type: 'block-end', block: null } }],
      [
        { type: 'text-chunks', texts: 3 },
        { type: 'text-chunks', time0: 'x', dt: 4 },
      ],
      [
        { type: 'chunk', chunk: { type: 'usage', usage: null } },
        { type: 'chunk', chunk: { type: 'usage' } },
      ],
    ]
    for (const stream of streams) {
      expect(itemsOf(shown(attempted(stream)))).toEqual([])
      expect(only(shown(answer('a', { stream, usage: 'x' })))).toMatchObject({ usage: null, durationMs: null })
    }
  })

  it('[V2] log-only events show nothing, and an unknown type that may be ignored is ignored', () => {
    const unknown = { type: 'other/thing', data: user('x'), ignorable: true, surfaceOp: 'append' }
    expect(briefs(shown(stepStart(1, 1), { type: 'session/title', data: { title: 'x' } }, unknown))).toEqual([])
  })
})

describe('replacements', () => {
  it('[V3] are items of their own, and say so at what they replace', () => {
    const transcript = shown(turnStart(1), said('a'), answer('b'), ended(1), over(said('sum'), 1, 2, [1, 2]))
    expect(briefs(transcript)).toEqual(['user', 'answer', 'replacement of 1,2'])
    expect(itemsOf(transcript).map(item => 'replacedBy' in item && item.replacedBy)).toEqual([4, 4, null])
    expect(itemsOf(transcript)[2]).toMatchObject({ type: 'user/message', message: user('sum') })
    expect(plainTurns(transcript).map(each => each.key)).toEqual(['turn-1', 'turn-1+'])
  })

  it('[V3] leave out the records of the work', () => {
    const work = { type: 'compaction/start', data: {} }
    expect(briefs(shown(said('a'), said('b'), work, over(said('sum'), 0, 1, [2, 0, 1])))).toEqual([
      'user',
      'user',
      'replacement of 0,1',
    ])
    const inTurn = [turnStart(1), said('a'), ended(1), work, over(said('sum'), 1, 1, [3, 1])]
    expect(briefs(shown(...inTurn))).toEqual(['user', 'replacement of 1'])
  })

  it('[V3] the last one counts, and a replacement can be replaced', () => {
    const transcript = shown(
      said('a'),
      over(said('x'), 0, 0, [0]),
      over(said('y'), 1, 1, [1]),
      over(said('z'), 2, 2, [2, 0]),
    )
    expect(itemsOf(transcript).map(item => 'replacedBy' in item && item.replacedBy)).toEqual([3, 2, 3, null])
  })

  it('[V3] of a result mark its call', () => {
    const transcript = shown(
      turnStart(1),
      answer([toolCall('c')]),
      called('c'),
      returned('c'),
      over(returned('c', 'less'), 3, 3, [3]),
    )
    expect(briefs(transcript)).toEqual(['answer', 'tool read(c) done', 'replacement of 3'])
    expect(itemsOf(transcript)[1]).toMatchObject({ replacedBy: 4, content: [textBlock('ok')] })
  })
})

describe('tool calls', () => {
  const asked = [turnStart(1), answer([textBlock('x'), toolCall('a', '{"n":1}'), toolCall('b')])]

  it('[V4] follow the answer that asked for them, in its order', () => {
    const transcript = shown(...asked, called('b'), answer('meanwhile', { id: 'n' }), called('a'))
    expect(briefs(transcript)).toEqual(['answer', 'tool read(a) running', 'tool read(b) running', 'answer'])
    expect(itemsOf(transcript)[1]).toMatchObject({
      key: '1:a',
      arguments: '{"n":1}',
      askedSeq: 1,
      callSeq: 4,
      startedAt: 1004,
      resultSeq: null,
      durationMs: null,
      content: null,
    })
  })

  it('[V4] go from asked to running to done or failed', () => {
    const failed: Draft = returned('b', 'bad')
    const { message } = failed.data as { message: { content: readonly [object] } }
    const content = [{ ...message.content[0], isError: true }]
    const error = { name: 'ToolError', code: 'BAD' }
    const bad = { ...failed, data: { turn: 1, step: 1, message: { ...message, content }, error } }
    const events = log(...asked, called('a'), citing(returned('a'), [2]), called('b'), bad)
    const states = [2, 3, 4, 5, 6].map(count =>
      itemsOf(foldTranscript(events.slice(0, count))).map(item => item.kind === 'tool' && item.state),
    )
    expect(states.map(each => each.slice(1))).toEqual([
      ['asked', 'asked'],
      ['running', 'asked'],
      ['done', 'asked'],
      ['done', 'running'],
      ['done', 'failed'],
    ])
    expect(itemsOf(foldTranscript(events)).slice(1)).toMatchObject([
      { resultSeq: 3, durationMs: 1, content: [textBlock('ok')], error: null },
      { resultSeq: 5, durationMs: 1, content: [textBlock('bad')], error },
    ])
  })

  it('[V4] a result without a call in its turn stands alone, without a name', () => {
    expect(briefs(shown(...asked, ended(1), turnStart(2), returned('a')))).toEqual([
      'answer',
      'tool read(a) asked',
      'tool read(b) asked',
      'tool (a) done',
    ])
    expect(briefs(shown(...asked, returned('a'), returned('a')))).toEqual([
      'answer',
      'tool read(a) done',
      'tool read(b) asked',
      'tool (a) done',
    ])
  })

  it('[V4] a call nobody asked for is shown where it started', () => {
    const transcript = shown(turnStart(1), called('a'), returned('a'))
    expect(briefs(transcript)).toEqual(['tool read(a) done'])
    expect(only(transcript)).toMatchObject({ askedSeq: null, callSeq: 1, resultSeq: 2 })
  })

  it('[V4] an id that comes again is another call', () => {
    const transcript = shown(...asked, called('a'), returned('a'), answer([toolCall('a')], { id: 'n' }), called('a'))
    expect(itemsOf(transcript).map(item => item.key)).toEqual(['1', '1:a', '1:b', '4', '2:a'])
    expect(briefs(transcript).slice(1)).toEqual([
      'tool read(a) done',
      'tool read(b) asked',
      'answer',
      'tool read(a) running',
    ])
  })

  it('[V4] a clock that was set back makes no negative time', () => {
    const events = log(...asked, called('a'), returned('a')).map(event => ({ ...event, time: -Number(event.seq) }))
    expect(itemsOf(foldTranscript(events))[1]).toMatchObject({ durationMs: 0 })
  })
})

describe('the live answer', () => {
  const open = shown(turnStart(1), said('hi'))

  it('[V5] grows block by block, and blocks nothing was added to keep their reference', () => {
    const first = streamTranscript(open, [startFrame('m'), textFrame('m', 'He', 0)])
    expect(first.live).toEqual({
      messageId: 'm',
      attemptId: 'try-m',
      turn: 1,
      step: 1,
      startedAt: 50,
      blocks: [{ index: 0, kind: 'text', text: 'He', name: '', callId: '', isDone: false }],
    })
    const delta = { type: 'tool-call-delta', index: 2, id: 'c', name: 'read', argumentsDelta: '{' } as const
    const second = streamTranscript(first, [
      chunkFrame('m', { type: 'reasoning-delta', index: 1, text: 'hm' }),
      chunkFrame('m', delta),
      chunkFrame('m', { type: 'tool-call-delta', index: 2, id: 'c', argumentsDelta: '}' }),
    ])
    expect(second.live?.blocks.map(block => [block.kind, block.text, block.name, block.callId])).toEqual([
      ['text', 'He', '', ''],
      ['reasoning', 'hm', '', ''],
      ['tool-call', '{}', 'read', 'c'],
    ])
    expect(second.live?.blocks[0]).toBe(first.live?.blocks[0])
    expect(first.live?.blocks).toHaveLength(1)
    expect(second.turns).toBe(first.turns)
  })

  it('[V5] a block that is closed is complete, and changes no more', () => {
    const end = (index: number, block: Parameters<typeof answer>[0] & object) =>
      chunkFrame('m', { type: 'block-end', index, block: block[0] as never })
    const live = streamTranscript(open, [
      startFrame('m'),
      chunkFrame('m', { type: 'block-start', index: 0, blockType: 'text' }),
      textFrame('m', 'half', 0),
      end(0, [textBlock('whole')]),
      textFrame('m', 'late', 0),
      end(1, [toolCall('c', '{}')]),
      end(2, [{ type: 'image' } as never]),
      chunkFrame('m', { type: 'block-start', index: 3, blockType: 'video' }),
      chunkFrame('m', { type: 'finish', reason: { kind: 'stop' } }),
    ]).live
    expect(live?.blocks).toEqual([
      { index: 0, kind: 'text', text: 'whole', name: '', callId: '', isDone: true },
      { index: 1, kind: 'tool-call', text: '{}', name: 'read', callId: 'c', isDone: true },
    ])
  })

  it('[V5] is the same when frames say nothing new', () => {
    const live = streamTranscript(open, [startFrame('m'), textFrame('m', 'a')])
    const usage = { type: 'usage', usage: { inputTokens: 1, outputTokens: 1 } } as const
    expect(streamTranscript(live, [])).toBe(live)
    expect(streamTranscript(live, [chunkFrame('m', usage), textFrame('m', ''), textFrame('other', 'x')])).toBe(live)
    expect(streamTranscript(open, [textFrame('m', 'no start'), endFrame('m')])).toBe(open)
  })

  it('[V5] ends with its end frame, and with no other', () => {
    const live = streamTranscript(open, [startFrame('m'), textFrame('m', 'a')])
    expect(streamTranscript(live, [endFrame('other')])).toBe(live)
    expect(streamTranscript(live, [endFrame('m')]).live).toBeNull()
    expect(streamTranscript(live, [startFrame('n')]).live?.messageId).toBe('n')
  })

  it.each<[string, Draft, boolean]>([
    ['its message', answer('a', { id: 'm' }), true],
    ['another message', answer('a', { id: 'n' }), false],
    ['its failed attempt', attempted([]), true],
    ['the attempt of another step', attempted([], 1, 2), false],
    ['the end of its turn', ended(1), true],
    ['the end of another turn', ended(9), false],
    ['something else', said('x'), false],
  ])('[V5] is gone, or not, with %s', (_, draft, isGone) => {
    const live = streamTranscript(open, [startFrame('m'), textFrame('m', 'a')])
    const event = log(said('0'), said('1'), draft)[2]
    const after = evolveTranscript(live, event as never)
    expect(after.live).toBe(isGone ? null : live.live)
    expect(live.live).not.toBeNull()
  })

  it('[V5] does not begin for a message that is committed', () => {
    const events = log(turnStart(1), answer('a', { id: 'm' }), ended(1), said('x'))
    for (const count of [2, 3, 4]) {
      const committed = foldTranscript(events.slice(0, count))
      expect(streamTranscript(committed, [startFrame('m'), textFrame('m', 'a')])).toBe(committed)
      expect(streamTranscript(committed, [startFrame('n')]).live).not.toBeNull()
    }
  })
})

describe('evolving', () => {
  it('[V6] takes committed entries and events alike, passes over what it has, and refuses gaps', () => {
    const events = log(turnStart(1), said('a'), said('b'))
    const one = evolveTranscript(emptyTranscript(), events[0] as never)
    expect(evolveTranscript(one, { event: events[1] as never, surfaceChange: { kind: 'none' } }).to).toBe(2)
    expect(evolveTranscript(one, events[0] as never)).toBe(one)
    const error = expect.objectContaining({ name: 'SessionError', code: 'seq', seq: 2 }) as Error
    expect(() => evolveTranscript(one, events[2] as never)).toThrow(error)
  })
})
