import { defineConfig } from '@playwright/test'

const executablePath = process.env['PALIMPSEST_CHROMIUM']
const address = { host: '127.0.0.1', port: 4173 }
const baseURL = `http://${address.host}:${address.port}`

/** Drives the built demo in a real browser. `npm test` and `npm run test:e2e` say which Chromium. */
export default defineConfig({
  testDir: 'e2e',
  testMatch: '**/*.e2e.ts',
  testIgnore: '**/bench/**',
  outputDir: 'test-results',
  workers: 1,
  timeout: 60_000,
  forbidOnly: Boolean(process.env['CI']),
  reporter: [['list']],
  use: { baseURL },
  projects: [
    {
      name: 'chromium',
      use: {
        browserName: 'chromium',
        launchOptions: {
          ...(executablePath ? { executablePath } : {}),
          args: [
            ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
            '--disable-gpu',
            '--disable-quic',
            '--no-first-run',
            '--disable-background-networking',
            '--disable-component-update',
            '--disable-sync',
          ],
        },
      },
    },
  ],
  webServer: {
    command: `npx vite build && npx vite preview --host ${address.host} --port ${address.port} --strictPort`,
    url: baseURL,
    reuseExistingServer: false,
    timeout: 120_000,
  },
})
