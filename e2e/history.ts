/** Histories to start from: events as an agent records them, appended to the session on the page. */
import type { Page } from '@playwright/test'

export type Entry = {
  readonly type: string
  readonly data: object
  readonly intent?: { readonly surfaceOp: unknown; readonly sourceEventSeqs?: number[] }
}

const model = { kind: 'model', provider: 'demo.chat', model: 'embedded-small' }
const append = { surfaceOp: 'append' }

export type Call = { readonly name: string; readonly arguments: string; readonly result: string }

/** A turn: a prompt, an answer with its calls if any, and a closing answer if there were some. */
export function turnOf(turn: number, prompt: string, answer: string, calls: readonly Call[] = []): readonly Entry[] {
  const step = { turn, step: 1 }
  const idOf = (index: number) => `call_${turn}_${index}`
  const asked = calls.map((call, index) => ({
    type: 'tool-call',
    id: idOf(index),
    name: call.name,
    arguments: call.arguments,
  }))
  const message = (id: string, content: readonly object[]) => ({
    message: { id: `${id}-${turn}`, role: 'assistant', content, source: model },
    stream: [],
  })
  const run = calls.flatMap((call, index): Entry[] => {
    const callId = idOf(index)
    const content = [{ type: 'tool-result', toolCallId: callId, content: [{ type: 'text', text: call.result }] }]
    return [
      { type: 'tool/call', data: { ...step, callId, name: call.name, arguments: call.arguments } },
      {
        type: 'tool/result',
        data: { ...step, message: { id: `result-${callId}`, role: 'user', content, source: { kind: 'tool', callId } } },
        intent: append,
      },
    ]
  })
  const text = [{ type: 'text', text: answer }]
  return [
    { type: 'turn/start', data: { turn } },
    { type: 'step/start', data: step },
    {
      type: 'user/message',
      data: { id: `prompt-${turn}`, role: 'user', content: [{ type: 'text', text: prompt }], source: { kind: 'user' } },
      intent: append,
    },
    {
      type: 'assistant/message',
      data: { ...step, ...message('first', calls.length > 0 ? asked : text) },
      intent: append,
    },
    ...run,
    { type: 'step/end', data: step },
    ...(calls.length > 0
      ? [
          { type: 'step/start', data: { turn, step: 2 } },
          { type: 'assistant/message', data: { turn, step: 2, ...message('last', text) }, intent: append },
          { type: 'step/end', data: { turn, step: 2 } },
        ]
      : []),
    { type: 'turn/end', data: { turn, reason: { kind: 'completed' } } },
  ]
}

/** Appends events to the session on the page, in order. */
export async function seed(page: Page, entries: readonly Entry[]): Promise<void> {
  for (let start = 0; start < entries.length; start += 200) {
    await page.evaluate(
      async some => {
        const session = window.palimpsestDemo.session()
        if (session === null) throw new Error('No session is open')
        await Promise.all(some.map(({ type, data, intent }) => session.append(type, data, intent)))
      },
      entries.slice(start, start + 200),
    )
  }
}
