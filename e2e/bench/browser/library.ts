/** What the library does, in a worker of its own: each function prepares, and answers what it measured. */
import { LogId, SessionId, type SessionEvent, SessionSeq } from 'palimpsest/core'
import {
  indexedDbStorage,
  type LiveSession,
  memoryLease,
  type Segment,
  Sessions,
  type SessionsOptions,
  type SessionStorage,
} from 'palimpsest/worker'
import { median } from '../harness.ts'
import type { WorkloadEvent } from '../workload.mjs'
import { completed, openDatabase } from './idb.ts'
import { appendTo, chunksOf, compact, type WorkloadRange, type Writing, writing } from './log.ts'

/** A stored session. */
export type Place = { readonly database: string; readonly id: string }

/** Events of one text of the same log that is not ours to lay out. */
const PAGE = 256

function openSessions(
  database: string,
  onStorageStatus: NonNullable<SessionsOptions['onStorageStatus']> = () => undefined,
): { readonly sessions: Sessions; readonly storage: SessionStorage } {
  const storage = indexedDbStorage({ name: database })
  const options = { storage, lease: memoryLease(), now: Date.now, newId: () => crypto.randomUUID(), onStorageStatus }
  return { sessions: new Sessions(options), storage }
}

const since = (start: number): number => performance.now() - start

// ── Logs that are there before something is measured ────────────────────────────────────────────────────────────────

export type BuiltLog = { readonly length: number; readonly nodes: number; readonly jsonBytes: number }

/**
 * Stores a session through the public calls: turns are appended, and each time twice as many nodes as `surface` are
 * there, a summary replaces the earlier half. Beside it the same log as texts (`${database}-texts`), and as rows
 * (`${database}-rows`) if they are wanted.
 */
export async function buildLog({
  database,
  id,
  count,
  variant,
  surface,
  rows,
}: Place & WorkloadRange & { readonly surface: number | null; readonly rows: boolean }): Promise<BuiltLog> {
  const { sessions, storage } = openSessions(database)
  const { session } = await sessions.open(SessionId(id))
  const live = liveOf(sessions, id)
  for (const chunk of chunksOf({ count, variant })) {
    for (const event of chunk) {
      appendTo(session, event)
      const isLong = surface !== null && session.surface.nodes.length >= 2 * surface
      if (isLong && event.type === 'turn/end') compact(session, surface)
    }
    await live.flush()
  }
  if (surface !== null) compact(session, surface)
  await sessions.close(SessionId(id))
  // Opening marks where the log ended. Stored now, it is nothing that a measured opening would have to add.
  const again = await sessions.open(SessionId(id))
  await again.flush()
  const jsonBytes = await storeBeside(database, again, rows)
  await untilMerged(storage, id)
  const { length, surface: last } = again.session
  const nodes = last.nodes.length
  await sessions.close(SessionId(id))
  await storage.close()
  return { length, nodes, jsonBytes }
}

/** A log at rest: its segments have become pages, which the library does while nothing else is to do. */
async function untilMerged(storage: SessionStorage, id: string): Promise<void> {
  const { epoch = 0 } = (await storage.get(SessionId(id))) ?? {}
  while (await storage.merge(SessionId(id), epoch));
}

function liveOf(sessions: Sessions, id: string): LiveSession {
  const live = sessions.live(SessionId(id))
  if (live === undefined) throw new Error(`Session ${id} is not open`)
  return live
}

/** Answers how many bytes the log has as JSON. */
async function storeBeside(database: string, live: LiveSession, rows: boolean): Promise<number> {
  const texts = await openDatabase(`${database}-texts`, { texts: null })
  const rowsDb = rows ? await openDatabase(`${database}-rows`, { rows: 'seq' }) : null
  const encoder = new TextEncoder()
  let jsonBytes = 0
  for (let from = 0; from < live.session.length; from += PAGE) {
    const events: SessionEvent[] = []
    const to = Math.min(from + PAGE, live.session.length)
    for await (const event of live.readEvents({ from, to })) events.push(event)
    const text = JSON.stringify(events)
    jsonBytes += encoder.encode(text).length
    const tx = texts.transaction('texts', 'readwrite')
    tx.objectStore('texts').put(text, from)
    await completed(tx)
    if (rowsDb === null) continue
    const rowsTx = rowsDb.transaction('rows', 'readwrite')
    for (const event of events) rowsTx.objectStore('rows').put(event)
    await completed(rowsTx)
  }
  texts.close()
  rowsDb?.close()
  return jsonBytes
}

