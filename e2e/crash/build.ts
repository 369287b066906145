/** Builds the page and its workers. */
import { fileURLToPath } from 'node:url'
import { build } from 'vite'

/** What library and page are made from. */
export async function buildPage(root: string, outDir: string): Promise<void> {
  const source = (file: string) => fileURLToPath(new URL(`src/${file}`, `file://${root}/`))
  await build({
    root: fileURLToPath(new URL('e2e/crash/', `file://${root}/`)),
    base: './',
    configFile: false,
    publicDir: false,
    logLevel: 'error',
    resolve: {
      alias: [
        { find: /^palimpsest$/, replacement: source('index.ts') },
        { find: /^palimpsest\/(.+)$/, replacement: source('$1.ts') },
      ],
    },
    worker: { format: 'es' },
    build: { target: 'es2022', outDir, emptyOutDir: true, modulePreload: { polyfill: false }, assetsInlineLimit: 0 },
  })
}
