/**
 * Makes a clean clone ready to run: dependencies and a Chromium. Node builtins only, since nothing may be installed yet.
 * `node scripts/setup.mjs` does both and prints the path of the Chromium.
 */
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { delimiter, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('..', import.meta.url)).replace(/[\\/]$/, '')

/** A thing that is missing and could not be installed; its message tells a person what to do. */
export class SetupError extends Error {}

const say = line => process.stderr.write(`${line}\n`)

/** Runs a command with its output on our stderr, so that stdout stays ours. Resolves to the exit code, 127 if not found. */
function run(command, args, options = {}) {
  return new Promise(done => {
    const child = spawn(command, args, { cwd: root, stdio: ['ignore', 2, 2], ...options })
    child.on('error', () => done(127))
    child.on('exit', code => done(code ?? 1))
  })
}

/** npm as the running npm if there is one, else the one on the PATH. */
function npm(args, cwd) {
  const running = process.env.npm_execpath
  if (running && /npm-cli\.[cm]?js$/.test(running) && existsSync(running)) {
    return run(process.execPath, [running, ...args], { cwd })
  }
  return run('npm', args, { cwd, shell: process.platform === 'win32' })
}

// ── Dependencies ────────────────────────────────────────────────────────────────────────────────────────────────────

const readJson = file => {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return null
  }
}

const sameNames = (a = {}, b = {}) =>
  Object.keys(a).length === Object.keys(b).length && Object.entries(a).every(([name, version]) => b[name] === version)

/**
 * Whether what npm wrote down when it last installed (`node_modules/.package-lock.json`) is what the lock file asks
 * for. Packages for other platforms are rightly absent. Compares contents, since times mean nothing after a checkout.
 */
export function dependenciesAreCurrent(dir = root) {
  const manifest = readJson(join(dir, 'package.json'))
  const wanted = readJson(join(dir, 'package-lock.json'))?.packages
  const present = readJson(join(dir, 'node_modules', '.package-lock.json'))?.packages
  if (!manifest || !wanted || !present) return false
  const locked = wanted[''] ?? {}
  if (!sameNames(manifest.dependencies, locked.dependencies)) return false
  if (!sameNames(manifest.devDependencies, locked.devDependencies)) return false
  for (const [path, entry] of Object.entries(wanted)) {
    if (path === '' || entry.link) continue
    const found = present[path]
    if (!found) {
      if (entry.optional || entry.devOptional) continue
      return false
    }
    if (found.version !== entry.version || found.integrity !== entry.integrity) return false
  }
  const direct = Object.keys({ ...manifest.dependencies, ...manifest.devDependencies })
  return direct.every(name => existsSync(join(dir, 'node_modules', name, 'package.json')))
}

/** Installs what the lock file of `dir` says, unless that is what is there already. */
export async function ensureDependencies(dir = root) {
  if (dependenciesAreCurrent(dir)) return
  say(`Installing the dependencies of ${dir} (npm ci) …`)
  const code = await npm(['ci', '--include=dev', '--no-audit', '--no-fund', '--prefer-offline'], dir)
  if (code !== 0) throw new SetupError(`\`npm ci\` failed in ${dir} (exit code ${code}); its output is above.`)
}

// ── Chromium ────────────────────────────────────────────────────────────────────────────────────────────────────────

const pathNames = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome']

function onPath(name) {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    const file = folder && join(folder, name)
    if (file && existsSync(file)) return file
  }
  return null
}

function usualPlaces() {
  if (process.platform === 'darwin') {
    const apps = ['Chromium.app/Contents/MacOS/Chromium', 'Google Chrome.app/Contents/MacOS/Google Chrome']
    const homes = ['/Applications', ...(process.env.HOME ? [join(process.env.HOME, 'Applications')] : [])]
    return homes.flatMap(home => apps.map(app => join(home, app)))
  }
  if (process.platform === 'win32') {
    const bases = ['PROGRAMFILES', 'PROGRAMFILES(X86)', 'LOCALAPPDATA'].map(name => process.env[name]).filter(Boolean)
    const apps = ['Google\\Chrome\\Application\\chrome.exe', 'Chromium\\Application\\chrome.exe']
    return bases.flatMap(base => apps.map(app => join(base, app)))
  }
  return []
}

