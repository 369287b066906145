import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  answered,
  called,
  citing,
  counter,
  type Draft,
  header,
  idsOf,
  log,
  loopLog,
  restored,
  returned,
  said,
  stepEnd,
  stepStart,
  storedEvents,
  textBlock,
  throughJson,
  toolCall,
  turnEnd,
  turnStart,
} from './builders.ts'
import type { EventOf, SessionEvent } from './events.ts'
import { validHistory } from './invariants/valid-history.ts'
import { openAiBody } from './openai-body.ts'
import { validateOpenAiChat } from './provider-rules.ts'
import { repair, repairLog } from './repair.ts'
import { requestMessages } from './request-messages.ts'
import { Session } from './session.ts'
import { foldTurns, turnsFold } from './turns.ts'

const asked = (...ids: readonly string[]): Draft => answered(ids.map(id => toolCall(id)))
const open = [turnStart(1), stepStart(1, 1)]
/** A closer in one word or two. */
const shortly = (event: SessionEvent): string => {
  if (event.type !== 'tool/result') return event.type
  const sources = event.sourceEventSeqs === undefined ? '' : ` [${event.sourceEventSeqs.join()}]`
  return `${event.data.message.source.callId} ${event.data.error?.code}${sources}`
}
const textOf = ({ data }: EventOf<'tool/result'>): string => {
  const [block] = data.message.content[0].content
  return block?.type === 'text' ? block.text : ''
}
const closers = (...drafts: readonly Draft[]): string[] => repairLog(log(...drafts)).map(shortly)

describe('what needs no repair', () => {
  it('[R3, case 70] an empty log', () => {
    expect(repairLog([])).toEqual([])
  })

  it('[R3, case 70] a log whose turns are closed', () => {
    expect(closers(...open, asked('a'), called('a'), returned('a'), stepEnd(1, 1), turnEnd(1))).toEqual([])
    expect(closers(said('before any turn'))).toEqual([])
    expect(closers(...open, asked('a'), turnEnd(1), said('after'))).toEqual([])
  })
})