// ── Opening, reading ────────────────────────────────────────────────────────────────────────────────────────────────

/** From `Sessions.open` to the first messages; ms. */
export async function openToMessages({ database, id, nodes }: Place & { readonly nodes: number }): Promise<number> {
  const { sessions, storage } = openSessions(database)
  const start = performance.now()
  const live = await sessions.open(SessionId(id))
  const messages = live.session.deriveMessages()
  const time = since(start)
  if (messages.length === 0 || live.session.surface.nodes.length !== nodes) {
    throw new Error(`Expected ${nodes} nodes; found ${live.session.surface.nodes.length}`)
  }
  await sessions.close(SessionId(id))
  await storage.close()
  return time
}

/** Every event of a stored session: ranges are asked for before the ones in front of them are parsed. ms. */
export async function readAll({ database, id, length }: Place & { readonly length: number }): Promise<number> {
  const storage = indexedDbStorage({ name: database })
  const start = performance.now()
  const events = await readEverything(storage, id, length)
  const time = since(start)
  if (events.length !== length) throw new Error(`Expected ${length} events; found ${events.length}`)
  await storage.close()
  return time
}

/** Segments of one read, and how many reads are under way at once. */
const SEGMENTS = 9
const AT_ONCE = 3

async function readEverything(storage: SessionStorage, id: string, length: number): Promise<readonly SessionEvent[]> {
  const seams = await storage.seams(SessionId(id), SessionSeq(0), SessionSeq(length))
  const starts = seams.filter((_, index) => index % SEGMENTS === 0)
  const ask = (index: number) =>
    storage.read(SessionId(id), starts[index] ?? SessionSeq(0), starts[index + 1] ?? SessionSeq(length))
  const asked: Promise<readonly Segment[]>[] = starts.slice(0, AT_ONCE).map((_, index) => ask(index))
  const events: SessionEvent[] = []
  for (let index = 0; index < starts.length; index += 1) {
    const segments = (await asked[index]) ?? []
    if (index + AT_ONCE < starts.length) asked.push(ask(index + AT_ONCE))
    asked[index] = Promise.resolve([])
    for (const { text } of segments) for (const event of JSON.parse(text) as SessionEvent[]) events.push(event)
  }
  return events
}

/** A fork, stored; the child is forgotten afterwards. ms. */
export async function fork({ database, id, nodes }: Place & { readonly nodes: number }): Promise<number> {
  const { sessions, storage } = openSessions(database)
  await storage.get(SessionId(id))
  const start = performance.now()
  const child = await sessions.fork(SessionId(id))
  const time = since(start)
  const found = child.session.surface.nodes.length
  if (found !== nodes) throw new Error(`Expected a child with ${nodes} nodes; found ${found}`)
  await sessions.delete(child.session.id)
  await storage.close()
  return time
}

/** What a worker holds while its heap is looked at. */
const held: unknown[] = []

/** Opens a session and keeps it, with the messages that were read. */
export async function holdSession({ database, id }: Place): Promise<number> {
  const { sessions } = openSessions(database)
  const live = await sessions.open(SessionId(id))
  held.push(sessions, live)
  return live.session.deriveMessages().length
}

// ── Writing ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** All events in one job, until they are stored; µs for each. */
export const flood = (input: Writing): Promise<number> => writing(input, floodInto)

async function floodInto(database: string, events: readonly WorkloadEvent[]): Promise<number> {
  const { sessions, storage } = openSessions(database)
  const live = await sessions.open(SessionId('flood'))
  const start = performance.now()
  for (const event of events) appendTo(live.session, event)
  await live.flush()
  const time = since(start)
  await sessions.close(live.session.id)
  await expectStored(storage, 'flood', events.length)
  await storage.close()
  return (time * 1000) / events.length
}

