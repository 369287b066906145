/** Random lives of a storage, with failures, beside a model of it: after each step both show the same. */
import 'fake-indexeddb/auto'
import fc from 'fast-check'
import { describe, it } from 'vitest'
import { BlobId, type LogId, SessionId } from '../core/ids.ts'
import { batch, header, refuses, same, whole } from './conformance-kit.ts'
import { withFaults } from './faults.ts'
import { freshName, intercepted, requestMethods } from './indexeddb-kit.ts'
import { indexedDbStorage } from './indexeddb.ts'
import { memoryStorage } from './memory.ts'
import { inheritedBy, labels, type ModelExtras, type ModelSession, StorageModel } from './model-kit.ts'
import { type NewSession, type SessionStorage, StorageError, type StorageErrorCode } from './storage.ts'

const BLOBS = [0, 1, 2].map(number => BlobId(`sha256:${String(number).repeat(64)}`))

/** How a call goes: as it should, not at all, with its answer lost, or with its n-th request failing. */
type Fate = 'done' | 'refused' | 'lost' | { readonly failing: number }

/** The storage that is tested, and how calls of it fail. */
class Real {
  readonly #open: () => SessionStorage
  storage: SessionStorage
  #fate: Fate = 'done'

  constructor(open: () => SessionStorage) {
    this.#open = open
    this.storage = open()
  }

  async reopen(): Promise<void> {
    if (this.storage.kind === 'memory') return
    await this.storage.close()
    this.storage = this.#open()
  }

