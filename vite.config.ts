import { fileURLToPath } from 'node:url'
import { playwright } from '@vitest/browser-playwright'
import { defineConfig } from 'vitest/config'
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

export default defineConfig({
  plugins: [embeddedProvider()],
  resolve: {
    alias: [
      { find: /^palimpsest$/, replacement: source('index.ts') },
      { find: /^palimpsest\/(core|worker|ai-sdk|testing|views|react)$/, replacement: `${source('')}$1.ts` },
    ],
  },
  server: { host: '127.0.0.1', port: 5173 },
  preview: { host: '127.0.0.1', port: 4173, strictPort: true },
  worker: { format: 'es' },
  build: { outDir: 'demo/dist', target: 'es2022', emptyOutDir: true },
  optimizeDeps: {
    include: ['idb', 'comlink', 'react', 'react-dom/client', '@ai-sdk/openai-compatible', '@ai-sdk/anthropic'],
  },
  test: {
    projects: [
      {
        extends: true,
        test: {
          name: 'node',
          environment: 'node',
          include: ['src/**/*.test.ts', 'demo/**/*.test.ts'],
          exclude: ['**/*.browser.test.ts'],
        },
      },
      {
        extends: true,
        optimizeDeps: {
          include: ['idb', 'comlink', 'fast-check', 'react', 'react-dom/client', 'react/jsx-dev-runtime'],
        },
        test: {
          name: 'browser',
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
