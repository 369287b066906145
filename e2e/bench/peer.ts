/** The predecessor as a black box: only what its documentation and a run of it show. */

export type PeerSession = {
  append(type: string, data: unknown, intent?: unknown): unknown
  deriveMessages(): readonly unknown[]
}
export type Peer = { readonly Session: { create(id: string): PeerSession } }

// A variable, so that neither the type checker nor a bundler looks for a package that only benchmarks install.
const name = '@deepseek-ai/dsh-session'

/** Loads it from `e2e/bench/node_modules`; `npm run bench` installs it there. */
export async function loadPeer(): Promise<Peer> {
  return (await import(/* @vite-ignore */ name)) as Peer
}
