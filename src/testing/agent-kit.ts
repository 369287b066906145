/** For this library's own tests: an agent on memory storage, with a hand-turned clock and counted ids. */
import { Agent, type AgentOptions, type AgentSetup } from '../agent/agent.ts'
import { type Clock, systemClock } from '../agent/clock.ts'
import type { Network } from '../agent/network.ts'
import { keepsTurn } from '../agent/open-step.ts'
import type { AgentStatus, AssistantStreamFrame } from '../core/live.ts'
import type { Model } from '../agent/model.ts'
import { defineTool, type Tool, type ToolContext, type ToolOutput } from '../agent/tool.ts'
import type { SessionEvent } from '../core/events.ts'
import type { Invariant } from '../core/invariant.ts'
import { BlobId, LogId, SessionId, SessionSeq } from '../core/ids.ts'
import type { JsonValue } from '../core/json.ts'
import { type Lease, memoryLease } from '../sessions/lease.ts'
import type { LiveSession } from '../sessions/live-session.ts'
import { Sessions } from '../sessions/sessions.ts'
import { withFaults } from '../storage/faults.ts'
import { memoryStorage } from '../storage/memory.ts'
import type { AppendBatch, SessionStorage } from '../storage/storage.ts'

/** A clock that stands still until it is turned. What waits for a while does so by the platform's clock. */
export type HandClock = Clock & { time: number }

export const handClock = (time = 1_000): HandClock => {
  const clock: HandClock = { time, now: () => clock.time, after: systemClock.after }
  return clock
}

/** A clock that also decides when what waits for a while goes on: when it is turned that far. */
export type TurnedClock = HandClock & {
  /** Turns it on by `ms`; what is due goes on, in order, and so does what follows from that. */
  readonly turn: (ms: number) => Promise<void>
  /** How long what waits has to wait still, ms, in order. */
  readonly waits: () => readonly number[]
}

/** `rest` lets what is due go on; a test that turns the clock often has a quicker one. */
export const turnedClock = (time = 1_000, rest: () => Promise<void> = settled): TurnedClock => {
  const timers = new Set<{ readonly at: number; readonly work: () => void }>()
  const inOrder = () => [...timers].sort((left, right) => left.at - right.at)
  const clock: TurnedClock = {
    time,
    now: () => clock.time,
    after(ms, work) {
      const timer = { at: clock.time + ms, work }
      timers.add(timer)
      return () => void timers.delete(timer)
    },
    async turn(ms) {
      const end = clock.time + ms
      await rest()
      for (let [next] = inOrder(); next !== undefined && next.at <= end; [next] = inOrder()) {
        timers.delete(next)
        clock.time = Math.max(clock.time, next.at)
        next.work()
        await rest()
      }
      clock.time = Math.max(clock.time, end)
    },
    waits: () => inOrder().map(({ at }) => at - clock.time),
  }
  return clock
}

/** A network a test switches on and off. */
export type SwitchedNetwork = Network & { readonly set: (isOnline: boolean) => void }

export function switchedNetwork(isOnline = true): SwitchedNetwork {
  const listeners = new Set<() => void>()
  let state = isOnline
  return {
    isOnline: () => state,
    onChange(listener) {
      const own = () => listener()
      listeners.add(own)
      return () => void listeners.delete(own)
    },
    set(next) {
      state = next
      for (const listener of [...listeners]) listener()
    },
  }
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
  /** Opens the session anew from what is stored, as if its realm had ended without a word. */
  readonly crash: (setup?: Partial<AgentSetup>) => Promise<AgentKit>
  /** Closes the session and opens it again, with an agent of its own. */
  readonly reopen: (setup?: Partial<AgentSetup>) => Promise<AgentKit>
}

export type AgentKitOptions = Pick<AgentOptions, 'network' | 'random' | 'resume' | 'canAsk' | 'onError' | 'onFrame'> & {
  /** Rules the session keeps from now on. */
  readonly liveInvariants?: readonly Invariant[]
  /** Told before the agent starts, which may begin to work at once. */
  readonly onOpen?: (kit: AgentKit) => void
  readonly id?: string
  readonly storage?: SessionStorage
  readonly lease?: Lease
  readonly clock?: HandClock
  readonly newId?: () => string
}

/** Opens a session and an agent on it. Failed calls are not tried again, unless the setup says so. */
export async function agentKit(
  setup: AgentSetup | (() => AgentSetup),
  options: AgentKitOptions = {},
): Promise<AgentKit> {
  const { id = 's', storage = memoryStorage(), lease = memoryLease() } = options
  const { clock = handClock(), newId = countedIds() } = options
  const { resume = 'ask', canAsk = () => true, liveInvariants = [], onFrame, onOpen, ...more } = options
  const currentSetup = (): AgentSetup => ({
    retry: { maxRetries: 0 },
    ...(typeof setup === 'function' ? setup() : setup),
  })
  const sessions = new Sessions({
    ...{ storage, lease, now: clock.now, newId, liveInvariants },
    keepsTurn: keepsTurn(resume, currentSetup),
  })
  const live = await sessions.open(SessionId(id))
  const frames: AssistantStreamFrame[] = []
  const statuses: AgentStatus[] = []
  const agent = new Agent({
    live,
    setup: currentSetup,
    ...{ clock, newId, resume, canAsk, ...more },
    readBlob: id => sessions.getBlob(BlobId(id)),
    putBlob: data => sessions.putBlob(data),
    setTitle: (title, messageSeqs) => sessions.setTitle(live, title, { messageSeqs, source: { kind: 'agent' } }),
    onFrame: frame => {
      frames.push(frame)
      onFrame?.(frame)
    },
    onStatus: status => statuses.push(status),
  })
  const kit: AgentKit = {
    ...{ agent, live, sessions, storage, lease, clock, frames, statuses },
    stored: async () => {
      await live.flush()
      return storedEvents(storage, id)
    },
    crash: async change => {
      // Nothing more of the old one is to reach the storage, and its lease is free.
      await live.close({ discard: true })
      return agentKit(change === undefined ? currentSetup : () => ({ ...currentSetup(), ...change }), {
        ...options,
        ...{ id, storage, lease, clock, newId },
      })
    },
    reopen: async change => {
      await agent.dispose()
      await sessions.close(SessionId(id))
      const reopened = change === undefined ? currentSetup : () => ({ ...currentSetup(), ...change })
      return agentKit(reopened, { ...options, id, storage, lease, clock, newId })
    },
  }
  onOpen?.(kit)
  agent.start()
  return kit
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

/** Lets everything go on that waits for nothing but promises: enough for a storage in memory. */
export const ticked = async (): Promise<void> => {
  for (let round = 0; round < 3; round += 1) await new Promise(resolve => setImmediate(resolve))
}

/** Lets everything that is due run, without a clock. */
export const settled = async (): Promise<void> => {
  for (let round = 0; round < 20; round += 1) await new Promise(resolve => setTimeout(resolve, 0))
}
