/** The full check by example: each rule with a log that breaks it and one that keeps it. */
import { describe, expect, it } from 'vitest'
import manifest from '../../e2e/cases/manifest.json'
import {
  answered,
  assistant,
  called,
  type Draft,
  headed,
  header,
  log,
  over,
  prompted,
  returned,
  said,
  stepEnd,
  stepStart,
  textBlock,
  toolCall,
  turnEnd,
  turnStart,
} from '../core/builders.ts'
import { defineEvent } from '../core/event-definition.ts'
import type { SessionEvent, SessionHeader, StreamChunk } from '../core/events.ts'
import { streamOf } from '../core/invariants/valid-history.ts'
import { FormatError } from './errors.ts'
import { brokenRelations, type Finding, validateLog } from './validate.ts'

/** The first one; the others are looked for as well. */
const relationRefusal = (of: SessionHeader, events: readonly SessionEvent[]) =>
  [...brokenRelations(of, events)][0] ?? null

const brief = (findings: readonly Finding[]): string[] => findings.map(({ code, seq }) => `${code} ${seq}`)
const check = (events: readonly unknown[], more: Partial<SessionHeader> = {}): string[] =>
  brief(validateLog({ header: header(more), events: events as readonly SessionEvent[] }))
const checked = (...drafts: readonly Draft[]): string[] => check(log(...drafts))
/** Seq of the event a migrated log is refused for. */
const refused = (...drafts: readonly Draft[]): number | undefined => relationRefusal(header(), log(...drafts))?.seq

const inStep = [turnStart(1), stepStart(1, 1), prompted('p'), said('hi'), headed()]
const closing = [stepEnd(1, 1), turnEnd(1)]
const asked = answered([toolCall('a')])
const unknown: Draft = { type: 'acme/noted', data: { n: 1 } }

