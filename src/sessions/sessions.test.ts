/** All sessions of a storage: who may write, what a list shows, what a failed write leaves. */
import { describe, expect, it, vi } from 'vitest'
import { user } from '../core/builders.ts'
import type { SessionEvent } from '../core/events.ts'
import type { Fold } from '../core/fold.ts'
import { SessionId } from '../core/ids.ts'
import { memoryStorage } from '../storage/memory.ts'
import { StorageError } from '../storage/storage.ts'
import type { WriteBehindStatus } from '../storage/write-behind.ts'
import { countedIds, handClock, observedStorage, settled, storedEvents, typesOf } from '../testing/agent-kit.ts'
import { type Lease, memoryLease, webLease } from './lease.ts'
import type { LiveSession } from './live-session.ts'
import { Sessions } from './sessions.ts'

const a = SessionId('a')
const b = SessionId('b')
const say = (live: LiveSession, text: string) =>
  live.session.append('user/message', user(text), { surfaceOp: 'append' })
const textsOf = (live: LiveSession) =>
  live.session.deriveMessages().map(message => message.content.map(block => 'text' in block && block.text).join())

function house(storage = observedStorage(), lease: Lease = memoryLease()) {
  const clock = handClock()
  const statuses: [string, WriteBehindStatus][] = []
  const make = () =>
    new Sessions({
      storage,
      lease,
      now: clock.now,
      newId: countedIds(),
      onStorageStatus: (id, status) => statuses.push([id, status]),
    })
  return { storage, lease, clock, statuses, make, sessions: make() }
}

describe('open and close', () => {
  it('O1 a new session is empty, and stored only once something is', async () => {
    const { sessions, storage, clock } = house()
    const live = await sessions.open(a)
    expect(live.session.header).toEqual({ version: 3, id: 'a', createdAt: clock.time, isSeeded: false })
    expect(live.session.length).toBe(0)
    await sessions.close(a)
    expect(await storage.list()).toEqual([])
  })

  it('O1 what was appended is there after reopening', async () => {
    const { sessions } = house()
    say(await sessions.open(a), 'one')
    await sessions.close(a)
    const again = await sessions.open(a)
    expect(textsOf(again)).toEqual(['one'])
    say(again, 'two')
    await sessions.close(a)
    expect(textsOf(await sessions.open(a))).toEqual(['one', 'two'])
  })

  it('O1 an open session is opened once, however often it is asked for', async () => {
    const { sessions } = house()
    const [first, second] = await Promise.all([sessions.open(a), sessions.open(a)])
    expect(first).toBe(second)
    expect(sessions.live(a)).toBe(first)
    const closing = sessions.close(a)
    const third = await sessions.open(a)
    await closing
    expect(third).not.toBe(first)
    expect(sessions.live(a)).toBe(third)
  })

  it('O1 closing twice, and closing what is not open, is harmless', async () => {
    const { sessions } = house()
    const live = await sessions.open(a)
    say(live, 'x')
    await Promise.all([sessions.close(a), sessions.close(a), live.close()])
    await sessions.close(b)
    await sessions.closeAll()
  })

  it('O1 refuses an empty id', async () => {
    const { sessions } = house()
    await expect(sessions.open(SessionId(''))).rejects.toMatchObject({ code: 'header' })
  })

  it('O1 one writer: a second one is refused until the first lets go', async () => {
    const { make } = house()
    const [first, second] = [make(), make()]
    say(await first.open(a), 'mine')
    await expect(second.open(a)).rejects.toMatchObject({ name: 'StorageError', code: 'in-use', sessionId: 'a' })
    await expect(second.delete(a)).rejects.toMatchObject({ code: 'in-use' })
    await first.close(a)
    expect(textsOf(await second.open(a))).toEqual(['mine'])
  })

  it('O1 a failed opening gives the lease back', async () => {
    const { sessions, storage } = house()
    let isGone = true
    const claim = storage.claim.bind(storage)
    storage.claim = async id => {
      if (isGone) throw new StorageError('unavailable', 'Gone')
      return claim(id)
    }
    await expect(sessions.open(a)).rejects.toMatchObject({ code: 'unavailable' })
    isGone = false
    await expect(sessions.open(a)).resolves.toBeDefined()
  })

  it('O1 a writer that was overtaken is refused, whole, and says so', async () => {
    const { storage, sessions, clock } = house()
    const stale = await sessions.open(a)
    say(stale, 'one')
    await stale.flush()
    // Another tab on a platform without locks.
    const other = new Sessions({ storage, lease: memoryLease(), now: clock.now, newId: countedIds('other') })
    const taken = await other.open(a)
    say(stale, 'lost')
    await expect(stale.flush()).rejects.toMatchObject({ code: 'stale-epoch' })
    expect(stale.storageStatus).toMatchObject({ state: 'lost', unsaved: 1 })
    say(taken, 'two')
    await taken.flush()
    expect(textsOf(taken)).toEqual(['one', 'two'])
    expect((await storedEvents(storage, 'a')).map(event => event.seq)).toEqual([0, 1, 2])
  })

  it('O1 two sessions do not mix', async () => {
    const { sessions, storage } = house()
    const [one, two] = [await sessions.open(a), await sessions.open(b)]
    for (let round = 0; round < 20; round += 1) {
      say(one, `a${round}`)
      say(two, `b${round}`)
      if (round % 7 === 0) await one.flush()
    }
    await sessions.closeAll()
    for (const [id, prefix] of [
      ['a', 'a'],
      ['b', 'b'],
    ] as const) {
      // biome-ignore format: one line
      const events = await storedEvents(storage, id)
      expect(events.map(event => event.seq)).toEqual([...Array(20).keys()])
      expect(JSON.stringify(events.map(event => event.data)).includes(prefix === 'a' ? '"b0"' : '"a0"')).toBe(false)
    }
  })
})

