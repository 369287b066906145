/** Laws of the full check: whole histories have no findings, broken ones have some, and nothing throws. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { counter, header, log, said, storedEvents, throughJson } from '../core/builders.ts'
import type { SessionEvent, SessionHeader } from '../core/events.ts'
import { allInvariants } from '../core/invariants/all.ts'
import { validHistory } from '../core/invariants/valid-history.ts'
import { Session } from '../core/session.ts'
import { brokenRelations, type Finding, validateLog } from './validate.ts'

/** The first one; the others are looked for as well. */
const relationRefusal = (of: SessionHeader, events: readonly SessionEvent[]) =>
  [...brokenRelations(of, events)][0] ?? null

const brief = (findings: readonly Finding[]): string[] => findings.map(({ code, seq }) => `${code} ${seq}`)
const check = (events: readonly SessionEvent[]): string[] => brief(validateLog({ header: header(), events }))

describe('histories', () => {
  const choices = (maxLength: number) => fc.array(fc.nat(5_000), { maxLength, size: 'max' })

  /** What the generator writes that a live session takes and a stored log should not have, found another way. */
  function looseness(events: readonly SessionEvent[]): string[] {
    const found: string[] = []
    let calls = new Set<string>()
    for (const event of events) {
      if (event.type === 'assistant/message') {
        for (const block of event.data.message.content) if (block.type === 'tool-call') calls.add(block.id)
      }
      if (event.type === 'tool/result' && event.surfaceOp === 'append') {
        calls.delete(event.data.message.source.callId)
        const isRepair = event.data.message.id.startsWith('interrupted-')
        if (event.data.error?.code === 'TOOL_NOT_STARTED' && !isRepair) found.push(`relation ${event.seq}`)
      }
      if (event.type === 'step/end') {
        if (calls.size > 0) found.push(`pair ${event.seq}`)
        calls = new Set()
      }
    }
    return found
  }

  it('[F9, 8.6] as a program writes them have no findings but calls it left open', () => {
    let clean = 0
    fc.assert(
      fc.property(choices(220), fc.boolean(), (numbers, crashes) => {
        const events = storedEvents(validHistory(numbers, { crashes }))
        const loose = looseness(events)
        if (loose.length === 0) clean += 1
        expect(check(events)).toEqual(loose)
        const first = loose.find(each => each.startsWith('relation'))
        expect(relationRefusal(header(), events)?.seq).toBe(first && Number(first.split(' ')[1]))
      }),
      { numRuns: 150 },
    )
    expect(clean).toBeGreaterThan(30)
  })

  it('[F9, I1] with events left out, doubled or swapped: without findings every session takes them', () => {
    let taken = 0
    const change = fc.record({ kind: fc.constantFrom('drop', 'double', 'swap'), at: fc.nat(10_000) })
    fc.assert(
      fc.property(choices(60), change, (numbers, { kind, at }) => {
        const events = storedEvents(validHistory(numbers))
        const position = at % Math.max(events.length, 1)
        const [event, next] = events.slice(position, position + 2)
        if (event === undefined) return
        const put = kind === 'drop' ? [] : kind === 'double' || next === undefined ? [event, event] : [next, event]
        const list = events
          .toSpliced(position, put.length === 2 && put[0] === next ? 2 : 1, ...put)
          .map((each, seq) => ({ ...each, seq })) as SessionEvent[]
        const findings = validateLog({ header: header(), events: list })
        expect(new Set(brief(findings)).size).toBe(findings.length)
        if (findings.length > 0) return
        taken += 1
        const restore = { header: header(), events: throughJson(list), now: counter(), invariants: allInvariants }
        expect(() => Session.fromRestore(restore)).not.toThrow()
        expect(relationRefusal(header(), list)).toBeNull()
      }),
      { numRuns: 200 },
    )
    expect(taken).toBeGreaterThan(5)
  })

  const types = [
    ...['turn/start', 'turn/end', 'step/start', 'step/end', 'system/message', 'user/message', 'assistant/message'],
    ...['assistant/attempt', 'tool/call', 'tool/result', 'request/header', 'session/end-seed', 'command/run'],
    ...['command/done', 'session/title', 'session/title-llm-request', 'tool/ptc-dispatch-start', 'tool/ptc-dispatch'],
    ...[
      'session-log-deepseek/delivery-accepted',
      'compaction/summary',
      'compaction/prune',
      'llm/retry',
      'image/offload',
    ],
  ]
  const keys = [
    'turn',
    'step',
    'message',
    'stream',
    'callId',
    'name',
    'arguments',
    'messageSeqs',
    'source',
    'commandId',
  ]
  const more = ['rootCallId', 'parentCallId', 'subCallId', 'sourceEventSeq', 'shadowedSeqs', 'sessionId', 'inherited']
  const value = fc.oneof(fc.jsonValue(), fc.constantFrom<unknown>(0, 1, 'a', [0], { kind: 'user' }, true))

  it('[F9, L16] anything at all gives findings, and throws nothing', () => {
    const event = fc.record(
      {
        type: fc.oneof(fc.constantFrom(...types), fc.string()),
        seq: fc.oneof(fc.nat(6), fc.jsonValue()),
        time: fc.oneof(fc.constant(1), fc.jsonValue()),
        data: fc.oneof(fc.dictionary(fc.constantFrom(...keys, ...more), value), fc.jsonValue()),
        surfaceOp: fc.oneof(fc.constant('append'), fc.jsonValue()),
        sourceEventSeqs: fc.jsonValue(),
      },
      { requiredKeys: ['type'] },
    )
    const anything = fc.oneof(event, fc.jsonValue(), fc.anything())
    fc.assert(
      fc.property(
        fc.array(anything, { maxLength: 12 }),
        fc.oneof(fc.anything(), fc.constant(header())),
        (list, head) => {
          const findings = validateLog({ header: head as SessionHeader, events: list as SessionEvent[] })
          for (const { code, message } of findings) expect(code !== '' && message !== '').toBe(true)
        },
      ),
      { numRuns: 1_000 },
    )
  })

  it('[F9, L16] so does one wrong value anywhere in a good log', () => {
    fc.assert(
      fc.property(choices(60), fc.nat(10_000), fc.constantFrom(...keys, ...more), value, (numbers, at, key, wrong) => {
        const events = storedEvents(validHistory(numbers))
        const event = events[at % Math.max(events.length, 1)]
        if (event === undefined) return
        const list = events.with(event.seq, {
          ...event,
          data: { ...(event.data as object), [key]: wrong },
        } as SessionEvent)
        for (const { code } of validateLog({ header: header(), events: list })) expect(code).not.toBe('unreadable')
        expect(() => relationRefusal(header(), list)).not.toThrow()
      }),
      { numRuns: 300 },
    )
  })

  it('[F9] getters and proxies that throw are findings too', () => {
    const hostile = {
      get type(): string {
        throw new TypeError('no')
      },
    }
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    const events = [hostile, proxy, ...log(said('x'))] as unknown as SessionEvent[]
    expect(brief(validateLog({ header: proxy as SessionHeader, events }))).toEqual([
      'unreadable undefined',
      'unreadable 0',
      'unreadable 1',
      'seq 0',
    ])
  })
})
