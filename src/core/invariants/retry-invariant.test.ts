import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Draft, log, stepEnd, stepStart, throughJson, turnEnd, turnStart } from '../builders.ts'
import type { FoldContext } from '../fold.ts'
import { tried } from './kit.ts'
import { retryFold, retryInvariant, type RetryState } from './retry-invariant.ts'

const after = (...before: readonly Draft[]) => ({
  try: (draft: Draft) => tried(retryInvariant, before, draft),
})
const headed = (provider = 'demo'): Draft => ({
  type: 'request/header',
  data: { header: { config: { provider, model: 'm' } }, reason: 'change' },
})
const plan = (more: object = {}, retry = 1): Draft => ({
  type: 'llm/retry',
  data: {
    ...{ retryId: 'r', turn: 1, step: 1, provider: 'demo', policyKey: 'p', mode: 'normal', maxRetries: 5, retry },
    ...{ delayMs: 500, failure: { code: 'SERVER', message: 'no' } },
    ...more,
  },
})
const without = (key: string, more: object = {}): Draft => {
  const { [key]: _left, ...data } = { ...(plan().data as Record<string, unknown>), ...more }
  return { type: 'llm/retry', data }
}
const started = (retry = 1, more: object = {}): Draft => ({
  type: 'llm/retry-started',
  data: { retryId: 'r', turn: 1, step: 1, retry, ...more },
})
const inStep = [turnStart(1), stepStart(1, 1), headed()]
const step2 = [stepEnd(1, 1), stepStart(1, 2)]
const turn2 = [stepEnd(1, 1), turnEnd(1), turnStart(2), stepStart(2, 1)]

