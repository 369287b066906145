/** A worker written by hand for one purpose: it appends everything it is given in one call. */
import { expose } from 'comlink'
import { SessionId } from 'palimpsest/core'
import { imageOffloading, sessionInvariant } from 'palimpsest/plugins'
import { indexedDbStorage, Sessions, webLease } from 'palimpsest/worker'
import type { WorkloadEvent } from '../workload.mjs'
import { appendTo } from './log.ts'

const sessions = new Sessions({
  storage: indexedDbStorage({ name: new URL(location.href).searchParams.get('database') ?? 'palimpsest-batch' }),
  lease: webLease(),
  now: Date.now,
  newId: () => crypto.randomUUID(),
  projections: [imageOffloading],
  liveInvariants: [sessionInvariant],
})

const remote = {
  async open(id: string): Promise<void> {
    await sessions.open(SessionId(id))
  },
  /** Answers how long the session is then. */
  appendAll(id: string, events: readonly WorkloadEvent[]): number {
    const live = sessions.live(SessionId(id))
    if (live === undefined) throw new Error(`Session ${id} is not open`)
    for (const event of events) appendTo(live.session, event)
    return live.session.length
  },
}
export type BatchRemote = typeof remote

expose(remote)
