import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { FormatError } from './errors.ts'
import type { Repair } from './migration.ts'
import type { StoredEvent, StoredHeader } from './stored.ts'
import { v0ToV1 } from './v0-to-v1.ts'

type Draft = Omit<StoredEvent, 'seq' | 'time'>

const header: StoredHeader = { version: 0, id: 's', createdAt: 1, delegationDepth: 0 }
const event = (type: string, data: unknown, envelope: Partial<Draft> = {}): Draft => ({ type, data, ...envelope })
const logOf = (drafts: readonly Draft[]): readonly StoredEvent[] =>
  drafts.map((draft, seq) => ({ ...draft, seq, time: 100 + seq }))

function run(drafts: readonly Draft[], { own = header, isRepairing = false } = {}) {
  const log = logOf(drafts)
  const before = JSON.stringify(log)
  const events: StoredEvent[] = []
  const repairs: Repair[] = []
  const stage = v0ToV1.open({
    header: own,
    emit: (emitted, from) => {
      expect(from).toBe(emitted.seq)
      events.push(emitted)
    },
    repair: isRepairing ? repair => repairs.push(repair) : null,
    sha256: () => '',
  })
  try {
    for (const stored of log) stage.push(stored)
    expect(stage.end(7)).toBe(7)
    expect(stage.end(null)).toBeNull()
  } finally {
    expect(JSON.stringify(log)).toBe(before)
  }
  expect(events.map(({ seq, time }) => [seq, time])).toEqual(log.map(({ seq, time }) => [seq, time]))
  return { log, events, repairs, data: events.map(({ data }) => data), last: events.at(-1)?.data }
}
const last = (...drafts: readonly Draft[]) => run(drafts).last
const recovered = (...drafts: readonly Draft[]) => run(drafts, { isRepairing: true })

function refusal(...drafts: readonly Draft[]): { code: string; path?: string; seq?: number } {
  return refusalOf(drafts, {})
}
function refusalOf(drafts: readonly Draft[], options: Parameters<typeof run>[1]) {
  try {
    run(drafts, options)
  } catch (error) {
    if (!(error instanceof FormatError)) throw error
    const { code, seq, path } = error
    return { code, ...(seq === undefined ? {} : { seq }), ...(path === undefined ? {} : { path }) }
  }
  throw new Error('Expected a refusal')
}

const text = (value: string) => [{ type: 'text', text: value }]
const place = { turn: 1, step: 1 }
const source = { kind: 'user' }
const append: Partial<Draft> = { surfaceOp: 'append' }
const replace = (start: number): Partial<Draft> => ({
  surfaceOp: { op: 'replace', start, end: start },
  sourceEventSeqs: [start],
})
const user = (id = 'm-1') => event('user/message', { id, role: 'user', content: text('q'), source }, append)
const model = { kind: 'model', provider: 'demo', model: 'chat' }
const config = { provider: 'demo', model: 'chat' }

