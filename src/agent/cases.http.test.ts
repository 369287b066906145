/**
 * Answers from public failure reports (`e2e/cases`), served over HTTP and read by the real providers into the real loop.
 * The expectations stand in the manifest; what is decided or lost beside it is told here.
 */
import { readFileSync } from 'node:fs'
import http from 'node:http'
import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { describe, expect, it } from 'vitest'
import manifest from '../../e2e/cases/manifest.json'
import type { ContentBlock, SessionEvent, TurnEndReason, Usage } from '../core/events.ts'
import type { JsonValue } from '../core/json.ts'
import { expandStream } from '../core/stream-records.ts'
import { agentKit, type AgentKit, tool, typesOf } from '../testing/agent-kit.ts'
import { anthropicAnswerOf } from '../testing/anthropic-kit.ts'
import { cutAt, type HttpAnswer, type HttpKit, httpKit } from '../testing/http-kit.ts'
import { answerOf, delta } from '../testing/openai-kit.ts'
import { type AiSdkModelOptions, aiSdkModel } from './ai-sdk.ts'
import type { Model } from './model.ts'
import { DEFAULT_RETRY } from './retry.ts'

type ExpectedBlock = {
  readonly text?: string
  readonly reasoning?: string
  readonly signature?: string
  readonly redacted?: string
  readonly tool?: string
  readonly id?: string
  readonly args?: string
  readonly parsed?: unknown
}
type Expectation = {
  readonly outcome: string
  readonly class?: string
  readonly blocks?: readonly ExpectedBlock[]
  readonly finish?: string
  readonly usage?: Readonly<Record<string, number>>
  readonly partialForStream?: string
  readonly status?: number
  readonly retryable?: boolean
  readonly messageIncludes?: string
  readonly requestId?: string
}
type Case = {
  readonly file: string
  readonly case: string
  readonly kind: string
  readonly http: { readonly status: number; readonly contentType: string }
  readonly splitAt?: readonly number[]
  readonly expect: Expectation
}

const cases = (manifest as readonly unknown[] as readonly Case[]).filter(
  ({ file }) => /^(oai|ant)-/.test(file) && !file.endsWith('.json'),
)

/** Our code for each kind of error of the manifest. */
const codes: Readonly<Record<string, string>> = {
  EMPTY_RESPONSE: 'EMPTY_RESPONSE',
  INSUFFICIENT_SYSTEM_RESOURCE: 'SERVER',
  OVERLOADED_ERROR: 'OVERLOADED',
  PROVIDER_ERROR: 'SERVER',
  RATE_LIMIT_ERROR: 'RATE_LIMIT',
  STREAM_CLOSED: 'TRANSPORT',
}

/** What is expected where the manifest leaves a choice, or asks for what the format does otherwise. */
const decided: Readonly<Record<string, Partial<Expectation> & { readonly code?: string }>> = {
  // A truncated answer has no calls: they stay in its stream.
  'oai-08-length-cut-args.sse': { blocks: [{ text: 'I will write it. ' }] },
  'oai-08-length-complete-args.sse': { blocks: [] },
  // The finish was seen: it is whole.
  'oai-10-eof-after-finish.sse': { outcome: 'message' },
  // A provider error whose type says more.
  'oai-12-error-only.sse': { code: 'INSUFFICIENT_QUOTA', messageIncludes: 'quota exceeded' },
}

/** What the SDK does not hand on. */
const lost: Readonly<Record<string, Partial<Expectation> & { readonly code?: string; readonly without?: string }>> = {
  // A chunk without `choices` is not understood, and with it goes the usage in it: the answer has no token counts.
  'oai-03-empty-head.sse': { usage: {} },
  // A zero overwrites the count of the beginning: the answer is shown with an input of 0 tokens.
  'ant-04-usage-zero-delta.sse': { usage: { input: 0, output: 9 } },
  // The body is read as a stream, in which it is nothing. The person reads that it was no stream, not what it said.
  'oai-14-json-error.body': { messageIncludes: 'application/json, which is no stream', without: 'overloaded' },
  // The same, and it claims to be a stream: the person reads that the answer was empty.
  'oai-14-json-error-mislabelled.body': {
    code: 'EMPTY_RESPONSE',
    messageIncludes: 'The answer was empty',
    without: 'overloaded',
  },
  // The same with a whole answer in it: the person reads that it was no stream. Its text is not shown.
  'oai-15-whole-completion.body': {
    outcome: 'error',
    code: 'SERVER',
    messageIncludes: 'application/json, which is no stream',
    without: 'Plain answer',
  },
  // Only the type and the words of an error event are handed on: without a `request-id` header the failure names none.
  // The status is one the SDK makes up.
  'ant-10-error-first.sse': { requestId: '', status: 500 },
}

