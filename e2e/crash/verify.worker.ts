/** Opens a session as a worker does, and folds its whole stored log anew. */
import { imageOffloading, sessionInvariant } from 'palimpsest/plugins'
import { usageFold } from 'palimpsest/views'
import { SessionId } from 'palimpsest/core'
import { indexedDbStorage, platformLease, Sessions } from 'palimpsest/worker'
import { troubleOf } from './reporter.ts'

async function verify(id: string): Promise<unknown> {
  const sessions = new Sessions({
    storage: indexedDbStorage(),
    lease: platformLease(),
    now: Date.now,
    newId: () => crypto.randomUUID(),
    folds: [usageFold],
    projections: [imageOffloading],
    liveInvariants: [sessionInvariant],
  })
  try {
    return await (await sessions.open(SessionId(id))).verify()
  } finally {
    await sessions.closeAll()
  }
}

globalThis.addEventListener('message', ({ data }: MessageEvent<string>) => {
  verify(data)
    .catch((error: unknown) => ({ error: troubleOf(error) }))
    .then(difference => globalThis.postMessage(difference))
    .catch((error: unknown) => setTimeout(() => { throw error })) // biome-ignore format: one line
})
