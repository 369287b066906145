/** Tools of this page: what the worker is told of them, and how it has them run. */
import type { ToolContext, ToolOutput } from '../agent/tool.ts'
import { jsonText, type JsonValue, snapshotJson } from '../core/json.ts'
import type { FileBlock, ImageBlock } from '../core/message.ts'
import { attachmentBlock } from '../sessions/attachments.ts'
import { WorkerError } from './errors.ts'
import type { Link } from './link.ts'
import type { PageToolCall, PageToolFacts } from './protocol.ts'

/** A tool whose body needs the page. Arguments are checked against `inputSchema` before it runs. */
export type PageTool = {
  readonly name: string
  readonly description: string
  /** JSON Schema of the arguments. */
  readonly inputSchema: { readonly [key: string]: JsonValue }
  /** Whether its calls may run beside others that say so too; default: they do not. */
  readonly parallel?: boolean
  /** Whether a person has to allow each call before it runs; a text says why. */
  readonly needsApproval?: boolean | string
  /** Running a call twice, with the same idempotency key, does no harm: after a crash it may run again. */
  readonly idempotent?: boolean
  /** How long a call may take, ms. */
  readonly timeoutMs?: number
  execute(input: never, context: ToolContext): ToolOutput | Promise<ToolOutput>
}

/** What can travel to the worker: all but the body. */
export function factsOf(tool: PageTool): PageToolFacts {
  const { name, description, inputSchema, parallel, needsApproval, idempotent, timeoutMs } = tool
  return {
    ...{ name, description, inputSchema },
    ...(parallel === undefined ? {} : { parallel }),
    ...(needsApproval === undefined ? {} : { needsApproval }),
    ...(idempotent === undefined ? {} : { idempotent }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  }
}

/** Stores bytes in the worker, and answers the block that refers to them. */
export const attachTo: (link: Link, data: Blob | Uint8Array, name: string) => Promise<ImageBlock | FileBlock> = (
  link,
  data,
  name,
) => attachmentBlock(data, name, blob => link.call(commands => commands.putBlob(blob)))

/** Runs a call the worker asks for; answers the output as JSON text. */
export async function runPageTool(
  tools: readonly PageTool[],
  call: PageToolCall,
  port: MessagePort,
  attach: ToolContext['attach'],
): Promise<string> {
  const { name, input, ...rest } = call
  const tool = tools.find(each => each.name === name)
  if (tool === undefined) throw new WorkerError('internal', `This page has no tool named ${name}`)
  const controller = new AbortController()
  port.onmessage = () => controller.abort()
  const context: ToolContext = {
    ...rest,
    signal: controller.signal,
    report: progress => port.postMessage(progress),
    attach,
  }
  try {
    const output = await tool.execute(JSON.parse(input) as never, context)
    return jsonText(snapshotJson(output ?? null))
  } finally {
    port.close()
  }
}