describe('retries', () => {
  it('[I8] belong to the open step', () => {
    expect(after(...inStep).try(plan())).toBe('accepted')
    expect(after(...inStep).try(plan({ step: 2 }))).toBe('expected step 1, found 2')
    expect(after(...inStep).try(plan({ turn: 2 }))).toBe('expected turn 1, found 2')
    expect(after(...inStep, stepEnd(1, 1)).try(plan())).toBe('expected an open step, found none')
    expect(after().try(plan())).toBe('expected an open turn, found none')
    expect(after(...inStep, plan()).try(started())).toBe('accepted')
    expect(after(...inStep, plan()).try(started(1, { step: 2 }))).toBe('expected step 1, found 2')
    expect(after(...inStep, plan(), stepEnd(1, 1)).try(started())).toBe('expected an open step, found none')
  })

  it('[I8] are of the provider of the latest header', () => {
    const other = 'expected the provider of the latest header, '
    expect(after(turnStart(1), stepStart(1, 1)).try(plan())).toBe(`${other}which is none, found "demo"`)
    expect(after(...inStep).try(plan({ provider: 'other' }))).toBe(`${other}demo, found "other"`)
    expect(after(...inStep, headed('other')).try(plan({ provider: 'other' }))).toBe('accepted')
    expect(after(...inStep, headed('other')).try(plan())).toBe(`${other}other, found "demo"`)
  })

  it('[I8] count on from 1 in their chain', () => {
    expect(after(...inStep).try(plan({}, 2))).toBe('expected retry 1, found 2')
    expect(after(...inStep).try(plan({}, 0))).toBe('expected retry 1, found 0')
    const first = [...inStep, plan(), started()]
    expect(after(...first).try(plan({}, 2))).toBe('accepted')
    expect(after(...first).try(plan({}, 1))).toBe('expected retry 2, found 1')
    expect(after(...first).try(plan({}, 3))).toBe('expected retry 2, found 3')
  })

  it('[I8] have a chain for each step, provider and policy', () => {
    const first = [...inStep, plan(), started()]
    expect(after(...first).try(plan({ policyKey: 'q', retryId: 's' }))).toBe('accepted')
    expect(after(...first, headed('o')).try(plan({ provider: 'o', retryId: 's' }))).toBe('accepted')
    expect(after(...first, ...step2).try(plan({ step: 2, retryId: 's' }))).toBe('accepted')
    expect(after(...first, ...turn2).try(plan({ turn: 2, retryId: 's' }))).toBe('accepted')
    const second = [...first, plan({ policyKey: 'q', retryId: 's' })]
    expect(after(...second).try(plan({}, 2))).toBe('accepted')
    expect(after(...second).try(plan({ policyKey: 'q', retryId: 's' }, 2))).toBe('accepted')
  })

  it('[I8] keep the id of their chain, which no other chain has, as far as the log is resident', () => {
    const first = [...inStep, plan(), started()]
    expect(after(...first).try(plan({ retryId: 's' }, 2))).toBe('expected retryId r, found "s"')
    const taken = 'expected a retryId no other chain has, found "r"'
    expect(after(...first).try(plan({ policyKey: 'q' }))).toBe(taken)
    expect(after(...first, ...step2).try(plan({ step: 2 }))).toBe(taken)
    expect(after(...first, ...turn2).try(plan({ turn: 2 }))).toBe(taken)
    expect(after(...first, ...turn2).try(plan({ turn: 2, retryId: 's' }))).toBe('accepted')
  })

  it('[I8] are started once, and the latest only', () => {
    expect(after(...inStep).try(started())).toBe('expected the retryId of a chain of this step, found "r"')
    expect(after(...inStep, plan()).try(started(1, { retryId: 's' }))).toBe('expected the retryId of a chain of this step, found "s"') // biome-ignore format: one line
    expect(after(...inStep, plan()).try(started(2))).toBe('expected retry 1, found 2')
    const first = [...inStep, plan(), started()]
    expect(after(...first).try(started())).toBe('expected a retry that waits, found 1 started')
    expect(after(...first, plan({}, 2)).try(started())).toBe('expected retry 2, found 1')
    expect(after(...first, plan({}, 2)).try(started(2))).toBe('accepted')
    expect(after(...first, ...step2).try(started(1, { step: 2 }))).toContain('expected the retryId')
  })

  it('[I8] have a last one in mode normal only', () => {
    const on = after(...inStep)
    expect(on.try(plan({ maxRetries: 0 }))).toBe('accepted')
    expect(on.try(without('maxRetries', { mode: 'always' }))).toBe('accepted')
    expect(on.try(without('maxRetries'))).toBe('expected maxRetries in mode normal, found nothing')
    for (const wrong of [-1, 0.5, '5', null])
      expect(on.try(plan({ maxRetries: wrong }))).toContain('expected maxRetries')
    expect(on.try(plan({ mode: 'always' }))).toBe('expected no maxRetries in mode always, found 5')
    expect(on.try(plan({ mode: 'always', maxRetries: null }))).toContain('expected no maxRetries')
    expect(on.try(plan({ mode: 'never' }))).toBe('expected mode normal or always, found "never"')
    expect(on.try(without('mode'))).toBe('expected mode normal or always, found nothing')
  })

  it('[I8] say who they are and how long they wait', () => {
    const on = after(...inStep)
    expect(on.try(plan({ delayMs: 0 }))).toBe('accepted')
    expect(on.try(plan({ delayMs: 0.5 }))).toBe('accepted')
    for (const wrong of [-1, '9', null]) expect(on.try(plan({ delayMs: wrong }))).toContain('expected delayMs')
    expect(on.try(plan({ retryId: '' }))).toBe('expected a retryId, found ""')
    expect(on.try(plan({ policyKey: 7 }))).toBe('expected a policyKey, found 7')
  })

  it.each([null, true, 7, 'text', [], [1], {}, { turn: 1, step: 1 }])('[I11] %j is answered in words', data => {
    for (const type of ['llm/retry', 'llm/retry-started']) {
      for (const before of [[], inStep, [...inStep, plan()]]) {
        expect(after(...before).try({ type, data })).toMatch(/^expected .+, found /)
      }
    }
  })
})

describe('the chains of a turn', () => {
  const folded = (...drafts: readonly Draft[]): RetryState =>
    log(...drafts).reduce(
      (state, event) => retryFold.evolve(state, { event, surfaceChange: { kind: 'none' } }),
      retryFold.initial(),
    )

  it('[I8, L15] go through JSON, and end with the turn', () => {
    const { chains } = folded(...inStep, plan(), started(), plan({}, 2), plan({ policyKey: 'q', retryId: 's' }))
    expect(chains).toEqual([
      { retryId: 'r', step: 1, provider: 'demo', policyKey: 'p', retry: 2, isWaiting: true },
      { retryId: 's', step: 1, provider: 'demo', policyKey: 'q', retry: 1, isWaiting: true },
    ])
    expect(retryFold.fromJSON(throughJson(retryFold.toJSON({ chains })), {} as FoldContext)).toEqual({ chains })
    expect(folded(...inStep, plan(), turnEnd(1))).toBe(folded())
    expect(folded(...inStep, plan(), turnStart(2))).toBe(folded())
  })

  it('[I11] stay as they are at any payload that is none', () => {
    const before = folded(...inStep, plan())
    const type = fc.constantFrom('llm/retry', 'llm/retry-started')
    fc.assert(
      fc.property(type, fc.jsonValue(), (each, data) => {
        const [event] = log({ type: each, data })
        if (event === undefined) return
        expect(retryFold.evolve(before, { event, surfaceChange: { kind: 'none' } })).toBe(before)
      }),
    )
  })
})