describe('what stays', () => {
  it('[F5, 8.3] the header changes its version and nothing else', () => {
    const older = { ...header, cwd: '/w', seedLength: 2, agentPreset: 'code' }
    expect(v0ToV1.header(older)).toEqual({ ...older, version: 1 })
    expect(older.version).toBe(0)
    expect([v0ToV1.from, v0ToV1.to]).toEqual([0, 1])
  })

  it('[F5, 8.3] events that are right already pass as they are', () => {
    const drafts = [
      event('turn/start', { turn: 1 }),
      event('step/start', place),
      user(),
      event('request/header', { header: { config, system: 's' }, reason: 'initial' }),
      event('assistant/chunk', { ...place, chunk: { type: 'finish', reason: { kind: 'stop' } } }),
      event(
        'assistant/message',
        { ...place, message: { id: 'm-2', role: 'assistant', content: text('a'), source: model } },
        { ...append, sourceEventSeqs: [4] },
      ),
      event('step/end', place),
      event('turn/end', { turn: 1, reason: { kind: 'completed' } }),
      event('compaction/start', { compactionId: 'k', turn: null }, { ignorable: true }),
      event('session/end-seed', {}),
    ]
    const { log, events } = run(drafts)
    expect(events).toHaveLength(log.length)
    events.forEach((emitted, seq) => {
      expect(emitted).toBe(log[seq])
    })
  })

  it('[F5, 8.3] chunks are not looked at', () => {
    const odd = event('assistant/chunk', { anything: 1 }, { surfaceOp: 1 })
    const { log, events } = run([odd])
    expect(events[0]).toBe(log[0])
  })

  it('[F5, 8.3] old words in what people and models wrote are theirs', () => {
    const drafts = [
      event(
        'user/message',
        { id: 'm', role: 'user', content: text('compact/start steering/message'), source: { kind: 'compact' } },
        append,
      ),
      event('tool/call', { ...place, callId: 'c', name: 'compact/start', arguments: '{"trigger":{"kind":""}}' }),
      event('tool/code-dispatch-start', {
        rootCallId: 'r',
        parentCallId: 'p',
        subCallId: 's',
        name: 'mode/set',
        arguments: { type: 'compact/start', messagePrefix: 1, kind: 'disposed' },
      }),
      event('command/run', { commandId: 'k', name: 'compact', source: {}, args: { provenance: 1 } }),
      event('turn/end', { turn: 1, reason: { kind: 'errors', step: 1, message: 'm' } }),
    ]
    const { log, events } = run(drafts)
    events.forEach((emitted, seq) => {
      expect(emitted).toBe(log[seq])
    })
  })
})

describe('types', () => {
  it('[F5, 8.3] compact/* is compaction/*', () => {
    const shadowed = { shadowedRange: { start: 0, end: 0 }, shadowedSeqs: [0], shadowedTokenCount: 5 }
    const summary = { compactionId: 'k', summary: text('s'), ...shadowed, ...config }
    const { events } = run([
      user(),
      event('compact/prune', shadowed),
      event('compact/start', { compactionId: 'k', turn: null }),
      event('compact/summary', summary),
      event('compact/end', { compactionId: 'k', turn: null }),
    ])
    expect(events.slice(1).map(({ type }) => type)).toEqual([
      'compaction/prune',
      'compaction/start',
      'compaction/summary',
      'compaction/end',
    ])
    expect(events[3]).toEqual({ type: 'compaction/summary', seq: 3, time: 103, data: summary })
  })

  it('[F5, 8.3] compact/ anything else is no type', () => {
    expect(refusal(user(), event('compact/other', {}))).toEqual({ code: 'unknown-type', seq: 1 })
    expect(refusal(event('compaction', {})).code).toBe('unknown-type')
  })

  it('[F5, 8.3] withdrawn types refuse, ignorable or not, and are never kept', () => {
    for (const type of ['request/header-delta', 'mode/set']) {
      for (const draft of [event(type, {}), event(type, null, { ignorable: true })]) {
        expect(refusal(user(), draft)).toEqual({ code: 'withdrawn-type', seq: 1 })
        expect(refusalOf([draft], { isRepairing: true })).toEqual({ code: 'withdrawn-type', seq: 0 })
      }
    }
    const fallback = event('request/header', { header: { config }, reason: 'fallback' })
    expect(refusal(fallback)).toEqual({ code: 'withdrawn-type', seq: 0, path: '$.reason' })
    expect(refusalOf([fallback], { isRepairing: true }).code).toBe('withdrawn-type')
  })

  it('[F5, 8.3] unknown types refuse even when they may be ignored', () => {
    for (const type of ['demo/x', 'system/message', 'assistant/attempt', 'tool/ptc-dispatch', 'context/message', '']) {
      expect(refusal(event(type, {}))).toEqual({ code: 'unknown-type', seq: 0 })
      expect(refusal(event(type, {}, { ignorable: true }))).toEqual({ code: 'unknown-type', seq: 0 })
    }
  })

  it('[F5, 8.3] subagent/descriptor refuses by the name of its version', () => {
    const descriptor = { mode: 'm', version: 3, provider: 'p' }
    expect(last(event('subagent/descriptor', descriptor))).toBe(descriptor)
    const old = event('subagent/descriptor', { version: 2, kind: 'demo' })
    expect(refusal(old)).toEqual({ code: 'payload', seq: 0, path: '$.version' })
    expect(() => run([old])).toThrow('descriptor version 2')
  })

  it('[F5, 8.3] payloads with more or other members refuse', () => {
    expect(refusal(event('permission/preset', { preset: 'p', origin: 'default' }))).toEqual({
      code: 'payload',
      seq: 0,
      path: '$.origin',
    })
    expect(refusal(event('turn/start', {})).path).toBe('$.turn')
    expect(refusal(event('turn/start', null)).path).toBe('$')
    expect(() => run([event('plan/mode', { active: 1 })])).toThrow(
      'plan/mode at seq 0 should have a boolean at $.active',
    )
  })
})

