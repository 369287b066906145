import { describe, expect, it, vi } from 'vitest'
import { BlobId, SessionSeq } from '../core/ids.ts'
import { newSession } from './conformance-kit.ts'
import { segmentsIn } from './stored-session.ts'
import { WriteBehind } from './write-behind.ts'
import { A, journaled, keyframeOf, settle, stored, textOf, upTo, writer } from './write-behind-kit.ts'

/** A writer whose first event is stored already. */
async function begun(...options: Parameters<typeof writer>): Promise<ReturnType<typeof writer>> {
  const kit = writer(...options)
  kit.append(1)
  await kit.writes.flush()
  kit.faulty.batches.length = 0
  kit.statuses.length = 0
  return kit
}

describe('WriteBehind keyframes', () => {
  it('W15 a keyframe goes with the first batch that covers its events, not before', async () => {
    const told: number[] = []
    const { faulty, writes, append } = writer({ maxBatchBytes: 10, onKeyframe: seq => told.push(seq) })
    faulty.hold()
    append(3)
    writes.keyframe(keyframeOf(2))
    for (let batch = 0; batch < 3; batch++) {
      await settle()
      expect(told).toEqual(batch < 2 ? [] : [2])
      await faulty.release()
    }
    expect(faulty.batches.map(({ segment, keyframe }) => [segment.firstSeq, keyframe?.seq])).toEqual([
      [0, undefined],
      [1, 2],
      [2, undefined],
    ])
  })

  it('W15 a keyframe of events that are stored already is written alone', async () => {
    const { faulty, writes } = await begun()
    writes.keyframe(keyframeOf(1))
    await settle()
    expect(faulty.batches).toMatchObject([{ segment: { firstSeq: 1, count: 0 }, keyframe: { seq: 1 } }])
    expect(await faulty.inner.keyframe(A)).toMatchObject({ seq: 1 })
  })

  it('W15 a keyframe makes no session that has no events, and one ahead of all events waits for them', async () => {
    const { faulty, writes, append } = writer()
    writes.keyframe(keyframeOf(1))
    await settle()
    expect(faulty.batches).toEqual([])
    await writes.flush()
    expect(faulty.batches).toMatchObject([{ segment: { count: 0 } }])
    append(1)
    await settle()
    expect(faulty.batches.map(({ keyframe }) => keyframe?.seq)).toEqual([undefined, 1])
  })

  it('W15 of several that wait the last one is stored, instead of what the first would have replaced', async () => {
    const { faulty, writes, append } = await begun()
    writes.keyframe(keyframeOf(1))
    await settle()
    faulty.hold()
    append(3)
    await settle()
    writes.keyframe(keyframeOf(2, 1))
    writes.keyframe(keyframeOf(3, 2))
    writes.keyframe(keyframeOf(4, 3))
    await faulty.release()
    await faulty.release()
    expect(faulty.batches.flatMap(({ keyframe }) => keyframe ?? [])).toEqual([keyframeOf(1), keyframeOf(4, 1)])
    expect(await faulty.inner.keyframe(A, SessionSeq(3))).toBeNull()
  })

  it('W15 one that comes while another is written replaces that when it was stored', async () => {
    const told: number[] = []
    const { faulty, writes, append } = await begun({ onKeyframe: seq => told.push(seq) })
    faulty.hold()
    append(1)
    writes.keyframe(keyframeOf(2))
    await settle()
    append(1)
    writes.keyframe(keyframeOf(3, 2))
    await faulty.release()
    expect(told).toEqual([2])
    await faulty.release()
    expect(told).toEqual([2, 3])
    expect(faulty.batches.map(({ keyframe }) => keyframe)).toEqual([keyframeOf(2), keyframeOf(3, 2)])
    expect(await faulty.inner.keyframe(A, SessionSeq(2))).toBeNull()
  })

  it('W15 after a failure it is kept, goes with the next try, and is told once', async () => {
    const told: number[] = []
    const { faulty, writes, append } = await begun({ onKeyframe: seq => told.push(seq) })
    faulty.outcomes.push('unavailable', 'unavailable')
    append(1)
    writes.keyframe(keyframeOf(2))
    await settle()
    append(1)
    await settle()
    expect(told).toEqual([])
    await writes.flush()
    expect(faulty.batches.map(({ keyframe }) => keyframe?.seq)).toEqual([2, 2, 2])
    expect(told).toEqual([2])
  })

  it('W15, W7 where there is no space for it, the events go first', async () => {
    const { faulty, writes, append } = await begun()
    faulty.outcomes.push('quota-exceeded', 'stored', 'quota-exceeded')
    append(1)
    writes.keyframe(keyframeOf(2))
    await settle()
    expect(writes.status).toMatchObject({ unsaved: 1, lastError: { code: 'quota-exceeded' } })
    append(1)
    await settle()
    expect(faulty.batches.map(({ segment, keyframe }) => [segment.count, keyframe?.seq])).toEqual([
      [1, 2],
      [2, undefined],
      [0, 2],
    ])
    expect(await stored(faulty)).toEqual(upTo(3))
    expect(writes.status.unsaved).toBe(0)
  })

  it('W15 when the answer was lost it is written once more, and told when that was answered', async () => {
    const told: number[] = []
    const { faulty, writes, append } = await begun({ onKeyframe: seq => told.push(seq) })
    faulty.outcomes.push('lost-answer')
    append(1)
    writes.keyframe(keyframeOf(2))
    await settle()
    expect(told).toEqual([])
    await writes.flush()
    expect(told).toEqual([2])
    expect(await faulty.inner.keyframe(A)).toMatchObject({ seq: 2 })
    expect(await stored(faulty)).toEqual(upTo(2))
  })

  it('W15 a listener that throws is a fault of its own: the keyframe is stored', async () => {
    const thrown: (() => void)[] = []
    const fault = new RangeError('of the listener')
    const { faulty, writes, append } = await begun({
      onKeyframe: () => {
        throw fault
      },
    })
    const microtasks = vi.spyOn(globalThis, 'queueMicrotask').mockImplementation(job => thrown.push(job))
    append(1)
    writes.keyframe(keyframeOf(2))
    await writes.flush().finally(() => microtasks.mockRestore())
    expect(thrown).toHaveLength(1)
    expect(thrown[0]).toThrow(fault)
    expect(writes.status).toEqual({ unsaved: 0, lastError: null, state: 'idle' })
    expect(faulty.batches).toHaveLength(1)
  })
})