describe('validateLog', () => {
  it('[F9, 8.6] has nothing to say of a whole log, or of one that is torn', () => {
    const whole = log(...inStep, asked, called('a'), returned('a'), ...closing)
    for (let length = 0; length <= whole.length; length += 1) expect(check(whole.slice(0, length))).toEqual([])
  })

  it('[F9, 8.6] a compaction whose process died may be left open over turns, up to the mark that says so', () => {
    const start: Draft = { type: 'compaction/start', data: { compactionId: 'k', turn: null } }
    const mark: Draft = { type: 'session/end-seed', data: {} }
    const turns = [turnStart(1), turnEnd(1)]
    expect(checked(start, ...turns, mark)).toEqual([])
    expect(refused(start, ...turns, mark)).toBeUndefined()
    // Without a mark, or after its own end, nobody knows that it died.
    expect(checked(start, ...turns)).toEqual(['compaction 1', 'compaction 2'])
    expect(refused(mark, start, ...turns)).toBe(2)
    expect(checked(start, ...turns, start, mark)).toEqual(['compaction 3'])
  })

  it('[F9] findings say which event breaks what', () => {
    expect(validateLog({ header: header(), events: log(turnStart(1), turnStart(2)) })).toEqual([
      {
        code: 'session',
        seq: 1,
        message: 'turn/start at seq 1 breaks the invariant session: expected no open turn, found turn 1',
      },
    ])
  })

  it('[F9, L11] the header, and what it says of inheritance', () => {
    const mark: Draft = { type: 'session/end-seed', data: { inherited: true } }
    expect(check([], { id: '' })).toEqual(['header undefined'])
    expect(check(log(said('x'), mark), { isSeeded: true })).toEqual([])
    expect(check(log(said('x'), mark))).toEqual(['inherited-cut 1'])
    expect(check(log(said('x')), { isSeeded: true })).toEqual(['inherited-cut undefined'])
    // The last mark counts, and what is before it is another session's.
    const delivered: Draft = {
      type: 'session-log-deepseek/delivery-accepted',
      data: { sessionId: 'parent', sessionFormatVersion: 3, throughSeq: 0 },
    }
    const forked = log(said('x'), mark, delivered, mark, delivered)
    expect(check(forked, { isSeeded: true })).toEqual(['relation 4'])
    for (const broken of [null, undefined, 7, [], { isSeeded: true }]) {
      const found = validateLog({ header: broken as unknown as SessionHeader, events: log(said('x')) })
      expect(brief(found)).toContain('header undefined')
    }
  })

  it('[F9, L1, L8] each envelope; a broken one counts for nothing else', () => {
    const [start, step, ...rest] = log(...inStep, ...closing) as [SessionEvent, SessionEvent]
    const others: readonly SessionEvent[] = rest
    expect(check([start, { ...step, extra: 1 }, ...others])).toEqual(['envelope 1', 'session 2', 'session 5'])
    expect(check([start, { ...step, time: 0.5 }, { ...step, seq: 2 }])).toEqual(['envelope 1'])
    expect(check([null, 'x', [], 7])).toEqual(['envelope 0', 'envelope 1', 'envelope 2', 'envelope 3'])
    expect(check(new Array(2).fill(start, 1))).toEqual(['envelope 0', 'seq 0']) // a hole
  })

  it('[F9, L1] gaps: a log goes on after one, and what was there already is passed over', () => {
    const events = log(...inStep, asked, called('a'), returned('a'), ...closing)
    expect(check(events.toSpliced(3, 1))).toEqual(['seq 4'])
    expect(check([...events.slice(0, 4), ...events.slice(2)])).toEqual(['seq 2', 'seq 3'])
    expect(check(events.slice(1)).slice(0, 3)).toEqual(['seq 1', 'session 1', 'session 2'])
    // However far it goes.
    expect(check([{ ...events[0], seq: Number.MAX_SAFE_INTEGER }, events[1]])).toEqual([
      `seq ${Number.MAX_SAFE_INTEGER}`,
      'seq 1',
    ])
  })

  it('[F9, L6] types nobody knows, unless they may be ignored or are defined', () => {
    expect(checked(unknown, said('x'))).toEqual(['unknown-type 0'])
    expect(checked({ ...unknown, ignorable: true }, said('x'))).toEqual([])
    const events = log(unknown, unknown)
    const known = { header: header(), events }
    expect(validateLog(known, { eventTypes: [defineEvent('acme/noted')] })).toEqual([])
    const problem = (data: unknown) => ((data as { n: number }).n === 1 ? 'expected two' : null)
    expect(brief(validateLog(known, { eventTypes: [defineEvent('acme/noted', { problem })] }))).toEqual([
      'payload 0',
      'payload 1',
    ])
    expect(() => validateLog(known, { eventTypes: [defineEvent('x'), defineEvent('x')] })).toThrow(
      expect.objectContaining({ code: 'registration' }),
    )
  })

  it('[F9, M2] a projecting event needs its interpreter, and changes the surface by it', () => {
    const offload: Draft = { type: 'image/offload', data: { targets: [] } }
    expect(checked(said('x'), offload)).toEqual(['interpreter-missing 1'])
    const projections = [{ type: 'image/offload', version: 1, project: () => [] }]
    expect(validateLog({ header: header(), events: log(said('x'), offload) }, { projections })).toEqual([])
  })

  it('[F9, L9] payloads of the format; a broken one is not given to the rules', () => {
    expect(checked({ type: 'turn/start', data: {} }, turnStart(1), turnEnd(1))).toEqual(['payload 0'])
    expect(checked({ ...said('x'), data: null })).toEqual(['payload 0'])
  })

  it('[F9, S1–S8] places on the surface; what is refused leaves it as it was', () => {
    const before = [...inStep, answered('ok'), ...closing]
    expect(checked(...before, over(said('sum'), 2, 3, [2, 3]))).toEqual(['system-head 8'])
    expect(checked(...before, over(said('sum'), 3, 4, [3, 4]), over(said('sum'), 3, 5, [3, 5]))).toEqual([
      'surface-range 8',
    ])
    expect(checked(...before, over(said('sum'), 3, 5, [3]))).toEqual(['surface-coverage 8'])
    expect(checked({ ...said('x'), surfaceOp: undefined })).toEqual(['surface-op 0'])
    expect(checked({ ...turnStart(1), surfaceOp: 'append' }, turnEnd(1))).toEqual(['surface-op 0'])
  })

  it('[F9, 8.4] the message of a stream is what the stream yields', () => {
    const chunks: StreamChunk[] = [
      { type: 'text-delta', index: 0, text: 'Hel' },
      { type: 'text-delta', index: 0, text: 'lo' },
      { type: 'block-end', index: 0, block: textBlock('Hello') },
    ]
    const usage = { inputTokens: 1, outputTokens: 2 }
    const finish: StreamChunk = { type: 'finish', reason: { kind: 'stop' }, replayState: { s: 1 } }
    const settled = (content: string, parts: readonly StreamChunk[], more: object = {}, source: object = {}): Draft => {
      const message = assistant(content)
      const data = { turn: 1, step: 1, stream: streamOf(parts), ...more }
      return {
        type: 'assistant/message',
        data: { ...data, message: { ...message, source: { ...message.source, ...source } } },
        surfaceOp: 'append',
      }
    }
    const found = (draft: Draft) => checked(...inStep, draft, ...closing)
    const all: StreamChunk[] = [...chunks, { type: 'usage', usage }, finish]
    const replayState = { s: 1 }
    expect(found(settled('Hello', all, { usage }, { replayState }))).toEqual([])
    expect(found(settled('Hi', all, { usage }, { replayState }))).toEqual(['stream 5'])
    expect(found(settled('Hello', all, {}, { replayState }))).toEqual(['stream 5'])
    expect(found(settled('Hello', all, { usage }))).toEqual(['stream 5'])
    // A stream that never finished counts as one that stopped.
    expect(found(settled('Hello', chunks))).toEqual([])
    expect(found(settled('Hi', chunks))).toEqual(['stream 5'])
    expect(found(settled('Hello', chunks.slice(0, 2), { interrupted: true }))).toEqual([])
    expect(found(settled('Hel', chunks.slice(0, 2), { interrupted: true }))).toEqual(['stream 5'])
    expect(found(settled('anything', []))).toEqual([])
    expect(found({ type: 'assistant/attempt', data: { turn: 1, step: 1, stream: [{ type: 'x' }] } })).toEqual([
      'stream 5',
    ])
    // Half a surrogate pair may be there as it came, mended, or left out where it was cut; nothing else may be.
    const half: StreamChunk = { type: 'text-delta', index: 0, text: 'net \ud83c' }
    for (const content of ['net \ud83c', 'net \ufffd', 'net ']) {
      expect(found(settled(content, [half], { interrupted: true }))).toEqual([])
    }
    expect(found(settled('net \ufffd', [half, { type: 'finish', reason: { kind: 'stop' } }]))).toEqual([])
    expect(found(settled('net ', [half, { type: 'finish', reason: { kind: 'stop' } }]))).toEqual(['stream 5'])
    expect(found(settled('net', [half], { interrupted: true }))).toEqual(['stream 5'])
    // A live session may leave blank text out; the format may not.
    const blank: StreamChunk[] = [
      { type: 'text-delta', index: 1, text: ' ' },
      { type: 'finish', reason: { kind: 'stop' } },
    ]
    expect(found(settled('Hello', [...chunks, ...blank]))).toEqual(['stream 5'])
  })

  it('[F9, 8.6, I5, I8] rules of compactions, retries, calls and relations', () => {
    expect(checked({ type: 'compaction/end', data: { compactionId: 'c', turn: null } })).toEqual(['compaction 0'])
    expect(checked(...inStep, { type: 'llm/retry', data: { turn: 1, step: 1 } })).toEqual(['retry 5'])
    expect(checked(...inStep, asked, ...closing)).toEqual(['pair 6'])
    expect(checked(...inStep, asked, called('a'), returned('a'), returned('a'), ...closing)).toEqual(['pair 8'])
    expect(checked({ type: 'command/done', data: { commandId: 'c', kind: 'success' } })).toEqual(['relation 0'])
  })

  it('[F9, I8] the id of a chain of retries is no other’s', () => {
    const retry = (retryId: string, policyKey: string, count = 1): Draft => {
      const failure = { code: 'SERVER', message: 'no' }
      const plan = { retryId, turn: 1, step: 1, provider: 'demo', policyKey, retry: count }
      return { type: 'llm/retry', data: { ...plan, mode: 'always', delayMs: 1, failure } }
    }
    const started: Draft = { type: 'llm/retry-started', data: { retryId: 'r', turn: 1, step: 1, retry: 1 } }
    expect(checked(...inStep, retry('r', 'a'), started, retry('r', 'a', 2), retry('q', 'b'))).toEqual([])
    expect(checked(...inStep, retry('r', 'a'), started, retry('r', 'b'))).toEqual(['retry 7'])
    expect(refused(...inStep, retry('r', 'a'), started, retry('r', 'b'))).toBe(7)
  })

  it('[F9] several findings in one log are all there, one for each code and seq', () => {
    const drafts: Draft[] = [
      ...[...inStep, asked, called('b'), returned('a'), unknown, turnStart(7)],
      ...[{ ...said('x'), surfaceOp: undefined }, over(said('y'), 2, 2, [2]), ...closing],
      ...[
        { type: 'turn/end', data: { turn: 'x' } },
        { type: 'command/done', data: {} },
      ],
    ]
    const events: unknown[] = log(...drafts)
    events.push({ ...(events.at(-1) as object), extra: 1, seq: events.length }, null)
    expect(check(events, { createdAt: -1 })).toEqual([
      'header undefined',
      'relation 6',
      'relation 7',
      'unknown-type 8',
      'session 9',
      'surface-op 10',
      'system-head 11',
      'session 12',
      'session 13',
      'payload 14',
      'relation 15',
      'envelope 16',
      'envelope 17',
    ])
  })
})

