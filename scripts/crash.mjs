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
import { ensureChromium, ensureDependencies, main, onStop, root } from './setup.mjs'

await main(async () => {
  const [command, ...args] = process.argv[2] === 'fsync' ? process.argv.slice(2) : ['main', ...process.argv.slice(2)]
  await ensureDependencies()
  await ensureChromium()
  const { build } = await import('vite')
  const outDir = join(root, 'node_modules', '.cache', 'palimpsest-crash')
  mkdirSync(outDir, { recursive: true })
  await build({
    root,
    configFile: false,
    publicDir: false,
    logLevel: 'error',
    resolve: {
      alias: [
        { find: /^palimpsest$/, replacement: join(root, 'src/index.ts') },
        { find: /^palimpsest\/(.+)$/, replacement: join(root, 'src/$1.ts') },
      ],
    },
    build: {
      ssr: join(root, `e2e/crash/${command}.ts`),
      target: 'node20',
      minify: false,
      outDir,
      emptyOutDir: false,
      rolldownOptions: { output: { entryFileNames: `${command}.mjs`, codeSplitting: false } },
    },
  })
  const runs = await import(pathToFileURL(join(outDir, `${command}.mjs`)).href)
  process.exitCode = await runs.main(root, args, stop =>
    onStop(() => {
      stop()
      process.exit(130)
    }),
  )
})
