import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type InventoryVersion, inventoryProblem, isInventoryType } from './inventory.ts'

type Data = Record<string, unknown>

const content = [{ type: 'text', text: 'x' }]
const user = { id: 'm-1', role: 'user', content, source: { kind: 'user' } }
const assistant = { id: 'm-2', role: 'assistant', content, source: { kind: 'model', provider: 'demo', model: 'chat' } }
const result = {
  id: 'm-3',
  role: 'user',
  content: [{ type: 'tool-result', toolCallId: 'c-1', content, isError: true }],
  source: { kind: 'tool', callId: 'c-1' },
}
const usage = {
  inputTokens: 1,
  outputTokens: 2,
  totalTokens: 9,
  cacheReadTokens: 3,
  cacheWriteTokens: 4,
  reasoningTokens: 1,
}
const failure = { message: 'busy', code: 'SERVER', status: 503, providerRetryAfterMs: 1.5, requestId: 'q' }
const place = { turn: 1, step: 2 }
const shadowed = { shadowedRange: { start: 5, end: 2 }, shadowedSeqs: [5, 2], shadowedTokenCount: 7 }
const nested = { rootCallId: 'r', parentCallId: 'p', subCallId: 's', name: 'read', arguments: [[{}]] }
const config = { provider: 'demo', model: 'chat', reasoningEffort: 'high', temperature: 0.5, maxTokens: 9, stop: ['.'] }
const header = { config, adapterDefaults: { maxTokens: true }, tools: [{ name: 'read' }], system: '' }

const all = [0, 1, 2] as const
const chunked = [0, 1] as const
const streamed = [2] as const