/** Whether a file is a browser that starts: some systems ship a stub by that name which only asks to install one. */
function starts(file) {
  if (!existsSync(file)) return false
  if (process.platform === 'win32') return true // there `--version` opens a window
  const answer = spawnSync(file, ['--version'], { encoding: 'utf8', timeout: 60_000 })
  return answer.status === 0 && /Chrom/.test(answer.stdout)
}

/** Where Playwright keeps (or would keep) the Chromium it downloads; null while it is not installed itself. */
function playwrightChromium() {
  try {
    return createRequire(join(root, 'package.json'))('playwright').chromium.executablePath() || null
  } catch {
    return null
  }
}

function findChromium() {
  const candidates = [...pathNames.map(onPath), ...usualPlaces(), playwrightChromium()]
  return candidates.find(file => file && starts(file)) ?? null
}

async function installFromDebian() {
  if (process.platform !== 'linux' || process.getuid?.() !== 0 || !onPath('apt-get')) return null
  say('Installing Chromium (apt-get) …')
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  const wait = ['-o', 'DPkg::Lock::Timeout=300']
  await run('apt-get', ['update', ...wait], { env })
  await run('apt-get', ['install', '-y', ...wait, 'chromium'], { env })
  return findChromium()
}

async function installFromPlaywright() {
  const cli = join(root, 'node_modules', 'playwright', 'cli.js')
  if (!existsSync(cli)) return null
  say('Installing Chromium (playwright install) …')
  await run(process.execPath, [cli, 'install', 'chromium'])
  return findChromium()
}

/**
 * The path of a Chromium that starts: the one `PALIMPSEST_CHROMIUM` names, one found on this machine, or one installed
 * now. Children of this process see it as `PALIMPSEST_CHROMIUM`.
 */
export async function ensureChromium() {
  const named = process.env.PALIMPSEST_CHROMIUM
  if (named) {
    const file = resolve(root, named)
    if (starts(file)) return (process.env.PALIMPSEST_CHROMIUM = file)
    throw new SetupError(`PALIMPSEST_CHROMIUM is set to ${named}, which is not a Chromium that starts here.`)
  }
  const file = findChromium() ?? (await installFromDebian()) ?? (await installFromPlaywright())
  if (!file) {
    throw new SetupError(
      'No Chromium was found and none could be installed. Install Chromium or Chrome (on Debian: `apt-get install ' +
        'chromium`; elsewhere: `npx playwright install --with-deps chromium`), or set PALIMPSEST_CHROMIUM to the path ' +
        'of one.',
    )
  }
  process.env.PALIMPSEST_CHROMIUM = file
  return file
}

/**
 * Calls `stop` when this process is asked to end: by a signal, or because npm, which ran it, was ended by one. npm ends
 * only the shell in between then, so a script notices by having got another parent.
 */
export function onStop(stop) {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, stop)
  if (!process.env.npm_lifecycle_event || process.platform === 'win32') return
  const parent = process.ppid
  const watch = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(watch)
    stop()
  }, 500)
  watch.unref()
}

/** Runs a script's main function; a missing thing ends it with its message and exit code 1. */
export async function main(body) {
  try {
    await body()
  } catch (error) {
    say(error instanceof SetupError ? error.message : (error?.stack ?? String(error)))
    process.exit(1)
  }
}

if (process.argv[1] && resolve(process.argv[1]) === fileURLToPath(import.meta.url)) {
  await main(async () => {
    await ensureDependencies()
    console.log(await ensureChromium())
  })
}
