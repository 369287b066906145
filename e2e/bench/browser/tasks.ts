/** Everything a contestant can be asked to do, by name. */
import { eventsOf, type WorkloadRange, type Writing, writing } from './log.ts'
import * as library from './library.ts'
import { loadPeer, type PeerName } from './peers/peer.mjs'
import * as plain from './plain.ts'

/** How many events a workload really has. */
const lengthOf = async (range: WorkloadRange): Promise<number> => eventsOf(range).length

/** Bytes of a workload as JSON lines. */
async function jsonBytesOf(range: WorkloadRange): Promise<number> {
  const encoder = new TextEncoder()
  return eventsOf(range).reduce((sum, event) => sum + encoder.encode(JSON.stringify(event)).length + 1, 0)
}

/** All events as records of their own; ms. */
async function peerBulk({ peer, ...input }: Writing & { readonly peer: PeerName }): Promise<number> {
  const { open } = await loadPeer(peer)
  return writing(input, async (database, events) => {
    const store = await open(database)
    const start = performance.now()
    await store.bulk(events)
    return performance.now() - start
  })
}

/** All records, from opening the database on; ms. */
async function peerReload({
  peer,
  database,
  length,
}: {
  readonly peer: PeerName
  readonly database: string
  readonly length: number
}): Promise<number> {
  const { open } = await loadPeer(peer)
  const start = performance.now()
  const store = await open(database)
  const found = await store.load()
  const time = performance.now() - start
  if (found !== length) throw new Error(`Expected ${length} records of ${peer}; found ${found}`)
  return time
}

export const tasks = { ...library, ...plain, lengthOf, jsonBytesOf, peerBulk, peerReload }

export type Tasks = typeof tasks
export type TaskName = keyof Tasks
export type TaskInput<Name extends TaskName> = Parameters<Tasks[Name]>[0]
export type TaskOutput<Name extends TaskName> = Awaited<ReturnType<Tasks[Name]>>

export type TaskMessage = { readonly name: TaskName; readonly input: unknown }
export type TaskAnswer =
  | { readonly kind: 'ready' }
  | { readonly kind: 'done'; readonly output: unknown }
  | { readonly kind: 'failed'; readonly message: string }