/** Five events in each task, the next task at once. The median of the times until an event was stored; ms. */
export const floodAck = (input: Writing): Promise<number> => writing(input, floodAckInto)

async function floodAckInto(database: string, events: readonly WorkloadEvent[]): Promise<number> {
  const appended: number[] = []
  const acks: number[] = []
  const { sessions, storage } = openSessions(database, (_id, { unsaved }) => {
    const now = performance.now()
    for (let seq = acks.length; seq < appended.length - unsaved; seq += 1) acks.push(now - (appended[seq] ?? now))
  })
  const live = await sessions.open(SessionId('flood'))
  const channel = new MessageChannel()
  await new Promise<void>(resolve => {
    let next = 0
    channel.port1.onmessage = () => {
      for (const event of events.slice(next, next + 5)) {
        // Dated before: what an append costs is waited for as well.
        appended.push(performance.now())
        appendTo(live.session, event)
      }
      next += 5
      if (next < events.length) channel.port2.postMessage(null)
      else resolve()
    }
    channel.port2.postMessage(null)
  })
  channel.port1.close()
  await live.flush()
  if (acks.length !== events.length) throw new Error(`Expected ${events.length} to be stored; told of ${acks.length}`)
  await sessions.close(live.session.id)
  await storage.close()
  return median(acks)
}

async function expectStored(storage: SessionStorage, id: string, count: number): Promise<void> {
  const record = await storage.get(SessionId(id))
  if (record === null || record.nextSeq < count) throw new Error(`Expected ${count} stored; found ${record?.nextSeq}`)
}

/** One `storeLog` of all events, made into texts of 256; ms. */
export const bulk = (input: Writing): Promise<number> => writing(input, bulkInto)

async function bulkInto(database: string, events: readonly WorkloadEvent[]): Promise<number> {
  const storage = indexedDbStorage({ name: database })
  await storage.get(SessionId('bulk'))
  const header = { version: 3, id: 'bulk', createdAt: Date.now(), isSeeded: false } as const
  const session = { header, logId: LogId('bulk'), inherited: [] }
  const start = performance.now()
  await storage.storeLog({ session, segments: segmentsOf(events), time: Date.now() })
  const time = since(start)
  await expectStored(storage, 'bulk', events.length)
  await storage.close()
  return time
}

function* segmentsOf(events: readonly WorkloadEvent[]): Generator<Segment> {
  for (let from = 0; from < events.length; from += PAGE) {
    const page = events.slice(from, from + PAGE)
    yield { firstSeq: SessionSeq(from), count: page.length, text: JSON.stringify(page) }
  }
}

/** One event, stored, then the next. The median of the times of each; µs. */
export const lone = (input: Writing): Promise<number> => writing(input, loneInto)

async function loneInto(database: string, events: readonly WorkloadEvent[]): Promise<number> {
  const { sessions, storage } = openSessions(database)
  const live = await sessions.open(SessionId('lone'))
  const times: number[] = []
  for (const event of events) {
    const start = performance.now()
    appendTo(live.session, event)
    await live.flush()
    times.push(since(start) * 1000)
  }
  await sessions.close(live.session.id)
  await storage.close()
  return median(times)
}

/** The write alone, without the session: one batch of one event after the other. µs for each. */
export const loneBatch = (input: Writing): Promise<number> => writing(input, loneBatchInto)

async function loneBatchInto(database: string, events: readonly WorkloadEvent[]): Promise<number> {
  const storage = indexedDbStorage({ name: database })
  const [id, logId] = [SessionId('lone'), LogId('lone')]
  const header = { version: 3, id, createdAt: 1, isSeeded: false } as const
  const first = { firstSeq: SessionSeq(0), count: 0, text: '[]' }
  const common = { id, logId, epoch: 1, durability: 'strict' } as const
  await storage.append({ ...common, segment: first, time: 1, create: { header, logId, inherited: [] } })
  const times: number[] = []
  for (const [seq, event] of events.entries()) {
    const start = performance.now()
    const segment = { firstSeq: SessionSeq(seq), count: 1, text: JSON.stringify([event]) }
    await storage.append({ ...common, segment, time: seq })
    times.push(since(start) * 1000)
  }
  await storage.close()
  return median(times)
}
