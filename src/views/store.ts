/** A value that changes and is watched: what `useSyncExternalStore` asks for, and no more. */

export type ViewStore<State> = {
  /** The state as it is; the same reference until something changes. */
  getSnapshot(): State
  /** The state of a page that is rendered on a server: nothing is known yet. */
  getServerSnapshot(): State
  /** Calls `listener` after each change; returns its remover. The view follows its session while anybody listens. */
  subscribe(listener: () => void): () => void
}