describe('turns', () => {
  it('[F5, 8.3] the trigger of a turn is dropped', () => {
    const trigger = { kind: 'message', source }
    expect(last(event('turn/start', { turn: 1, trigger }))).toEqual({ turn: 1 })
    for (const bad of [null, 'message', [], {}, { kind: '' }, { kind: 1 }]) {
      expect(refusal(event('turn/start', { turn: 1, trigger: bad }))).toMatchObject({
        code: 'payload',
        path: expect.stringMatching(/^\$\.trigger/) as string,
      })
    }
  })

  const end = (reason: unknown) => event('turn/end', { turn: 1, reason })
  const ending = (reason: unknown) => (last(end(reason)) as { reason: unknown }).reason

  it('[F5, 8.3] a turn that was aborted for no reason has the cause legacy', () => {
    expect(ending({ kind: 'aborted' })).toEqual({ kind: 'aborted', reason: { kind: 'legacy' } })
    const aborted = { kind: 'aborted', reason: { kind: 'user' } }
    expect(ending(aborted)).toBe(aborted)
    expect(refusal(end({ kind: 'aborted', reason: null })).path).toBe('$.reason.reason')
    expect(refusal(end({ kind: 'aborted', step: 1 })).path).toBe('$.reason.step')
  })

  it('[F5, 8.3] disposed is a cause of being aborted', () => {
    expect(ending({ kind: 'disposed' })).toEqual({ kind: 'aborted', reason: { kind: 'disposed' } })
    expect(refusal(end({ kind: 'disposed', at: 1 }))).toEqual({ code: 'payload', seq: 0, path: '$.reason.at' })
  })

  it('[F5, 8.3] a failure of old is an error', () => {
    const failure = { message: 'busy', code: 'SERVER', status: 503 }
    expect(ending({ kind: 'error', step: 2, failure })).toEqual({ kind: 'error', error: failure })
    expect(ending({ kind: 'error', step: 2, message: 'm', code: 'C' })).toEqual({
      kind: 'error',
      error: { message: 'm', code: 'C' },
    })
    expect(ending({ kind: 'error', step: 2, message: 'm' })).toEqual({
      kind: 'error',
      error: { message: 'm', code: 'UNKNOWN' },
    })
    const current = { kind: 'error', error: { message: 'm', code: 'C' } }
    expect(ending(current)).toBe(current)
  })

  it('[F5, 8.3] what is half one and half the other refuses', () => {
    const path = (reason: unknown) => refusal(end(reason)).path
    expect(path({ kind: 'error' })).toBe('$.reason.step')
    expect(path({ kind: 'error', message: 'm' })).toBe('$.reason.step')
    expect(path({ kind: 'error', step: 1, message: 5 })).toBe('$.reason.message')
    expect(path({ kind: 'error', step: 1, message: 'm', code: 5 })).toBe('$.reason.code')
    expect(path({ kind: 'error', step: 1, message: 'm', failure: {} })).toBe('$.reason.message')
    expect(path({ kind: 'error', step: 1, failure: { message: 'm' } })).toBe('$.reason.error.code')
    expect(path({ kind: 'error', step: 1, error: { message: 'm', code: 'C' } })).toBe('$.reason.step')
    expect(path('error')).toBe('$.reason')
  })

  it('[F5, 8.3] the message prefix of a header is dropped', () => {
    const withPrefix = (messagePrefix: unknown) =>
      event('request/header', { header: { config, messagePrefix, system: 's' }, reason: 'resume' })
    expect(last(withPrefix(['x', {}]))).toEqual({ header: { config, system: 's' }, reason: 'resume' })
    expect(refusal(withPrefix({}))).toEqual({ code: 'payload', seq: 0, path: '$.header.messagePrefix' })
    expect(refusal(event('request/header', { header: 1, reason: 'resume' })).path).toBe('$.header')
    expect(last(event('request/header', { header: { config }, reason: 'series' }))).toMatchObject({ reason: 'series' })
  })
})