const toolNames = ['balance', 'delete', 'find', 'get', 'list', 'now', 'read', 'rm', 'say', 'write']
const isAnthropic = ({ file }: Pick<Case, 'file'>): boolean => file.startsWith('ant-')
const bytesOf = (file: string): Uint8Array =>
  new Uint8Array(readFileSync(new URL(`../../e2e/cases/${file}`, import.meta.url)))

const modelAt = (origin: string, isClaude: boolean, options: AiSdkModelOptions = {}): Model => {
  if (isClaude) {
    const claude = createAnthropic({ baseURL: `${origin}/v1`, apiKey: 'key-of-the-test' })
    return aiSdkModel(claude('demo-claude'), options)
  }
  const provider = createOpenAICompatible({ name: 'demo', baseURL: `${origin}/v1`, includeUsage: true })
  return aiSdkModel(provider.chatModel('demo-chat'), options)
}

type Served = {
  readonly server: HttpKit
  readonly kit: AgentKit
  /** The tool calls whose bodies ran. */
  readonly executed: { readonly name: string; readonly input: JsonValue }[]
}

/** An agent whose first request gets `first`, and each further one a plain answer. */
async function served(first: HttpAnswer, isClaude: boolean, options: AiSdkModelOptions = {}): Promise<Served> {
  const ok = { pieces: isClaude ? anthropicAnswerOf('ok') : answerOf('ok') }
  const server = await httpKit(http, count => (count === 0 ? first : ok))
  const executed: Served['executed'] = []
  const tools = toolNames.map(name =>
    tool(name, input => {
      executed.push({ name, input })
      return 'done'
    }),
  )
  const model = modelAt(server.origin, isClaude, options)
  return { server, executed, kit: await agentKit({ model, tools, retry: { maxRetries: 0 } }) }
}

type Outcome = {
  readonly reason: TurnEndReason
  readonly events: readonly SessionEvent[]
  readonly executed: Served['executed']
  readonly requests: HttpKit['requests']
}

/** One turn on a case cut in these pieces; then the session takes another prompt. */
async function play({ file, http: { status, contentType } }: Case, pieces: readonly Uint8Array[]): Promise<Outcome> {
  const first = { status, headers: { 'content-type': contentType }, pieces }
  const { server, kit, executed } = await served(first, isAnthropic({ file }))
  try {
    const reason = await kit.agent.send({ text: 'go' }).done
    const events = await kit.stored()
    expect(
      typesOf(events)
        .filter(type => /^(turn|step)\/end$/.test(type))
        .at(-1),
    ).toBe('turn/end')
    const outcome = { reason, events, executed: [...executed], requests: [...server.requests] }
    expect(await kit.agent.send({ text: 'again' }).done).toEqual({ kind: 'completed' })
    return outcome
  } finally {
    await kit.agent.dispose()
    await server.close()
  }
}

const wholeUsage = ({ inputTokens, outputTokens, ...rest }: Usage) => ({
  ...{ input: inputTokens, output: outputTokens },
  ...{ cacheRead: rest.cacheReadTokens ?? 0, cacheWrite: rest.cacheWriteTokens ?? 0 },
  reasoning: rest.reasoningTokens ?? 0,
})

const settled = (events: readonly SessionEvent[]) =>
  events.find(event => event.type === 'assistant/message' || event.type === 'assistant/attempt')

const streamedText = (event: SessionEvent | undefined): string => {
  const chunks = event?.type === 'assistant/attempt' ? expandStream(event.data.stream) : []
  return chunks.map(({ chunk }) => (chunk.type === 'text-delta' ? chunk.text : '')).join('')
}

/** A block with what its provider wants back, as the manifest has it. */
const seenBlock = (block: ContentBlock, replayed: unknown, expected: ExpectedBlock = {}): ExpectedBlock => {
  const { signature, redactedData: redacted } =
    (replayed as { anthropic?: Record<string, string> } | null)?.anthropic ?? {}
  if (block.type === 'text') return { text: block.text }
  if (block.type === 'reasoning') {
    if (redacted !== undefined) return { redacted }
    return { reasoning: block.text, ...(signature === undefined ? {} : { signature }) }
  }
  if (block.type !== 'tool-call') throw new TypeError(`An answer has no ${block.type}`)
  const { name, id, arguments: args } = block
  const parsed = 'parsed' in expected ? { parsed: JSON.parse(args || '{}') as unknown } : {}
  return { tool: name, id, ...('args' in expected ? { args } : {}), ...parsed }
}