  /** Carries a change out, or not, as fate has it; answers whether it was. */
  async change(fate: Fate, change: (storage: SessionStorage) => Promise<unknown>): Promise<boolean> {
    this.#fate = fate
    const faulty = withFaults(this.storage, async (_call, proceed) => {
      if (this.#fate === 'refused') throw new StorageError('unavailable', 'as told')
      const answer = await proceed()
      if (this.#fate === 'lost') throw new StorageError('unavailable', 'the answer was lost')
      return answer
    })
    if (typeof fate !== 'object') {
      if (fate === 'done') await change(faulty)
      else await refuses('a call that fails', 'unavailable', change(faulty))
      return fate !== 'refused'
    }
    let isDone = true
    let requests = 0
    const intercept = (proceed: () => unknown): unknown => {
      if (requests++ === fate.failing) throw new DOMException('as told', 'QuotaExceededError')
      return proceed()
    }
    await intercepted(requestMethods(), intercept, async () => {
      await change(faulty).catch((error: unknown) => {
        same('what it fails with', error instanceof StorageError && error.code, 'quota-exceeded')
        isDone = false
      })
    })
    return isDone
  }
}

type Command = fc.AsyncCommand<StorageModel, Real>

/** A command, after which model and storage are compared. */
function command(what: string, run: (model: StorageModel, real: Real) => Promise<unknown>): Command {
  return {
    check: () => true,
    run: async (model, real) => {
      await run(model, real)
      await model.compare(real.storage, BLOBS)
    },
    toString: () => what,
  }
}

const stranger = (id: string, logId: LogId): NewSession => ({ header: header(id), logId, inherited: [] })

/** A refusal every storage owes; nothing is changed by it. */
const owes = (
  code: StorageErrorCode,
  real: Real,
  call: (storage: SessionStorage) => Promise<unknown>,
): Promise<unknown> => refuses('a call that cannot be carried out', code, call(real.storage))

const fate: fc.Arbitrary<Fate> = fc.oneof(
  { weight: 6, arbitrary: fc.constant<Fate>('done') },
  { weight: 1, arbitrary: fc.constantFrom<Fate[]>('refused', 'lost') },
  { weight: 2, arbitrary: fc.record({ failing: fc.nat({ max: 12 }) }) },
)
const pick = fc.nat({ max: 5 })
const name = fc.constantFrom('a', 'b', 'c', 'd', 'e')
const time = fc.integer({ min: 1_000, max: 1_020 })
const blobs = fc.subarray(BLOBS)

const extras = fc.record(
  { keyframe: fc.record({ back: fc.nat({ max: 3 }), instead: fc.option(fc.nat({ max: 6 })) }), blobs },
  { requiredKeys: [] },
)
const journal = fc.constantFrom('settled' as const, 0, 1, 2, undefined)
type Extras = typeof extras extends fc.Arbitrary<infer Value> ? Value : never

/** What a batch that ends at `end` comes with. */
function extrasAt(end: number, { keyframe, blobs: named }: Extras, part?: 'settled' | number): ModelExtras {
  const seq = Math.max(0, end - (keyframe?.back ?? 0))
  return {
    ...(keyframe && {
      keyframe: { seq, text: `at ${seq}`, ...(keyframe.instead === null ? {} : { instead: keyframe.instead }) },
    }),
    ...(part !== undefined && { journal: part === 'settled' ? part : { part, text: `${part} at ${end}` } }),
    ...(named && { blobs: named }),
  }
}

/** As a batch has them. */
const typed = ({ keyframe, ...rest }: ModelExtras): object => (keyframe === undefined ? rest : { keyframe, ...rest })

const commands: fc.Arbitrary<Command>[] = [
  fc.tuple(fate, name, fc.nat({ max: 3 }), time).map(([how, id, count, at]) =>
    command(`create ${id} +${count}`, async (model, real) => {
      const logId = model.newLog()
      const create = batch(id, 0, count, { create: stranger(id, logId), time: at, ...textOf(logId, 0, count) })
      if (model.sessions.has(id)) return owes('exists', real, storage => storage.append(create))
      if (!(await real.change(how, storage => storage.append(create)))) return
      model.create(id, logId, [], [], at)
      model.append(model.sessions.get(id) as ModelSession, count, at, {})
    }),
  ),

  fc
    .tuple(fate, pick, fc.nat({ max: 4 }), fc.option(time), extras, journal, fc.constantFrom(0, 0, 0, 1))
    .map(([how, from, count, at, more, part, behind]) =>
      command(`append +${count} ${JSON.stringify(more)} ${part}`, async (model, real) => {
        const session = model.session(from)
        if (session === null) return owes('not-found', real, storage => storage.append(batch('none', 0, 1)))
        const { header: { id }, logId, nextSeq, epoch } = session.record // biome-ignore format: one line
        const with_ = extrasAt(nextSeq + count, more, part)
        const parts = { logId, time: at, ...textOf(logId, nextSeq, count), ...typed(with_) }
        if (behind > 0) {
          const stale = batch(id, nextSeq, count, { epoch: epoch + 1, ...parts })
          await owes('stale-epoch', real, storage => storage.append(stale))
          const early = batch(id, nextSeq + 1, count, { epoch, ...parts })
          return owes('seq-conflict', real, storage => storage.append(early))
        }
        const write = batch(id, nextSeq, count, { epoch, ...parts })
        if (await real.change(how, storage => storage.append(write))) model.append(session, count, at, with_)
      }),
    ),

  fc.tuple(fate, pick, name, fc.nat({ max: 12 }), fc.nat({ max: 2 }), time).map(([how, from, id, at, count, now]) =>
    command(`fork ${id} at ${at} +${count}`, async (model, real) => {
      const source = model.session(from)
      if (source === null || model.sessions.has(id)) return
      const first = Math.min(at, source.events.length)
      const inherited = inheritedBy(source, first)
      const logId = model.newLog()
      const create = { header: header(id, inherited.length > 0), logId, inherited }
      const write = batch(id, first, count, { create, time: now, ...textOf(logId, first, count) })
      if (!(await real.change(how, storage => storage.append(write)))) return
      model.create(id, logId, inherited, source.events.slice(0, first), now)
      model.append(model.sessions.get(id) as ModelSession, count, now, {})
    }),
  ),

  fc.tuple(fate, name).map(([how, id]) =>
    command(`delete ${id}`, async (model, real) => {
      if (await real.change(how, storage => storage.delete(SessionId(id)))) model.delete(id)
    }),
  ),

  fc
    .tuple(
      fate,
      pick,
      fc.record(
        { title: fc.constantFrom('x', 'y', null), pinned: fc.boolean(), deletedAt: fc.oneof(time, fc.constant(null)) },
        { requiredKeys: [] },
      ),
    )
    .map(([how, from, change]) =>
      command(`update ${JSON.stringify(change)}`, async (model, real) => {
        const session = model.session(from)
        if (session === null) return owes('not-found', real, storage => storage.update(SessionId('none'), change))
        const id = SessionId(session.record.header.id)
        if (await real.change(how, storage => storage.update(id, change))) model.update(session, change)
      }),
    ),

  fc.tuple(fate, pick).map(([how, from]) =>
    command('claim', async (model, real) => {
      const session = model.session(from)
      if (session === null) return
      const id = SessionId(session.record.header.id)
      if (session.record.deletedAt !== undefined) return owes('deleted', real, storage => storage.claim(id))
      if (!(await real.change(how, storage => storage.claim(id)))) return
      session.record = { ...session.record, epoch: session.record.epoch + 1 }
    }),
  ),

  fc.tuple(fate, pick).map(([how, from]) =>
    command('merge', async (model, real) => {
      const session = model.session(from)
      if (session === null) return
      const { header: { id }, epoch } = session.record // biome-ignore format: one line
      await owes('stale-epoch', real, storage => storage.merge(SessionId(id), epoch + 1))
      await real.change(how, storage => storage.merge(SessionId(id), epoch))
    }),
  ),

  fc
    .tuple(fate, pick, fc.array(fc.integer({ min: 1, max: 3 }), { maxLength: 3 }), extras)
    .map(([how, from, sizes, more]) =>
      command(`replace by ${sizes.join('+')}`, async (model, real) => {
        const session = model.session(from)
        if (session === null) return
        const { header: { id }, logId: old, epoch } = session.record // biome-ignore format: one line
        const logId = model.newLog()
        const count = sizes.reduce((sum, size) => sum + size, 0)
        const with_ = extrasAt(count, more)
        const log = () =>
          whole(stranger(id, logId), sizes, { ...typed(with_), replaces: { epoch, logId: old }, time: 900 })
        if (await real.change(how, storage => storage.storeLog(log()))) model.replace(session, logId, sizes, with_)
      }),
    ),

  fc.tuple(fate, name, fc.array(fc.integer({ min: 1, max: 3 }), { maxLength: 3 }), time).map(([how, id, sizes, now]) =>
    command(`store ${id} ${sizes.join('+')}`, async (model, real) => {
      const logId = model.newLog()
      const log = () => whole(stranger(id, logId), sizes, { time: now })
      if (model.sessions.has(id)) return owes('exists', real, storage => storage.storeLog(log()))
      if (!(await real.change(how, storage => storage.storeLog(log())))) return
      model.create(id, logId, [], [], now)
      const session = model.sessions.get(id) as ModelSession
      for (const count of sizes) model.append(session, count, now, {})
    }),
  ),

  fc.tuple(fate, pick, fc.boolean()).map(([how, from, forgets]) =>
    command(forgets ? 'forget previous' : 'restore previous', async (model, real) => {
      const session = model.session(from)
      if (session === null) return
      const id = SessionId(session.record.header.id)
      const { epoch } = session.record
      const isDone = await real.change(how, storage =>
        forgets ? storage.forgetPrevious(id, epoch) : storage.restorePrevious(id, epoch),
      )
      if (isDone && forgets) model.forgetPrevious(session)
      else if (isDone) model.restore(session)
    }),
  ),

  fc.tuple(fate, fc.nat({ max: 2 }), time).map(([how, number, at]) =>
    command(`put blob ${number}`, async (model, real) => {
      const id = BLOBS[number] ?? BlobId('')
      if (await real.change(how, storage => storage.putBlob(id, new Uint8Array([number]), at))) model.putBlob(id, at)
    }),
  ),

  fc.tuple(fate, time).map(([how, before]) =>
    command(`collect before ${before}`, async (model, real) => {
      if (await real.change(how, storage => storage.collect(before))) model.collect(before)
    }),
  ),

  fc.constant(command('open again', (_model, real) => real.reopen())),
]

/** Text of a batch whose events say they are of that log. */
const textOf = (logId: LogId, from: number, count: number): { readonly text: string } => ({
  text: JSON.stringify(labels(logId, from, count).map(at => ({ at }))),
})

async function live(open: (name: string) => SessionStorage, numRuns: number): Promise<void> {
  await fc.assert(
    fc.asyncProperty(fc.commands(commands, { maxCommands: 30, size: 'max' }), async steps => {
      const name = freshName()
      const real = new Real(() => open(name))
      try {
        await fc.asyncModelRun(() => ({ model: new StorageModel(), real }), steps)
      } finally {
        await real.storage.close()
      }
    }),
    { numRuns },
  )
}

describe('A storage and its model', () => {
  it('W1 memory shows what the model shows, whatever fails', () => live(memoryStorage, 300), 60_000)

  it(
    'W1 an IndexedDB shows what the model shows, whatever fails',
    () => live(name => indexedDbStorage({ name }), 100),
    60_000,
  )
})
