/**
 * `npm run crash:fsync`: which appends Chromium syncs to disk, seen from outside by strace. A kill cannot tell: what is
 * written survives the process without any sync.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startBrowser } from './browser.ts'
import { buildPage } from './build.ts'
import { startHost } from './host.ts'
import type { Plan } from './protocol.ts'

const say = (line: string) => void process.stdout.write(`${line}\n`)

/** Longest all of it may take. */
const LIMIT_MS = 120_000

/** Epoch ms of the beginning and the end of each sync of a file of IndexedDB. */
type Sync = { readonly from: number; readonly to: number }

/** Resolves with the exit code: 1 when a flush was told before anything was synced. */
export async function main(root: string, args: readonly string[], onStop: (stop: () => void) => void): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: { strict: { type: 'string', default: '100' }, relaxed: { type: 'string', default: '100' } },
  })
  const strict = Number(values.strict)
  const relaxed = Number(values.relaxed)
  if (spawnSync('strace', ['-V']).status !== 0) {
    say('There is no strace here, so nothing is counted. On Debian: apt-get install strace.')
    return 0
  }

  const folder = mkdtempSync(join(tmpdir(), 'palimpsest-fsync-'))
  await buildPage(root, join(folder, 'page'))
  const host = await startHost(join(folder, 'page'))
  const trace = join(folder, 'trace')
  const marks = new Map<string, number>()
  const plan: Plan = {
    run: 1,
    seed: 'fsync',
    checks: [],
    workload: { kind: 'syncs', strict, relaxed, session: 'syncs' },
  }
  const tracer = ['strace', '-f', '-ttt', '-T', '-y', '-s', '0', '-e', 'trace=fsync,fdatasync', '-o', trace]
  const browser = startBrowser(host.addressOf(plan), join(folder, 'profile'), tracer)
  onStop(() => browser.kill())
  const problem = await new Promise<string | null>(resolve => {
    host.onReport = (_run, report) => {
      if (report.kind === 'mark') marks.set(report.name, now())
      if (report.kind === 'trouble') resolve(report.text)
      if (report.kind === 'rest') resolve(null)
    }
    setTimeout(() => resolve(`it took longer than ${LIMIT_MS} ms; it said: ${browser.said()}`), LIMIT_MS).unref()
    void browser.ended.then(() => resolve(`it ended by itself; it said: ${browser.said()}`))
  })
  browser.kill()
  await browser.ended
  await host.close()
  if (problem !== null) {
    say(`Nothing could be counted: ${problem}`)
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
    return 1
  }

  const syncs = syncsIn(readFileSync(trace, 'utf8'))
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  const at = (name: string) => marks.get(name) ?? Number.NaN
  const within = (from: string, to: string) =>
    syncs.filter(sync => sync.from >= at(from) - CLOCK_MS && sync.to <= at(to) + CLOCK_MS).length
  const counts = Array.from({ length: strict }, (_, index) => within(`strict ${index}`, `stored ${index}`))
  const early = counts.filter(count => count === 0).length
  const during = within('relaxed', 'appended')
  say(
    `${strict} appends, each flushed: ${within('strict 0', `stored ${strict - 1}`)} syncs; ${early} were told before any`,
  )
  say(`${relaxed} appends without a flush: ${during} syncs until all were saved`)
  const isLazy = during < relaxed / 4
  if (!isLazy) say('Appends without a flush are synced as if they were flushed.')
  return early > 0 || !isLazy ? 1 : 0
}

/** Clocks of strace and Node are the same one, read in different ways. */
const CLOCK_MS = 0.5
const now = () => performance.timeOrigin + performance.now()

/** Lines such as `17 1700000000.123456 fdatasync(9</…/IndexedDB/…>) = 0 <0.001234>`; long ones come in two halves. */
function syncsIn(trace: string): readonly Sync[] {
  const syncs: Sync[] = []
  const begun = new Map<string, number>()
  for (const line of trace.split('\n')) {
    const [, pid = '', seconds = '', rest = ''] = /^(\d+)\s+([\d.]+) (.*)$/.exec(line) ?? []
    const from = Number(seconds) * 1000
    const took = Number(/<([\d.]+)>$/.exec(rest)?.[1] ?? 0) * 1000
    if (/^f(?:data)?sync\(.*IndexedDB.*<unfinished/.test(rest)) begun.set(pid, from)
    else if (/^f(?:data)?sync\(.*IndexedDB/.test(rest)) syncs.push({ from, to: from + took })
    else if (/^<\.\.\. f(?:data)?sync resumed/.test(rest)) {
      const since = begun.get(pid)
      if (since !== undefined) syncs.push({ from: since, to: since + took })
      begun.delete(pid)
    }
  }
  return syncs
}