function expectMessage({ reason, events, executed }: Outcome, { blocks = [], finish, usage }: Expectation): void {
  const event = settled(events)
  if (event?.type !== 'assistant/message') throw new TypeError('The call settled in no message')
  const { content, source } = event.data.message
  const replayed = (source.replayState as { blocks?: readonly unknown[] } | undefined)?.blocks ?? []
  expect(content.map((block, at) => seenBlock(block, replayed[at] ?? null, blocks[at]))).toEqual(blocks)
  const chunks = expandStream(event.data.stream)
  expect(chunks.at(-1)?.chunk).toMatchObject({ type: 'finish', reason: { kind: finish } })
  expect(JSON.stringify(event)).not.toContain('\ufffd')
  if (usage !== undefined) {
    const none = { cacheRead: 0, cacheWrite: 0, reasoning: 0 }
    const expected = Object.keys(usage).length === 0 ? undefined : { ...none, ...usage }
    expect(event.data.usage && wholeUsage(event.data.usage)).toEqual(expected)
  }
  // Each call ran once, with what it was called with; none ran of a truncated answer.
  const calls = content.filter(block => block.type === 'tool-call')
  const asked = calls.map(call => ({ name: call.name, input: JSON.parse(call.arguments || '{}') as JsonValue }))
  expect(executed).toEqual(asked)
  expect(calls.length > 0).toBe(finish === 'tool-calls')
  expect(reason.kind).toBe(finish === 'max-tokens' ? 'max-tokens' : 'completed')
}

function expectFailure(
  { reason, events, executed, requests }: Outcome,
  expected: Expectation & { readonly code?: string; readonly without?: string },
): void {
  if (reason.kind !== 'error') throw new TypeError(`The turn ended as ${reason.kind}`)
  const { error } = reason
  expect(error.code).toBe(expected.code ?? codes[expected.class ?? ''])
  expect(error.message.trim()).not.toBe('')
  expect(error.status).toBe(expected.status)
  expect(error.requestId ?? '').toBe(expected.requestId ?? '')
  if (expected.messageIncludes !== undefined) expect(error.message).toContain(expected.messageIncludes)
  if (expected.without !== undefined) expect(JSON.stringify(events)).not.toContain(expected.without)
  if (expected.retryable !== undefined) expect(DEFAULT_RETRY.codes.includes(error.code)).toBe(expected.retryable)
  expect(settled(events)?.type).toBe('assistant/attempt')
  expect(streamedText(settled(events))).toBe(expected.partialForStream ?? '')
  expect(executed).toEqual([])
  expect(requests).toHaveLength(1)
}

describe('cases over HTTP', { timeout: 30_000 }, () => {
  it('all of them are here, and no more is lost than is told', () => {
    expect(cases).toHaveLength(31)
    expect(Object.keys(lost)).toHaveLength(6)
  })

  it.each(cases)('[A1, A7, A9, A10] $file is the same however it is cut', async given => {
    const bytes = bytesOf(given.file)
    const everyByte = Array.from(bytes.keys()).slice(1)
    const cuts = [[], ...(given.splitAt === undefined ? [] : [given.splitAt]), everyByte]
    const outcomes: Outcome[] = []
    for (const cut of cuts) outcomes.push(await play(given, cutAt(bytes, cut)))

    const expected = { ...given.expect, ...decided[given.file], ...lost[given.file] }
    for (const outcome of outcomes) {
      if (expected.outcome === 'message') expectMessage(outcome, expected)
      else expectFailure(outcome, expected)
      expect(outcome.events).toEqual(outcomes[0]?.events)
    }
  })

  it('pieces are read apart', async () => {
    const bytes = bytesOf('oai-18-utf8-split.sse')
    const server = await httpKit(http, () => ({ pieces: cutAt(bytes, Array.from(bytes.keys()).slice(1)) }))
    const { body } = await fetch(server.origin)
    const sizes: number[] = []
    for await (const chunk of body as unknown as AsyncIterable<Uint8Array>) sizes.push(chunk.length)
    await server.close()
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(bytes.length)
    // The first of them may come with the head of the answer.
    expect(sizes.length).toBeGreaterThan(0.9 * bytes.length)
  })
})

