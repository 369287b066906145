/** The predecessor as a black box: only what its documentation and a run of it show. */

export type PeerEvent = { readonly type: string; readonly seq: number; readonly data: unknown }
export type PeerSession = {
  readonly seq: number
  readonly events: readonly PeerEvent[]
  readonly surface: { readonly nodes: readonly number[]; readonly replaceGeneration: number }
  append(type: string, data: unknown, intent?: unknown): PeerEvent
  deriveMessages(): readonly unknown[]
}
export type PeerHeader = { readonly version: 0; readonly id: string; readonly createdAt: number }
export type Peer = {
  readonly Session: {
    create(id: string, seed?: readonly PeerEvent[]): PeerSession
    /** Takes the events over and freezes them in place. */
    fromRestore(id: string, seed: readonly PeerEvent[], header: PeerHeader): PeerSession
  }
}

// A variable, so that neither the type checker nor a bundler looks for a package that only `e2e/bench` installs.
const name = '@deepseek-ai/dsh-session'

/** Loads it from `e2e/bench/node_modules`; `npm test` and `npm run bench` install it there. */
export async function loadPeer(): Promise<Peer> {
  try {
    return (await import(/* @vite-ignore */ name)) as Peer
  } catch (cause) {
    const advice = 'Run `npm test -- --only unit` or `npm run bench`, which install it, or `npm ci` in e2e/bench.'
    throw new Error(`${name} could not be loaded from e2e/bench/node_modules. ${advice}`, { cause })
  }
}
