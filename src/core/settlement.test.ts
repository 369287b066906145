/** A model call that was cut off, settled when its session is opened again (SPEC R9, A7). */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  answered,
  called,
  counter,
  type Draft,
  header,
  headed,
  log,
  logFrom,
  prompted,
  returned,
  said,
  stepEnd,
  stepStart,
  storedEvents,
  throughJson,
  toolCall,
  turnEnd,
  turnStart,
} from './builders.ts'
import type { EventData, SessionEvent, StreamChunk } from './events.ts'
import { allInvariants } from './invariants/all.ts'
import { chunksOf, finishOf, validHistory } from './invariants/valid-history.ts'
import { openAiBody } from './openai-body.ts'
import { framed } from './projected-history.ts'
import { validateOpenAiChat } from './provider-rules.ts'
import { repairLog } from './repair.ts'
import { requestMessages } from './request-messages.ts'
import { Session } from './session.ts'
import type { RestoreOptions } from './session-options.ts'
import { interruptedSettlements, type RunningCall, settleEvents } from './settlement.ts'
import { streamMismatch } from './stream-grammar.ts'
import { expandStream, type TimedChunk } from './stream-records.ts'
import { turnsFold } from './turns.ts'

const call: RunningCall = { attemptId: 'a1', messageId: 'm1', turn: 1, step: 1, provider: 'demo', model: 'demo-chat' }
const timed = (...chunks: readonly unknown[]): TimedChunk[] =>
  chunks.map((chunk, index) => ({ time: 5_000 + index, chunk: chunk as StreamChunk }))
const text = (said: string, index = 0): StreamChunk => ({ type: 'text-delta', index, text: said })
const reasoning = (said: string, index = 0): StreamChunk => ({ type: 'reasoning-delta', index, text: said })
const half = (argumentsDelta: string, index = 1): StreamChunk => ({
  type: 'tool-call-delta',
  index,
  id: 'c1',
  name: 'read',
  argumentsDelta,
})
const usage: StreamChunk = { type: 'usage', usage: { inputTokens: 3, outputTokens: 2 } }

/** A turn that was cut off while the model answered. */
const running: readonly Draft[] = [turnStart(1), stepStart(1, 1), prompted('p'), said('q'), headed()]
const opened = (
  events: readonly SessionEvent[],
  settle?: RestoreOptions['settle'],
  more: Partial<RestoreOptions> = {},
): Session => {
  const options = { header: header(), now: counter(), repair: true, liveInvariants: allInvariants }
  return Session.fromRestore({ ...options, events, ...(settle && { settle }), ...more })
}
/** What opening added, without the mark at the end. */
const added = (session: Session, from: number = running.length): readonly SessionEvent[] =>
  session.snapshotEvents(from, session.firstLiveSeq)
const typesOf = (events: readonly SessionEvent[]): string[] => events.map(({ type }) => type)
const settled = (...chunks: readonly unknown[]): readonly SessionEvent[] =>
  added(opened(log(...running), settleEvents(call, timed(...chunks))))