/** The rows of spec 8.7: type, members (`?` may be missing), versions, a payload with every member. */
const rows: readonly (readonly [string, string, readonly InventoryVersion[], Data])[] = [
  ['agent-preset/selected', 'agentPreset', all, { agentPreset: 'code' }],
  [
    'agent/inbox/spliced',
    'target start inserted removedCount? outcome?',
    all,
    { target: 'next-step', start: 0, inserted: [user], removedCount: 1, outcome: 'canceled' },
  ],
  ['approval/asked', 'id toolName callId? reason?', all, { id: 'a', toolName: 'read', callId: 'c-1', reason: '' }],
  ['approval/decided', 'id outcome', all, { id: 'a', outcome: 'allowed-once' }],
  ['approval/policy', 'policy source?', all, { policy: 'never', source: 'delegation' }],
  ['assistant/chunk', 'turn step chunk', chunked, { ...place, chunk: { type: 'anything' } }],
  ['assistant/attempt', 'turn step stream', streamed, { ...place, stream: [] }],
  [
    'assistant/message',
    'turn step message usage? interrupted?',
    chunked,
    { ...place, message: assistant, usage, interrupted: true },
  ],
  [
    'assistant/message',
    'turn step message stream usage? interrupted?',
    streamed,
    { ...place, message: assistant, stream: [1], usage, interrupted: true },
  ],
  ['command/run', 'commandId name source args?', all, { commandId: 'k', name: 'n', source: {}, args: null }],
  [
    'command/done',
    'commandId kind text? sourceEventSeq?',
    all,
    { commandId: 'k', kind: 'error', text: '', sourceEventSeq: 3 },
  ],
  [
    'compaction/start',
    'compactionId turn sourceCommandId?',
    all,
    { compactionId: 'k', turn: null, sourceCommandId: 'c' },
  ],
  [
    'compaction/end',
    'compactionId turn sourceCommandId? error?',
    all,
    { compactionId: 'k', turn: 1, sourceCommandId: 'c', error: '' },
  ],
  ['compaction/prune', 'shadowedRange shadowedSeqs shadowedTokenCount', all, shadowed],
  [
    'compaction/summary',
    'compactionId summary shadowedRange shadowedSeqs shadowedTokenCount provider model ' +
      'sourceCommandId? maxTokens? usage? rawOutput? llmStreamCall?',
    all,
    {
      ...shadowed,
      compactionId: 'k',
      summary: content,
      provider: 'demo',
      model: 'chat',
      sourceCommandId: 'c',
      maxTokens: 9,
      usage,
      rawOutput: content,
      llmStreamCall: true,
    },
  ],
  ['feedback/record', 'text', all, { text: 'good' }],
  [
    'goal/change',
    'kind version operation goal? roundsStarted? createdAt? updatedAt? cleared? clearedAt?',
    all,
    {
      kind: 'k',
      version: 1,
      operation: 'o',
      goal: {},
      roundsStarted: 0,
      createdAt: 1,
      updatedAt: 2,
      cleared: null,
      clearedAt: 3,
    },
  ],
  [
    'hook/invoked',
    'turn point dialect handlerId matcher?',
    all,
    { turn: 1, point: 'p', dialect: 'd', handlerId: 'h', matcher: '*' },
  ],
  [
    'hook/result',
    'turn point handlerId decision durationMs exitCode? stderrSummary?',
    all,
    { turn: 1, point: 'p', handlerId: 'h', decision: 'd', durationMs: 0.5, exitCode: -1, stderrSummary: '' },
  ],
  [
    'llm/retry',
    'retryId turn step provider mode policyKey retry delayMs failure maxRetries',
    all,
    {
      ...place,
      retryId: 'r',
      provider: 'demo',
      mode: 'normal',
      policyKey: 'k',
      retry: 1,
      delayMs: 0.5,
      failure,
      maxRetries: 5,
    },
  ],
  [
    'llm/retry',
    'retryId turn step provider mode policyKey retry delayMs failure',
    all,
    { ...place, retryId: 'r', provider: 'demo', mode: 'always', policyKey: 'k', retry: 1, delayMs: 1, failure },
  ],
  ['llm/retry-started', 'retryId turn step retry', all, { retryId: 'r', ...place, retry: 1 }],
  [
    'model/selection',
    'provider model reasoningEffort?',
    all,
    { provider: 'demo', model: 'chat', reasoningEffort: 'low' },
  ],
  ['permission/preset', 'preset', all, { preset: 'p' }],
  ['plan/mode', 'active', all, { active: false }],
  ['request/context', 'provider model contextWindow?', all, { provider: 'demo', model: 'chat', contextWindow: 9 }],
  ['request/header', 'header reason startsSeries?', all, { header, reason: 'change', startsSeries: true }],
  ['sandbox/mode', 'mode source?', all, { mode: 'm', source: 's' }],
  [
    'schedule/change',
    'version operation schedule? id? acceptedAt?',
    all,
    { version: 1, operation: 'o', schedule: {}, id: 'i', acceptedAt: 1 },
  ],
  ['session-log-deepseek/delivery-accepted', 'sessionId throughSeq', [0], { sessionId: 's', throughSeq: 0 }],
  [
    'session-log-deepseek/delivery-accepted',
    'sessionId throughSeq sessionFormatVersion?',
    [1, 2],
    { sessionId: 's', throughSeq: 0, sessionFormatVersion: 1 },
  ],
  ['session/end-seed', '', chunked, {}],
  ['session/end-seed', 'inherited?', streamed, { inherited: true }],
  ['session/title', 'title messageSeqs source', all, { title: 't', messageSeqs: [1], source: {} }],
  [
    'session/title-llm-request',
    'titleProvider messageSeqs route system messages maxTokens',
    all,
    { titleProvider: 'p', messageSeqs: [], route: {}, system: '', messages: [user, assistant], maxTokens: 9 },
  ],
  ['step/start', 'turn step', all, place],
  ['step/end', 'turn step', all, place],
  [
    'subagent/descriptor',
    'mode version provider label? agentProvider? agentModel? agentReasoningEffort? persona? toolFilter?',
    all,
    {
      mode: 'm',
      version: 3,
      provider: 'p',
      label: 'l',
      agentProvider: 'a',
      agentModel: 'b',
      agentReasoningEffort: 'c',
      persona: {},
      toolFilter: [],
    },
  ],
  ['subagent/model-selection-policy', 'allowedModels', all, { allowedModels: [] }],
  ['team/member', 'version teamId member', all, { version: 1, teamId: 't', member: {} }],
  ['team/message/queued', 'version teamId message', all, { version: 1, teamId: 't', message: {} }],
  [
    'team/message/delivered',
    'version teamId messageId targetId',
    all,
    { version: 1, teamId: 't', messageId: 'm', targetId: 'x' },
  ],
  ['team/task', 'version teamId task', all, { version: 1, teamId: 't', task: {} }],
  ['todo/write', 'todos', all, { todos: [] }],
  ['tool-workflow/run-start', 'runId name', all, { runId: 'r', name: 'n' }],
  ['tool-workflow/run-end', 'runId stopReason', all, { runId: 'r', stopReason: 'done' }],
  [
    'tool-workflow/agent-start',
    'runId seq label childId phase?',
    all,
    { runId: 'r', seq: 1, label: 'l', childId: 'c', phase: 'p' },
  ],
  ['tool-workflow/agent-end', 'runId seq outcome', all, { runId: 'r', seq: 1, outcome: 'o' }],
  ['tool/call', 'turn step callId name arguments', all, { ...place, callId: 'c-1', name: 'read', arguments: '' }],
  ['tool/code-dispatch-start', 'rootCallId parentCallId subCallId name arguments', all, nested],
  [
    'tool/code-dispatch',
    'rootCallId parentCallId subCallId name arguments isError content',
    all,
    { ...nested, isError: false, content },
  ],
  [
    'tool/result',
    'turn step message error? meta?',
    all,
    { ...place, message: result, error: { name: 'E', code: 'C' }, meta: { any: [1] } },
  ],
  ['turn/start', 'turn', all, { turn: 1 }],
  ['turn/end', 'turn reason', all, { turn: 1, reason: { kind: 'completed' } }],
  ['user/message', 'role id content source', all, user],
  ['web/deepseek-search-llm-request', 'endpoint apiVersion body', all, { endpoint: 'e', apiVersion: 1, body: [] }],
  ['feedback/message-put', 'sessionId item', streamed, { sessionId: 's', item: {} }],
  ['feedback/message-delete', 'sessionId messageId', streamed, { sessionId: 's', messageId: 'm' }],
]
const types = [...new Set(rows.map(([type]) => type))]

