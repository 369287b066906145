/** Tools that run on the page that registered them, as tools of the agent in the worker. */
import { transfer } from 'comlink'
import { defineTool, type JsonSchema, type Tool, type ToolContext, type ToolOutput } from '../agent/tool.ts'
import type { ToolDescription } from '../core/events.ts'
import { jsonText } from '../core/json.ts'
import { unwrap } from './errors.ts'
import type { PageToolRunner } from './protocol.ts'

/** A tool whose body is `run`, on the page. Arguments are checked here, before they travel. */
export function pageTool(description: ToolDescription, run: PageToolRunner): Tool {
  const { name } = description
  return defineTool<unknown>({
    name,
    description: description.description ?? '',
    input: description.inputSchema as JsonSchema,
    execute: (input, context) => runOnPage(name, input, context, run),
  })
}

async function runOnPage(name: string, input: unknown, context: ToolContext, run: PageToolRunner): Promise<ToolOutput> {
  const { signal, sessionId, callId, idempotencyKey } = context
  const { port1, port2 } = new MessageChannel()
  const abort = () => port1.postMessage('abort')
  signal.addEventListener('abort', abort, { once: true })
  try {
    const answer = await run(
      { name, input: jsonText(input), sessionId, callId, idempotencyKey },
      transfer(port2, [port2]),
    )
    return JSON.parse(unwrap(answer)) as ToolOutput
  } finally {
    signal.removeEventListener('abort', abort)
    port1.close()
  }
}