describe('list, rename, delete', () => {
  it('O1 lists stored and live sessions, last changed first', async () => {
    const { sessions, clock } = house()
    say(await sessions.open(a), 'x')
    await sessions.close(a)
    clock.time = 2_000
    const live = await sessions.open(b)
    expect((await sessions.list()).map(({ id, eventCount }) => [id, eventCount])).toEqual([
      ['b', 0],
      ['a', 1],
    ])
    say(live, 'y')
    await live.flush()
    const size = expect.any(Number) as number
    const known = { title: null, parent: null, isPinned: false, deletedAt: null, eventCount: 1, size }
    expect(await sessions.list()).toEqual([
      { id: 'b', createdAt: 2_000, updatedAt: 2_000, ...known },
      { id: 'a', createdAt: 1_000, updatedAt: 1_000, ...known },
    ])
  })

  it('O1 renames stored and live sessions', async () => {
    const { sessions } = house()
    const live = await sessions.open(a)
    say(live, 'x')
    await sessions.rename(a, 'Trip')
    expect(await sessions.list()).toMatchObject([{ title: 'Trip', eventCount: 2 }])
    say(live, 'y')
    await sessions.close(a)
    await sessions.rename(a, null)
    expect(await sessions.list()).toMatchObject([{ title: null, eventCount: 3 }])
    await expect(sessions.rename(b, 'x')).rejects.toMatchObject({ code: 'not-found' })
  })

  it('O1 names a session nothing was said in yet', async () => {
    const { sessions } = house()
    await sessions.open(a)
    await sessions.rename(a, 'Early')
    await sessions.close(a)
    expect(await sessions.list()).toMatchObject([{ title: 'Early', eventCount: 0 }])
    const { session } = await sessions.open(a)
    expect(session.snapshotEvents()).toMatchObject([{ type: 'session/end-seed' }])
  })

  it('O1 deletes stored, live and unknown sessions; the name is free again', async () => {
    const { sessions } = house()
    say(await sessions.open(a), 'x')
    await sessions.delete(a)
    await sessions.delete(b)
    expect(await sessions.list()).toEqual([])
    expect(sessions.live(a)).toBeUndefined()
    expect((await sessions.open(a)).session.length).toBe(0)
  })

  it('[O1, W7] deletes a live session also when storage refuses its last events', async () => {
    const { sessions, storage } = house()
    const live = await sessions.open(a)
    say(live, 'x')
    await live.flush()
    storage.beforeAppend = () => {
      throw new StorageError('quota-exceeded', 'Full')
    }
    say(live, 'y')
    await sessions.delete(a)
    expect(await sessions.list()).toEqual([])
  })
})