describe('messages', () => {
  const flatUser = { content: text('q'), source }
  const flatAnswer = { ...place, content: text('a'), provenance: { provider: 'demo', model: 'chat' } }
  const flatResult = { ...place, callId: 'c', content: text('r'), isError: false }
  const resultMessage = (id: string, isError = false) => ({
    id,
    role: 'user',
    content: [{ type: 'tool-result', toolCallId: 'c', content: text('r'), isError }],
    source: { kind: 'tool', callId: 'c' },
  })

  it("[F5, 8.3] a user's message without identity gets one", () => {
    const { events } = run([user(), event('user/message', flatUser, append)])
    expect(events[1]).toEqual({
      type: 'user/message',
      seq: 1,
      time: 101,
      data: { id: 'legacy-message:s:1', role: 'user', ...flatUser },
      surfaceOp: 'append',
    })
    expect(refusal(event('user/message', { ...flatUser, id: '' }, append)).path).toBe('$.id')
    expect(refusal(event('user/message', { ...flatUser, role: 'user' }, append)).path).toBe('$.id')
    expect(refusal(event('user/message', { ...flatUser, turn: 1 }, append)).path).toBe('$.turn')
    expect(refusal(event('user/message', { message: flatUser }, append)).code).toBe('payload')
  })

  it('[F5, 8.3] an answer without identity is wrapped, and its provenance is its source', () => {
    const usage = { inputTokens: 1, outputTokens: 2 }
    expect(last(event('assistant/message', { ...flatAnswer, usage, interrupted: true }, append))).toEqual({
      ...place,
      usage,
      interrupted: true,
      message: { id: 'legacy-message:s:0', role: 'assistant', content: text('a'), source: model },
    })
    const provenance = { ...flatAnswer.provenance, replayState: { a: 1 } }
    expect(last(event('assistant/message', { ...flatAnswer, provenance }, append))).toMatchObject({
      message: { source: { ...model, replayState: { a: 1 } } },
    })
    const bad = (own: object) => refusal(event('assistant/message', { ...flatAnswer, ...own }, append)).path
    expect(bad({ provenance: 'demo' })).toBe('$.provenance')
    expect(bad({ provenance: { provider: 'demo' } })).toBe('$.message.source.model')
    expect(bad({ provenance: undefined })).toBe('$.message')
    expect(bad({ finish: 'stop' })).toBe('$.finish')
    const message = { id: 'm', role: 'assistant', content: text('a'), source: model }
    expect(bad({ message })).toBe('$.content')
  })

  it('[F5, 8.3] a result without identity is wrapped in a block and a message', () => {
    const error = { name: 'E', code: 'C' }
    expect(last(event('tool/result', { ...flatResult, isError: true, error, meta: [1] }, append))).toEqual({
      ...place,
      error,
      meta: [1],
      message: resultMessage('legacy-message:s:0', true),
    })
    expect(refusal(event('tool/result', { ...flatResult, isError: undefined }, append)).path).toBe('$.message')
    expect(refusal(event('tool/result', { ...flatResult, isError: 1 }, append)).path).toBe(
      '$.message.content[0].isError',
    )
  })

  it('[F5, 8.3] a result that replaces another has the id of that one', () => {
    const own = event('tool/result', { ...place, message: resultMessage('m-9') }, append)
    const flat = (envelope: Partial<Draft>) => event('tool/result', flatResult, envelope)
    const ids = (...drafts: readonly Draft[]) => run(drafts).data.map(data => (data as { message: unknown }).message)
    expect(ids(own, flat(replace(0)), flat(replace(1)), flat(append))).toEqual([
      resultMessage('m-9'),
      resultMessage('m-9'),
      resultMessage('m-9'),
      resultMessage('legacy-message:s:3'),
    ])
    expect(ids(flat(append), flat(replace(0)))[1]).toEqual(resultMessage('legacy-message:s:0'))
    expect(refusal(own, flat(replace(7)))).toEqual({ code: 'message-id', seq: 1 })
    expect(refusal(event('step/start', place), flat(replace(0)))).toEqual({ code: 'message-id', seq: 1 })
    expect(refusal(own, flat({ surfaceOp: { op: 'replace', startSeq: 0, endSeq: 0 } })).code).toBe('message-id')
    expect(refusalOf([flat(replace(7))], { isRepairing: true }).code).toBe('message-id')
  })

  it('[F5, 8.3] contradictory results are left to a later step', () => {
    const data = { ...place, message: resultMessage('m'), error: { name: 'E', code: 'C' } }
    expect(last(event('tool/result', data, append))).toBe(data)
  })

  it('[F5, 8.3] messages in an inbox always had an identity', () => {
    const splice = { target: 'next-turn', start: 0, inserted: [flatUser] }
    expect(refusal(event('agent/inbox/spliced', splice)).path).toBe('$.inserted[0].id')
  })

  it("[F5, 8.3] a steering message is a user's message", () => {
    const steer = (data: unknown) => event('steering/message', data, append)
    const message = { id: 'm-5', role: 'user', content: text('q'), source }
    expect(run([steer({ turn: 1, message })]).events[0]).toEqual({
      type: 'user/message',
      seq: 0,
      time: 100,
      data: message,
      surfaceOp: 'append',
    })
    const minted = { id: 'legacy-message:s:0', role: 'user', ...flatUser }
    expect(last(steer({ turn: 1, ...flatUser }))).toEqual(minted)
    expect(last(steer({ turn: 1, message: flatUser }))).toEqual(minted)
    const path = (data: unknown) => refusal(steer(data)).path
    expect(path(null)).toBe('$')
    expect(path({ turn: 1, content: [] })).toBe('$.source')
    expect(path({ turn: 1, message, ...flatUser })).toBe('$.content')
    expect(path({ turn: 'x', message })).toBe('$.turn')
    expect(path({ turn: 1, message: 'hi' })).toBe('$')
  })
})

