/**
 * `npm test`: installs what is missing, runs every stage whatever the others did, and reports at the end.
 *
 *   npm test -- --only unit,browser              some stages
 *   npm test -- --only unit src/core/ids.test.ts  one stage, with arguments for its command
 *   npm test -- --list                           their names
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs, stripVTControlCharacters } from 'node:util'
import { ensureChromium, ensureDependencies, main, onStop, root, SetupError } from './setup.mjs'

const bin = {
  attw: '@arethetypeswrong/cli/dist/index.js',
  biome: '@biomejs/biome/bin/biome',
  eslint: 'eslint/bin/eslint.js',
  playwright: '@playwright/test/cli.js',
  publint: 'publint/src/cli.js',
  palimpsest: '../dist/cli.js', // ours, as built
  'size-limit': 'size-limit/bin.js',
  tsc: 'typescript/bin/tsc',
  tsdown: 'tsdown/dist/run.mjs',
  vite: 'vite/bin/vite.js',
  vitest: 'vitest/vitest.mjs',
}

const reports = mkdtempSync(join(tmpdir(), 'palimpsest-test-'))
process.on('exit', () => rmSync(reports, { recursive: true, force: true }))
const report = stage => join(reports, `${stage}.json`)
const vitest = project => [
  [
    'vitest',
    'run',
    '--project',
    project,
    '--reporter=default',
    '--reporter=json',
    `--outputFile.json=${report(project)}`,
  ],
]

/** What only some stages need, and how it is installed. A stage whose need is not to be had fails; the others run. */
const needs = { chromium: ensureChromium, peer: () => ensureDependencies(join(root, 'e2e', 'bench')) }

/**
 * In the order of the report. `alone`: takes both cores, nothing runs beside it. `counts`: where its tests are counted.
 * `needs`: one of `needs`. `after`: what it needs to have passed, taken along by `--only`.
 */
const stages = [
  {
    name: 'typecheck',
    commands: [
      ['tsc', '-p', 'tsconfig.json'],
      ['tsc', '-p', 'tsconfig.node.json'],
    ],
  },
  { name: 'lint', commands: [['eslint', '.', '--ignore-pattern', '**/*.mjs']] },
  { name: 'format', commands: [['biome', 'ci', '--colors=off']] },
  { name: 'unit', commands: vitest('node'), counts: () => vitestCounts('node'), alone: true, needs: 'peer' },
  { name: 'build', commands: [['tsdown']] },
  { name: 'demo', commands: [['vite', 'build']] },
  {
    name: 'package',
    commands: [
      ['publint', '--strict'],
      ['attw', '--pack', '.', '--profile', 'esm-only', '--no-color', '--no-emoji'],
      ['palimpsest', 'verify', 'e2e/cases/real/chat.jsonl.zstd'],
    ],
    after: ['build'],
  },
  { name: 'size', commands: [['size-limit']], after: ['build', 'demo'] },
  {
    name: 'browser',
    commands: vitest('browser'),
    counts: () => vitestCounts('browser'),
    alone: true,
    needs: 'chromium',
  },
  {
    name: 'e2e',
    commands: [['playwright', 'test', '--reporter=list,json']],
    env: { PLAYWRIGHT_JSON_OUTPUT_FILE: report('e2e') },
    counts: playwrightCounts,
    alone: true,
    needs: 'chromium',
    minutes: 30,
  },
]
const cores = 2

// ── Counting ────────────────────────────────────────────────────────────────────────────────────────────────────────

function readReport(name) {
  try {
    return JSON.parse(readFileSync(report(name), 'utf8'))
  } catch {
    return null
  }
}

function vitestCounts(project) {
  const json = readReport(project)
  return { passed: json?.numPassedTests ?? 0, failed: json?.numFailedTests ?? 0 }
}

function playwrightCounts() {
  const stats = readReport('e2e')?.stats
  return { passed: (stats?.expected ?? 0) + (stats?.flaky ?? 0), failed: stats?.unexpected ?? 0 }
}

// ── Running ─────────────────────────────────────────────────────────────────────────────────────────────────────────

const running = new Set()

/** Ends a child and what it started. Each child leads a process group of its own, where there are such things. */
function end(child, signal) {
  try {
    if (process.platform === 'win32') child.kill(signal)
    else process.kill(-child.pid, signal)
  } catch {
    // It has ended already.
  }
}

function run([tool, ...args], env, minutes) {
  return new Promise(done => {
    const child = spawn(process.execPath, [join(root, 'node_modules', bin[tool]), ...args], {
      cwd: root,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: process.platform !== 'win32',
    })
    running.add(child)
    let output = `$ ${tool} ${args.join(' ')}\n`
    const take = chunk => {
      output += chunk
    }
    child.stdout.setEncoding('utf8').on('data', take)
    child.stderr.setEncoding('utf8').on('data', take)
    const limit = setTimeout(() => {
      output += `\nStopped: it took longer than ${minutes} minutes.\n`
      end(child, 'SIGKILL')
    }, minutes * 60_000)
    const finish = ok => {
      clearTimeout(limit)
      running.delete(child)
      done({ ok, output })
    }
    child.on('error', error => {
      output += `${error.message}\n`
      finish(false)
    })
    child.on('exit', (code, signal) => {
      if (signal) output += `Ended by ${signal}.\n`
      end(child, 'SIGTERM') // whatever it left behind, which would also keep its output open
      const patience = setTimeout(() => finish(code === 0), 3000)
      child.on('close', () => {
        clearTimeout(patience)
        finish(code === 0)
      })
    })
  })
}

