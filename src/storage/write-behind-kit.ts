/** A storage that fails when told to, and a writer on it. For the tests of `write-behind.ts`. */
import { SessionId, SessionSeq } from '../core/ids.ts'
import { newSession, readAll } from './conformance-kit.ts'
import type { EventExtras } from './batches.ts'
import { withFaults } from './faults.ts'
import { memoryStorage } from './memory.ts'
import {
  type AppendBatch,
  type NewKeyframe,
  type SessionStorage,
  StorageError,
  type StorageErrorCode,
} from './storage.ts'
import { WriteBehind, type WriteBehindOptions, type WriteBehindStatus } from './write-behind.ts'

export const A: SessionId = SessionId('a')

/** What a call of `append` does: store, refuse, or store and lose the answer. */
export type Outcome = 'stored' | 'lost-answer' | StorageErrorCode

/** A memory storage whose appends are written down, wait to be let through, and fail as told. */
export class FaultyStorage {
  readonly inner: SessionStorage = memoryStorage()
  readonly batches: AppendBatch[] = []
  readonly outcomes: Outcome[] = []
  inFlight = 0
  mostInFlight = 0
  held: (() => void)[] | null = null
  onStored: (batch: AppendBatch) => void = () => {}

  /** The storage itself, as the write-behind sees it. */
  readonly storage: SessionStorage = withFaults(this.inner, ({ method, args }, proceed) =>
    method === 'append' ? this.#append(args[0] as AppendBatch, proceed) : proceed(),
  )

  /** From now on appends wait for `release`. */
  hold(): void {
    this.held = []
  }

  /** Lets the waiting append through, and waits until its answer has arrived. */
  async release(): Promise<void> {
    await settle()
    this.held?.shift()?.()
    await settle()
  }

  durabilities(): readonly string[] {
    return this.batches.map(batch => `${batch.durability} ${batch.segment.firstSeq}+${batch.segment.count}`)
  }

  async #append(batch: AppendBatch, proceed: () => Promise<unknown>): Promise<void> {
    this.batches.push(batch)
    this.mostInFlight = Math.max(this.mostInFlight, ++this.inFlight)
    try {
      const { held } = this
      if (held) await new Promise<void>(resolve => held.push(resolve))
      else await Promise.resolve()
      const outcome = this.outcomes.shift() ?? 'stored'
      if (outcome !== 'stored' && outcome !== 'lost-answer') throw new StorageError(outcome, 'as told')
      await proceed()
      this.onStored(batch)
      if (outcome === 'lost-answer') throw new StorageError('unavailable', 'the answer was lost')
    } finally {
      this.inFlight--
    }
  }
}

/** Waits until every promise that can settle has. */
export const settle = (): Promise<void> => new Promise(resolve => setTimeout(resolve, 0))

export const textOf = (seq: number): string => `{"seq":${seq}}`

/** A writer of a session still to be created, and what it says about itself. */
export function writer(options: Partial<WriteBehindOptions> = {}): {
  faulty: FaultyStorage
  writes: WriteBehind
  statuses: WriteBehindStatus[]
  append: (count: number, extras?: EventExtras) => void
} {
  const faulty = new FaultyStorage()
  const statuses: WriteBehindStatus[] = []
  const writes = new WriteBehind({
    storage: faulty.storage,
    id: A,
    logId: newSession('a').logId,
    epoch: 1,
    nextSeq: SessionSeq(0),
    create: newSession('a'),
    now: () => 7,
    onStatus: status => statuses.push(status),
    ...options,
  })
  let seq = 0
  const append = (count: number, extras?: EventExtras): void => {
    for (let index = 0; index < count; index++, seq++) writes.enqueue(SessionSeq(seq), textOf(seq), extras)
  }
  return { faulty, writes, statuses, append }
}

/** Seqs of the stored events, in the order they are stored. */
export async function stored(faulty: FaultyStorage): Promise<readonly number[]> {
  if (!(await faulty.inner.get(A))) return []
  const segments = await readAll(faulty.inner, 'a')
  return segments.flatMap(({ text }) => (JSON.parse(text) as { seq: number }[]).map(event => event.seq))
}

/** Pieces of the stored journal, in order. */
export async function journaled(faulty: FaultyStorage): Promise<readonly unknown[]> {
  const parts = await faulty.inner.journal(A)
  return parts.flatMap(({ text }) => JSON.parse(text) as unknown[])
}

/** A keyframe of so many events. */
export const keyframeOf = (seq: number, instead?: number): NewKeyframe => ({
  seq: SessionSeq(seq),
  text: `"${seq}"`,
  ...(instead === undefined ? {} : { instead: SessionSeq(instead) }),
})

export const upTo = (count: number): readonly number[] => Array.from({ length: count }, (_, seq) => seq)