describe('chains of retries', () => {
  const failure = { message: 'busy', code: 'SERVER' }
  const retry = (own: object = {}) =>
    event('llm/retry', {
      ...place,
      provider: 'demo',
      mode: 'normal',
      policyKey: 'k',
      retry: 1,
      delayMs: 5,
      failure,
      maxRetries: 5,
      ...own,
    })
  const ids = (...drafts: readonly Draft[]) => run(drafts).data.map(data => (data as { retryId?: unknown }).retryId)

  it('[F5, 8.3] one without id has that of its chain, or the first of a new one', () => {
    expect(ids(retry(), retry({ retry: 2 }), retry({ retry: 3 }))).toEqual(Array(3).fill('legacy-retry:s:0'))
    expect(
      ids(retry(), retry({ turn: 2 }), retry({ step: 2 }), retry({ provider: 'p' }), retry({ policyKey: 'q' })),
    ).toEqual([0, 1, 2, 3, 4].map(seq => `legacy-retry:s:${seq}`))
    expect(ids(retry(), user(), event('session/end-seed', {}), retry())[3]).toBe('legacy-retry:s:0')
  })

  it('[F5, 8.3] ids of its own continue a chain too', () => {
    expect(ids(retry({ retryId: 'own' }), retry())).toEqual(['own', 'own'])
    expect(ids(retry(), retry({ retryId: 'own' }), retry())).toEqual(['legacy-retry:s:0', 'own', 'own'])
    expect(refusal(retry({ retryId: '' })).path).toBe('$.retryId')
    expect(refusal(retry({ retryId: null })).path).toBe('$.retryId')
  })

  it('[F5, 8.3] parts of the key cannot be mistaken for each other', () => {
    expect(ids(retry({ provider: 'a","b', policyKey: 'c' }), retry({ provider: 'a', policyKey: 'b","c' }))).toEqual([
      'legacy-retry:s:0',
      'legacy-retry:s:1',
    ])
    expect(refusal(retry({ provider: [[]] })).path).toBe('$.provider')
  })
})