async function runStage(stage, extra, missing) {
  const started = performance.now()
  const counts = { passed: 0, failed: 0 }
  let ok = true
  let output = ''
  if (missing.has(stage.needs)) {
    ok = false
    output = `${missing.get(stage.needs).message}\n`
  } else {
    for (const command of stage.commands) {
      const result = await run([...command, ...extra], stage.env, stage.minutes ?? 15)
      ok &&= result.ok
      output += result.output
    }
    if (stage.counts) {
      Object.assign(counts, stage.counts())
      if (counts.failed > 0) ok = false
      if (counts.passed + counts.failed === 0) {
        ok = false
        output += '\nNo test ran.\n'
      }
    }
  }
  if (!ok && counts.failed === 0) counts.failed = 1
  return { stage, state: ok ? 'passed' : 'failed', output, counts, seconds: (performance.now() - started) / 1000 }
}

/** Runs all stages, two at a time where they allow it. A stage whose need failed is not run, and says so. */
async function runAll(selected, extra, missing) {
  const waiting = [...selected]
  const results = new Map()
  const active = new Map()
  const begin = stage => {
    waiting.splice(waiting.indexOf(stage), 1)
    const broken = (stage.after ?? []).find(name => results.get(name)?.state !== 'passed')
    if (broken) {
      const counts = { passed: 0, failed: 0 }
      results.set(stage.name, { stage, state: 'not run', output: `${broken} failed\n`, counts, seconds: 0 })
      return print(results.get(stage.name))
    }
    const task = runStage(stage, extra, missing).then(result => {
      active.delete(stage)
      results.set(stage.name, result)
      print(result)
    })
    active.set(stage, task)
  }
  const mayBegin = stage =>
    (stage.after ?? []).every(name => results.has(name)) &&
    (active.size === 0 || (!stage.alone && active.size < cores && ![...active.keys()].some(other => other.alone)))
  while (waiting.length > 0 || active.size > 0) {
    // Stages that share the machine go first, so that those which want it for themselves do not wait in between.
    const order = [...waiting.filter(stage => !stage.alone), ...waiting.filter(stage => stage.alone)]
    const next = order.find(mayBegin)
    if (next) begin(next)
    else await Promise.race(active.values())
  }
  return selected.map(stage => results.get(stage.name))
}

// ── Printing ────────────────────────────────────────────────────────────────────────────────────────────────────────

const marks = { passed: '✓', failed: '✗', 'not run': '–' }
const kept = 12

function print({ stage, state, output, seconds }) {
  const lines = stripVTControlCharacters(output).trimEnd().split('\n')
  const shown = state === 'passed' && lines.length > kept ? ['…', ...lines.slice(-kept)] : lines
  console.log(`\n${marks[state]} ${stage.name} ${state} (${seconds.toFixed(1)} s)`)
  for (const line of shown) console.log(`  ${line}`)
}

function printTable(results, seconds) {
  const width = Math.max(...results.map(({ stage }) => stage.name.length))
  console.log('')
  for (const { stage, state, counts, seconds } of results) {
    const tests = stage.counts ? `  ${counts.passed} passed, ${counts.failed} failed` : ''
    console.log(
      `${marks[state]} ${stage.name.padEnd(width)}  ${state.padEnd(7)} ${seconds.toFixed(1).padStart(7)} s${tests}`,
    )
  }
  console.log(`  ${'in all'.padEnd(width)}  ${''.padEnd(7)} ${seconds.toFixed(1).padStart(7)} s\n`)
}

// ── Main ────────────────────────────────────────────────────────────────────────────────────────────────────────────

function select(only) {
  if (!only) return stages
  const names = only.split(',').map(name => name.trim())
  const unknown = names.find(name => !stages.some(stage => stage.name === name))
  if (unknown !== undefined) {
    throw new SetupError(`No stage is named "${unknown}". There are: ${stages.map(stage => stage.name).join(', ')}.`)
  }
  const needed = stages.filter(stage => names.includes(stage.name)).flatMap(stage => stage.after ?? [])
  return stages.filter(stage => names.includes(stage.name) || needed.includes(stage.name))
}

await main(async () => {
  const { values, positionals } = parseArgs({
    options: { only: { type: 'string' }, list: { type: 'boolean' } },
    allowPositionals: true,
  })
  if (values.list) return console.log(stages.map(stage => stage.name).join('\n'))
  const selected = select(values.only)
  if (positionals.length > 0 && selected.length !== 1) {
    throw new SetupError(`Arguments (${positionals.join(' ')}) need one stage to be passed on to: --only NAME.`)
  }

  onStop(() => {
    for (const child of running) end(child, 'SIGTERM')
    process.exit(130)
  })

  const started = performance.now()
  await ensureDependencies()
  const missing = new Map()
  for (const [need, ensure] of Object.entries(needs)) {
    if (selected.some(stage => stage.needs === need)) await ensure().catch(error => missing.set(need, error))
  }
  const results = await runAll(selected, positionals, missing)

  printTable(results, (performance.now() - started) / 1000)
  const sum = key => results.reduce((total, result) => total + result.counts[key], 0)
  console.log(`tests: ${sum('passed')} passed, ${sum('failed')} failed`)
  process.exitCode = results.every(result => result.state === 'passed') ? 0 : 1
})
