/** Tools that run on the page that registered them, as tools of the agent in the worker. */
import { transfer } from 'comlink'
import { defineTool, type JsonSchema, type Tool, type ToolContext, type ToolOutput } from '../agent/tool.ts'
import { jsonText } from '../core/json.ts'
import { unwrap } from './errors.ts'
import type { PageToolFacts, PageToolRunner } from './protocol.ts'

/** A tool whose body is `run`, on the page. When the page is `gone`, its calls fail. Arguments are checked here, before they travel. */
export function pageTool(facts: PageToolFacts, run: PageToolRunner, gone: AbortSignal): Tool {
  const { name, description = '', inputSchema, ...more } = facts
  return defineTool<unknown>({
    ...more,
    name,
    description,
    input: inputSchema as JsonSchema,
    execute: (input, context) => runOnPage(name, input, context, run, gone),
  })
}

async function runOnPage(
  name: string,
  input: unknown,
  context: ToolContext,
  run: PageToolRunner,
  gone: AbortSignal,
): Promise<ToolOutput> {
  gone.throwIfAborted()
  const { signal, report, sessionId, callId, idempotencyKey } = context
  const { port1, port2 } = new MessageChannel()
  const abort = () => port1.postMessage('abort')
  port1.onmessage = ({ data }: MessageEvent<unknown>) => report(String(data))
  signal.addEventListener('abort', abort, { once: true })
  try {
    const answering = run({ name, input: jsonText(input), sessionId, callId, idempotencyKey }, transfer(port2, [port2]))
    const answer = await untilGone(answering, gone)
    return JSON.parse(unwrap(answer)) as ToolOutput
  } finally {
    signal.removeEventListener('abort', abort)
    port1.close()
  }
}

/** The answer, or the reason of `gone` as soon as it aborts: a page that is gone never answers. */
function untilGone<Value>(answering: Promise<Value>, gone: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const onGone = () => reject(gone.reason as Error)
    if (gone.aborted) onGone()
    gone.addEventListener('abort', onGone, { once: true })
    answering
      .then(resolve, reject)
      .finally(() => gone.removeEventListener('abort', onGone))
      .catch(() => undefined)
  })
}