describe('brackets of compactions', () => {
  const start = (own: object = {}) => event('compaction/start', { turn: null, ...own })
  const end = (own: object = {}) => event('compaction/end', { turn: null, ...own })
  const summary = (own: object = {}) =>
    event('compaction/summary', {
      summary: text('s'),
      shadowedRange: { start: 0, end: 0 },
      shadowedSeqs: [0],
      shadowedTokenCount: 5,
      ...config,
      ...own,
    })
  const checkpoint = (own: object = {}, message: object = { id: 'k', role: 'user' }) =>
    event(
      'user/message',
      { ...message, content: text('s'), source: { kind: 'plugin', plugin: 'compact', ...own } },
      replace(0),
    )
  const ids = (...drafts: readonly Draft[]) =>
    run(drafts).data.map(data => {
      const { compactionId, source: from } = data as { compactionId?: string; source?: { compactionId?: string } }
      return compactionId ?? from?.compactionId ?? '-'
    })

  it('[F5, 8.3] events without id have that of their bracket, which is minted at its start', () => {
    const minted = 'legacy-compaction:s:1'
    expect(ids(user(), start(), summary(), checkpoint(), end())).toEqual(['-', minted, minted, minted, minted])
    expect(ids(user(), event('compact/start', { turn: 1 }), checkpoint({}, {}))).toEqual(['-', minted, minted])
    expect(ids(start(), end(), start(), end())).toEqual([0, 0, 2, 2].map(seq => `legacy-compaction:s:${seq}`))
  })

  it('[F5, 8.3] a bracket with an id of its own gives it to those without', () => {
    expect(ids(user(), start({ compactionId: 'own' }), summary(), checkpoint(), end())).toEqual([
      '-',
      'own',
      'own',
      'own',
      'own',
    ])
    const other = { compactionId: 'z' }
    expect(ids(user(), start(), summary(other), checkpoint(other), end(other))).toEqual([
      '-',
      'legacy-compaction:s:1',
      'z',
      'z',
      'z',
    ])
  })

  it('[F5, 8.3] the end and the end of a seed close a bracket', () => {
    const seed = event('session/end-seed', {})
    for (const closer of [end(), end({ error: 'e' }), end({ compactionId: 'z' }), seed]) {
      for (const late of [summary(), end()]) {
        expect(refusal(user(), start(), closer, late)).toEqual({ code: 'payload', seq: 3, path: '$.compactionId' })
      }
      expect(refusal(user(), start(), closer, checkpoint()).path).toBe('$.source.compactionId')
    }
    expect(refusal(user(), summary()).path).toBe('$.compactionId')
    expect(refusal(start({ compactionId: '' })).path).toBe('$.compactionId')
  })

  it('[F5, 8.3] other messages and prunings inside a bracket stay as they are', () => {
    const other = event('user/message', { id: 'm', role: 'user', content: [], source: { kind: 'plugin', plugin: 'p' } })
    const prune = event('compaction/prune', {
      shadowedRange: { start: 0, end: 0 },
      shadowedSeqs: [0],
      shadowedTokenCount: 1,
    })
    const { log, events } = run([user(), start(), other, prune, user()])
    for (const seq of [2, 3, 4]) expect(events[seq]).toBe(log[seq])
  })
})

