/**
 * `npm run bench:browser`: measures the built library in a real Chromium, side by side with other ways to do the same.
 *
 *   npm run bench:browser -- --filter open   only files of e2e/bench/browser/rows whose path has this in it
 *   npm run bench:browser -- --json FILE     the rows as JSON as well, as `npm run bench` writes them
 *   npm run bench:browser -- --report        the same as e2e/bench/report.json, and e2e/bench/REPORT.md to read
 *   npm run bench:browser -- --quick         a look whether all of them run; no figures to quote
 *
 * A missed goal is reported as missed and is no failure; a file that does not run is one.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, loadavg } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { printTable } from './bench-table.mjs'
import { bundle, common } from './bundle.mjs'
import { ensureChromium, ensureDependencies, main, onStop, root, SetupError } from './setup.mjs'

const peerDir = join(root, 'e2e', 'bench')
const source = join(peerDir, 'browser')
// Below both `node_modules`, so that a bundle finds the packages of the project and the peers alike.
const outDir = join(peerDir, 'node_modules', '.cache', 'palimpsest-bench-browser')

/** Builds the page with its workers, as an application would. Returns its folder. */
async function buildPage() {
  const { build } = await import('vite')
  const folder = join(outDir, 'page')
  await build({
    ...common,
    root: source,
    worker: { format: 'es' },
    build: { outDir: folder, emptyOutDir: true, target: 'es2022', chunkSizeWarningLimit: 5000 },
  })
  return folder
}

/** Bundles what runs here, and imports it. */
const loadRunner = async name =>
  import(pathToFileURL(await bundle(`e2e/bench/browser/${name}.ts`, outDir, `${name}.mjs`)).href)

function writeJson(file, report) {
  writeFileSync(file, `${JSON.stringify(report, null, 2)}\n`)
  console.log(`\nWritten to ${relative(process.cwd(), file)}`)
}

await main(async () => {
  const { values } = parseArgs({
    options: {
      json: { type: 'string' },
      report: { type: 'boolean' },
      filter: { type: 'string', default: '' },
      quick: { type: 'boolean' },
    },
  })
  const quick = values.quick ?? false
  await ensureDependencies()
  await ensureDependencies(peerDir)
  await ensureChromium()

  rmSync(outDir, { recursive: true, force: true })
  mkdirSync(outDir, { recursive: true })
  const { filesWith, startRun, toMarkdown } = await loadRunner('run')
  if (filesWith(values.filter).length === 0) {
    throw new SetupError(`No file of e2e/bench/browser/rows has "${values.filter}" in its path.`)
  }
  const folder = await buildPage()
  const load = loadavg()
  const node = `Node ${process.version}, ${cpus().length} × ${cpus()[0]?.model ?? 'unknown processor'}`
  console.log(`${node}, load ${load[0].toFixed(1)}${quick ? ' — QUICK: no figures to quote' : ''}`)

  const run = startRun({
    folder,
    filter: values.filter,
    quick,
    onFile: file => console.log(`… ${file}`),
    onFailure: (file, message) => console.error(`${file} did not run: ${message}`),
  })
  onStop(() => {
    run.stop().finally(() => process.exit(130))
  })
  const { browser, rows, failures } = await run.result

  if (rows.length > 0) {
    console.log('')
    printTable(rows)
  }
  const report = { date: new Date().toISOString(), machine: `${browser}, ${node}`, load, quick, rows, failures }
  if (values.json) writeJson(resolve(values.json), report)
  if (values.report) {
    const file = join(peerDir, 'report.json')
    writeJson(file, report)
    writeFileSync(join(peerDir, 'REPORT.md'), toMarkdown(report))
    // As every file of the project is.
    spawnSync(process.execPath, [join(root, 'node_modules/@biomejs/biome/bin/biome'), 'format', '--write', file])
  }
  const missed = rows.filter(row => !row.met).length
  console.log(`\ngoals: ${rows.length - missed} met, ${missed} missed; files that did not run: ${failures.length}`)
  process.exitCode = failures.length > 0 ? 1 : 0
})