const problemOf = (type: string, data: unknown, version: InventoryVersion = 0) =>
  inventoryProblem({ type, data }, version)
const pathOf = (type: string, data: unknown, version: InventoryVersion = 0) => problemOf(type, data, version)?.path
const without = (data: Data, name: string): Data =>
  Object.fromEntries(Object.entries(data).filter(([key]) => key !== name))

describe('payloads', () => {
  it.each(rows)('[F6, 8.7] %s has %s', (type, members, versions, data) => {
    const names = members.split(' ').filter(name => name !== '')
    expect(Object.keys(data).sort()).toEqual(names.map(name => name.replace('?', '')).sort())
    for (const version of versions) {
      expect(problemOf(type, data, version)).toBeNull()
      for (const member of names) {
        const name = member.replace('?', '')
        const problem = problemOf(type, without(data, name), version)
        if (member.endsWith('?')) expect(problem).toBeNull()
        else expect(problem).toMatchObject({ code: 'payload', path: `$.${name}` })
      }
      expect(problemOf(type, { ...data, origin: 'x' }, version)).toEqual({
        code: 'payload',
        what: 'should have nothing at $.origin',
        path: '$.origin',
      })
      for (const other of [null, 'x', 1, true, [], [data]]) expect(pathOf(type, other, version)).toBe('$')
    }
  })

  it('[F6, 8.7] versions have these types and no other', () => {
    for (const version of all) {
      for (const type of types) {
        const isOf = rows.some(([name, , versions]) => name === type && versions.includes(version))
        expect([type, isInventoryType(type, version)]).toEqual([type, isOf])
        if (!isOf) {
          expect(problemOf(type, {}, version)).toEqual({
            code: 'unknown-type',
            what: `is of a type that format ${version} does not have`,
          })
        }
      }
    }
  })

  it('[F6, 8.7] no version has what came later, was withdrawn or looks alike', () => {
    const others = 'system/message image/offload tool/ptc-dispatch subagent/catalog deliverables/presented mode/set'
    const alike = 'compact/start user/messages User/message turn toString __proto__ constructor'
    for (const type of [...others.split(' '), ...alike.split(' '), '']) {
      for (const version of all) expect([type, isInventoryType(type, version)]).toEqual([type, false])
    }
  })

  it('[F6, 8.7] members of a later version refuse', () => {
    expect(pathOf('assistant/message', { ...place, message: assistant, stream: [] }, 1)).toBe('$.stream')
    expect(pathOf('session/end-seed', { inherited: true }, 1)).toBe('$.inherited')
    expect(pathOf('session/end-seed', { inherited: false }, 2)).toBe('$.inherited')
    const context = { provider: 'demo', model: 'chat', systemPromptUpdate: 'in-history' }
    expect(pathOf('request/context', context, 2)).toBe('$.systemPromptUpdate')
    const error = { name: 'E', code: 'C', reason: 'r' }
    expect(pathOf('tool/result', { ...place, message: result, error }, 2)).toBe('$.error.reason')
  })

  it('[F6, 8.7] maxRetries is there exactly in mode normal', () => {
    const retry = { ...place, retryId: 'r', provider: 'd', policyKey: 'k', retry: 1, delayMs: 1, failure }
    expect(pathOf('llm/retry', { ...retry, mode: 'normal' })).toBe('$.maxRetries')
    expect(pathOf('llm/retry', { ...retry, mode: 'always', maxRetries: 1 })).toBe('$.maxRetries')
    expect(pathOf('llm/retry', { ...retry, mode: 'sometimes' })).toBe('$.mode')
  })

  it('[F6, 8.7] numbers that count are safe integers of at least 0', () => {
    for (const turn of [-1, -0, 1.5, 2 ** 53, '1', null]) expect(pathOf('turn/start', { turn })).toBe('$.turn')
    expect(pathOf('session/title', { title: '', messageSeqs: [0, -1], source: {} })).toBe('$.messageSeqs[1]')
    expect(pathOf('compaction/prune', { ...shadowed, shadowedRange: { start: 0 } })).toBe('$.shadowedRange.end')
    expect(pathOf('compaction/prune', { ...shadowed, shadowedRange: { start: 0, end: 0, startSeq: 0 } })).toBe(
      '$.shadowedRange.startSeq',
    )
  })

  it('[F6, 8.7] a chunk is not looked into', () => {
    expect(problemOf('assistant/chunk', { ...place, chunk: {} })).toBeNull()
    expect(pathOf('assistant/chunk', { ...place, chunk: 'x' })).toBe('$.chunk')
  })
})