describe('delivery', () => {
  const accepted = (sessionId: string, own: object = {}) =>
    event('session-log-deepseek/delivery-accepted', { sessionId, throughSeq: 0, ...own })
  const seeded = { ...header, seedLength: 2, parentSession: 'p' }

  it('[F5, 8.3] a record of another session refuses unless it is inherited', () => {
    expect(run([user(), accepted('s')]).events).toHaveLength(2)
    expect(refusal(user(), accepted('p'))).toEqual({ code: 'delivery', seq: 1, path: '$.sessionId' })
    expect(run([user(), accepted('p'), user('m-2')], { own: seeded }).events).toHaveLength(3)
    expect(refusalOf([user(), user('m-2'), accepted('p')], { own: seeded })).toMatchObject({ code: 'delivery', seq: 2 })
    expect(refusalOf([accepted('p')], { isRepairing: true }).code).toBe('delivery')
  })

  it('[F5, 8.3] records of format 0 name no version', () => {
    expect(refusal(user(), accepted('s', { sessionFormatVersion: 0 })).path).toBe('$.sessionFormatVersion')
    expect(recovered(accepted('p', { sessionFormatVersion: 0 })).repairs).toHaveLength(1)
  })
})

describe('recovering', () => {
  it('[F5, F10, 8.3] keeps what has other members and unknown types that may be ignored', () => {
    const drafts = [
      event('permission/preset', { preset: 'p', origin: 'default' }),
      event('subagent/descriptor', { version: 2, kind: 'demo' }),
      event('demo/x', { q: 1 }, { ignorable: true }),
      event('turn/start', { turn: 1, trigger: 'x' }),
      event('turn/end', { turn: 1, reason: { kind: 'disposed', at: 1 } }),
      user(),
    ]
    const { log, events, repairs } = recovered(...drafts)
    events.forEach((emitted, seq) => {
      expect(emitted).toBe(log[seq])
    })
    expect(repairs.map(({ code, seq }) => [code, seq])).toEqual([0, 1, 2, 3, 4].map(seq => ['kept-verbatim', seq]))
    expect(repairs[0]?.message).toBe('permission/preset at seq 0 should have nothing at $.origin; it was kept as it is')
  })

  it('[F5, F10] respells what it keeps where that is possible', () => {
    const { events, repairs } = recovered(event('compact/start', { turn: null, note: 'x' }))
    expect(events[0]).toMatchObject({
      type: 'compaction/start',
      data: { turn: null, note: 'x', compactionId: 'legacy-compaction:s:0' },
    })
    expect(repairs).toHaveLength(1)
  })

  it('[F5, F10] still refuses unknown types that are required', () => {
    expect(refusalOf([event('demo/x', {})], { isRepairing: true })).toEqual({ code: 'unknown-type', seq: 0 })
    expect(refusalOf([event('steering/message', {})], { isRepairing: true }).code).toBe('payload')
  })

  it('[F5, F10] lists nothing where nothing is wrong', () => {
    const steer = event('steering/message', { turn: 1, content: text('q'), source }, append)
    expect(recovered(user(), steer, event('turn/start', { turn: 1 })).repairs).toEqual([])
  })

  const context = (data: unknown) => event('context/message', data, { ...append, sourceEventSeqs: [0] })
  const told = { content: text('notes.md changed') }

  it('[F5, F10] a context/message is the message of a plugin', () => {
    const message = { id: 'm-2', role: 'user', source: { kind: 'plugin', plugin: 'workspace' }, ...told }
    const { events, repairs } = recovered(user(), context(message))
    expect(events[1]).toEqual({
      type: 'user/message',
      seq: 1,
      time: 101,
      data: message,
      surfaceOp: 'append',
      sourceEventSeqs: [0],
    })
    expect(repairs).toEqual([
      { code: 'context-message', seq: 1, message: 'context/message at seq 1 became a message of a plugin' },
    ])
  })

  it('[F5, F10] a context/message without identity or plugin gets both', () => {
    const plain = { id: 'legacy-message:s:0', role: 'user', source: { kind: 'plugin', plugin: 'context' }, ...told }
    for (const from of [undefined, 'x', { kind: 'context' }, { kind: 'plugin', plugin: '' }, { kind: 'user' }]) {
      expect(recovered(context({ ...told, source: from })).data).toEqual([plain])
    }
    expect(recovered(context({ message: told })).data).toEqual([plain])
    const odd = recovered(context({ ...told, turn: 1, source: { kind: 'plugin', plugin: 'p', x: 1 } }))
    expect(odd.data).toEqual([{ ...plain, source: { kind: 'plugin', plugin: 'p' } }])
    expect(odd.repairs.map(({ code }) => code)).toEqual(['context-message'])
    expect(odd.repairs[0]?.message).toContain('left out')
    expect(refusalOf([context({ content: 'x' })], { isRepairing: true })).toEqual({
      code: 'payload',
      seq: 0,
      path: '$.content',
    })
    expect(refusalOf([context(null)], { isRepairing: true }).code).toBe('payload')
  })
})

