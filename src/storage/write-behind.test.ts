import { describe, expect, it } from 'vitest'
import { SessionSeq } from '../core/ids.ts'
import { StorageError } from './storage.ts'
import { newSession } from './conformance-kit.ts'
import { WriteBehind } from './write-behind.ts'
import { A, settle, stored, textOf, upTo, writer } from './write-behind-kit.ts'

describe('WriteBehind batches', () => {
  it('W4 what is appended in one job is one batch that holds the JSON text', async () => {
    const { faulty, append } = writer()
    append(3)
    expect(faulty.batches).toEqual([])
    await settle()
    const segment = { firstSeq: 0, count: 3, text: '[{"seq":0},{"seq":1},{"seq":2}]' }
    const create = newSession('a')
    expect(faulty.batches).toEqual([{ id: 'a', logId: 'a', epoch: 1, segment, durability: 'relaxed', time: 7, create }])
  })

  it('W4 writing starts in the next microtask', async () => {
    const { faulty, append } = writer()
    append(1)
    await Promise.resolve()
    await Promise.resolve()
    expect(faulty.batches).toHaveLength(1)
  })

  it('W5 one transaction is in flight, and what is queued meanwhile is the next batch', async () => {
    const { faulty, append } = writer()
    faulty.hold()
    append(1)
    await settle()
    append(2)
    await settle()
    append(1)
    await settle()
    expect(faulty.durabilities()).toEqual(['relaxed 0+1'])
    await faulty.release()
    expect(faulty.durabilities()).toEqual(['relaxed 0+1', 'relaxed 1+3'])
    await faulty.release()
    expect(await stored(faulty)).toEqual(upTo(4))
    expect(faulty.mostInFlight).toBe(1)
  })

  it('W4 a batch is kept near the limit, and a larger event is a batch of its own', async () => {
    const { faulty, writes } = writer({ maxBatchBytes: 20 })
    const texts = ['"123456"', '"123456"', `"${'x'.repeat(50)}"`, '1', '2']
    for (const [seq, text] of texts.entries()) writes.enqueue(SessionSeq(seq), text)
    await writes.flush()
    expect(faulty.batches.map(batch => batch.segment.count)).toEqual([2, 1, 2])
  })

  it('W2 an event that is not the next one is refused and changes nothing', async () => {
    const { faulty, writes, append } = writer()
    append(2)
    for (const seq of [0, 1, 3]) {
      expect(() => writes.enqueue(SessionSeq(seq), '0')).toThrow(
        expect.objectContaining({ code: 'invalid-batch', expected: 2, actual: seq }) as Error,
      )
    }
    append(1)
    await writes.flush()
    expect(await stored(faulty)).toEqual(upTo(3))
  })

  it('W1 a claimed session is continued with its epoch', async () => {
    const { faulty, writes, append } = writer()
    append(2)
    await writes.flush()
    const claimed = await faulty.inner.claim(A)
    const next = new WriteBehind({
      storage: faulty.storage,
      id: A,
      logId: newSession('a').logId,
      epoch: claimed?.epoch ?? 0,
      nextSeq: claimed?.nextSeq ?? SessionSeq(0),
      now: () => 8,
    })
    next.enqueue(SessionSeq(2), textOf(2))
    await next.flush()
    expect(await stored(faulty)).toEqual(upTo(3))
    append(1)
    await expect(writes.flush()).rejects.toMatchObject({ code: 'stale-epoch' })
  })
})

describe('WriteBehind.flush', () => {
  it('W6 resolves without a transaction when everything is stored strictly, or nothing was ever written', async () => {
    const { faulty, writes, append } = writer()
    append(2)
    await writes.flush()
    await writes.flush()
    expect(faulty.durabilities()).toEqual(['strict 0+2'])
    const idle = new WriteBehind({
      storage: faulty.storage,
      id: A,
      logId: newSession('a').logId,
      epoch: 1,
      nextSeq: SessionSeq(2),
      now: () => 7,
    })
    await idle.flush()
    expect(faulty.batches).toHaveLength(1)
  })

  it('W6 issues one strict empty batch when the last commits were relaxed', async () => {
    const { faulty, writes, append } = writer()
    append(2)
    await settle()
    await Promise.all([writes.flush(), writes.flush()])
    await writes.flush()
    expect(faulty.durabilities()).toEqual(['relaxed 0+2', 'strict 2+0'])
  })

  it('W6 makes an overlapping relaxed write strict too', async () => {
    const { faulty, writes, append } = writer()
    faulty.hold()
    append(2)
    await settle()
    const flushed = writes.flush()
    await faulty.release()
    await faulty.release()
    await flushed
    expect(faulty.durabilities()).toEqual(['relaxed 0+2', 'strict 2+0'])
  })

  it('W6 creates an empty session strictly', async () => {
    const { faulty, writes } = writer()
    await writes.flush()
    expect(faulty.durabilities()).toEqual(['strict 0+0'])
    expect(await faulty.inner.get(A)).toMatchObject({ nextSeq: 0, epoch: 1 })
  })

  it('W6 includes what arrives while it runs, and is shared by those who join', async () => {
    const { faulty, writes, append } = writer()
    faulty.hold()
    append(1)
    const first = writes.flush()
    await settle()
    append(1)
    const second = writes.flush()
    expect(second).toBe(first)
    await faulty.release()
    append(1)
    await faulty.release()
    await faulty.release()
    await first
    expect(faulty.durabilities()).toEqual(['strict 0+1', 'strict 1+1', 'strict 2+1'])
    expect(writes.status).toEqual({ unsaved: 0, lastError: null, state: 'idle' })
  })

  it('W6 called as soon as another resolved stores what came in between', async () => {
    const { faulty, writes, append } = writer()
    append(1)
    await writes.flush().then(() => {
      append(1)
      return writes.flush()
    })
    expect(await stored(faulty)).toEqual(upTo(2))
    expect(faulty.durabilities()).toEqual(['strict 0+1', 'strict 1+1'])
  })

  it('W6 can be called from a status listener', async () => {
    const flushed: Promise<void>[] = []
    const { faulty, writes, append } = writer({
      onStatus: ({ state }) => {
        if (state !== 'writing' && flushed.length < 3) flushed.push(writes.flush())
      },
    })
    append(1)
    await settle()
    await Promise.all(flushed)
    expect(flushed).toHaveLength(2)
    expect(faulty.durabilities()).toEqual(['relaxed 0+1', 'strict 1+0'])
  })
})

