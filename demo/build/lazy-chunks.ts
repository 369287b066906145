/** Tells chunks that a page or worker loads at its start from those it loads when they are needed: by folder. */
import type { Plugin } from 'vite'

type Chunk = { readonly moduleIds: readonly string[] }

export type LazyChunks = {
  readonly plugin: Plugin
  /** `assets/` for what is loaded at once, `assets/lazy/` for the rest, also where lazy chunks share it. */
  readonly chunkFileNames: (chunk: Chunk) => string
}

/** One for each build: a page and each of its workers are builds of their own. */
export function lazyChunks(): LazyChunks {
  const eager = new Set<string>()
  return {
    plugin: {
      name: 'palimpsest-lazy-chunks',
      apply: 'build',
      buildEnd() {
        eager.clear()
        const pending = [...this.getModuleIds()].filter(id => this.getModuleInfo(id)?.isEntry)
        for (let id = pending.pop(); id !== undefined; id = pending.pop()) {
          if (eager.has(id)) continue
          eager.add(id)
          pending.push(...(this.getModuleInfo(id)?.importedIds ?? []))
        }
      },
    },
    chunkFileNames: ({ moduleIds }) =>
      moduleIds.some(id => eager.has(id)) ? 'assets/[name]-[hash].js' : 'assets/lazy/[name]-[hash].js',
  }
}
