/** For this library's own tests: an agent on memory storage, with a hand-turned clock and counted ids. */
import { Agent, type AgentSetup } from '../agent/agent.ts'
import type { AgentStatus, AssistantStreamFrame } from '../core/live.ts'
import type { Model } from '../agent/model.ts'
import { defineTool, type Tool, type ToolContext, type ToolOutput } from '../agent/tool.ts'
import type { SessionEvent } from '../core/events.ts'
import { LogId, SessionId, SessionSeq } from '../core/ids.ts'
import type { JsonValue } from '../core/json.ts'
import { type Lease, memoryLease } from '../sessions/lease.ts'
import type { LiveSession } from '../sessions/live-session.ts'
import { Sessions } from '../sessions/sessions.ts'
import { withFaults } from '../storage/faults.ts'
import { memoryStorage } from '../storage/memory.ts'
import type { AppendBatch, SessionStorage } from '../storage/storage.ts'

/** A clock that stands still until it is turned. */
export type HandClock = { time: number; readonly now: () => number }

export const handClock = (time = 1_000): HandClock => {
  const clock = { time, now: () => clock.time }
  return clock
}

/** Ids `id-1`, `id-2` … */
export const countedIds = (prefix = 'id'): (() => string) => {
  let count = 0
  return () => `${prefix}-${(count += 1)}`
}

/** Storage whose appends a test can hold up or let fail; everything else is the inner one's. */
export type ObservedStorage = SessionStorage & {
  /** Runs before each append reaches the inner storage; what it throws or rejects with is the append's failure. */
  beforeAppend: (batch: AppendBatch) => Promise<void> | void
}

export function observedStorage(inner: SessionStorage = memoryStorage()): ObservedStorage {
  const storage = withFaults(inner, async ({ method, args }, proceed) => {
    if (method === 'append') await observed.beforeAppend(args[0] as AppendBatch)
    return proceed()
  })
  const observed: ObservedStorage = Object.assign(storage, { beforeAppend: () => undefined })
  return observed
}

export type AgentKit = {
  readonly agent: Agent
  readonly live: LiveSession
  readonly sessions: Sessions
  readonly storage: SessionStorage
  readonly lease: Lease
  readonly clock: HandClock
  readonly frames: AssistantStreamFrame[]
  readonly statuses: AgentStatus[]
  /** What is stored now, after a flush. */
  readonly stored: () => Promise<readonly SessionEvent[]>
  /** Closes the session and opens it again, with an agent of its own. */
  readonly reopen: (setup?: Partial<AgentSetup>) => Promise<AgentKit>
}

export type AgentKitOptions = {
  readonly id?: string
  readonly storage?: SessionStorage
  readonly lease?: Lease
  readonly clock?: HandClock
  readonly newId?: () => string
}

/** Opens a session and an agent on it. */
export async function agentKit(
  setup: AgentSetup | (() => AgentSetup),
  options: AgentKitOptions = {},
): Promise<AgentKit> {
  const { id = 's', storage = memoryStorage(), lease = memoryLease() } = options
  const { clock = handClock(), newId = countedIds() } = options
  const sessions = new Sessions({ storage, lease, now: clock.now, newId })
  const live = await sessions.open(SessionId(id))
  const frames: AssistantStreamFrame[] = []
  const statuses: AgentStatus[] = []
  const currentSetup = typeof setup === 'function' ? setup : () => setup
  const agent = new Agent({
    live,
    setup: currentSetup,
    now: clock.now,
    newId,
    onFrame: frame => frames.push(frame),
    onStatus: status => statuses.push(status),
  })
  return {
    ...{ agent, live, sessions, storage, lease, clock, frames, statuses },
    stored: async () => {
      await live.flush()
      return storedEvents(storage, id)
    },
    reopen: async change => {
      await agent.dispose()
      await sessions.close(SessionId(id))
      const reopened = change === undefined ? currentSetup : () => ({ ...currentSetup(), ...change })
      return agentKit(reopened, { id, storage, lease, clock, newId })
    },
  }
}

/** The events of a session, read from storage. */
export async function storedEvents(storage: SessionStorage, id = 's'): Promise<readonly SessionEvent[]> {
  const segments = await storage.read(SessionId(id))
  return segments.flatMap(segment => JSON.parse(segment.text) as SessionEvent[])
}

/** A storage that was left with these events and nothing else. */
export async function leftWith(
  events: readonly SessionEvent[],
  text: string = JSON.stringify(events),
): Promise<SessionStorage> {
  const storage = memoryStorage()
  const header = { version: 3, id: 's', createdAt: 1_000, isSeeded: false } as const
  await storage.append({
    id: SessionId('s'),
    logId: LogId('log'),
    epoch: 1,
    segment: { firstSeq: SessionSeq(0), count: events.length, text },
    durability: 'strict',
    time: 1_000,
    create: { header, logId: LogId('log'), inherited: [] },
  })
  return storage
}

/** A tool that takes any object. */
export const tool = (
  name: string,
  execute: (input: Record<string, JsonValue>, context: ToolContext) => unknown,
): Tool =>
  defineTool({
    name,
    description: `Does ${name}`,
    input: { type: 'object' },
    execute: (input: Record<string, JsonValue>, context) => execute(input, context) as ToolOutput,
  })

/** Only what the tests of the loop look at first: the type of each event. */
export const typesOf = (events: readonly SessionEvent[]): readonly string[] => events.map(event => event.type)

/** A model that takes whatever a test makes of it. */
export const modelOf = (stream: Model['stream'], more: Partial<Model> = {}): Model => ({
  config: { provider: 'scripted', model: 'scripted-1' },
  ...more,
  stream,
})

/** Lets everything that is due run, without a clock. */
export const settled = async (): Promise<void> => {
  for (let round = 0; round < 20; round += 1) await new Promise(resolve => setTimeout(resolve, 0))
}