describe('WriteBehind after failures', () => {
  it('W7 a failed background write keeps its events, reports once, and is retried by the next event', async () => {
    const { faulty, writes, statuses, append } = writer()
    faulty.outcomes.push('quota-exceeded')
    append(2)
    await settle()
    await settle()
    expect(writes.status).toMatchObject({ unsaved: 2, state: 'paused', lastError: { code: 'quota-exceeded' } })
    expect(statuses.filter(status => status.lastError)).toHaveLength(1)
    expect(faulty.batches).toHaveLength(1)
    expect(writes.unsaved()).toEqual([
      { seq: 0, text: textOf(0) },
      { seq: 1, text: textOf(1) },
    ])

    append(1)
    await settle()
    expect(await stored(faulty)).toEqual(upTo(3))
    expect(writes.status).toEqual({ unsaved: 0, lastError: null, state: 'idle' })
  })

  it('W7 a failed background write is retried by the next flush', async () => {
    const { faulty, writes, append } = writer()
    faulty.outcomes.push('unavailable')
    append(2)
    await settle()
    await writes.flush()
    expect(await stored(faulty)).toEqual(upTo(2))
    expect(faulty.batches[1]).toMatchObject({ durability: 'strict', create: { logId: 'a' } })
  })

  it('W7 a flush called while a background write fails tries again itself', async () => {
    const { faulty, writes, statuses, append } = writer()
    faulty.hold()
    faulty.outcomes.push('unavailable')
    append(1)
    await settle()
    append(1)
    const flushed = writes.flush()
    await faulty.release()
    expect(statuses.filter(status => status.lastError)).toHaveLength(1)
    await faulty.release()
    await flushed
    expect(faulty.durabilities()).toEqual(['relaxed 0+1', 'strict 0+2'])
    expect(writes.status).toEqual({ unsaved: 0, lastError: null, state: 'idle' })
  })

  it('W7 a flush that fails rejects and keeps the events; the next one stores them', async () => {
    const { faulty, writes, append } = writer()
    faulty.outcomes.push('quota-exceeded')
    append(2)
    const [first, second] = await Promise.allSettled([writes.flush(), writes.flush()])
    expect(first).toMatchObject({ status: 'rejected', reason: { code: 'quota-exceeded' } })
    expect(second).toEqual(first)
    expect(writes.status).toMatchObject({ unsaved: 2, state: 'paused' })
    await settle()
    expect(faulty.batches).toHaveLength(1)
    await writes.flush()
    expect(await stored(faulty)).toEqual(upTo(2))
  })

  it('W7 a flush that fails to make relaxed commits strict is still owed', async () => {
    const { faulty, writes, append } = writer()
    append(1)
    await settle()
    faulty.outcomes.push('unavailable')
    await expect(writes.flush()).rejects.toMatchObject({ code: 'unavailable' })
    await writes.flush()
    expect(faulty.durabilities()).toEqual(['relaxed 0+1', 'strict 1+0', 'strict 1+0'])
  })

  it('W7 an event that arrives during a failing flush is kept behind the others', async () => {
    const { faulty, writes, append } = writer()
    faulty.hold()
    faulty.outcomes.push('unavailable')
    append(1)
    const flushed = expect(writes.flush()).rejects.toMatchObject({ code: 'unavailable' })
    await settle()
    append(1)
    await faulty.release()
    await flushed
    expect(writes.status).toMatchObject({ unsaved: 2, state: 'paused' })
    append(1)
    await faulty.release()
    expect(await stored(faulty)).toEqual(upTo(3))
  })

  it('W7 what is not a StorageError becomes one, with its cause', async () => {
    const { faulty, writes, append } = writer({
      now: () => {
        throw new RangeError('no clock')
      },
    })
    append(1)
    await expect(writes.flush()).rejects.toMatchObject({ code: 'unavailable', cause: { message: 'no clock' } })
    expect(faulty.batches).toEqual([])
  })

  it.each(['stale-epoch', 'seq-conflict', 'exists'] as const)(
    'W3 after %s the writer is lost: flushes reject at once, events are kept and readable',
    async code => {
      const { faulty, writes, append } = writer()
      faulty.outcomes.push(code)
      append(2)
      const joined = expect(writes.flush()).rejects.toMatchObject({ code })
      await settle()
      await joined
      append(1)
      const { lastError } = writes.status
      await expect(writes.flush()).rejects.toBe(lastError)
      await settle()
      expect(writes.status).toMatchObject({ unsaved: 3, state: 'lost', lastError: { code } })
      expect(writes.unsaved().map(event => event.seq)).toEqual(upTo(3))
      expect(faulty.batches).toHaveLength(1)
    },
  )

  it('W3 a flush that joined a background write is rejected when that loses the session', async () => {
    const { faulty, writes, append } = writer()
    faulty.hold()
    faulty.outcomes.push('stale-epoch')
    append(1)
    await settle()
    const flushed = expect(writes.flush()).rejects.toMatchObject({ code: 'stale-epoch' })
    await faulty.release()
    await flushed
    expect(faulty.batches).toHaveLength(1)
  })

  it('W7 a batch that was stored although its answer was lost is not stored twice, nor the writer lost', async () => {
    const { faulty, writes, append } = writer()
    faulty.outcomes.push('lost-answer')
    append(2)
    await settle()
    append(1)
    await settle()
    faulty.outcomes.push('lost-answer')
    append(1)
    await expect(writes.flush()).rejects.toMatchObject({ code: 'unavailable' })
    await writes.flush()
    expect(await stored(faulty)).toEqual(upTo(4))
    expect(writes.status).toEqual({ unsaved: 0, lastError: null, state: 'idle' })
    expect(faulty.batches.at(-1)).toMatchObject({ durability: 'strict', segment: { count: 0 } })
  })

  it('W7 an empty session that was created although the answer was lost is ours', async () => {
    const { faulty, writes } = writer()
    faulty.outcomes.push('lost-answer')
    await expect(writes.flush()).rejects.toMatchObject({ code: 'unavailable' })
    await writes.flush()
    expect(writes.status.state).toBe('idle')
  })

  it('W3 a session somebody else created meanwhile is not taken for ours', async () => {
    const { faulty, writes, append } = writer()
    faulty.outcomes.push('unavailable')
    append(1)
    await settle()
    const segment = { firstSeq: SessionSeq(0), count: 1, text: '[{"seq":0}]' }
    const create = { ...newSession('a'), logId: newSession('other').logId }
    await faulty.inner.append({
      id: A,
      logId: create.logId,
      epoch: 1,
      segment,
      durability: 'relaxed',
      time: 1,
      create,
    })
    await expect(writes.flush()).rejects.toMatchObject({ code: 'exists' })
    expect(writes.status).toMatchObject({ state: 'lost', unsaved: 1 })
  })

  it('W3 other events where ours should be are not taken for ours', async () => {
    const { faulty, writes, append } = writer()
    append(1)
    await writes.flush()
    faulty.outcomes.push('unavailable')
    append(1)
    await settle()
    const segment = { firstSeq: SessionSeq(1), count: 1, text: '[{"seq":9}]' }
    const { logId } = newSession('a')
    await faulty.inner.append({ id: A, logId, epoch: 1, segment, durability: 'relaxed', time: 1 })
    await expect(writes.flush()).rejects.toMatchObject({ code: 'seq-conflict' })
    expect(writes.unsaved()).toEqual([{ seq: 1, text: textOf(1) }])
  })
})

describe('WriteBehind.stop', () => {
  const unstorable = new StorageError('invalid-batch', 'no text')

  it('W6 makes flush reject from then on, also one that is under way, and keeps what was enqueued', async () => {
    const { faulty, writes, append } = writer()
    append(1)
    await writes.flush()
    faulty.hold()
    append(1)
    const flushing = expect(writes.flush()).rejects.toBe(unstorable)
    await settle()
    writes.stop(unstorable)
    append(1)
    await faulty.release()
    await flushing
    await expect(writes.flush()).rejects.toBe(unstorable)
    expect(writes.status).toMatchObject({ state: 'lost', unsaved: 1, lastError: unstorable })
    expect(await stored(faulty)).toEqual(upTo(2))
  })

  it('W3 a session that was deleted under its writer is lost, not tried for ever', async () => {
    const { faulty, writes, append } = writer()
    append(1)
    await writes.flush()
    await faulty.inner.delete(A)
    append(1)
    await expect(writes.flush()).rejects.toMatchObject({ code: 'not-found' })
    expect(writes.status).toMatchObject({ state: 'lost', unsaved: 1 })
  })
})