describe('flush', () => {
  it('W6 resolves when everything is stored', async () => {
    const { sessions, storage } = house()
    const live = await sessions.open(a)
    const first = say(live, 'one')
    await live.flush()
    expect(await storedEvents(storage, 'a')).toEqual([first])
    expect(live.storageStatus).toEqual({ unsaved: 0, lastError: null, state: 'idle' })
    await live.flush()
  })

  it('W7 a failed write keeps the events, says so, and a later flush stores them in order', async () => {
    const { sessions, storage, statuses } = house()
    const live = await sessions.open(a)
    storage.beforeAppend = () => {
      throw new StorageError('quota-exceeded', 'Full')
    }
    for (const text of ['one', 'two', 'three']) say(live, text)
    await expect(live.flush()).rejects.toMatchObject({ code: 'quota-exceeded' })
    expect(live.storageStatus).toMatchObject({ unsaved: 3, state: 'paused', lastError: { code: 'quota-exceeded' } })
    expect(statuses.some(([id, status]) => id === 'a' && status.state === 'paused')).toBe(true)
    expect(textsOf(live)).toEqual(['one', 'two', 'three'])

    storage.beforeAppend = () => undefined
    await live.flush()
    expect((await storedEvents(storage, 'a')).map(event => event.seq)).toEqual([0, 1, 2])
    expect(live.storageStatus).toEqual({ unsaved: 0, lastError: null, state: 'idle' })
  })

  it('W7 any other failure of a storage becomes a typed one', async () => {
    const { sessions, storage } = house()
    const live = await sessions.open(a)
    storage.beforeAppend = () => Promise.reject(new TypeError('odd'))
    say(live, 'one')
    await expect(live.flush()).rejects.toBeInstanceOf(StorageError)
  })

  it('W7 closing fails while the last events cannot be stored, keeps them, and stores them when it can', async () => {
    const { sessions, storage, make } = house()
    const live = await sessions.open(a)
    say(live, 'one')
    storage.beforeAppend = () => {
      throw new StorageError('unavailable', 'Gone')
    }
    await expect(sessions.close(a)).rejects.toMatchObject({ code: 'unavailable' })
    expect(sessions.live(a)).toBe(live)
    await expect(make().open(a)).rejects.toMatchObject({ code: 'in-use' })
    say(live, 'two')
    storage.beforeAppend = () => undefined
    await sessions.close(a)
    expect((await make().open(a)).session.deriveMessages()).toHaveLength(2)
  })

  it('W3 closing a session that was taken over says so, and lets go', async () => {
    const { sessions, storage } = house()
    const live = await sessions.open(a)
    say(live, 'one')
    await live.flush()
    await storage.claim(a)
    say(live, 'two')
    await expect(sessions.close(a)).rejects.toMatchObject({ code: 'stale-epoch' })
    expect(sessions.live(a)).toBeUndefined()
    expect((await sessions.open(a)).session.deriveMessages()).toHaveLength(1)
  })
})

describe('a live session', () => {
  it('W6 hands each committed event on, with its text, until told to stop', async () => {
    const { sessions } = house()
    const live = await sessions.open(a)
    const seen: [number, boolean][] = []
    const stop = live.onCommit(({ event, text, surfaceChange }) => {
      expect(JSON.parse(text)).toEqual(event)
      seen.push([event.seq, surfaceChange.kind === 'append'])
    })
    say(live, 'one')
    live.session.append('turn/start', { turn: 1 })
    stop()
    say(live, 'two')
    expect(seen).toEqual([
      [0, true],
      [1, false],
    ])
  })

  it('W6 reads ranges of events, and refuses what is none', async () => {
    const { sessions } = house()
    const live = await sessions.open(a)
    for (let round = 0; round < 5; round += 1) say(live, String(round))
    const read = async (from?: number, to?: number) => {
      const events: SessionEvent[] = []
      const range = { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) }
      for await (const event of live.readEvents(range)) events.push(event)
      return events.map(event => event.seq)
    }
    expect(await read()).toEqual([0, 1, 2, 3, 4])
    expect(await read(1, 3)).toEqual([1, 2])
    expect(await read(5)).toEqual([])
    for (const [from, to] of [
      [-1, 2],
      [3, 2],
      [0, 6],
      [Number.NaN, 2],
    ] as const) {
      // biome-ignore format: one line
      await expect(read(from, to)).rejects.toMatchObject({ name: 'SessionError', code: 'not-resident' })
    }
  })

  it('W6 a session that is closed takes no more into storage', async () => {
    const { sessions, storage } = house()
    const live = await sessions.open(a)
    say(live, 'one')
    await sessions.close(a)
    say(live, 'late')
    await settled()
    expect(typesOf(await storedEvents(storage, 'a'))).toEqual(['user/message'])
  })
})

