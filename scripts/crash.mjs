/**
 * `npm run crash`: kills a whole Chromium again and again while it works on sessions, and looks each time whether what it
 * said to be stored is there, once, and goes on.
 *
 *   npm run crash -- --kills 50            so many; 200 unless said otherwise
 *   npm run crash -- --seed 7              the same plan again; times are those of the machine
 *   npm run crash -- --points mid-tool     some kill points only, with commas between them
 *   npm run crash -- --journal-ms 600      how soon text of an answer that was shown must be kept
 *   npm run crash:fsync                    counts what Chromium syncs to disk, where there is strace
 *
 * A violation keeps the profile and what was found, and ends with exit code 1.
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { bundle } from './bundle.mjs'
import { ensureChromium, ensureDependencies, main, onStop, root } from './setup.mjs'

await main(async () => {
  const [command, ...args] = process.argv[2] === 'fsync' ? process.argv.slice(2) : ['main', ...process.argv.slice(2)]
  await ensureDependencies()
  await ensureChromium()
  const outDir = join(root, 'node_modules', '.cache', 'palimpsest-crash')
  mkdirSync(outDir, { recursive: true })
  const runs = await import(pathToFileURL(await bundle(`e2e/crash/${command}.ts`, outDir, `${command}.mjs`)).href)
  process.exitCode = await runs.main(root, args, stop =>
    onStop(() => {
      stop()
      process.exit(130)
    }),
  )
})
