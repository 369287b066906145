import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { SessionSeq } from '../core/ids.ts'
import { StorageError } from './storage.ts'
import { A, journaled, keyframeOf, type Outcome, settle, stored, upTo, writer } from './write-behind-kit.ts'

/** One step of a life of a writer: of its session, of the call it is in, of its storage. */
type Step = 'append' | 'piece' | 'settle' | 'keyframe' | 'flush' | 'release' | 'wait' | 'merge'

const step = fc.constantFrom<Step[]>(
  ...(['append', 'piece', 'piece', 'settle', 'keyframe', 'flush', 'release', 'wait', 'wait', 'merge'] as const),
)
const outcome = fc.constantFrom<Outcome[]>(
  'stored',
  'stored',
  'unavailable',
  'quota-exceeded',
  'lost-answer',
  'lost-answer',
)

/** A session with calls: which events settled one, and the pieces of the one that is running. */
function life(maxBatchBytes: number) {
  const told: number[] = []
  const kit = writer({ maxBatchBytes, onKeyframe: seq => told.push(seq) })
  const settling: number[] = []
  let appended = 0
  let pieces = 0
  let lastKeyframe: number | null = null
  const flushes: Promise<unknown>[] = []

  const take = async (kind: Step): Promise<void> => {
    const { faulty, writes, append } = kit
    if (kind === 'append') {
      append(1)
      appended++
    } else if (kind === 'settle') {
      append(1, { settles: true })
      settling.push(appended++)
      pieces = 0
    } else if (kind === 'piece') writes.journal(`[${settling.length},${pieces++}]`)
    else if (kind === 'keyframe') {
      if (appended > (lastKeyframe ?? 0)) {
        writes.keyframe(keyframeOf(appended, lastKeyframe ?? undefined))
        lastKeyframe = appended
      }
    } else if (kind === 'flush') flushes.push(writes.flush().catch((error: unknown) => error))
    else if (kind === 'release') await faulty.release()
    else if (kind === 'wait') await settle()
    // Its session may not be stored yet.
    else await faulty.inner.merge(A, 1).catch(() => false)
  }

  /** Holds at every moment, in storage. */
  const check = async (): Promise<void> => {
    const { inner } = kit.faulty
    const toldBefore = told.at(-1) ?? 0
    // All asked in one job, between two writes.
    const [segments, parts, keyframe] = await Promise.all([
      inner.read(A).catch(() => []),
      inner.journal(A),
      inner.keyframe(A).catch(() => null),
    ])
    const events = segments.flatMap(({ text }) => (JSON.parse(text) as { seq: number }[]).map(({ seq }) => seq))
    expect(events).toEqual(upTo(events.length))
    const settled = settling.filter(seq => seq < events.length).length
    expect(parts.map(({ part }) => part)).toEqual(upTo(parts.length))
    const journal = parts.flatMap(({ text }) => JSON.parse(text) as unknown[])
    // All of one call, which no stored event settles, from its first piece on, none twice.
    expect(journal).toEqual(journal.map((_, index) => [settled, index]))
    expect(keyframe?.seq ?? 0).toBeLessThanOrEqual(events.length)
    expect(told).toEqual([...new Set(told)].sort((a, b) => a - b))
    expect(toldBefore).toBeLessThanOrEqual(events.length)
  }

  const finish = async (): Promise<void> => {
    const { faulty, writes } = kit
    faulty.outcomes.length = 0
    const waiting = faulty.held ?? []
    faulty.held = null
    for (const letThrough of waiting) letThrough()
    for (const failure of await Promise.all(flushes)) {
      if (failure !== undefined) expect(failure).toBeInstanceOf(StorageError)
    }
    await writes.flush()
    await settle()
    await check()
    expect(await stored(faulty)).toEqual(upTo(appended))
    expect(await journaled(faulty)).toEqual(Array.from({ length: pieces }, (_, index) => [settling.length, index]))
    if (lastKeyframe !== null) {
      // One that could not be written alone waits for the next event.
      if (told.at(-1) !== lastKeyframe) {
        await take('append')
        await writes.flush()
      }
      expect(told.at(-1)).toBe(lastKeyframe)
      expect(await faulty.inner.keyframe(A)).toMatchObject({ seq: lastKeyframe, text: `"${lastKeyframe}"` })
    }
    for (const { segment, keyframe } of faulty.batches) {
      expect(keyframe?.seq ?? 0).toBeLessThanOrEqual(segment.firstSeq + segment.count)
    }
    expect(writes.status).toEqual({ unsaved: 0, lastError: null, state: 'idle' })
    expect(faulty.mostInFlight).toBeLessThanOrEqual(1)
  }
  return { kit, take, check, finish }
}

describe('WriteBehind laws of what comes with the events', () => {
  it('W16 whatever fails: storage holds the journal of the running call and of no other, keyframes follow events', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 40 }),
        fc.array(outcome, { maxLength: 16 }),
        fc.integer({ min: 1, max: 60 }),
        fc.boolean(),
        async (steps, outcomes, maxBatchBytes, slow) => {
          const { kit, take, check, finish } = life(maxBatchBytes)
          kit.faulty.outcomes.push(...outcomes)
          if (slow) kit.faulty.hold()
          for (const kind of steps) {
            await take(kind)
            await check()
          }
          await finish()
        },
      ),
      { numRuns: 500 },
    )
  })

  it('W15 only the keyframes that were told, and those nobody was to replace, are kept', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async steps => {
        const { kit, take, finish } = life(30)
        for (const kind of steps) await take(kind)
        await finish()
        const last = (await kit.faulty.inner.keyframe(A))?.seq ?? 0
        // Each took the place of the one before it.
        if (last > 1) expect(await kit.faulty.inner.keyframe(A, SessionSeq(last - 1))).toBeNull()
      }),
      { numRuns: 200 },
    )
  })
})
