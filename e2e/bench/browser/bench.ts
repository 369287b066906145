/** What the files in `rows/` measure with: samples of a browser, in shuffled rounds, and rows judged by their goals. */
import { judge, median, type Row, shuffled } from '../harness.ts'
import { type Browser, heapOf } from './browser.ts'
import type { BuiltLog, Place } from './library.ts'
import type { WorkloadRange } from './log.ts'
import type { BenchPage, PageTaskInput, PageTaskName, PageTaskOutput } from './page.ts'
import type { TaskInput, TaskName, TaskOutput } from './tasks.ts'

/** Measures one thing once. */
export type Sample = () => Promise<number>

/** A log that is stored in the profile `LOGS`. */
export type StoredLog = Place & BuiltLog

export type BrowserRows = (bench: BrowserBench) => Promise<readonly Row[]>

/** Profile of the logs that several files read. */
export const LOGS = 'logs'

export class BrowserBench {
  readonly quick: boolean
  readonly browser: Browser
  readonly origins: readonly string[]
  readonly #logs = new Map<string, StoredLog>()
  #profile = 'none'
  #origin = 0
  #names = 0

  constructor(parts: { readonly quick: boolean; readonly browser: Browser; readonly origins: readonly string[] }) {
    this.quick = parts.quick
    this.browser = parts.browser
    this.origins = parts.origins
  }

  row(...row: Parameters<typeof judge>): Row {
    return judge(...row)
  }

  /** `n` events, or a twentieth of it for a quick look, but enough for some turns. */
  size(n: number): number {
    return this.quick ? Math.max(200, Math.ceil(n / 20)) : n
  }

  /** Nodes of a surface that compactions keep short. */
  get surface(): number {
    return this.quick ? 20 : 200
  }

  /** Samples from now on are taken there. */
  use(profile: string, origin = 0): void {
    this.#profile = profile
    this.#origin = origin
  }

  /** A name no database has. */
  newName(): string {
    this.#names += 1
    return `bench-${this.#names}`
  }

  /** Does a task in a fresh worker. */
  async sample<Name extends TaskName>(name: Name, input: TaskInput<Name>): Promise<TaskOutput<Name>> {
    const page = await this.#page()
    const output = await page.evaluate(
      message => (globalThis as unknown as { benchPage: BenchPage }).benchPage.sample(message),
      { name, input },
    )
    return output as TaskOutput<Name>
  }

  /** Does a task on the page. */
  async onPage<Name extends PageTaskName>(name: Name, input: PageTaskInput<Name>): Promise<PageTaskOutput<Name>> {
    const page = await this.#page()
    const output = await page.evaluate(
      message => (globalThis as unknown as { benchPage: BenchPage }).benchPage.onPage(message),
      { name, input },
    )
    return output as PageTaskOutput<Name>
  }

  /** Bytes of the heap of a worker that has done a task and holds what it made. */
  async heap<Name extends TaskName>(name: Name, input: TaskInput<Name>): Promise<number> {
    return heapOf(await this.#page(), { name, input })
  }

  /** The medians of samples. In each round each contestant has its turn, in another order. */
  async measure<Name extends string>(
    contestants: Readonly<Record<Name, Sample>>,
    { rounds, warmUp = 0 }: { readonly rounds: number; readonly warmUp?: number },
  ): Promise<Record<Name, number>> {
    const samples = new Map<Name, number[]>()
    const skipped = this.quick ? 0 : warmUp
    for (let round = 0; round < (this.quick ? 1 : rounds + warmUp); round += 1) {
      for (const name of shuffled(Object.keys(contestants) as Name[])) {
        const sample = await contestants[name]()
        if (!Number.isFinite(sample)) throw new Error(`${name} was measured as ${sample}`)
        if (round >= skipped) samples.set(name, [...(samples.get(name) ?? []), sample])
      }
    }
    const medians = [...samples].map(([name, values]) => [name, median(values)] as const)
    return Object.fromEntries(medians) as Record<Name, number>
  }

  /** A stored session in the profile `LOGS`, which is used from now on. Built when it is first asked for. */
  async log(spec: WorkloadRange & { readonly surface: number | null; readonly rows?: boolean }): Promise<StoredLog> {
    const { count, variant, surface, rows = false } = spec
    const name = `${variant}-${count}-${surface ?? 'all'}${rows ? '-rows' : ''}`
    this.use(LOGS)
    let log = this.#logs.get(name)
    if (log === undefined) {
      const place = { database: name, id: name }
      log = { ...place, ...(await this.sample('buildLog', { ...place, count, variant, surface, rows })) }
      this.#logs.set(name, log)
    }
    return log
  }

  async #page(): ReturnType<Browser['open']> {
    return this.browser.open(this.#profile, this.origins[this.#origin] ?? '')
  }
}
