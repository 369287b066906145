/** The surface of a session as a store (SPEC V9–V11). */
import { Follower, type ReadState } from './follow.ts'
import { Listeners } from './listeners.ts'
import type { SessionSource, SessionUpdate } from './source.ts'
import type { ViewStore } from './store.ts'
import { emptySurface, evolveSurface, surfaceFrom, type SurfaceView } from './surface.ts'

export type SurfaceSnapshot = {
  readonly surface: SurfaceView
  readonly state: ReadState
  /** Why it failed or ended; null otherwise. What `surface` holds stays shown. */
  readonly error: unknown
}

export type SurfaceStore = ViewStore<SurfaceSnapshot> & {
  /** Reads what could not be read. Resolves with true when it is here now, with false otherwise; never rejects. */
  retry(): Promise<boolean>
}

const NOTHING: SurfaceSnapshot = Object.freeze({ surface: emptySurface, state: 'loading', error: null })

/** The surface of `source`, followed while anybody listens. */
export function surfaceView(source: SessionSource): SurfaceStore {
  let snapshot = NOTHING
  const follower = new Follower(source, emptySurface, { read, apply: applyUpdate }, () => {
    if (show()) listeners.tell()
  })
  const listeners = new Listeners(() => {
    const stop = follower.start()
    show()
    return stop
  })

  function show(): boolean {
    const { value: surface, state, error } = follower
    if (surface === snapshot.surface && state === snapshot.state && error === snapshot.error) return false
    snapshot = { surface, state, error }
    return true
  }

  async function read(known: SurfaceView | null): Promise<SurfaceView> {
    if (known?.length === source.length) return known
    const { nodes, length } = await source.readSurface()
    return surfaceFrom(nodes, length)
  }

  return {
    getSnapshot: () => snapshot,
    getServerSnapshot: () => NOTHING,
    subscribe: listeners.add,
    retry: () => follower.retry(),
  }
}

function applyUpdate(surface: SurfaceView, update: SessionUpdate): SurfaceView {
  return update.kind === 'committed' ? update.entries.reduce(evolveSurface, surface) : surface
}