describe('a call that was cut off', () => {
  it('[R9] becomes an interrupted message with what was visible, then its turn is closed', () => {
    const session = opened(log(...running), settleEvents(call, timed(text('Hel'), text('lo'), usage)))
    expect(added(session)).toEqual([
      {
        type: 'assistant/message',
        seq: 5,
        time: 1004,
        surfaceOp: 'append',
        data: {
          turn: 1,
          step: 1,
          interrupted: true,
          usage: { inputTokens: 3, outputTokens: 2 },
          stream: [
            { type: 'text-chunks', time0: 5000, index: 0, dt: [1], texts: ['Hel', 'lo'] },
            { type: 'chunk', time: 5002, chunk: usage },
          ],
          message: {
            id: 'm1',
            role: 'assistant',
            content: [{ type: 'text', text: 'Hello' }],
            source: { kind: 'model', provider: 'demo', model: 'demo-chat' },
          },
        },
      },
      { type: 'step/end', seq: 6, time: 1004, data: { turn: 1, step: 1 } },
      { type: 'turn/end', seq: 7, time: 1004, data: { turn: 1, reason: { kind: 'interrupted' } } },
    ])
    expect([session.firstLiveSeq, session.length]).toEqual([8, 9])
    expect(session.fold(turnsFold)).toMatchObject({ openTurn: null, openStep: null, pendingCalls: [] })
    expect(Object.isFrozen(session.eventAt(5)?.data)).toBe(true)
    expect(session.verify(storedEvents(session))).toBeNull()
  })

  it.each<[string, readonly StreamChunk[], readonly object[]]>([
    ['reasoning only', [reasoning('hm')], [{ type: 'reasoning', text: 'hm' }]],
    ['a closed block and an open one', [...chunksOf([{ type: 'reasoning', text: 'hm' }]), text('So', 1)], [{ type: 'reasoning', text: 'hm' }, { type: 'text', text: 'So' }]], // biome-ignore format: one line
    ['text and half a call', [text('Look:'), half('{"pa')], [{ type: 'text', text: 'Look:' }]],
    ['text and a whole call', [text('Look:'), ...chunksOf([toolCall('c0'), toolCall('c1')]).slice(2)], [{ type: 'text', text: 'Look:' }]], // biome-ignore format: one line
    ['what came before half a surrogate pair', [text('Hi \ud83d')], [{ type: 'text', text: 'Hi ' }]],
    ['a pair that came in two', [text('Hi \ud83d'), text('\ude00')], [{ type: 'text', text: 'Hi \u{1f600}' }]],
    ['half a pair in the middle', [text('H\ud83di \ude00')], [{ type: 'text', text: 'H\ufffdi \ufffd' }]],
    ['half a pair that ends a block', chunksOf([{ type: 'text', text: 'Hi \ud83d' }]), [{ type: 'text', text: 'Hi \ufffd' }]], // biome-ignore format: one line
    ['a block without the half pair of another', [text('Hi'), reasoning('\ud83d', 1)], [{ type: 'text', text: 'Hi' }]],
    ['text in a block of white space and another', [text(' '), text('x', 1)], [{ type: 'text', text: 'x' }]],
    ['all of it, but for the event', [...chunksOf([{ type: 'text', text: 'all' }]), finishOf('stop')], [{ type: 'text', text: 'all' }]], // biome-ignore format: one line
  ])('[R9, A3, I9] keeps %s', (_name, chunks, content) => {
    const session = opened(log(...running), settleEvents(call, timed(...chunks)))
    expect(typesOf(added(session))).toEqual(['assistant/message', 'step/end', 'turn/end'])
    const { data } = session.eventAt(5) as { data: EventData['assistant/message'] }
    expect(data.message.content).toEqual(content)
    expect(expandStream(data.stream)).toEqual(timed(...chunks))
    expect(streamMismatch(data, { exact: true })).toBeNull()
    const { messages, changes } = requestMessages(session.messages)
    expect(changes).toEqual([])
    expect(validateOpenAiChat(openAiBody(messages))).toEqual([])
  })

  it.each<[string, readonly StreamChunk[]]>([
    ['nothing', []],
    ['white space', [text(' \n')]],
    ['half a surrogate pair', [text(' \ud83d')]],
    ['half a call', [half('{"pa')]],
    ['a whole call', chunksOf([toolCall('c')])],
    ['usage', [usage]],
  ])('[R9] is an attempt when only %s had come', (_name, chunks) => {
    const events = settled(...chunks)
    expect(typesOf(events)).toEqual(['assistant/attempt', 'step/end', 'turn/end'])
    const { data } = events[0] as { data: EventData['assistant/attempt'] }
    expect(data).toMatchObject({ turn: 1, step: 1 })
    expect(expandStream(data.stream)).toEqual(timed(...chunks))
  })

  const hostile = {
    get type(): string {
      throw new Error('no')
    },
  }
  it.each<[string, unknown]>([
    ['nothing', null],
    ['no object', 'text'],
    ['a list', []],
    ['a delta without text', { type: 'text-delta', index: 0 }],
    ['a delta of no block', { type: 'text-delta', index: -1, text: 'x' }],
    ['an end without a block', { type: 'block-end', index: 0 }],
    ['no JSON', { type: 'text-delta', index: 0, text: 'x', more: undefined }],
    ['what cannot be read', hostile],
  ])('[R9] takes nothing from a malformed chunk on: %s', (_name, chunk) => {
    for (const before of [[text('seen')], []]) {
      const events = settled(...before, chunk, text(' not seen'))
      expect(typesOf(events)).toEqual([
        before.length > 0 ? 'assistant/message' : 'assistant/attempt',
        'step/end',
        'turn/end',
      ])
      const { stream } = events[0]?.data as EventData['assistant/attempt']
      expect(expandStream(stream)).toEqual(timed(...before))
    }
  })

  it('[R9] takes nothing from a place in the chunks on that has no time, or is no chunk with one', () => {
    const [seen, ...rest] = timed(text('seen'), text(' not seen')) as [TimedChunk, TimedChunk]
    for (const broken of [null, undefined, 7, { time: 1.5, chunk: text('x') }, { chunk: text('x') }]) {
      const [settlement, ...others] = interruptedSettlements(call, [seen, broken as TimedChunk, ...rest])
      expect(settlement).toMatchObject({ data: { message: { content: [{ type: 'text', text: 'seen' }] } } })
      expect(others).toEqual([
        { type: 'assistant/attempt', data: { turn: 1, step: 1, stream: settlement.data.stream } },
      ])
    }
  })

  it('[R9, A7] what comes after a finish is no part of it', () => {
    const [settlement] = interruptedSettlements(call, timed(text('a'), finishOf('stop'), text('b')))
    expect(expandStream(settlement.data.stream)).toHaveLength(2)
  })
})