describe('closers', () => {
  it('[R3, case 71] close a turn that has just started', () => {
    expect(repairLog(log(turnStart(1)))).toEqual([
      { type: 'turn/end', seq: 1, time: 1000, data: { turn: 1, reason: { kind: 'interrupted' } } },
    ])
  })

  it('[R2] close an open step before its turn', () => {
    expect(repairLog(log(turnStart(4), stepStart(4, 7), said('x')))).toEqual([
      { type: 'step/end', seq: 3, time: 1002, data: { turn: 4, step: 7 } },
      { type: 'turn/end', seq: 4, time: 1002, data: { turn: 4, reason: { kind: 'interrupted' } } },
    ])
  })

  it('[R1, case 73] answer a call that was not started', () => {
    const [result, stepEnd, turnEnd, ...rest] = repairLog(log(...open, asked('c1'))) as [
      EventOf<'tool/result'>,
      ...SessionEvent[],
    ]
    expect(result).toEqual({
      type: 'tool/result',
      seq: 3,
      time: 1002,
      surfaceOp: 'append',
      data: {
        turn: 1,
        step: 1,
        error: { name: 'ToolNotStartedError', code: 'TOOL_NOT_STARTED' },
        message: {
          id: 'interrupted-tool-result-c1-3',
          role: 'user',
          source: { kind: 'tool', callId: 'c1' },
          content: [{ type: 'tool-result', toolCallId: 'c1', isError: true, content: [textBlock(textOf(result))] }],
        },
      },
    })
    expect(Object.keys(result)).not.toContain('sourceEventSeqs')
    for (const meaning of [/interrupted/i, /before .*recorded as started/, /if it is still needed/]) {
      expect(textOf(result)).toMatch(meaning)
    }
    expect([stepEnd, turnEnd].map(event => [event?.type, event?.seq, event?.time])).toEqual([
      ['step/end', 4, 1002],
      ['turn/end', 5, 1002],
    ])
    expect(rest).toEqual([])
  })

  it('[R1, case 74] answer a started call with an unknown outcome that cites it', () => {
    const [result, ...rest] = repairLog(log(...open, asked('c1'), called('c1'))) as [
      EventOf<'tool/result'>,
      SessionEvent,
    ]
    expect(result).toMatchObject({
      seq: 4,
      time: 1003,
      sourceEventSeqs: [3],
      surfaceOp: 'append',
      data: { error: { name: 'ToolOutcomeUnknownError', code: 'TOOL_OUTCOME_UNKNOWN' } },
    })
    expect(result.data.message.id).toBe('interrupted-tool-result-c1-4')
    expect(result.data.message.content[0].isError).toBe(true)
    for (const meaning of [/recorded/, /outcome/, /unknown/, /only if .*(reads?|read-only)\b.*idempotent/]) {
      expect(textOf(result)).toMatch(meaning)
    }
    for (const meaning of [/verify/, /ask the user/, /never retry blindly/i]) expect(textOf(result)).toMatch(meaning)
    expect(rest.map(({ type, seq }) => [type, seq])).toEqual([
      ['step/end', 5],
      ['turn/end', 6],
    ])
  })

  it('[R1, case 75] answer only what is not answered', () => {
    const drafts = [...open, asked('a', 'b'), called('a'), returned('a')]
    expect(closers(...drafts)).toEqual(['b TOOL_NOT_STARTED', 'step/end', 'turn/end'])
  })

  it('[R1, REP-01, REP-02] answer in the order the model asked, each with its own seq', () => {
    const drafts = [...open, asked('a', 'b', 'c', 'd'), called('c'), called('a'), called('b'), returned('b')]
    const events = repairLog(log(...drafts))
    expect(events.map(shortly)).toEqual([
      'a TOOL_OUTCOME_UNKNOWN [4]',
      'c TOOL_OUTCOME_UNKNOWN [3]',
      'd TOOL_NOT_STARTED',
      'step/end',
      'turn/end',
    ])
    expect(events.map(({ seq }) => seq)).toEqual([7, 8, 9, 10, 11])
    expect(events.slice(0, 3).map(event => (event as EventOf<'tool/result'>).data.message.id)).toEqual([
      'interrupted-tool-result-a-7',
      'interrupted-tool-result-c-8',
      'interrupted-tool-result-d-9',
    ])
    expect(new Set(events.map(({ time }) => time))).toEqual(new Set([1006]))
  })

  it('[R1, case 77] do not answer a call the model did not ask for', () => {
    expect(closers(...open, called('c1'))).toEqual(['step/end', 'turn/end'])
    expect(closers(...open, called('c1'), asked('c1'))).toEqual(['c1 TOOL_NOT_STARTED', 'step/end', 'turn/end'])
  })

  it('[R1, REP-03] do not answer a call whose step has ended', () => {
    expect(closers(...open, asked('a'), called('a'), stepEnd(1, 1))).toEqual(['turn/end'])
    expect(closers(...open, asked('a'), stepEnd(1, 1), stepStart(1, 2))).toEqual(['step/end', 'turn/end'])
  })

  it('[R4, case 78] close only the last turn', () => {
    const earlier = [...open, asked('a'), called('a'), stepEnd(1, 1), turnEnd(1)]
    const drafts = [...earlier, turnStart(2), stepStart(2, 1), answered([toolCall('b')], 2, 1)]
    expect(closers(...drafts)).toEqual(['b TOOL_NOT_STARTED', 'step/end', 'turn/end'])
    expect(repairLog(log(...drafts)).map(({ data }) => (data as { turn: number }).turn)).toEqual([2, 2, 2])
  })

  it('[R4] forget an earlier turn that was never closed', () => {
    expect(closers(...open, asked('a'), called('a'), turnStart(2))).toEqual(['turn/end'])
  })

  it('[R1, REP-06] answer the call of this turn when its id was used before', () => {
    const earlier = [...open, asked('list:0'), called('list:0'), returned('list:0'), stepEnd(1, 1), turnEnd(1)]
    const again = [turnStart(2), stepStart(2, 1), answered([toolCall('list:0')], 2, 1), called('list:0', 2, 1)]
    expect(closers(...earlier, ...again)).toEqual(['list:0 TOOL_OUTCOME_UNKNOWN [10]', 'step/end', 'turn/end'])
  })

  it('[R1] carry the step of the call', () => {
    const drafts = [turnStart(3), stepStart(3, 1), stepEnd(3, 1), stepStart(3, 2), answered([toolCall('a')], 3, 2)]
    expect(repairLog(log(...drafts))[0]).toMatchObject({ data: { turn: 3, step: 2 } })
  })

  it('[R1] carry the step of the call even where the log has another one open', () => {
    const drafts = [turnStart(3), stepStart(3, 1), answered([toolCall('a')], 3, 2)]
    expect(repairLog(log(...drafts)).map(({ data }) => (data as { step?: number }).step)).toEqual([2, 1, undefined])
  })

  it('[R3] come after a mark of a seed inside the turn', () => {
    const drafts = [...open, asked('a'), { type: 'session/end-seed', data: {} }]
    expect(closers(...drafts)).toEqual(['a TOOL_NOT_STARTED', 'step/end', 'turn/end'])
  })

  it('[R5] continue from the seq and the time of the last event', () => {
    const events = log(...open)
    const last = { ...(events[1] as SessionEvent), seq: 41 as never, time: -3 }
    expect(repair(foldTurns(events), last).map(({ seq, time }) => [seq, time])).toEqual([
      [42, -3],
      [43, -3],
    ])
    expect(repair(foldTurns(events), undefined)).toEqual([])
  })
})