describe('messages', () => {
  const ofUser = (message: Data) => pathOf('user/message', { ...user, ...message })
  const source = (value: unknown) => ofUser({ source: value })
  const block = (value: unknown) => ofUser({ content: [...content, value] })

  it('[F6, 8.7] have exactly id, role, content and source', () => {
    expect(ofUser({ id: '' })).toBe('$.id')
    expect(ofUser({ role: 'assistant' })).toBe('$.role')
    expect(ofUser({ content: 'x' })).toBe('$.content')
    expect(ofUser({ time: 1 })).toBe('$.time')
    const message = { ...assistant, usage }
    expect(pathOf('assistant/message', { ...place, message })).toBe('$.message.usage')
    expect(pathOf('agent/inbox/spliced', { target: 'next-turn', start: 0, inserted: [user, { ...user, id: 1 }] })).toBe(
      '$.inserted[1].id',
    )
  })

  it('[F6, 1.5] of an answer come from a model, of a result from its call', () => {
    const answer = (from: unknown) => pathOf('assistant/message', { ...place, message: { ...assistant, source: from } })
    expect(answer({ kind: 'model', provider: 'demo', model: 'chat', replayState: [{}] })).toBeUndefined()
    expect(answer({ kind: 'user' })).toBe('$.message.source.kind')
    expect(answer({ kind: 'model', provider: 'demo', model: 'chat', series: 1 })).toBe('$.message.source.series')
    const ofResult = (message: Data) => pathOf('tool/result', { ...place, message: { ...result, ...message } })
    expect(ofResult({ source: { kind: 'tool', callId: 'c-2' } })).toBe('$.message.content[0].toolCallId')
    expect(ofResult({ content: [...result.content, ...result.content] })).toBe('$.message.content')
    expect(ofResult({ content })).toBe('$.message.content')
    expect(ofResult({ content: [] })).toBe('$.message.content')
    expect(ofResult({ source: { kind: 'tool', callId: 'c-1', name: 'read' } })).toBe('$.message.source.name')
  })

  it('[F6, 8.7] known sources are exact, others open', () => {
    expect(source({ kind: 'user', rpcId: 'r', clientTimeZone: 'UTC' })).toBeUndefined()
    expect(source({ kind: 'user', ip: '::1' })).toBe('$.source.ip')
    expect(source({ kind: 'goal', change: {}, any: [1] })).toBeUndefined()
    expect(source({ kind: '' })).toBe('$.source.kind')
    expect(source('user')).toBe('$.source')
    expect(source({ kind: 'tool', callId: '' })).toBe('$.source.callId')
  })

  it('[F6, 8.7] sources of plugins have what their form shows and nothing else', () => {
    const plugin = (own: Data) => source({ kind: 'plugin', plugin: 'p', ...own })
    expect(plugin({})).toBeUndefined()
    expect(plugin({ plugin: '' })).toBe('$.source.plugin')
    expect(plugin({ name: 'p' })).toBe('$.source.name')
    for (const form of ['instructions', 'catalog', 'relay', 'recall']) {
      expect(plugin({ form })).toBeUndefined()
      expect(plugin({ form, summary: 's' })).toBe('$.source.summary')
      expect(plugin({ form, sections: [] })).toBe('$.source.sections')
    }
    expect(plugin({ form: 'snapshot' })).toBe('$.source.sections')
    expect(plugin({ form: 'snapshot', sections: [{ name: 'n', text: '' }] })).toBeUndefined()
    expect(plugin({ form: 'snapshot', sections: [{ name: 'n', text: '', x: 1 }] })).toBe('$.source.sections[0].x')
    expect(plugin({ form: 'notice' })).toBe('$.source.summary')
    // However long: its writer may have meant it to be short, but it is there.
    expect(plugin({ form: 'notice', summary: 's'.repeat(121) })).toBeUndefined()
    expect(plugin({ form: 'notice', summary: 7 })).toBe('$.source.summary')
    expect(plugin({ form: 'poster' })).toBe('$.source.form')
    expect(plugin({ compactionId: 'k' })).toBe('$.source.compactionId')
    expect(plugin({ plugin: 'compact' })).toBe('$.source.compactionId')
    expect(plugin({ plugin: 'compact', compactionId: 'k', sourceCommandId: 'c' })).toBeUndefined()
    expect(plugin({ plugin: 'compact', compactionId: 'k', form: 'recall' })).toBeUndefined()
  })

  it('[F6, 8.7] known blocks are exact, others open', () => {
    expect(block({ type: 'text', text: '' })).toBeUndefined()
    expect(block({ type: 'text', text: '', signature: 's' })).toBe('$.content[1].signature')
    expect(block({ type: 'reasoning', text: 1 })).toBe('$.content[1].text')
    expect(block({ type: 'tool-call', id: 'c', name: 'n', arguments: {} })).toBe('$.content[1].arguments')
    expect(block({ type: 'file', attachment: { attachmentId: 'a', name: 'n', bytes: 0 } })).toBeUndefined()
    expect(block({ type: 'audio', offloaded: true, any: [] })).toBeUndefined()
    expect(block({ type: '' })).toBe('$.content[1].type')
    expect(block('text')).toBe('$.content[1]')
  })

  it('[F6, 8.7] images have no mark of being offloaded', () => {
    const attachment = {
      attachmentId: 'a',
      mediaType: 'image/png',
      bytes: 1,
      width: 2,
      height: 3,
      name: '',
      originalDimensions: { width: 4, height: 5 },
    }
    expect(block({ type: 'image', attachment })).toBeUndefined()
    expect(block({ type: 'image', attachment, offloaded: true })).toBe('$.content[1].offloaded')
    expect(block({ type: 'image', attachment: { ...attachment, mediaType: 'image/bmp' } })).toBe(
      '$.content[1].attachment.mediaType',
    )
    expect(block({ type: 'image', attachment: { ...attachment, url: 'u' } })).toBe('$.content[1].attachment.url')
  })

  it('[F6, 8.7] blocks inside results are looked at, as deep as they are', () => {
    const inside = (inner: readonly unknown[]): unknown => ({ type: 'tool-result', toolCallId: 'c', content: inner })
    const bad = { type: 'text', text: '', x: 1 }
    expect(block(inside([...content, inside([bad])]))).toBe('$.content[1].content[1].content[0].x')
    expect(ofUser({ content: [inside([]), inside([inside([])]), bad] })).toBe('$.content[2].x')
    let deep: unknown = bad
    for (let depth = 0; depth < 200_000; depth += 1) deep = inside([deep])
    expect(block(deep)).toMatch(/^\$\.content…(\[0\]\.content){8}\[0\]\.x$/)
  })

  it('[F6, 8.7] what is not a message but has blocks is looked at too', () => {
    const data = { ...nested, isError: true, content: [{ type: 'text' }] }
    expect(pathOf('tool/code-dispatch', data)).toBe('$.content[0].text')
  })
})

