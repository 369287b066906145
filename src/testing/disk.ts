/** For this library's own tests: a storage that can be held up, can fail, and can be left as a crash would leave it. */
import { withFaults } from '../storage/faults.ts'
import { memoryStorage } from '../storage/memory.ts'
import type { AppendBatch, SessionStorage, StorageError } from '../storage/storage.ts'

/** How a batch fails: `before` it is stored, or `after`, so that only the answer gets lost. */
export type AppendFailure = { readonly when: 'before' | 'after'; readonly error: StorageError }

type Change = { readonly method: string; readonly args: readonly unknown[] }

const READS: readonly string[] = ['list', 'get', 'read', 'seams', 'readRanges', 'keyframe', 'journal', 'getBlob']

/** Memory that behaves like a disk: slow, full, or gone in the middle of a write. */
export class Disk {
  readonly storage: SessionStorage
  readonly #inner = memoryStorage()
  /** What was stored, in order, so that a part of it can be stored again. */
  readonly #changes: Change[] = []
  readonly #held = new Set<() => void>()
  #holds: (batch: AppendBatch) => boolean = () => false
  #failure: AppendFailure | null = null
  #nextSeq = 0
  #isDead = false

  constructor() {
    this.storage = withFaults(this.#inner, async ({ method, args }, proceed) => {
      if (method !== 'append') return this.#change(method, args, proceed)
      const [batch] = args as readonly [AppendBatch]
      while (this.#holds(batch) && !this.#isDead) await new Promise<void>(resolve => this.#held.add(resolve))
      const failure = this.#failure
      if (failure?.when === 'before') throw failure.error
      await this.#change(method, args, proceed)
      this.#nextSeq = endOf(batch)
      if (failure !== null) throw failure.error
      return undefined
    })
  }

  /** Seq of the next event to be stored. */
  get nextSeq(): number {
    return this.#nextSeq
  }

  get isHolding(): boolean {
    return this.#held.size > 0
  }

  get isFailing(): boolean {
    return this.#failure !== null
  }

  /** Batches for which `holds` is true wait from now on; those that wait are looked at again. */
  hold(holds: (batch: AppendBatch) => boolean): void {
    this.#holds = holds
    this.#look()
  }

  /** Batches fail from now on; null: they do no more. */
  fail(failure: AppendFailure | null): void {
    this.#failure = failure
  }

  /** What is left after a crash that lost the last so many batches, with all that was stored after the first of them. */
  async crash(lost: number): Promise<Disk> {
    this.#isDead = true
    this.#look()
    const appends = this.#changes.filter(({ method }) => method === 'append')
    const [first] = lost === 0 ? [] : appends.slice(-lost)
    const kept = first === undefined ? this.#changes : this.#changes.slice(0, this.#changes.indexOf(first))
    const left = new Disk()
    const storage = left.storage as unknown as Record<string, (...args: readonly unknown[]) => Promise<unknown>>
    for (const { method, args } of kept) await storage[method]?.(...args)
    return left
  }

  async #change(method: string, args: readonly unknown[], proceed: () => Promise<unknown>): Promise<unknown> {
    // Nobody is left who could be answered.
    if (this.#isDead) await new Promise(() => undefined)
    if (READS.includes(method)) return proceed()
    const change = { method, args: structuredClone(args) }
    this.#changes.push(change)
    try {
      return await proceed()
    } catch (error) {
      this.#changes.splice(this.#changes.indexOf(change), 1)
      throw error
    }
  }

  #look(): void {
    const held = [...this.#held]
    this.#held.clear()
    for (const resolve of held) resolve()
  }
}

const endOf = ({ segment, more = [] }: AppendBatch): number => {
  const last = more.at(-1) ?? segment
  return last.firstSeq + last.count
}