describe('laws', () => {
  /** A log of the loop, cut anywhere: what a crash leaves. */
  const cutLog = fc
    .tuple(fc.array(fc.nat({ max: 1 << 16 }), { maxLength: 80 }), fc.nat())
    .map(([choices, at]) => log(...loopLog(choices).drafts).slice(0, at))

  it('[R5] repairing twice is repairing once, and repairing never touches the log', () => {
    fc.assert(
      fc.property(cutLog, events => {
        const before = throughJson(events)
        const once = repairLog(events)
        expect(repairLog(events)).toEqual(once)
        expect(repairLog([...events, ...once])).toEqual([])
        expect(events).toEqual(before)
      }),
    )
  })

  it('[R1–R5, L16] a repaired log is restored with nothing open and every call answered', () => {
    fc.assert(
      fc.property(cutLog, events => {
        const session = restored(throughJson([...events, ...repairLog(events)]))
        expect(foldTurns(session.snapshotEvents())).toMatchObject({ openTurn: null, openStep: null, pendingCalls: [] })
        expect(requestMessages(session.messages).changes).toEqual([])
      }),
      { numRuns: 200 },
    )
  })

  it('[R1–R6, A3] a session opened with repair is the repaired log, and a strict provider takes what it sends', () => {
    const histories = fc.tuple(fc.array(fc.nat({ max: 1 << 16 }), { maxLength: 120, size: 'max' }), fc.nat())
    fc.assert(
      fc.property(histories, ([choices, at]) => {
        const whole = storedEvents(validHistory(choices, { crashes: true }))
        const events = whole.slice(0, at % (whole.length + 1))
        const closers = repairLog(events)
        const options = { header: header(), now: counter() }
        const session = Session.fromRestore({ ...options, events: throughJson(events), repair: true })
        expect(session.snapshotEvents(0, events.length + closers.length)).toEqual([...events, ...closers])
        expect(session.fold(turnsFold)).toMatchObject({ openTurn: null, openStep: null, pendingCalls: [] })
        expect(session.eventAt(session.length - 1)?.type).toBe('session/end-seed')
        // Compactions of these histories cut anywhere, between a call and its result too: what is sent is healed.
        const { messages } = requestMessages(session.messages)
        if (messages.length > 0) expect(validateOpenAiChat(openAiBody(messages))).toEqual([])
        // Opening again repairs and marks nothing.
        const again = Session.fromRestore({ ...options, events: storedEvents(session), repair: true })
        expect(again.snapshotEvents()).toEqual(session.snapshotEvents())
      }),
      { numRuns: 200 },
    )
  })

  it('[R5] what was known stays: the messages before the cut are a prefix of the repaired ones', () => {
    fc.assert(
      fc.property(cutLog, events => {
        const before = idsOf(restored(throughJson(events)).messages)
        const after = idsOf(restored(throughJson([...events, ...repairLog(events)])).messages)
        expect(after.slice(0, before.length)).toEqual(before)
      }),
    )
  })

  it('[R5, L4] closers are frozen all the way down', () => {
    const closers = repairLog(log(...open, asked('a'), called('a')))
    const parts: unknown[] = [...closers]
    for (const part of parts) {
      expect(Object.isFrozen(part)).toBe(true)
      parts.push(
        ...Object.values(part as Record<string, unknown>).filter(value => typeof value === 'object' && value !== null),
      )
    }
    expect(parts.length).toBeGreaterThan(12)
  })

  it('[R1] a call in flight is found at every cut of a worked example', () => {
    const drafts = [...open, asked('a'), called('a'), citing(returned('a'), [3]), stepEnd(1, 1), turnEnd(1)]
    const found = drafts.map((_, index) => closers(...drafts.slice(0, index + 1)).join(', '))
    expect(found).toEqual([
      'turn/end',
      'step/end, turn/end',
      'a TOOL_NOT_STARTED, step/end, turn/end',
      'a TOOL_OUTCOME_UNKNOWN [3], step/end, turn/end',
      'step/end, turn/end',
      'turn/end',
      '',
    ])
  })
})
