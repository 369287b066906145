import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { StorageError } from './storage.ts'
import { A, type Outcome, settle, stored, upTo, writer } from './write-behind-kit.ts'

/** One step of a life of a writer. */
type Step = { readonly kind: 'append'; readonly count: number } | { readonly kind: 'flush' | 'release' | 'wait' }

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constant('append' as const), count: fc.integer({ min: 1, max: 4 }) }),
  fc.record({ kind: fc.constantFrom('flush' as const, 'release' as const, 'wait' as const) }),
)
const outcome: fc.Arbitrary<Outcome> = fc.constantFrom<Outcome[]>(
  'stored',
  'stored',
  'unavailable',
  'quota-exceeded',
  'lost-answer',
)

describe('WriteBehind laws', () => {
  it('W7 whatever fails: nothing is lost, order is kept, nothing is doubled, one transaction is in flight', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 25 }),
        fc.array(outcome, { maxLength: 12 }),
        fc.integer({ min: 1, max: 60 }),
        fc.boolean(),
        async (steps, outcomes, maxBatchBytes, slow) => {
          const { faulty, writes, append } = writer({ maxBatchBytes })
          faulty.outcomes.push(...outcomes)
          if (slow) faulty.hold()
          let appended = 0
          const flushes: Promise<unknown>[] = []

          for (const { kind, ...rest } of steps) {
            if (kind === 'append' && 'count' in rest) {
              append(rest.count)
              appended += rest.count
            } else if (kind === 'flush') {
              const asked = appended
              const checked = writes.flush().then(async () => {
                // What a flush promised is stored.
                expect((await stored(faulty)).length).toBeGreaterThanOrEqual(asked)
              })
              flushes.push(checked.catch((error: unknown) => error))
            } else if (kind === 'release') await faulty.release()
            else await Promise.resolve()
            // At every moment: stored events and unsaved ones together are all of them, in order, without a gap.
            const inStore = await stored(faulty)
            const unsaved = writes.unsaved().map(event => Number(event.seq))
            expect(inStore).toEqual(upTo(inStore.length))
            expect(unsaved).toEqual(upTo(appended).slice(appended - unsaved.length))
            expect(inStore.length + unsaved.length).toBeGreaterThanOrEqual(appended)
          }

          faulty.outcomes.length = 0
          const waiting = faulty.held ?? []
          faulty.held = null
          for (const letThrough of waiting) letThrough()
          for (const failure of await Promise.all(flushes)) {
            if (failure !== undefined) expect(failure).toBeInstanceOf(StorageError)
          }
          await writes.flush()
          expect(await stored(faulty)).toEqual(upTo(appended))
          expect(writes.status).toEqual({ unsaved: 0, lastError: null, state: 'idle' })
          expect(faulty.mostInFlight).toBeLessThanOrEqual(1)
        },
      ),
      { numRuns: 300 },
    )
  })

  it('W6 after a flush no relaxed commit is younger than the last strict one', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 20 }),
        fc.array(outcome, { maxLength: 6 }),
        async (steps, outcomes) => {
          const { faulty, writes, append } = writer()
          const commits: string[] = []
          faulty.onStored = batch => commits.push(batch.durability)
          faulty.outcomes.push(...outcomes)
          for (const { kind, ...rest } of steps) {
            if (kind === 'append' && 'count' in rest) append(rest.count)
            else if (kind === 'wait') await settle()
            else if (kind === 'flush') {
              const flushed = await writes.flush().then(
                () => true,
                (error: unknown) => error instanceof StorageError && false,
              )
              if (flushed && commits.length > 0) expect(commits.at(-1)).toBe('strict')
            }
          }
        },
      ),
      { numRuns: 200 },
    )
  })

  it('W3 a writer that was overtaken at any moment changes nothing after the claim', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 5 }), fc.nat({ max: 12 }), async (count, ticks) => {
        const { faulty, writes, append } = writer()
        append(1)
        await writes.flush()
        for (let index = 0; index < count; index++) append(1)
        for (let index = 0; index < ticks; index++) await Promise.resolve()
        const claimed = await faulty.inner.claim(A)
        append(1)
        await expect(writes.flush()).rejects.toMatchObject({ code: 'stale-epoch' })
        expect((await stored(faulty)).length).toBe(claimed?.nextSeq)
        expect(writes.unsaved().length + (claimed?.nextSeq ?? 0)).toBe(count + 2)
      }),
      { numRuns: 100 },
    )
  })
})
