import { fileURLToPath } from 'node:url'
import { playwright } from '@vitest/browser-playwright'
import { defineConfig } from 'vitest/config'
import { csp } from './demo/build/csp.ts'
import { lazyChunks } from './demo/build/lazy-chunks.ts'
import { embeddedProvider } from './demo/provider/vite-plugin.ts'

const source = (file: string) => fileURLToPath(new URL(`./src/${file}`, import.meta.url))

/** Flags for running Chromium unattended; root has no sandbox. */
const chromiumArgs = [
  ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]
const executablePath = process.env['PALIMPSEST_CHROMIUM']

/** What page and worker import: prepared at once, so that nothing is reloaded when it is first met. */
const pagePackages = [
  'idb',
  'comlink',
  'react',
  'react-dom',
  'react-dom/client',
  'react/jsx-runtime',
  'mdast-util-from-markdown',
  'mdast-util-gfm',
  'micromark-extension-gfm',
  'mdast-util-to-hast',
  'hast-util-sanitize',
  'hast-util-to-jsx-runtime',
]

const page = lazyChunks()
const worker = lazyChunks()

export default defineConfig({
  // The built page works from any path of any static host.
  base: './',
  plugins: [embeddedProvider(), csp(), page.plugin],
  resolve: {
    alias: [
      // Its browser build decodes entities with innerHTML, which the page's policy forbids.
      {
        find: 'decode-named-character-reference',
        replacement: fileURLToPath(
          new URL('./node_modules/decode-named-character-reference/index.js', import.meta.url),
        ),
      },
      { find: /^palimpsest$/, replacement: source('index.ts') },
      {
        find: /^palimpsest\/(core|format|worker|ai-sdk|testing|views|plugins|react|cli)$/,
        replacement: `${source('')}$1.ts`,
      },
    ],
  },
  server: { host: '127.0.0.1', port: 5173 },
  preview: { host: '127.0.0.1', port: 4173, strictPort: true },
  worker: {
    format: 'es',
    plugins: () => [worker.plugin],
    rolldownOptions: { output: { chunkFileNames: worker.chunkFileNames } },
  },
  build: {
    outDir: 'demo/dist',
    target: 'es2022',
    emptyOutDir: true,
    // Nothing inline, so that the content security policy admits nothing inline.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: { output: { chunkFileNames: page.chunkFileNames } },
  },
  optimizeDeps: {
    include: [...pagePackages, '@ai-sdk/openai-compatible', '@ai-sdk/anthropic'],
  },
  test: {
    projects: [
      {
        extends: true,
        test: {
          name: 'node',
          environment: 'node',
          // Laws run as often on a busy machine as on a quiet one.
          testTimeout: 20_000,
          setupFiles: ['scripts/vitest-setup.mjs'],
          include: ['src/**/*.test.{ts,tsx}', 'demo/**/*.test.{ts,tsx}'],
          exclude: ['**/*.browser.test.{ts,tsx}'],
        },
      },
      {
        extends: true,
        optimizeDeps: {
          include: [...pagePackages, 'fast-check', 'react/jsx-dev-runtime', 'vitest-browser-react'],
        },
        test: {
          name: 'browser',
          // What is waited for may take longer on a busy machine.
          expect: { poll: { timeout: 5_000 } },
          include: ['src/**/*.browser.test.{ts,tsx}', 'demo/**/*.browser.test.{ts,tsx}'],
          // Some tests set the origin's quota or clear its storage.
          fileParallelism: false,
          browser: {
            enabled: true,
            headless: true,
            screenshotFailures: false,
            api: { host: '127.0.0.1', port: 63315 },
            provider: playwright({
              launchOptions: { ...(executablePath ? { executablePath } : {}), args: chromiumArgs },
            }),
            instances: [{ browser: 'chromium' }],
          },
        },
      },
    ],
  },
})
