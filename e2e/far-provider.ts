/** A provider somewhere in the network, at an address that only the browser of a test knows: it says what it is told to. */
import type { BrowserContext, Page } from '@playwright/test'
import { ProviderDialog } from './provider-dialog.ts'

const origin = 'https://provider.test'

const sse = (...deltas: readonly object[]): string => {
  const chunk = (delta: object, finish: string | null) => {
    const choices = [{ index: 0, delta, finish_reason: finish }]
    return `data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', created: 1, model: 'parrot', choices })}\n\n`
  }
  const isCall = JSON.stringify(deltas).includes('tool_calls')
  return `${deltas.map(delta => chunk(delta, null)).join('')}${chunk({}, isCall ? 'tool_calls' : 'stop')}data: [DONE]\n\n`
}
/** An answer in words. */
export const says = (content: string): string => sse({ role: 'assistant', content: '' }, { content })
/** An answer that calls a tool. */
export const calls = (name: string, args: object): string =>
  sse(
    { role: 'assistant', content: '' },
    { tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name, arguments: JSON.stringify(args) } }] },
  )

/** No answer: it asks to wait so many seconds. */
export const busy = (seconds: number): Answer => ({
  status: 429,
  headers: { 'retry-after': String(seconds), 'content-type': 'application/json' },
  body: JSON.stringify({ error: { message: 'Too many requests.', type: 'requests', code: 'rate_limit_exceeded' } }),
})

/** The body of a stream, or something else. */
export type Answer =
  | string
  | { readonly status: number; readonly headers: Record<string, string>; readonly body: string }

/** Has the page ask it. It answers in order, the last answer for ever; tells the bodies it got. */
export async function provide(
  context: BrowserContext,
  page: Page,
  answers: readonly Answer[],
): Promise<readonly string[]> {
  const asked: string[] = []
  await context.route(`${origin}/**`, async route => {
    const headers = {
      'access-control-allow-origin': '*',
      'access-control-allow-headers': '*',
      'access-control-expose-headers': 'retry-after',
    }
    if (route.request().method() === 'OPTIONS') return route.fulfill({ status: 204, headers })
    asked.push(route.request().postData() ?? '')
    const answer = answers[Math.min(asked.length, answers.length) - 1] ?? ''
    if (typeof answer !== 'string') return route.fulfill({ ...answer, headers: { ...headers, ...answer.headers } })
    return route.fulfill({ status: 200, headers: { ...headers, 'content-type': 'text/event-stream' }, body: answer })
  })
  await new ProviderDialog(page).use({ kind: 'OpenAI-compatible', url: `${origin}/v1`, model: 'parrot', key: 'k' })
  return asked
}