describe('brokenRelations', () => {
  it('[F9, 8.6] refuses a migrated log for the first rule it breaks', () => {
    const error = relationRefusal(header(), log(turnStart(1), turnEnd(1), turnStart(3), turnStart(4)))
    expect(error).toBeInstanceOf(FormatError)
    expect(error).toMatchObject({ code: 'relation', seq: 2, eventType: 'turn/start' })
    expect(error?.message).toBe('turn/start at seq 2 breaks the invariant session: expected turn 2, found 3')
    expect(refused(...inStep, asked, called('a'), returned('a'), ...closing)).toBeUndefined()
    expect(refused(...inStep, called('a'))).toBe(5)
    expect(refused(...inStep, asked, returned('a'))).toBe(6)
    expect(refused({ type: 'compaction/end', data: { compactionId: 'c', turn: null } })).toBe(0)
    expect(refused(...inStep, { type: 'llm/retry', data: { turn: 1, step: 1 } })).toBe(5)
  })

  it('[F9, A3] not for calls without an answer or with another one: what is sent is healed', () => {
    expect(refused(...inStep, asked, ...closing)).toBeUndefined()
    expect(refused(...inStep, asked, called('a'), ...closing)).toBeUndefined()
    expect(refused(...inStep, asked, called('a'), returned('a'), returned('a'), ...closing)).toBeUndefined()
    expect(refused(...inStep, returned('z'), ...closing)).toBeUndefined()
    expect(
      refused(...inStep, asked, ...closing.slice(0, 1), stepStart(1, 2), returned('a', 'ok', {}, 1, 2)),
    ).toBeUndefined()
  })

  it('[F9] leaves to the session what a session refuses by itself, and all after it', () => {
    expect(refused({ type: 'turn/start', data: {} }, turnStart(7))).toBeUndefined()
    expect(refused(over(said('x'), 4, 5, [4, 5]), turnStart(7))).toBeUndefined()
    expect(refused(turnStart(7), { type: 'turn/start', data: {} })).toBe(0)
    // An interpreter is nothing it needs.
    expect(refused({ type: 'image/offload', data: {} }, turnStart(7))).toBe(1)
  })

  it('[F9] what is inherited may name the parent', () => {
    const drafts: Draft[] = [
      {
        type: 'session-log-deepseek/delivery-accepted',
        data: { sessionId: 'p', sessionFormatVersion: 2, throughSeq: 0 },
      },
      { type: 'session/end-seed', data: { inherited: true } },
    ]
    expect(relationRefusal(header({ isSeeded: true }), log(...drafts))).toBeNull()
    expect(refused(...drafts.slice(0, 1))).toBe(0)
  })
})