describe('leases', () => {
  it('O1 one realm: held once, free after release, release is harmless twice', async () => {
    const lease = memoryLease()
    const release = await lease.acquire('x')
    expect(await lease.acquire('x')).toBeNull()
    expect(await lease.acquire('y')).not.toBeNull()
    release?.()
    const second = await lease.acquire('x')
    release?.()
    expect(await lease.acquire('x')).toBeNull()
    second?.()
  })

  it('O1 all tabs: a Web Lock is waited for a little, then given up', async () => {
    const held = new Map<string, Promise<void>>()
    const locks = {
      request: async (name: string, { signal }: { signal: AbortSignal }, work: () => Promise<void>) => {
        const before = held.get(name)
        const aborted = new Promise<never>((_, reject) =>
          signal.addEventListener('abort', () => reject(new DOMException('aborted', 'AbortError'))),
        )
        if (before) await Promise.race([before, aborted])
        const running = work()
        held.set(name, running)
        await running
        if (held.get(name) === running) held.delete(name)
      },
      query: async () => ({ held: [...held.keys()].map(name => ({ name })) }),
    } as unknown as LockManager
    const lease = webLease({ locks, waitMs: 20 })
    const release = await lease.acquire('x')
    expect(release).not.toBeNull()
    expect(await lease.acquire('x')).toBeNull()
    const waiting = lease.acquire('x')
    release?.()
    expect(await waiting).not.toBeNull()
    const broken = { request: () => Promise.reject(new TypeError('no locks')) } as unknown as LockManager
    await expect(webLease({ locks: broken }).acquire('x')).rejects.toThrow('no locks')
  })

  it('O1 a storage of the realm itself works without any platform', async () => {
    const sessions = new Sessions({ storage: memoryStorage(), lease: memoryLease(), now: () => 1, newId: countedIds() })
    say(await sessions.open(a), 'x')
    await sessions.closeAll()
    expect(await sessions.list()).toMatchObject([{ id: 'a', eventCount: 1 }])
  })
})

describe('an event that has no text to store', () => {
  it('W6 stops the storing, so that flush and close say so and nothing is stored without it', async () => {
    const { sessions, storage, make } = house()
    const live = await sessions.open(a)
    say(live, 'one')
    await live.flush()
    const text = vi.spyOn(JSON, 'stringify').mockImplementationOnce(() => {
      throw new TypeError('Invalid string length')
    })
    say(live, 'two')
    text.mockRestore()
    say(live, 'three')
    expect(live.session.length).toBe(3)
    await expect(live.flush()).rejects.toMatchObject({ code: 'invalid-batch', seq: 1 })
    await expect(sessions.close(a)).rejects.toMatchObject({ code: 'invalid-batch' })
    expect((await storage.get(a))?.nextSeq).toBe(1)
    expect((await make().open(a)).session.deriveMessages()).toHaveLength(1)
  })
})

describe('a session that is closed', () => {
  it('W6 has nothing stored any more, and says so: no effect may rest on what is appended then', async () => {
    const { sessions } = house()
    const live = await sessions.open(a)
    say(live, 'one')
    await sessions.close(a)
    await expect(live.flush()).rejects.toMatchObject({ code: 'closed', sessionId: a })
    say(live, 'two')
    await expect(live.flush()).rejects.toMatchObject({ code: 'closed' })
    expect((await sessions.open(a)).session.deriveMessages()).toHaveLength(1)
  })
})

describe('folds', () => {
  it('[L15] every session that is opened has them, new or restored', async () => {
    const count: Fold<number> = {
      key: 'count',
      version: 1,
      initial: () => 0,
      evolve: state => state + 1,
      toJSON: state => state,
      fromJSON: json => json as number,
    }
    const { storage, lease } = house()
    const sessions = new Sessions({ storage, lease, now: () => 1, newId: countedIds(), folds: [count] })
    const live = await sessions.open(a)
    say(live, 'one')
    expect(live.session.fold(count)).toBe(1)
    await sessions.close(a)
    expect((await sessions.open(a)).session.fold(count)).toBe(2)
  })
})