describe('what is not settled', () => {
  const settle = settleEvents(call, timed(text('Hello')))
  const closersOf = (...drafts: readonly Draft[]): readonly [readonly SessionEvent[], readonly SessionEvent[]] => {
    const events = log(...drafts)
    const session = opened(throughJson(events), settle, { liveInvariants: [] })
    return [added(session, events.length), repairLog(events)]
  }
  const ended = [...running, answered('a'), stepEnd(1, 1)]

  it.each<[string, readonly Draft[]]>([
    ['an empty log', []],
    ['before the step', [turnStart(1)]],
    ['another step', [turnStart(1), stepStart(1, 2)]],
    ['another turn', [turnStart(2), stepStart(2, 1)]],
    ['a step that ended', ended],
    ['a turn that ended', [...ended, turnEnd(1)]],
    ['an answer whose calls wait', [...running, answered([toolCall('c')])]],
  ])('[R9] %s', (_name, drafts) => {
    const [events, closers] = closersOf(...drafts)
    expect(events).toEqual(closers)
  })

  it('[R9] in a log that is not repaired, or only followed', () => {
    for (const more of [{ repair: false }, { readOnly: true }]) {
      const asked = (): never => expect.unreachable()
      expect(opened(log(...running), asked, more).firstLiveSeq).toBe(running.length)
    }
  })

  it('[R9] is an attempt while tools of the step are answered already', () => {
    // Not as this library writes it: what was asked for is answered, and the step goes on.
    const drafts = [...running, answered([toolCall('c')]), called('c'), returned('c')]
    const [events] = closersOf(...drafts)
    expect(typesOf(events)).toEqual(['assistant/message', 'step/end', 'turn/end'])
  })
})

