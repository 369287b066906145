/** Migrations joined to one: a log of an older version goes in event by event, one of the current version comes out. */
import { FormatError } from './errors.ts'
import type { Migration, RepairCode, Stage } from './migration.ts'
import type { StoredEvent, StoredHeader } from './stored.ts'

export type ChainOptions = {
  /** Adjacent, in order. */
  readonly migrations: readonly Migration[]
  /** Of the oldest version. */
  readonly header: StoredHeader
  /** Takes the events of the newest version. */
  readonly emit: (event: StoredEvent) => void
  /** Lists a repair, `seq` as in the oldest log; null when nothing may be repaired. */
  readonly repair: ((repair: { code: RepairCode; seq: number; message: string }) => void) | null
  readonly sha256: (text: string) => string
}

const CONSUMED = -1

/** One migration with where each of its events came from and went to. */
type Link = {
  readonly stage: Stage
  /** Seq in the newer log of each event of the older one. */
  readonly targets: number[]
  /** Seq in the older log that each event of the newer one was made of or put beside. */
  readonly origins: number[]
}

export class Chain {
  /** Of the newest version. */
  readonly header: StoredHeader
  readonly #links: Link[] = []
  readonly #located = new WeakSet<FormatError>()
  readonly #push: (event: StoredEvent) => void
  #length = 0

  constructor({ migrations, header, emit, repair, sha256 }: ChainOptions) {
    const headers = [header]
    for (const migration of migrations) headers.push(migration.header(headers.at(-1) as StoredHeader))
    this.header = headers.at(-1) as StoredHeader
    let next = emit
    for (let index = migrations.length - 1; index >= 0; index -= 1) {
      const take = next
      const targets: number[] = []
      const origins: number[] = []
      const stage = (migrations[index] as Migration).open({
        header: headers[index] as StoredHeader,
        sha256,
        emit(event, from, isGenerated) {
          origins.push(from)
          if (isGenerated !== true) targets[from] = event.seq
          take(event)
        },
        repair: repair && (({ code, seq, message }) => repair({ code, message, seq: this.#origin(index, seq) })),
      })
      this.#links.unshift({ stage, targets, origins })
      next = event => {
        targets.push(CONSUMED)
        this.#run(index, () => stage.push(event))
      }
    }
    this.#push = next
  }

  /** Takes the next event of the oldest log. @throws {FormatError} with the seq in that log. */
  push(event: StoredEvent): void {
    this.#push(event)
    this.#length += 1
  }

  /** The oldest log ended; how many of its events are inherited, and the same of the newest (null: none). */
  end(inherited: number | null): number | null {
    let count = inherited
    this.#links.forEach(({ stage }, index) => {
      this.#run(index, () => {
        count = stage.end(count)
      })
    })
    return count
  }

  /** Seq in the newest log of each event of the oldest; null for one that became part of another. */
  seqMap(): readonly (number | null)[] {
    return Array.from({ length: this.#length }, (_, seq) => {
      for (const { targets } of this.#links) {
        if (seq === CONSUMED) return null
        seq = targets[seq] ?? CONSUMED
      }
      return seq === CONSUMED ? null : seq
    })
  }

  /** Seq in the oldest log of what an event of the newest was made of, or put beside. */
  originOf(seq: number): number {
    return this.#origin(this.#links.length, seq)
  }

  #origin(index: number, seq: number): number {
    for (let before = index - 1; before >= 0; before -= 1) seq = this.#links[before]?.origins[seq] ?? seq
    return seq
  }

  /** Errors of a migration name the seq in its own log: to whoever reads the file only that in the file means something. */
  #run(index: number, work: () => void): void {
    try {
      work()
    } catch (error) {
      if (!(error instanceof FormatError) || this.#located.has(error)) throw error
      throw this.#locate(index, error)
    }
  }

  #locate(index: number, error: FormatError): FormatError {
    const { code, message, seq, path, eventType, expected, actual, sessionId } = error
    const origin = seq === undefined ? undefined : this.#origin(index, seq)
    const moved = origin === seq ? '' : ` (seq ${origin} of the file)`
    const facts = { path, eventType, expected, actual, sessionId, seq: origin }
    const located = new FormatError(code, message + moved, facts, { cause: error })
    this.#located.add(located)
    return located
  }
}