describe('parts', () => {
  it('[F6, 8.7] usage and failure have no other members', () => {
    const answer = (value: unknown) => pathOf('assistant/message', { ...place, message: assistant, usage: value })
    expect(answer({ inputTokens: 0, outputTokens: 0 })).toBeUndefined()
    expect(answer({ inputTokens: 0 })).toBe('$.usage.outputTokens')
    expect(answer({ ...usage, cost: 1 })).toBe('$.usage.cost')
    const error = { ...failure, offloadImages: 1 }
    expect(pathOf('turn/end', { turn: 1, reason: { kind: 'error', error } })).toBe('$.reason.error.offloadImages')
  })

  it('[F6, 1.3] endings are exact where they are known', () => {
    const end = (reason: unknown) => pathOf('turn/end', { turn: 1, reason })
    for (const kind of ['completed', 'blocked', 'max-tokens', 'interrupted']) {
      expect(end({ kind })).toBeUndefined()
      expect(end({ kind, note: '' })).toBe('$.reason.note')
    }
    for (const kind of ['user', 'parent', 'disposed', 'legacy'])
      expect(end({ kind: 'aborted', reason: { kind } })).toBeUndefined()
    expect(end({ kind: 'aborted', reason: { kind: 'hook' } })).toBe('$.reason.reason.reason')
    expect(end({ kind: 'aborted', reason: { kind: 'hook', reason: 'r' } })).toBeUndefined()
    expect(end({ kind: 'aborted', reason: { kind: 'weather' } })).toBe('$.reason.reason.kind')
    expect(end({ kind: 'aborted' })).toBe('$.reason.reason')
    expect(end({ kind: 'paused', until: 5 })).toBeUndefined()
    expect(end('completed')).toBe('$.reason')
  })

  it('[F6, 1.6] a request header has config and what goes with it', () => {
    const of = (own: Data) => pathOf('request/header', { header: { config, ...own }, reason: 'initial' })
    expect(of({})).toBeUndefined()
    expect(of({ messagePrefix: [] })).toBe('$.header.messagePrefix')
    expect(of({ adapterDefaults: {}, tools: [] })).toBeUndefined()
    expect(of({ adapterDefaults: { temperature: true } })).toBe('$.header.adapterDefaults.temperature')
    expect(of({ tools: {} })).toBe('$.header.tools')
    expect(of({ system: null })).toBe('$.header.system')
    expect(of({ config: { ...config, model: '' } })).toBe('$.header.config.model')
    expect(of({ config: { ...config, topP: 1 } })).toBe('$.header.config.topP')
    expect(pathOf('request/header', { header: { config }, reason: 'fallback' })).toBe('$.reason')
  })

  it('[F6] keys that mean something to the language are members like others', () => {
    const data: unknown = JSON.parse('{"turn":1,"__proto__":{"step":1}}')
    expect(pathOf('turn/start', data)).toBe('$.__proto__')
    expect(pathOf('step/start', data)).toBe('$.step')
    expect(pathOf('turn/start', { turn: 1, constructor: 1 })).toBe('$.constructor')
    expect(pathOf('turn/start', { turn: 1, ['a b'.repeat(99)]: 1 })).toBe(`$["${'a b'.repeat(14).slice(0, 40)}"]`)
  })

  it('[F6] any payload is judged and none is changed', () => {
    const payload = fc.oneof(
      fc.jsonValue(),
      fc
        .tuple(fc.constantFrom(...rows), fc.dictionary(fc.string(), fc.jsonValue()))
        .map(([[, , , data], noise]) => ({ ...data, ...noise })),
      fc.constantFrom(...rows).chain(([, , , data]) => {
        const keys = Object.keys(data)
        const key = keys.length === 0 ? fc.constant('x') : fc.constantFrom(...keys)
        return fc.tuple(key, fc.jsonValue()).map(([name, value]) => ({ ...data, [name]: value }))
      }),
    )
    fc.assert(
      fc.property(payload, data => {
        const before = JSON.stringify(data)
        for (const version of all) {
          for (const type of types) {
            const problem = problemOf(type, data, version)
            if (problem?.code === 'payload') expect(problem.what).toContain(problem.path)
          }
        }
        expect(JSON.stringify(data)).toBe(before)
      }),
      { numRuns: 300 },
    )
  })
})
