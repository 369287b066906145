/**
 * `npm run bench`: runs every `*.bench.ts` below `src` and in `e2e/bench`, each in a process of its own.
 *
 *   npm run bench -- --filter session   only files whose path has this in it
 *   npm run bench -- --json FILE        the rows as JSON as well
 *   npm run bench -- --quick            a look whether all of them run; no figures to quote
 *
 * A missed goal is reported as missed and is no failure; a file that does not run is one.
 */
import { fork } from 'node:child_process'
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, loadavg } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { printTable } from './bench-table.mjs'
import { bundle } from './bundle.mjs'
import { ensureDependencies, main, onStop, root, SetupError } from './setup.mjs'

const peerDir = join(root, 'e2e', 'bench')
// Below both `node_modules`, so that a bundle finds the packages of the project and the predecessor alike.
const outDir = join(peerDir, 'node_modules', '.cache', 'palimpsest-bench')

function findBenches(filter) {
  const inFolder = (folder, recursive) =>
    readdirSync(join(root, folder), { recursive })
      .filter(name => name.endsWith('.bench.ts'))
      .map(name => `${folder}/${name.replaceAll('\\', '/')}`)
  return [...inFolder('src', true), ...inFolder('e2e/bench', false)].filter(file => file.includes(filter)).sort()
}

const running = new Set()

/** Runs a bundle in a process of its own and returns its rows. */
function run(runner, file, quick) {
  return new Promise((done, fail) => {
    const child = fork(runner, [file, ...(quick ? ['--quick'] : [])], {
      cwd: root,
      execArgv: ['--expose-gc', '--max-old-space-size=4096'],
      env: { ...process.env, NODE_ENV: 'production' },
    })
    running.add(child)
    let rows = null
    child.on('message', message => {
      rows = message
    })
    child.on('error', fail)
    child.on('exit', (code, signal) => {
      running.delete(child)
      if (code === 0 && Array.isArray(rows) && rows.length > 0) done(rows)
      else fail(new Error(code === 0 ? 'It gave no rows.' : `It ended with ${signal ?? `exit code ${code}`}.`))
    })
  })
}

await main(async () => {
  const { values } = parseArgs({
    options: { json: { type: 'string' }, filter: { type: 'string', default: '' }, quick: { type: 'boolean' } },
  })
  const quick = values.quick ?? false
  const files = findBenches(values.filter)
  if (files.length === 0) throw new SetupError(`No *.bench.ts has "${values.filter}" in its path.`)
  await ensureDependencies()
  await ensureDependencies(peerDir)

  onStop(() => {
    for (const child of running) child.kill()
    process.exit(130)
  })

  rmSync(outDir, { recursive: true, force: true })
  mkdirSync(outDir, { recursive: true })
  const runner = await bundle('e2e/bench/run.ts', outDir)
  const machine = `Node ${process.version}, ${cpus().length} × ${cpus()[0]?.model ?? 'unknown processor'}`
  console.log(`${machine}, load ${loadavg()[0].toFixed(1)}${quick ? ' — QUICK: no figures to quote' : ''}`)

  const rows = []
  const failures = []
  for (const file of files) {
    console.log(`… ${file}`)
    try {
      rows.push(...(await run(runner, await bundle(file, outDir), quick)).map(row => ({ file, ...row })))
    } catch (error) {
      failures.push({ file, message: error.message })
      console.error(`${file} did not run: ${error.message}`)
    }
  }

  if (rows.length > 0) {
    console.log('')
    printTable(rows)
  }
  if (values.json) {
    const report = { date: new Date().toISOString(), machine, load: loadavg(), quick, rows, failures }
    writeFileSync(resolve(values.json), `${JSON.stringify(report, null, 2)}\n`)
    console.log(`\nWritten to ${relative(process.cwd(), resolve(values.json))}`)
  }
  const missed = rows.filter(row => !row.met).length
  console.log(`\ngoals: ${rows.length - missed} met, ${missed} missed; files that did not run: ${failures.length}`)
  process.exitCode = failures.length > 0 ? 1 : 0
})
