/** A Chromium of its own with a profile that stays, and its end by SIGKILL: all of its processes at once. */
import { type ChildProcess, spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'

const args = [
  ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
  '--headless=new',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--no-default-browser-check',
  '--disable-background-networking',
  '--disable-background-timer-throttling',
  '--disable-component-update',
  '--disable-sync',
  '--disable-breakpad',
  '--disable-dev-shm-usage',
  '--password-store=basic',
]

export type Browser = {
  readonly child: ChildProcess
  /** What it last said on its error output. */
  readonly said: () => string
  /** Kills at once; nothing of it runs when this returns, but for what the system still has to clean up. */
  readonly kill: () => void
  /** Resolves when it has ended. */
  readonly ended: Promise<void>
}

/** Starts a Chromium on `address`. `before`: a command that runs it. */
export function startBrowser(address: string, profile: string, before: readonly string[] = []): Browser {
  const chromium = process.env['PALIMPSEST_CHROMIUM'] ?? 'chromium'
  const [command = chromium, ...rest] = [...before, chromium, ...args, `--user-data-dir=${profile}`, address]
  // It leads a process group and a session of its own.
  const child = spawn(command, rest, { detached: true, stdio: ['ignore', 'ignore', 'pipe'] })
  let said = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-4_000)
  })
  // However this process ends, none is left behind.
  const kill = () => killAll(child.pid)
  process.once('exit', kill)
  const ended = new Promise<void>(resolve => {
    child.on('error', error => {
      said += error.message
      resolve()
    })
    child.on('exit', () => {
      process.off('exit', kill)
      resolve()
    })
  })
  // Without a desktop it complains of that at length.
  const own = () => said.split('\n').filter(line => !/dbus|^$/.test(line)).slice(-10).join('\n') // biome-ignore format: one line
  return { child, said: own, ended, kill }
}

/** Its process group first, which is nearly all of it; then what it started in groups of their own. */
function killAll(leader: number | undefined): void {
  if (leader === undefined) return
  end(-leader)
  for (const pid of sessionOf(leader)) end(pid)
}

function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended already.
  }
}

/** The processes of the session that `leader` leads. */
export function sessionOf(leader: number): readonly number[] {
  if (process.platform !== 'linux') return []
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .map(Number)
    .filter(pid => {
      try {
        // pid (command) state parent group session …
        const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
        const [state, , , session] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
        return Number(session) === leader && state !== 'Z'
      } catch {
        return false
      }
    })
}
