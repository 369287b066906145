/** Kills a Chromium again and again while it works, and looks after each kill what is left. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Book, Telling } from './book.ts'
import { type Browser, startBrowser } from './browser.ts'
import type { Host } from './host.ts'
import { type Law, type Violation, violationsOf } from './laws.ts'
import type { Plan, Report, State, Workload } from './protocol.ts'
import { type Random, randomOf } from './random.ts'

/** When the browser is killed. */
export const killPoints = {
  acknowledgement: 'in the handler of an acknowledgement',
  'any time': 'at a random time from when the page is opened',
  'mid-answer': 'as a delta of an answer is given',
  'mid-tool': 'while a tool runs',
  'at rest': 'up to 1500 ms after a flood of appends',
} as const
export type KillPoint = keyof typeof killPoints

export type Tally = { kills: number; acknowledged: number } & Record<Law, number>

export type CrashOptions = {
  readonly host: Host
  /** A folder of its own. */
  readonly folder: string
  readonly kills: number
  readonly seed: string
  readonly points: readonly KillPoint[]
  /** Text that was shown and is not in the log is a violation. */
  /** How soon text that was shown must be kept, ms. */
  readonly journalMs: number
  readonly say: (line: string) => void
}

export type CrashResult = {
  readonly tallies: ReadonlyMap<KillPoint, Tally>
  readonly violations: readonly (Violation & { readonly run: number })[]
}

const emptyTally = (): Tally => ({ kills: 0, acknowledged: 0, lost: 0, gaps: 0, doubled: 0, invalid: 0, journal: 0 })

/** What a run does, and when it is killed. */
type Assignment = {
  readonly point: KillPoint
  readonly workload: Workload & { readonly session: string }
  /** The kill comes with the so-manieth report of that kind, and then so much later. */
  readonly on: Report['kind'] | 'flushed' | 'opening'
  readonly count: number
  readonly delayMs: number
}

/** Longest a run works, and longest it may take to look what is left. */
const WORK_MS = 12_000
const CHECK_MS = 45_000

export class CrashRuns {
  readonly #options: CrashOptions
  readonly #book = new Book()
  readonly #tallies = new Map<KillPoint, Tally>()
  readonly #violations: (Violation & { readonly run: number })[] = []
  readonly #profile: string
  /** Sessions that broke a law are left alone from then on. */
  readonly #broken = new Set<string>()
  readonly #heavy = new Set<string>()
  #browser: Browser | null = null
  #names = 0
  #session = ''

