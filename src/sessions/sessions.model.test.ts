/**
 * Sessions, their storage and its faults against a model of a few plain lists: whatever is done in whatever order, and
 * whenever the process dies, what was said to be stored is there, once and in order, and nothing else (SPEC K2, R7, W7, W19).
 */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { append, over, said, turnEnd, turnStart } from '../core/builders.ts'
import { SessionId } from '../core/ids.ts'
import { turnsFold } from '../core/turns.ts'
import { withFaults } from '../storage/faults.ts'
import { memoryStorage } from '../storage/memory.ts'
import { StorageError, type StorageErrorCode } from '../storage/storage.ts'
import { countedIds } from '../testing/agent-kit.ts'
import { memoryLease } from './lease.ts'
import type { LiveSession } from './live-session.ts'
import { Sessions } from './sessions.ts'
import { titleFold } from './title.ts'

/** What was said, in order: a message at the end, or one in place of some of those before. */
type Said = { readonly id: string; readonly over?: readonly [from: number, to: number] }

type ModelSession = {
  said: readonly Said[]
  /** How many of them are known to be stored. */
  stored: number
  title: string | null
  /** Titles that may be in the log though naming it failed: of a session without a name they are as good as any. */
  attempts: readonly string[]
  isPinned: boolean
  isDeleted: boolean
  isLive: boolean
  isKnown: boolean
}

type Model = { readonly sessions: Map<string, ModelSession> }

type Fault = StorageErrorCode | 'lost-answer'

/** The thing itself, and what can be done to its world. */
class Real {
  readonly #inner = memoryStorage()
  readonly #newId = countedIds()
  #faults: Fault[] = []
  #isDead = { value: false }
  sessions = this.#start()

  fail(faults: readonly Fault[]): void {
    this.#faults = [...faults]
  }

  /** The process dies, and another one starts. */
  die(): void {
    this.#isDead.value = true
    this.#isDead = { value: false }
    this.#faults = []
    this.sessions = this.#start()
  }

  async isStored(name: string): Promise<boolean> {
    return (await this.#inner.get(SessionId(name))) !== null
  }

  #start(): Sessions {
    const dead = this.#isDead
    const storage = withFaults(this.#inner, async ({ method }, proceed) => {
      if (dead.value) return new Promise(() => undefined)
      const fault = method === 'append' ? this.#faults.shift() : undefined
      if (fault !== undefined && fault !== 'lost-answer') throw new StorageError(fault, 'as told')
      const answer = await proceed()
      if (dead.value) return new Promise(() => undefined)
      if (fault === 'lost-answer') throw new StorageError('unavailable', 'the answer was lost')
      return answer
    })
    let time = 1_000
    return new Sessions({ storage, lease: memoryLease(), now: () => (time += 1), newId: this.#newId })
  }
}

type Command = fc.AsyncCommand<Model, Real>

const names = ['a', 'b', 'c']
const of = (model: Model, name: string): ModelSession => {
  const known = model.sessions.get(name)
  if (known !== undefined) return known
  const no = { isPinned: false, isDeleted: false, isLive: false, isKnown: false }
  const fresh = { said: [], stored: 0, title: null, attempts: [], ...no }
  model.sessions.set(name, fresh)
  return fresh
}
const liveOf = ({ sessions }: Real, name: string): LiveSession =>
  sessions.live(SessionId(name)) ?? expect.fail(`${name} is not live`)

/** Ids on the surface after `said`. */
function surfaceOf(said: readonly Said[]): readonly string[] {
  let surface: readonly string[] = []
  for (const { id, over: range } of said) {
    surface =
      range === undefined ? [...surface, id] : [...surface.slice(0, range[0]), id, ...surface.slice(range[1] + 1)]
  }
  return surface
}

const saidIn = async (live: LiveSession): Promise<readonly string[]> => {
  const ids: string[] = []
  let seq = 0
  for await (const event of live.readEvents()) {
    expect(event.seq).toBe(seq)
    seq += 1
    if (event.type === 'user/message') ids.push(event.data.id)
  }
  expect(seq).toBe(live.session.length)
  return ids
}

/** A session says what its model says, of all it ever had. */
async function check(real: Real, name: string, { said }: ModelSession): Promise<void> {
  const live = liveOf(real, name)
  expect(live.session.deriveMessages().map(({ id }) => id)).toEqual(surfaceOf(said))
  expect(await saidIn(live)).toEqual(said.map(({ id }) => id))
}

let count = 0

class Do implements Command {
  readonly #what: string
  readonly #name: string
  readonly check: (model: Readonly<Model>) => boolean
  readonly run: (model: Model, real: Real) => Promise<void>