describe('candidates', () => {
  const at = (...drafts: readonly Draft[]) => drafts.flatMap(draft => logFrom(running.length, draft))
  const attempt: Draft = { type: 'assistant/attempt', data: { turn: 1, step: 1, stream: [] } }

  it('[R9, I1] the first one that admission and the rules for live events accept', () => {
    const quiet = { key: 'quiet', problem: ({ event }: { event: SessionEvent }) => (event.type === 'assistant/message' ? 'no' : null) } // biome-ignore format: one line
    const settle = settleEvents(call, timed(text('Hello')))
    for (const rules of [{ liveInvariants: [quiet] }, { invariants: [quiet] }]) {
      expect(typesOf(added(opened(log(...running), settle, rules)))).toEqual([
        'assistant/attempt',
        'step/end',
        'turn/end',
      ])
    }
    // Stored ones are not asked about.
    const stored = log(...running, answered('a'), stepEnd(1, 1), stepStart(1, 2))
    const session = opened(stored, settleEvents({ ...call, step: 2 }, timed(text('b'))), { liveInvariants: [quiet] })
    expect(typesOf(added(session, stored.length))).toEqual(['assistant/attempt', 'step/end', 'turn/end'])
    // Nor closers, which nothing may hold up.
    const noEnds = { key: 'no-ends', problem: ({ event }: { event: SessionEvent }) => (event.type === 'step/end' ? 'no' : null) } // biome-ignore format: one line
    expect(typesOf(added(opened(log(...running), settle, { liveInvariants: [noEnds] })))).toContain('step/end')
  })

  it('[R9, L17] those that are refused leave nothing; when all are, nothing is added', () => {
    const wrong = [...at({ ...attempt, data: {} }), ...logFrom(0, attempt), ...at({ type: 'unknown', data: 1 })]
    const plain = opened(log(...running))
    const session = opened(log(...running), () => [...wrong, null as never])
    expect(session.keyframe()).toEqual(plain.keyframe())
    const chosen = opened(log(...running), () => [...wrong, ...at(attempt), ...at(said('x'))])
    expect(typesOf(added(chosen))).toEqual(['assistant/attempt', 'step/end', 'turn/end'])
  })

  it('[R9, A7] a settlement that admission refuses, such as one without an id, is an attempt', () => {
    const settle = settleEvents({ ...call, messageId: '' }, timed(text('Hello')))
    expect(typesOf(added(opened(log(...running), settle)))).toEqual(['assistant/attempt', 'step/end', 'turn/end'])
  })

  it('[R9] settle is told which turn is open, and the last event', () => {
    opened(log(...running), ({ openTurn, openStep }, last) => {
      expect([openTurn, openStep]).toEqual([1, 1])
      expect(last).toMatchObject({ seq: 4, type: 'request/header', time: 1004 })
      return []
    })
  })
})

describe('laws', () => {
  it('[R9, R1–R5, K2, A3] any history that stops in a call opens settled and closed, from a keyframe too', () => {
    const numbers = fc.array(fc.nat({ max: 1 << 16 }), { maxLength: 120, size: 'max' })
    const chunk = fc.constantFrom<unknown>(
      ...[text('Hel'), text('lo '), text(' '), text('\ude00', 2), reasoning('hm', 3), half('{"a'), usage, usage],
      ...[...chunksOf([toolCall('c')]), { type: 'block-end', index: 0, block: { type: 'text', text: 'closed' } }],
      ...[finishOf('stop'), finishOf('error'), { type: 'other' }, { type: 'usage' }, null],
    )
    fc.assert(
      fc.property(numbers, fc.nat(), fc.array(chunk, { maxLength: 8 }), fc.nat(), (choices, at, chunks, from) => {
        const whole = storedEvents(validHistory(choices, { crashes: true }))
        const calls = whole.flatMap(({ type, seq }) => (/^assistant\/(message|attempt)$/.test(type) ? [seq] : []))
        const end = calls[at % Math.max(1, calls.length)] ?? 0
        const events = whole.slice(0, end)
        const { openTurn, openStep } = opened(throughJson(events), undefined, { readOnly: true }).fold(turnsFold)
        const cut = { ...call, turn: openTurn ?? 0, step: openStep ?? 0 }
        const settle = settleEvents(cut, timed(...chunks))
        const session = opened(throughJson(events), settle, { invariants: allInvariants })
        const first = added(session, end)[0]
        if (calls.length > 0) expect(first?.type).toMatch(/^assistant\/(message|attempt)$/)
        expect(session.fold(turnsFold)).toMatchObject({ openTurn: null, openStep: null, pendingCalls: [] })
        const { messages } = requestMessages(session.messages)
        if (messages.length > 0) expect(validateOpenAiChat(openAiBody(messages))).toEqual([])
        // What is stored then opens again as it is.
        const stored = storedEvents(session)
        expect(opened(throughJson(stored), settle).length).toBe(stored.length)
        const start = from % (end + 1)
        const source = Session.fromRestore({ header: header(), events: events.slice(0, start), now: counter(), readOnly: true, invariants: allInvariants }) // biome-ignore format: one line
        const keyed = Session.fromKeyframe({
          ...throughJson(framed(source)),
          ...{ header: header(), now: counter(), repair: true, settle, invariants: allInvariants },
          events: throughJson(events.slice(start)),
        })
        expect(keyed.snapshotEvents(end)).toEqual(session.snapshotEvents(end))
      }),
      { numRuns: 120 },
    )
  })
})