describe('WriteBehind journals', () => {
  it('W16 pieces that come while a write is in flight are one part', async () => {
    const { faulty, writes } = await begun()
    faulty.hold()
    for (const piece of ['1', '2']) writes.journal(piece)
    await settle()
    for (const piece of ['3', '4', '5']) writes.journal(piece)
    await faulty.release()
    await faulty.release()
    expect(faulty.batches.map(({ journal }) => journal)).toEqual([
      { part: 0, text: '[1,2]' },
      { part: 1, text: '[3,4,5]' },
    ])
    expect(faulty.batches.map(({ segment }) => segment.count)).toEqual([0, 0])
    expect(await journaled(faulty)).toEqual([1, 2, 3, 4, 5])
  })

  it('W16 what settles the call forgets the journal in one batch; pieces not written by then never are', async () => {
    const { faulty, writes, append } = await begun()
    writes.journal('1')
    await settle()
    writes.journal('2')
    append(1, { settles: true })
    await settle()
    expect(faulty.batches.map(({ segment, journal }) => [segment.count, journal])).toEqual([
      [0, { part: 0, text: '[1]' }],
      [1, 'settled'],
    ])
    expect(await journaled(faulty)).toEqual([])
  })

  it('W16 a call that left no journal settles nothing', async () => {
    const { faulty, append, writes } = await begun()
    append(1, { settles: true })
    await settle()
    writes.journal('1')
    await settle()
    append(1, { settles: true })
    await settle()
    append(1, { settles: true })
    await settle()
    expect(faulty.batches.map(({ journal }) => journal)).toEqual([
      undefined,
      { part: 0, text: '[1]' },
      'settled',
      undefined,
    ])
  })

  it('W16 the journal of the next call takes the place of the one that is settled with it', async () => {
    const { faulty, writes, append } = await begun()
    faulty.hold()
    writes.journal('1')
    await settle()
    append(1, { settles: true })
    writes.journal('"next"')
    await faulty.release()
    await faulty.release()
    expect(faulty.batches.at(-1)).toMatchObject({ segment: { count: 1 }, journal: { part: 0, text: '["next"]' } })
    writes.journal('"more"')
    await faulty.release()
    expect(await journaled(faulty)).toEqual(['next', 'more'])
  })

  it('W16 the journal of the next call waits until the one before is settled in storage', async () => {
    const { faulty, writes, append } = await begun({ maxBatchBytes: 10 })
    writes.journal('1')
    await settle()
    faulty.hold()
    append(2)
    append(1, { settles: true })
    writes.journal('"next"')
    for (let batch = 0; batch < 3; batch++) {
      await settle()
      expect(await journaled(faulty)).toEqual([1])
      await faulty.release()
    }
    expect(await journaled(faulty)).toEqual(['next'])
    expect(faulty.batches.map(({ journal }) => journal)).toEqual([
      { part: 0, text: '[1]' },
      undefined,
      undefined,
      { part: 0, text: '["next"]' },
    ])
  })

  it('W16 a journal found in storage is forgotten by the event that settles it', async () => {
    const { faulty } = await begun()
    const { logId } = newSession('a')
    const write = { id: A, logId, epoch: 1, durability: 'strict' as const, time: 1 }
    const segment = { firstSeq: SessionSeq(1), count: 0, text: '[]' }
    for (const part of [0, 1]) await faulty.inner.append({ ...write, segment, journal: { part, text: '[7]' } })
    const writes = new WriteBehind({
      ...write,
      storage: faulty.storage,
      nextSeq: SessionSeq(1),
      now: () => 8,
      hasJournal: true,
    })
    writes.enqueue(SessionSeq(1), textOf(1))
    await writes.flush()
    expect(await journaled(faulty)).toEqual([7, 7])
    writes.enqueue(SessionSeq(2), textOf(2), { settles: true })
    await writes.flush()
    expect(await journaled(faulty)).toEqual([])
  })

  it.each(['lost-answer', 'unavailable'] as const)(
    'W16 after %s a part is written again, not beside itself',
    async outcome => {
      const { faulty, writes } = await begun()
      for (const piece of ['1', '2', '3']) {
        faulty.outcomes.push(outcome)
        writes.journal(piece)
        await settle()
        await writes.flush()
      }
      expect(await journaled(faulty)).toEqual([1, 2, 3])
    },
  )

  it('W16 a journal whose answer was lost is forgotten by the event that settles its call', async () => {
    const { faulty, writes, append } = await begun()
    faulty.outcomes.push('lost-answer')
    writes.journal('1')
    await settle()
    expect(await journaled(faulty)).toEqual([1])
    append(1, { settles: true })
    await settle()
    expect(await journaled(faulty)).toEqual([])
  })

  it('W16 no piece is lost when a batch grew from one lost answer to the next', async () => {
    const { faulty, writes, append } = await begun()
    faulty.outcomes.push('lost-answer', 'unavailable')
    append(1)
    writes.journal('1')
    await settle()
    writes.journal('2')
    await expect(writes.flush()).rejects.toMatchObject({ code: 'unavailable' })
    await writes.flush()
    expect(await journaled(faulty)).toEqual([1, 2])
    expect(await stored(faulty)).toEqual(upTo(2))
  })

  it('W16 pieces wait while writing is paused, without a word', async () => {
    const { faulty, writes, statuses, append } = await begun()
    faulty.outcomes.push('quota-exceeded')
    append(1)
    await settle()
    const said = statuses.length
    for (const piece of ['1', '2']) {
      writes.journal(piece)
      await settle()
    }
    expect(faulty.batches).toHaveLength(1)
    expect(statuses).toHaveLength(said)
    expect(writes.status.state).toBe('paused')
    append(1)
    await settle()
    expect(await journaled(faulty)).toEqual([1, 2])
  })

  it('W16 flush stores the pieces as well', async () => {
    const { faulty, writes } = await begun()
    writes.journal('1')
    await writes.flush()
    expect(faulty.batches).toMatchObject([{ durability: 'strict', journal: { part: 0, text: '[1]' } }])
  })
})