  constructor(
    what: string,
    name: string,
    can: (session: ModelSession, model: Model) => boolean,
    act: (session: ModelSession, real: Real, model: Model) => Promise<void>,
  ) {
    this.#what = what
    this.#name = name
    this.check = model => can(of(model, name), model)
    this.run = (model, real) => act(of(model, name), real, model)
  }

  toString(): string {
    return `${this.#what} ${this.#name}`
  }
}

const open = (name: string) =>
  new Do(
    'open',
    name,
    session => !session.isLive,
    async (session, real) => {
      if (session.isDeleted) {
        await expect(real.sessions.open(SessionId(name))).rejects.toMatchObject({ code: 'deleted' })
        return
      }
      const live = await real.sessions.open(SessionId(name))
      session.isLive = true
      // A process that died may have stored more than it could tell.
      const kept = (await saidIn(live)).length
      expect(kept).toBeGreaterThanOrEqual(session.stored)
      expect(kept).toBeLessThanOrEqual(session.said.length)
      session.said = session.said.slice(0, kept)
      session.stored = kept
      expect(live.session.fold(turnsFold).openTurn).toBeNull()
      await check(real, name, session)
    },
  )

const say = (name: string, times: number, length: number) =>
  new Do(
    `say ${times}×${length} in`,
    name,
    session => session.isLive,
    async (session, real) => {
      const { session: log } = liveOf(real, name)
      for (let time = 0; time < times; time += 1) {
        const id = `m${(count += 1)}`
        append(log, said('x'.repeat(length), id))
        session.said = [...session.said, { id }]
      }
    },
  )

const compact = (name: string, from: number, size: number) =>
  new Do(
    'compact',
    name,
    session => session.isLive && surfaceOf(session.said).length > from + size,
    async (session, real) => {
      const { session: log } = liveOf(real, name)
      const seqs = log.surface.nodes.slice(from, from + size + 1)
      const id = `c${(count += 1)}`
      append(log, over(said('so far', id), seqs[0] as number, seqs.at(-1) as number, seqs))
      session.said = [...session.said, { id, over: [from, from + size] }]
    },
  )

const turn = (name: string, isTorn: boolean) =>
  new Do(
    isTorn ? 'begin a turn in' : 'have a turn in',
    name,
    session => session.isLive,
    async (session, real) => {
      const { session: log } = liveOf(real, name)
      const { openTurn, lastTurn } = log.fold(turnsFold)
      if (openTurn === null) append(log, turnStart(lastTurn + 1))
      const id = `t${(count += 1)}`
      append(log, said('in a turn', id))
      session.said = [...session.said, { id }]
      if (!isTorn) append(log, turnEnd(openTurn ?? lastTurn + 1))
    },
  )

const flush = (name: string) =>
  new Do(
    'flush',
    name,
    session => session.isLive,
    async (session, real) => {
      const live = liveOf(real, name)
      const { length } = session.said
      try {
        await live.flush()
        session.stored = length
        session.isKnown ||= live.session.length > 0 || live.isStored
      } catch (error) {
        expect(error).toBeInstanceOf(StorageError)
        expect(live.storageStatus.lastError).not.toBeNull()
      }
      await check(real, name, session)
    },
  )

const close = (name: string) =>
  new Do(
    'close',
    name,
    session => session.isLive,
    async (session, real) => {
      const live = liveOf(real, name)
      try {
        await real.sessions.close(SessionId(name))
        session.isLive = false
        session.stored = session.said.length
        session.isKnown ||= live.isStored
      } catch (error) {
        // Then it stays open, and keeps what it has.
        expect(error).toBeInstanceOf(StorageError)
        await check(real, name, session)
      }
    },
  )

const verify = (name: string) =>
  new Do(
    'verify',
    name,
    session => session.isLive,
    async (session, real) => {
      const { length } = session.said
      try {
        expect(await liveOf(real, name).verify()).toBeNull()
        session.stored = length
      } catch (error) {
        if (!(error instanceof StorageError)) throw error
      }
    },
  )

const fork = (name: string, child: string, at: number) =>
  new Do(
    `fork ${child} of`,
    name,
    (session, model) => session.isLive && name !== child && !model.sessions.has(child),
    async (session, real, model) => {
      const live = liveOf(real, name)
      const { length } = live.session
      const boundary = length === 0 ? undefined : Math.min(at, length - 1)
      let forked: LiveSession
      try {
        forked = await real.sessions.fork(live, {
          id: SessionId(child),
          ...(boundary === undefined ? {} : { boundary }),
        })
      } catch (error) {
        // Inside a turn, or it could not be stored: then there is no such session.
        expect((error as { code: string }).code).toMatch(/^(open-turn|quota-exceeded|unavailable)$/)
        expect(real.sessions.live(SessionId(child))).toBeUndefined()
        await real.sessions.delete(SessionId(child))
        return
      }
      const inherited = (await saidIn(forked)).length
      const isLive = true
      const said = session.said.slice(0, inherited)
      session.stored = Math.max(session.stored, inherited)
      const { title } = forked.session.fold(titleFold)
      model.sessions.set(child, { ...of(model, child), said, stored: inherited, title, isLive, isKnown: true })
      await check(real, child, of(model, child))
      expect(await forked.verify()).toBeNull()
    },
  )

const remove = (name: string, undoable: boolean) =>
  new Do(
    undoable ? 'delete' : 'delete for good',
    name,
    session => session.isKnown || !session.isLive,
    async (session, real, model) => {
      try {
        await real.sessions.delete(SessionId(name), { undoable })
      } catch (error) {
        expect(undoable && error instanceof StorageError).toBe(true)
        return
      }
      if (!undoable) model.sessions.delete(name)
      else {
        // Of one that died nobody knows whether it ever got as far.
        session.isKnown = await real.isStored(name)
        session.isDeleted = session.isKnown
        // It was closed first, and so stored.
        if (session.isLive) session.stored = session.said.length
        session.isLive = false
      }
    },
  )

const undelete = (name: string) =>
  new Do(
    'undelete',
    name,
    session => session.isDeleted,
    async (session, real) => {
      await real.sessions.undelete(SessionId(name))
      session.isDeleted = false
    },
  )

const describeIt = (name: string, title: string, pinned: boolean) =>
  new Do(
    'name and pin',
    name,
    session => session.isKnown && !session.isDeleted && !session.isLive,
    async (session, real) => {
      await real.sessions.rename(SessionId(name), title)
      await real.sessions.pin(SessionId(name), pinned)
      Object.assign(session, { title, isPinned: pinned })
    },
  )

const nameOpen = (name: string, title: string) =>
  new Do(
    'name while it is open:',
    name,
    session => session.isKnown && session.isLive,
    async (session, real) => {
      const { length } = session.said
      try {
        await real.sessions.rename(SessionId(name), title)
        Object.assign(session, { title, attempts: [], stored: length })
      } catch (error) {
        expect(error).toBeInstanceOf(StorageError)
        session.attempts = [...session.attempts, title]
      }
      await check(real, name, session)
    },
  )

const fail = (faults: readonly Fault[]) =>
  new Do(
    `fail with ${faults.join(', ')}:`,
    'storage',
    () => true,
    async (_session, real, model) => {
      model.sessions.delete('storage')
      real.fail(faults)
    },
  )

const die = () =>
  new Do(
    'die:',
    'process',
    () => true,
    async (_session, real, model) => {
      model.sessions.delete('process')
      // Some of it was on its way.
      await Promise.resolve()
      real.die()
      for (const session of model.sessions.values()) session.isLive = false
    },
  )

/** What is listed is what there is, once, in pages as a whole. */
const list = () =>
  new Do(
    'list:',
    'all',
    () => true,
    async (_session, real, model) => {
      model.sessions.delete('all')
      // What changes between two pages may be on both, or on neither.
      for (const [name, { isLive }] of model.sessions)
        if (isLive)
          await liveOf(real, name)
            .flush()
            .catch(() => undefined)
      const whole = await real.sessions.list()
      const ids = new Set(whole.map(({ id }) => id as string))
      expect(ids.size).toBe(whole.length)
      for (const [name, { isKnown, isDeleted, title, attempts, isPinned }] of model.sessions) {
        if (!isKnown) continue
        expect(ids.has(name)).toBe(!isDeleted)
        const found = whole.find(({ id }) => id === name)
        if (found === undefined) continue
        expect(found.isPinned).toBe(isPinned)
        expect(title === null ? [null, ...attempts] : [title]).toContain(found.title)
      }
      const paged: string[] = []
      for (let after: Parameters<Sessions['page']>[0] = {}; ; ) {
        const page = await real.sessions.page({ limit: 2, ...after })
        paged.push(...page.sessions.map(({ id }) => id))
        if (page.after === null) break
        after = { after: page.after }
      }
      expect(new Set(paged)).toEqual(ids)
      expect(paged.length).toBe(ids.size)
    },
  )

const name = fc.constantFrom(...names)
const times = (weight: number, command: fc.Arbitrary<Command>): fc.Arbitrary<Command>[] =>
  Array.from({ length: weight }, () => command)
const length = fc.constantFrom(10, 90_000)
const faults = fc.array(fc.constantFrom<Fault>('unavailable', 'quota-exceeded', 'lost-answer'), {
  minLength: 1,
  maxLength: 3,
})
const commands = [
  ...times(8, name.map(open)),
  ...times(
    8,
    fc.tuple(name, fc.integer({ min: 1, max: 4 }), length).map(args => say(...args)),
  ),
  ...times(
    5,
    fc.tuple(name, fc.integer({ min: 0, max: 3 }), fc.nat(5)).map(args => compact(...args)),
  ),
  ...times(
    3,
    fc.tuple(name, fc.boolean()).map(args => turn(...args)),
  ),
  ...times(3, name.map(flush)),
  ...times(
    3,
    fc.tuple(name, name, fc.nat(30)).map(args => fork(...args)),
  ),
  ...times(2, name.map(close)),
  name.map(verify),
  fc.tuple(name, fc.boolean()).map(args => remove(...args)),
  ...times(2, name.map(undelete)),
  ...times(
    2,
    fc.tuple(name, fc.constantFrom('One', 'Two'), fc.boolean()).map(args => describeIt(...args)),
  ),
  ...times(
    2,
    fc.tuple(name, fc.constantFrom('One', 'Two')).map(args => nameOpen(...args)),
  ),
  faults.map(fail),
  fc.constant(null).map(die),
  fc.constant(null).map(list),
]

describe('sessions', () => {
  it('[K2, R7, W7, W19] are what a model of them is, under faults and whenever the process dies', {
    timeout: 120_000,
  }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.commands(commands, { maxCommands: 80, size: 'max' }), async steps => {
        await fc.asyncModelRun(() => ({ model: { sessions: new Map() }, real: new Real() }), steps)
      }),
      { numRuns: 300 },
    )
  })
})