describe('what an answer is followed by', () => {
  const caseOf = (file: string): Case => {
    const given = cases.find(each => each.file === file)
    if (given === undefined) throw new TypeError(`There is no ${file}`)
    return given
  }
  const messagesOf = (request: HttpKit['requests'][number] | undefined) =>
    (request?.body as { messages: readonly { role: string; content: unknown }[] }).messages

  it('A9 [oai-20] reasoning goes back as it came', async () => {
    const { requests } = await play(caseOf('oai-20-reasoning-tool.sse'), [bytesOf('oai-20-reasoning-tool.sse')])
    expect(messagesOf(requests[1])).toEqual([
      { role: 'user', content: 'go' },
      {
        role: 'assistant',
        content: 'Then speak.',
        reasoning_content: 'First think.',
        tool_calls: [{ id: 'call_00_x', type: 'function', function: { name: 'get', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'call_00_x', content: 'done' },
    ])
  })

  it('A9 [ant-05] thinking goes back byte for byte, also after opening anew; another provider gets none of it', async () => {
    const { server, kit } = await served({ pieces: [bytesOf('ant-05-thinking-signature.sse')] }, true)
    await kit.agent.send({ text: 'go' }).done
    const reopened = await kit.reopen()
    await reopened.agent.send({ text: 'on' }).done
    const thinking = [
      { type: 'thinking', thinking: 'Step one. Step two.', signature: 'EqQBCgIYAhIM' },
      { type: 'redacted_thinking', data: 'EmwKAhgBEgy3va3p' },
      { type: 'tool_use', id: 'toolu_1', name: 'get', input: { a: 1 } },
    ]
    for (const request of server.requests.slice(1)) {
      expect(messagesOf(request)[1]).toEqual({ role: 'assistant', content: thinking })
    }
    expect(server.requests).toHaveLength(3)

    const other = await httpKit(http, () => ({ pieces: answerOf('ok') }))
    const switched = await reopened.reopen({ model: modelAt(other.origin, false) })
    await switched.agent.send({ text: 'and you?' }).done
    const sent = JSON.stringify(other.requests[0]?.body)
    expect(sent).toContain('toolu_1')
    expect(sent).not.toMatch(/Step one|EqQBCgIYAhIM|EmwKAhgBEgy3va3p/)
    await switched.agent.dispose()
    await Promise.all([server.close(), other.close()])
  })

  it('A10 [ant-10] the id of a request is read from its response', async () => {
    const pieces = [bytesOf('ant-10-error-first.sse')]
    const { server, kit } = await served({ pieces, headers: { 'request-id': 'req_demo' } }, true)
    expect(await kit.agent.send({ text: 'go' }).done).toMatchObject({
      kind: 'error',
      error: { code: 'RATE_LIMIT', message: 'slow down', requestId: 'req_demo' },
    })
    await kit.agent.dispose()
    await server.close()
  })

  it('A9 [ant-01] an event nobody knows is told for diagnostics', async () => {
    const warnings: string[] = []
    const pieces = [bytesOf('ant-01-ping-empty-input.sse')]
    const { server, kit } = await served({ pieces }, true, { onWarning: warning => warnings.push(warning) })
    expect(await kit.agent.send({ text: 'go' }).done).toEqual({ kind: 'completed' })
    expect(warnings.filter(warning => warning.includes('content_block_start_v9'))).toHaveLength(1)
    expect(warnings[0]).toMatch(/^compatibility: maxOutputTokens: .*demo-claude/)
    await kit.agent.dispose()
    await server.close()
  })

  it.each([
    ['nothing', true],
    ['comments', { every: 20, piece: ': keep-alive\n\n' }],
  ] as const)('[A1, A7] [oai-25] an answer that stalls, and then %s, is ended', async (_what, thenHangs) => {
    const deltas = Array.from({ length: 20 }, (_, at) => delta({ content: `${at} ` }))
    const { server, kit } = await served({ pieces: deltas, thenHangs }, false, { idleTimeoutMs: 300 })
    expect(await kit.agent.send({ text: 'go' }).done).toEqual({
      kind: 'error',
      error: { code: 'TIMEOUT', message: 'The provider sent nothing for 0.3 seconds, so the call was ended.' },
    })
    expect(await server.requests[0]?.abandoned).toBe(true)
    const events = await kit.stored()
    expect(streamedText(settled(events))).toBe(Array.from({ length: 20 }, (_, at) => `${at} `).join(''))
    expect(typesOf(events).slice(-3)).toEqual(['assistant/attempt', 'step/end', 'turn/end'])
    expect(await kit.agent.send({ text: 'again' }).done).toEqual({ kind: 'completed' })
    await kit.agent.dispose()
    await server.close()
  })
})
