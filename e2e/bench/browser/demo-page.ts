/** The demo page, built as it is for people and served from a folder of its own. */
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { serveFolder } from './server.ts'

export type DemoPage = { readonly origin: string; close(): Promise<void> }

/** Where the project is: this file is bundled to somewhere below it. */
function projectFolder(): string {
  let folder = dirname(fileURLToPath(import.meta.url))
  while (!existsSync(join(folder, 'demo', 'agent.worker.ts'))) {
    const parent = dirname(folder)
    if (parent === folder) throw new Error('The demo page was not found')
    folder = parent
  }
  return folder
}

export async function startDemoPage(): Promise<DemoPage> {
  const root = projectFolder()
  const folder = await mkdtemp(join(tmpdir(), 'palimpsest-bench-demo-'))
  const { build } = await import('vite')
  await build({
    root,
    configFile: join(root, 'vite.config.ts'),
    logLevel: 'error',
    build: { outDir: folder, emptyOutDir: true, chunkSizeWarningLimit: 5000 },
  })
  const served = await serveFolder(folder, 1)
  return {
    origin: served.origins[0] ?? '',
    async close() {
      await served.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
