/** Crash runs from the command line: `npm run crash`. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { buildPage } from './build.ts'
import { startHost } from './host.ts'
import { CrashRuns, type KillPoint, killPoints, type Tally } from './run.ts'

const say = (line: string) => void process.stdout.write(`${line}\n`)

function optionsOf(args: readonly string[]) {
  const { values } = parseArgs({
    args: [...args],
    options: {
      kills: { type: 'string', default: '200' },
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
      points: { type: 'string', default: Object.keys(killPoints).join(',') },
      'journal-ms': { type: 'string', default: '600' },
      keep: { type: 'boolean', default: false },
    },
  })
  const points = values.points.split(',').map(point => point.trim())
  const unknown = points.find(point => !(point in killPoints))
  if (unknown !== undefined) {
    throw new RangeError(`There is no kill point "${unknown}". There are: ${Object.keys(killPoints).join(', ')}.`)
  }
  const kills = Number(values.kills)
  if (!Number.isInteger(kills) || kills < 1) throw new RangeError(`--kills ${values.kills} is no number of kills.`)
  return {
    kills,
    seed: values.seed,
    points: points as KillPoint[],
    journalMs: Number(values['journal-ms']),
    keep: values.keep,
  }
}

const columns = ['kills', 'acknowledged', 'lost', 'gaps', 'doubled', 'invalid', 'journal'] as const

function table(tallies: ReadonlyMap<KillPoint, Tally>): readonly string[] {
  const rows = [...tallies].map(([point, tally]) => [point as string, ...columns.map(column => tally[column])])
  const all = columns.map(column => [...tallies.values()].reduce((sum, tally) => sum + tally[column], 0))
  const lines = [['killed', ...columns.map(column => (column === 'journal' ? 'shown, not kept' : column))], ...rows, ['in all', ...all]] // biome-ignore format: one line
  const widths = lines[0]?.map((_, column) => Math.max(...lines.map(line => String(line[column]).length))) ?? []
  return lines.map(
    line =>
    line.map((cell, at) => (at === 0 ? String(cell).padEnd(widths[at] ?? 0) : String(cell).padStart(widths[at] ?? 0))).join('  '), // biome-ignore format: one line
  )
}

/** Resolves with the exit code. `onStop` is given what ends the runs early. */
export async function main(root: string, args: readonly string[], onStop: (stop: () => void) => void): Promise<number> {
  const { keep, ...options } = optionsOf(args)
  const folder = mkdtempSync(join(tmpdir(), 'palimpsest-crash-'))
  const started = performance.now()
  say(`${options.kills} kills, --seed ${options.seed}`)
  await buildPage(root, join(folder, 'page'))
  const host = await startHost(join(folder, 'page'))
  const runs = new CrashRuns({ ...options, host, folder, say })
  onStop(() => {
    runs.stop()
    rmSync(folder, { recursive: true, force: true })
  })
  const { tallies, violations } = await runs.run()
  await host.close()

  const seconds = (performance.now() - started) / 1000
  for (const line of ['', ...table(tallies), '']) say(line)
  say(`--seed ${options.seed}, ${seconds.toFixed(0)} s`)
  if (violations.length > 0) say(`${violations.length} violations; profile and what was found: ${folder}`)
  else if (!keep) rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  return violations.length > 0 ? 1 : 0
}