describe('logs from failure reports', () => {
  const all: Record<string, string> = import.meta.glob('../../e2e/cases/*.jsonl', {
    query: '?raw',
    import: 'default',
    eager: true,
  })
  /** Those of the current version, by name. */
  const files = Object.fromEntries(
    Object.entries(all)
      .filter(([, text]) => text.startsWith('{"type":"session","version":3,'))
      .map(([path, text]) => [path.replace(/.*\//, ''), text]),
  )
  const read = (file: string) => {
    const [first, ...rest] = (files[file] as string).trimEnd().split('\n')
    const { type: _, ...head } = JSON.parse(first as string) as SessionHeader & { type: string }
    return { header: head, events: rest.map(line => JSON.parse(line) as SessionEvent) }
  }
  /** What is found in those that are not whole. */
  const expected: Record<string, string[]> = {
    'frk-07-marker-without-seeded.jsonl': ['inherited-cut 8'],
    'frk-07-seeded-without-marker.jsonl': ['inherited-cut undefined'],
    'sur-01-v3-old-replace-keys.jsonl': ['surface-op 16'],
    'sur-04-replace-swallows-system-head.jsonl': ['system-head 22'],
    'sur-15-head-plus-neighbour.jsonl': ['system-head 16'],
  }
  const accepted = (manifest as readonly { file: string; expect: { load?: string } }[])
    .filter(({ file, expect: { load } }) => load === 'accept' && file in files)
    .map(({ file }) => file)

  it('[F9] there are some of each kind', () => {
    expect([...accepted, ...Object.keys(expected)].sort()).toEqual(Object.keys(files).sort())
    expect(accepted.filter(file => file.startsWith('mig-')).length).toBe(5)
  })

  it.each(accepted)('[F9] %s is whole', file => {
    expect(validateLog(read(file))).toEqual([])
    expect(relationRefusal(read(file).header, read(file).events)).toBeNull()
  })

  it.each(Object.entries(expected))('[F9] %s is not', (file, found) => {
    expect(brief(validateLog(read(file)))).toEqual(found)
  })
})
