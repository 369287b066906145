/** `stats`: a log in numbers. */
import type { SessionEvent } from '../core/events.ts'
import { isAppendSurfaceEvent } from '../core/surface.ts'
import { evolveUsage, usageFold } from '../views/usage.ts'
import type { OpenedCommand } from './command.ts'
import { print } from './io.ts'
import type { Opened } from './open.ts'
import { bytesInWords, columns, count, durationInWords, inLine, plainJson } from './text.ts'

export type ToolStats = { readonly calls: number; readonly errors: number }

/** What `stats --json` prints. What opening adds to the log does not count. */
export type Stats = {
  readonly id: string
  /** Format version of the file. */
  readonly version: number
  /** Events of the file, and of the log in the current version. */
  readonly events: number
  readonly openedEvents: number
  readonly turns: number
  readonly steps: number
  /** Messages that were said, by role; results of tools apart. */
  readonly messages: {
    readonly system: number
    readonly user: number
    readonly assistant: number
    readonly tool: number
  }
  /** By the tool's name. */
  readonly toolCalls: Readonly<Record<string, ToolStats>>
  /** Sum over all model calls; `input` is without what came from or went into a cache. */
  readonly tokens: {
    readonly input: number
    readonly output: number
    readonly cacheRead: number
    readonly cacheWrite: number
    readonly reasoning: number
  }
  /** Size of the file as it is stored. */
  readonly bytes: number
  /** From the earliest event to the latest. */
  readonly durationMs: number
}

export const stats: OpenedCommand = async (opened, { json }, io) => {
  const facts = statsOf(opened)
  await print(io.stdout, json ? [`${plainJson(JSON.stringify(facts))}\n`] : inWords(opened.file, facts))
}

export function statsOf({ log, events, bytes, session }: Opened): Stats {
  const messages = { system: 0, user: 0, assistant: 0, tool: 0 }
  const tools = new Tools()
  let [turns, steps, first, last] = [0, 0, Infinity, -Infinity]
  let usage = usageFold.initial()
  for (const event of log.events) {
    first = Math.min(first, event.time)
    last = Math.max(last, event.time)
    usage = evolveUsage(usage, event)
    tools.take(event)
    if (event.type === 'turn/start') turns += 1
    else if (event.type === 'step/start') steps += 1
    else if (isAppendSurfaceEvent(event)) messages[roleOf[event.type]] += 1
  }
  const { total } = usage
  return {
    id: session.header.id,
    version: log.version,
    events,
    openedEvents: log.events.length,
    turns,
    steps,
    messages,
    toolCalls: tools.byName(),
    tokens: {
      input: total.inputTokens,
      output: total.outputTokens,
      cacheRead: total.cacheReadTokens ?? 0,
      cacheWrite: total.cacheWriteTokens ?? 0,
      reasoning: total.reasoningTokens ?? 0,
    },
    bytes,
    durationMs: log.events.length === 0 ? 0 : last - first,
  }
}

const roleOf = {
  'system/message': 'system',
  'user/message': 'user',
  'assistant/message': 'assistant',
  'tool/result': 'tool',
} as const

/** Calls that were asked for or started, each once, and those that failed. */
class Tools {
  readonly #stats = new Map<string, { calls: number; errors: number }>()
  /** Name of the latest call of each id. */
  readonly #names = new Map<string, string>()

  take(event: SessionEvent): void {
    if (event.type === 'assistant/message' && event.surfaceOp === 'append') {
      for (const block of event.data.message.content) if (block.type === 'tool-call') this.#call(block.id, block.name)
    } else if (event.type === 'tool/call' && !this.#names.has(event.data.callId)) {
      this.#call(event.data.callId, event.data.name)
    } else if (event.type === 'tool/result' && event.surfaceOp === 'append') {
      const [{ toolCallId, isError }] = event.data.message.content
      const stats = this.#stats.get(this.#names.get(toolCallId) ?? '')
      if (stats !== undefined && isError === true) stats.errors += 1
    }
  }

  byName(): Record<string, ToolStats> {
    const ordered = [...this.#stats].sort(([, left], [, right]) => right.calls - left.calls)
    return Object.fromEntries(ordered)
  }

  #call(id: string, name: string): void {
    this.#names.set(id, name)
    const stats = this.#stats.get(name)
    if (stats === undefined) this.#stats.set(name, { calls: 1, errors: 0 })
    else stats.calls += 1
  }
}

function* inWords(file: string, facts: Stats): Generator<string> {
  const { id, version, events, openedEvents, turns, steps, messages, toolCalls, tokens, bytes, durationMs } = facts
  const { system, user, assistant, tool } = messages
  const cached =
    tokens.cacheRead + tokens.cacheWrite === 0 ? '' : `, cache ${tokens.cacheRead} read ${tokens.cacheWrite} written`
  yield `${inLine(file)}: session ${inLine(id)}\n`
  yield columns([
    ['version', String(version)],
    ['bytes', `${bytes} (${bytesInWords(bytes)})`],
    ['events', events === openedEvents ? String(events) : `${events}, opened as ${openedEvents}`],
    ['turns', String(turns)],
    ['steps', String(steps)],
    ['messages', `${system} system, ${user} user, ${assistant} assistant, ${tool} tool`],
    ['tokens', `${tokens.input} in, ${tokens.output} out${cached}`],
    ['duration', durationInWords(durationMs)],
  ])
  const tools = Object.entries(toolCalls)
  if (tools.length === 0) return
  yield 'Tool calls:\n'
  yield columns(
    tools.map(([name, { calls, errors }]) => {
      const failed = errors === 0 ? '' : `, ${errors} failed`
      return [inLine(name), `${count(calls, 'call')}${failed}`] as const
    }),
  )
}