describe('anything', () => {
  const types = (
    'turn/start turn/end request/header llm/retry compaction/start compact/end compaction/summary session/end-seed user/message ' +
    'assistant/message tool/result steering/message context/message subagent/descriptor agent/inbox/spliced mode/set demo/x ' +
    'session-log-deepseek/delivery-accepted assistant/chunk'
  ).split(' ')
  const keys = (
    'turn step trigger kind reason error failure message code header messagePrefix config id role content source plugin ' +
    'provenance callId isError retryId compactionId version sessionId sessionFormatVersion type toolCallId __proto__'
  ).split(' ')
  const words = 'aborted disposed error fallback plugin compact user tool-result text c-1 replace'.split(' ')
  const { value } = fc.letrec<{ value: unknown }>(tie => ({
    value: fc.oneof(
      { maxDepth: 5 },
      fc.constantFrom<unknown>(null, true, 0, 1, 3, '', ...words),
      fc.jsonValue({ maxDepth: 1 }),
      fc.array(tie('value'), { maxLength: 2 }),
      fc
        .dictionary(fc.constantFrom(...keys), tie('value'), { maxKeys: 6 })
        .map(made => JSON.parse(JSON.stringify(made)) as unknown),
    ),
  }))
  const draft = fc.record(
    {
      type: fc.constantFrom(...types),
      data: value,
      surfaceOp: fc.constantFrom<unknown>('append', null, { op: 'replace', start: 0, end: 0 }, { op: 'replace' }),
      ignorable: fc.constant(true as const),
    },
    { requiredKeys: ['type', 'data'] },
  )

  it('[F5] any log passes or refuses with a typed error, and none is changed', () => {
    fc.assert(
      fc.property(fc.array(draft, { maxLength: 6 }), fc.boolean(), (drafts, isRepairing) => {
        try {
          run(drafts, { isRepairing })
        } catch (error) {
          if (!(error instanceof FormatError)) throw error
          expect(error.seq).toBeLessThan(drafts.length)
        }
      }),
      { numRuns: 300 },
    )
  })

  it('[F5] what came out of it is in the inventory and comes out again as it is', () => {
    fc.assert(
      fc.property(draft, one => {
        let once: ReturnType<typeof run>
        try {
          once = run([one])
        } catch {
          return
        }
        const again = run(once.events)
        expect(again.events).toEqual(once.events)
      }),
      { numRuns: 300 },
    )
  })

  it('[F5] nesting has no limit', () => {
    let deep: unknown = 1
    for (let depth = 0; depth < 100_000; depth += 1) deep = [deep]
    const data = { ...place, message: { id: 'm', role: 'user', content: [], source }, meta: deep }
    for (const type of types) {
      for (const isRepairing of [false, true]) {
        try {
          const stage = v0ToV1.open({
            header,
            emit: () => undefined,
            repair: isRepairing ? () => undefined : null,
            sha256: () => '',
          })
          const payload = { ...data, provider: deep, policyKey: deep, trigger: deep, reason: deep, source: deep }
          stage.push({ type, seq: 0, time: 0, data: payload })
        } catch (error) {
          expect(error).toBeInstanceOf(FormatError)
        }
      }
    }
  })
})
