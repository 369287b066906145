/** What a kill of the whole browser leaves. `npm run crash` does the same two hundred times. */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from '@playwright/test'

const script = fileURLToPath(new URL('../scripts/crash.mjs', import.meta.url))

test('[E23] ten kills of the whole browser lose nothing that was said to be stored', async () => {
  test.skip(process.platform === 'win32', 'there are no process groups to kill')
  test.setTimeout(240_000)
  // A busy machine may be late with a journal; what it has acknowledged it has.
  const runs = spawn(process.execPath, [script, '--kills', '10', '--journal-ms', '3000'], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [runs.stdout, runs.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  }
  try {
    const code = await new Promise(resolve => runs.on('exit', resolve))
    expect(code, output).toBe(0)
    expect(output).toMatch(/^in all +10 +[1-9]\d* +0 +0 +0 +0 /m)
  } finally {
    runs.kill()
  }
})
