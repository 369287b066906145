/** The provider as the AI SDK's own client sees it: what our adapter will read in the demo. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import type { LanguageModelV3CallOptions, LanguageModelV3StreamPart } from '@ai-sdk/provider'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { toolNames } from './collect-answer.ts'
import { createProviderHandler } from './http.ts'

let server: Server
let baseURL: string

beforeAll(async () => {
  server = createServer(createProviderHandler())
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  baseURL = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
})

afterAll(async () => {
  server.closeAllConnections()
  await new Promise(resolve => server.close(resolve))
})

type Prompt = LanguageModelV3CallOptions['prompt']

const say = (text: string): Prompt[number] => ({ role: 'user', content: [{ type: 'text', text }] })

async function stream(prompt: Prompt, apiKey = 'any'): Promise<LanguageModelV3StreamPart[]> {
  const provider = createOpenAICompatible({ baseURL, name: 'embedded', apiKey, includeUsage: true })
  const tools = toolNames.map(name => ({ type: 'function' as const, name, inputSchema: { type: 'object' as const } }))
  const { stream: parts } = await provider.chatModel('embedded-small').doStream({ prompt, tools })
  const read: LanguageModelV3StreamPart[] = []
  const reader = parts.getReader()
  for (let next = await reader.read(); !next.done; next = await reader.read()) read.push(next.value)
  return read
}

const textOf = (parts: readonly LanguageModelV3StreamPart[]): string =>
  parts.map(part => (part.type === 'text-delta' ? part.delta : '')).join('')
const finishOf = (parts: readonly LanguageModelV3StreamPart[]) => parts.find(part => part.type === 'finish')

describe('@ai-sdk/openai-compatible', () => {
  test('[demo] reads text, reasoning and usage', async () => {
    const parts = await stream([{ role: 'system', content: 'Be brief.' }, say('think about logs [fast]')])
    expect(textOf(parts)).toContain('“think about logs”; 1 earlier message')
    expect(parts.some(part => part.type === 'reasoning-delta')).toBe(true)
    expect(finishOf(parts)).toMatchObject({ finishReason: { unified: 'stop', raw: 'stop' } })
    expect(finishOf(parts)?.usage.inputTokens.total).toBeGreaterThan(0)
    expect(finishOf(parts)?.usage.outputTokens.total).toBeGreaterThan(50)
  })

  test('[demo] reads tool calls, sends their results back and reads the answer to them', async () => {
    const prompt: Prompt = [say('remember the boat and make the page dark [fast]')]
    const parts = await stream(prompt)
    const calls = parts.filter(part => part.type === 'tool-call')
    expect(calls.map(call => [call.toolName, JSON.parse(call.input) as unknown])).toEqual([
      ['write_note', { title: 'The boat', text: 'the boat' }],
      ['set_theme', { theme: 'dark' }],
    ])
    expect(finishOf(parts)).toMatchObject({ finishReason: { unified: 'tool-calls' } })

    prompt.push({
      role: 'assistant',
      content: [
        { type: 'text', text: textOf(parts) },
        ...calls.map(call => ({ ...call, input: JSON.parse(call.input) as unknown })),
      ],
    })
    prompt.push({
      role: 'tool',
      content: calls.map(({ toolCallId, toolName }) => ({
        type: 'tool-result' as const,
        toolCallId,
        toolName,
        output: { type: 'text' as const, value: 'done' },
      })),
    })
    expect(textOf(await stream(prompt))).toBe(
      'I wrote the note “The boat”. The tool answered: “done”. The page is dark now.',
    )
  })

  test.each([
    ['[fail:rate-limit]', 429, true],
    ['[fail:server]', 500, true],
    ['[fail:overflow]', 400, false],
  ])('[demo] %s is an API error with its status', async (text, statusCode, isRetryable) => {
    await expect(stream([say(text)])).rejects.toMatchObject({ name: 'AI_APICallError', statusCode, isRetryable })
  })

  test('[demo] a wrong key is an API error that does not show it', async () => {
    const error = await stream([say('hi')], 'wrong-key').catch((reason: unknown) => reason)
    expect(error).toMatchObject({ statusCode: 401 })
    expect(String((error as Error).message)).not.toContain('wrong-key')
  })

  test('[demo] a cut stream breaks the reading', async () => {
    await expect(stream([say('hello [fast] [fail:cut]')])).rejects.toThrow()
  })

  test('[demo] a stream that closes early has no finish reason', async () => {
    expect(finishOf(await stream([say('hello [fast] [fail:close]')]))).toMatchObject({
      finishReason: { raw: undefined },
    })
  })

  test('[demo] an answer cut short by length says so', async () => {
    expect(finishOf(await stream([say('hello [fast] [fail:length]')]))).toMatchObject({
      finishReason: { unified: 'length' },
    })
  })
})