  constructor(options: CrashOptions) {
    this.#options = options
    this.#profile = join(options.folder, 'profile')
    mkdirSync(this.#profile, { recursive: true })
    for (const point of options.points) this.#tallies.set(point, emptyTally())
  }

  async run(): Promise<CrashResult> {
    const { kills, seed } = this.#options
    let last: Last | null = null
    for (let run = 1; run <= kills + 1; run += 1) {
      const random = randomOf(`${seed} run ${run}`)
      // After the last kill every session is looked at once more.
      const isEnd = run > kills
      const assignment = isEnd ? null : this.#assign(random, run)
      const before: string[] = last === null ? [] : [last.telling.session]
      const others = isEnd ? this.#book.sessions.filter(id => !before.includes(id)) : []
      const checks = [...before, ...others].filter(id => !this.#broken.has(id))
      const plan: Plan = { run, seed: `${seed} run ${run}`, checks, workload: assignment?.workload ?? null }
      const telling: Telling | null = await this.#one(plan, assignment, last)
      last = telling === null || assignment === null ? null : { telling, assignment }
    }
    return { tallies: this.#tallies, violations: this.#violations }
  }

  /** Ends what runs. */
  stop(): void {
    this.#browser?.kill()
  }

  #assign(random: Random, run: number): Assignment {
    const { points } = this.#options
    const point = points[(run - 1) % points.length] as KillPoint
    const session = this.#pickSession(random)
    const turns = (more: Partial<Extract<Workload, { kind: 'turns' }>> = {}): Assignment['workload'] => ({
      kind: 'turns',
      wantsLong: false,
      wantsTools: false,
      flushEveryMs: random.chance(0.5) ? random.between(10, 200) : 0,
      ...more,
      session,
    })
    switch (point) {
      case 'acknowledgement': {
        const count = random.between(1, 120)
        if (random.chance(0.5)) {
          return { point, workload: turns(), on: 'stored', count: random.between(1, 25), delayMs: 0 }
        }
        const heavyAt = random.chance(0.5) ? count : 0
        // One that got heavy is not gone on with: it takes long to read.
        if (heavyAt > 0) this.#heavy.add(session)
        return { point, workload: { kind: 'appends', heavyAt, session }, on: 'flushed', count, delayMs: 0 }
      }
      case 'any time': {
        const workload = random.pick<Assignment['workload']>([
          turns(),
          turns({ wantsTools: true }),
          { kind: 'appends', heavyAt: 0, session },
          { kind: 'flood', bursts: 8, events: random.between(20, 150), session },
        ])
        return random.chance(0.25)
          ? { point, workload, on: 'opening', count: 1, delayMs: random.between(0, 1_500) }
          : { point, workload, on: 'begun', count: 1, delayMs: random.between(0, 2_500) }
      }
      case 'mid-answer': {
        const wantsLong = random.chance(0.6)
        const count = random.between(1, wantsLong ? 300 : 100)
        return { point, workload: turns({ wantsLong }), on: 'delta', count, delayMs: 0 }
      }
      case 'mid-tool': {
        const delayMs = random.chance(0.5) ? 0 : random.between(0, 300)
        return { point, workload: turns({ wantsTools: true }), on: 'tool', count: random.between(1, 4), delayMs }
      }
      case 'at rest': {
        const workload: Assignment['workload'] = {
          kind: 'flood',
          bursts: random.between(1, 3),
          events: random.between(20, 250),
          session,
        }
        return { point, workload, on: 'rest', count: 1, delayMs: random.between(0, 1_500) }
      }
    }
  }

  /** Mostly the one of before, so that it gets long; then a new one, or one that has rested. */
  #pickSession(random: Random): string {
    const isUsable = (id: string) =>
      id !== '' && !this.#broken.has(id) && !this.#heavy.has(id) && this.#book.digests(id).length < 1_500
    const old = this.#book.sessions.filter(isUsable)
    if (!isUsable(this.#session) || random.chance(0.08)) this.#session = `crash-${(this.#names += 1)}`
    else if (old.length > 0 && random.chance(0.1)) this.#session = random.pick(old)
    return this.#session
  }

  /**
   * One Chromium: looks what the kill before left (`last`), works, and is killed. Answers what was told of the session
   * that is to be looked at next; null when none is.
   */
  async #one(plan: Plan, assignment: Assignment | null, last: Last | null): Promise<Telling | null> {
    const { host } = this.#options
    const session = assignment?.workload.session ?? ''
    const telling = new Telling(session)
    /** What is left to look at should it be killed before it begins to work. */
    let left = last?.telling ?? null
    let phase: 'checking' | 'opening' | 'working' = 'checking'
    let isKilled = false
    let isOver = false
    let count = 0
    let finish: () => void = () => undefined
    const finished = new Promise<void>(resolve => {
      finish = resolve
    })
    let timer: NodeJS.Timeout | undefined

    const kill = () => {
      if (isKilled) return
      isKilled = true
      telling.killedAt = Date.now()
      browser.kill()
      finish()
    }
    const violate = (law: Law, what: string, details: object = {}) => {
      // What is found by looking is counted where the kill before was.
      const point = (phase === 'checking' ? last : null)?.assignment.point ?? assignment?.point
      this.#violate(plan.run, point, { law, what }, details)
    }
    const trigger = (kind: Assignment['on']) => {
      if (assignment === null || assignment.on !== kind || isKilled) return
      count += 1
      if (count !== assignment.count) return
      if (assignment.delayMs === 0) kill()
      else setTimeout(kill, assignment.delayMs)
    }
    const look = (state: State, known: Telling | null) => {
      const stood = this.#book.digests(state.session)
      const found = violationsOf(state, stood, known, this.#options.journalMs)
      for (const { law, what } of found) violate(law, what, { state, stood, telling: known?.toJSON() })
      if (found.length > 0) this.#broken.add(state.session)
    }
    const take = (report: Report): void => {
      switch (report.kind) {
        case 'opened': {
          const { state } = report
          const known = left?.session === state.session ? left : null
          look(state, known)
          // What opening added is not flushed, and may be lost again.
          const stands = Math.max(this.#book.digests(state.session).length, known?.storedLength ?? 0)
          this.#book.keep(state.session, state.events.slice(0, stands))
          if (known !== null) left = new Telling(state.session)
          return
        }
        case 'continued': {
          const { state, reason } = report
          look(state, null)
          const { waiting, session: id } = state
          if (reason.kind !== 'completed') violate('invalid', `${id} does not go on: ${JSON.stringify(reason)}`)
          if (waiting > 0) violate('invalid', `${id}: ${waiting} messages wait still`)
          return this.#book.keep(id, state.events)
        }
        case 'verified':
          if (report.difference === null) return
          return violate('invalid', `${report.session} is not as stored: ${JSON.stringify(report.difference)}`)
        case 'checked':
          phase = 'opening'
          left = null
          clearTimeout(timer)
          timer = setTimeout(kill, WORK_MS)
          if (assignment === null) finish()
          return
        case 'begun':
          phase = 'working'
          telling.begin()
          return
        case 'committed':
          return telling.commit(report.events)
        case 'stored':
          return telling.store(report.upTo)
        case 'shown':
          return void telling.shown.push({ at: Date.now(), shown: report.shown })
        case 'tool': {
          const { session: id, callId } = report
          const times = this.#book.countCall(id, callId)
          if (times > 1) violate('doubled', `${id}: call ${callId} was run ${times} times`)
          const of = phase === 'checking' ? left : telling
          if (of?.session === id) of.toolCalls.push(callId)
          return
        }
        case 'request':
          for (const finding of report.findings) violate('invalid', `a request is refused: ${finding}`)
          return
        case 'trouble':
          violate('invalid', report.text)
          if (phase !== 'working') finish()
          return
        case 'delta':
        case 'rest':
        case 'mark':
      }
    }

    host.onReport = (number, report) => {
      if (number !== plan.run) return
      take(report)
      if (phase !== 'working') return
      trigger(report.kind)
      if (report.kind === 'stored' && report.by === 'flush') trigger('flushed')
    }
    const browser = startBrowser(host.addressOf(plan), this.#profile)
    this.#browser = browser
    timer = setTimeout(() => {
      violate('invalid', `it was not looked at within ${CHECK_MS} ms; Chromium said: ${browser.said()}`)
      finish()
    }, CHECK_MS)
    void browser.ended.then(() => {
      if (isKilled || isOver) return
      if (assignment !== null || phase === 'checking') violate('invalid', `Chromium ended by itself: ${browser.said()}`)
      finish()
    })
    trigger('opening')
    await finished
    isOver = true
    clearTimeout(timer)
    const isUseless = !isKilled && assignment !== null
    if (!isKilled) browser.kill()
    await browser.ended
    // What it had sent before it was killed counts.
    await new Promise(resolve => setTimeout(resolve, 50))
    host.onReport = null
    if (isUseless) for (const id of [...plan.checks, session]) this.#broken.add(id)
    if (assignment === null || isUseless) return null
    this.#kept(plan, assignment, telling)
    // Killed while it looked: that is to be looked at again.
    return phase === 'checking' ? left : telling
  }

  #kept({ run }: Plan, { point, workload }: Assignment, { acknowledged, committed }: Telling): void {
    const tally = this.#tallies.get(point)
    if (tally === undefined) return
    tally.kills += 1
    tally.acknowledged += acknowledged
    const where = `${workload.session} (${workload.kind}, ${committed.size} events)`
    this.#options.say(`kill ${run} of ${this.#options.kills}, ${point}: ${where}, ${acknowledged} acknowledged`)
  }

  #violate(run: number, point: KillPoint | undefined, violation: Violation, details: object): void {
    const tally = point === undefined ? undefined : this.#tallies.get(point)
    if (tally !== undefined) tally[violation.law] += 1
    this.#violations.push({ ...violation, run })
    const file = join(this.#options.folder, `violation-${this.#violations.length}.json`)
    writeFileSync(file, JSON.stringify({ run, point, ...violation, ...details }, null, 1))
    this.#options.say(
      `VIOLATION in run ${run}, ${point ?? 'at the end'}: ${violation.law}: ${violation.what}\n  ${file}`,
    )
  }
}

type Last = { readonly telling: Telling; readonly assignment: Assignment }