describe('WriteBehind batches, by size and time', () => {
  it.each([
    ['one byte for each unit', '.', 120_000],
    ['two, once one needs them', 'ж', 60_000],
  ])('W4 no segment is larger than a page, but for one event that is: %s', async (_what, unit, most) => {
    const { faulty, writes } = writer()
    const lengths = [most / 2 - 2, most / 2 - 1, most / 2 - 2, most / 2 - 2, 2, most + 1, 5, 2]
    for (const [seq, length] of lengths.entries()) writes.enqueue(SessionSeq(seq), `"${unit.repeat(length - 2)}"`)
    await writes.flush()
    expect(faulty.batches).toHaveLength(1)
    expect(faulty.batches.flatMap(segmentsIn).map(({ count, text }) => [count, text.length])).toEqual([
      [2, most],
      [2, most - 1],
      [1, 4],
      [1, most + 3],
      [2, 10],
    ])
    expect(faulty.batches[0]?.durability).toBe('strict')
  })

  it.each([
    ['events', 'strict', (writes: WriteBehind) => writes.enqueue(SessionSeq(1), `"${'.'.repeat(59_997)}"`)],
    ['a keyframe', 'strict', (writes: WriteBehind) => writes.keyframe({ ...keyframeOf(1), text: '.'.repeat(60_001) })],
    ['a journal', 'strict', (writes: WriteBehind) => writes.journal(`"${'.'.repeat(59_997)}"`)],
    ['wide events', 'strict', (writes: WriteBehind) => writes.enqueue(SessionSeq(1), `"${'ж'.repeat(29_997)}"`)],
    ['events', 'relaxed', (writes: WriteBehind) => writes.enqueue(SessionSeq(1), `"${'.'.repeat(59_996)}"`)],
    ['a keyframe', 'relaxed', (writes: WriteBehind) => writes.keyframe({ ...keyframeOf(1), text: '.'.repeat(60_000) })],
    ['a journal', 'relaxed', (writes: WriteBehind) => writes.journal(`"${'.'.repeat(59_996)}"`)],
    ['wide events', 'relaxed', (writes: WriteBehind) => writes.enqueue(SessionSeq(1), `"${'ж'.repeat(29_996)}"`)],
  ] as const)('W21 a batch with %s of a length at the limit is %s', async (_what, durability, write) => {
    const { faulty, writes } = await begun()
    write(writes)
    await settle()
    expect(faulty.batches.map(batch => batch.durability)).toEqual([durability])
    await writes.flush()
    expect(faulty.batches).toHaveLength(durability === 'strict' ? 1 : 2)
  })

  it('W18 what opening adds is no change; what comes after it is', async () => {
    const { faulty, append } = await begun({ quietTo: SessionSeq(3) })
    faulty.hold()
    append(1)
    await settle()
    append(1)
    await faulty.release()
    append(1)
    await faulty.release()
    await faulty.release()
    expect(faulty.batches.map(({ segment, time }) => [segment.firstSeq + segment.count, time])).toEqual([
      [2, null],
      [3, null],
      [4, 7],
    ])
  })

  it('W18 a new session is a change whatever it begins with', async () => {
    const { faulty, append } = writer({ quietTo: SessionSeq(3) })
    append(1)
    await settle()
    expect(faulty.batches.map(({ time }) => time)).toEqual([7])
  })

  it('W17 a batch names each blob its events refer to once', async () => {
    const { faulty, append, writes } = writer()
    const [one, two] = ['one', 'two'].map(BlobId) as [BlobId, BlobId]
    append(1, { blobs: [one, two] })
    append(1)
    append(1, { blobs: [two, one] })
    await writes.flush()
    append(1)
    await writes.flush()
    expect(faulty.batches.map(({ blobs }) => blobs)).toEqual([[one, two], undefined])
  })

  it('W7 a batch whose answer was lost is known again in the page it became a part of', async () => {
    const { faulty, append, writes } = await begun()
    faulty.outcomes.push('lost-answer')
    append(2)
    await settle()
    await faulty.inner.merge(A, 1)
    expect(await faulty.inner.read(A)).toHaveLength(1)
    append(1)
    await writes.flush()
    expect(await stored(faulty)).toEqual(upTo(4))
    expect(writes.status.state).toBe('idle')
  })
})
