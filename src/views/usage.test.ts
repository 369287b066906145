import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Draft, headed, log, said, throughJson } from '../core/builders.ts'
import type { Usage } from '../core/events.ts'
import type { FoldContext } from '../core/fold.ts'
import { evolveUsage, type ModelUsage, usageFold, type UsageState } from './usage.ts'
import { answer, attempted, eventsOf, streamed, talk } from './view-kit.ts'

const usageOf = (...drafts: readonly Draft[]): UsageState => log(...drafts).reduce(evolveUsage, usageFold.initial())
const context = (more: object = {}): Draft => ({
  type: 'request/context',
  data: { provider: 'p', model: 'm', ...more },
})
const reported = (usage: unknown): object => ({ type: 'chunk', time: 1, chunk: { type: 'usage', usage } })
const by = (provider: string, model: string, usage?: unknown): Draft => {
  const { data, ...draft } = answer('x', usage === undefined ? {} : { usage }) as Draft & { readonly data: object }
  const { message } = data as { readonly message: object }
  return { ...draft, data: { ...data, message: { ...message, source: { kind: 'model', provider, model } } } }
}
const condensed = (provider: unknown, model: unknown, usage: unknown): Draft => ({
  type: 'compaction/summary',
  data: { compactionId: 'c', provider, model, usage },
})
const nowhere: FoldContext = { nodes: [], projected: new Map(), eventAt: () => undefined }
const modelOf = ({ provider, model }: ModelUsage): string => JSON.stringify([provider, model])
const some = (inputTokens: number, more: Partial<Usage> = {}): Usage => ({ inputTokens, outputTokens: 1, ...more })

describe('usage', () => {
  it('[V8] is nothing at first, and the same object when an event is not about it', () => {
    const nothing = {
      provider: null,
      model: null,
      contextWindow: null,
      calls: 0,
      total: { inputTokens: 0, outputTokens: 0 },
      byModel: [],
      last: null,
    }
    expect(usageOf()).toEqual(nothing)
    expect(usageOf(said('x'))).toBe(usageFold.initial())
  })

  it('[V8] sums what calls reported and keeps the last', () => {
    const state = usageOf(
      answer('a', { usage: some(10, { cacheReadTokens: 5 }) }),
      answer('b', { usage: some(20, { reasoningTokens: 2 }) }),
      answer('c'),
    )
    expect(state).toMatchObject({
      calls: 3,
      total: { inputTokens: 30, outputTokens: 2, cacheReadTokens: 5, reasoningTokens: 2 },
      last: some(20, { reasoningTokens: 2 }),
    })
    expect(state.total).not.toHaveProperty('totalTokens')
  })

  it('[V8] counts failed calls by what their stream reported last', () => {
    const stream = [reported(some(1)), streamed('half'), reported(some(7)), streamed('more')]
    expect(usageOf(attempted(stream), attempted([]))).toMatchObject({ calls: 2, total: some(7), last: some(7) })
    expect(usageOf(answer('a', { stream })).last).toEqual(some(7))
    expect(usageOf(answer('a', { stream, usage: some(9) })).last).toEqual(some(9))
  })

  it('[V8] knows the window of the latest request', () => {
    expect(usageOf(context({ contextWindow: 1000 }))).toMatchObject({ provider: 'p', model: 'm', contextWindow: 1000 })
    expect(usageOf(context({ contextWindow: 1000 }), context({ model: 'n' }))).toMatchObject({
      model: 'n',
      contextWindow: null,
    })
  })

  it('[V8] is told apart by model, in the order they were first called', () => {
    const state = usageOf(
      answer('a', { usage: some(10) }),
      by('p', 'big', some(1)),
      answer('b', { usage: some(20, { cacheWriteTokens: 3 }) }),
      by('q', 'big', some(2)),
      by('p', 'big'),
    )
    expect(state.byModel).toEqual([
      {
        ...{ provider: 'demo', model: 'demo-chat', calls: 2 },
        total: { inputTokens: 30, outputTokens: 2, cacheWriteTokens: 3 },
      },
      { provider: 'p', model: 'big', calls: 2, total: some(1) },
      { provider: 'q', model: 'big', calls: 1, total: some(2) },
    ])
    expect(state).toMatchObject({ calls: 5, last: some(2) })
  })

  it('[V8] a failed call is of the model the latest request was for', () => {
    const fails = attempted([reported(some(1))])
    const names = (...drafts: readonly Draft[]) =>
      usageOf(...drafts).byModel.map(({ provider, model, calls }) => `${provider}/${model} ${calls}`)
    expect(names(context(), fails, headed(), fails, fails)).toEqual(['p/m 1', 'demo/demo-chat 2'])
    expect(names(headed(), context(), fails)).toEqual(['p/m 1'])
    expect(names(fails, context(), fails)).toEqual(['/ 1', 'p/m 1'])
  })

  it('[V8] the window is not known any more once a request is for another model', () => {
    const known = context({ provider: 'demo', model: 'demo-chat', contextWindow: 1000 })
    const state = usageOf(known)
    const [header] = log(headed('series'))
    expect(evolveUsage(state, header as never)).toBe(state)
    expect(usageOf(context({ contextWindow: 1000 }), headed())).toMatchObject({
      provider: 'demo',
      model: 'demo-chat',
      contextWindow: null,
    })
  })

  it('[V8] what a compaction cost is spent, and says nothing about the window', () => {
    const before = usageOf(answer('a', { usage: some(100) }))
    const after = usageOf(answer('a', { usage: some(100) }), condensed('p', 'small', some(90, { reasoningTokens: 7 })))
    expect(after).toMatchObject({
      calls: 2,
      total: { inputTokens: 190, outputTokens: 2, reasoningTokens: 7 },
      last: some(100),
    })
    expect(after.byModel).toEqual([
      ...before.byModel,
      { provider: 'p', model: 'small', calls: 1, total: some(90, { reasoningTokens: 7 }) },
    ])
  })

  it.each([
    condensed('p', 'm', undefined),
    condensed('p', 'm', 'x'),
    condensed('', 'm', some(1)),
    condensed('p', null, some(1)),
    { type: 'compaction/summary', data: null },
  ])('[V14] a compaction without counts of a model is not counted: $data', draft => {
    const state = usageOf(answer('a', { usage: some(1) }))
    expect(evolveUsage(state, log(draft)[0] as never)).toBe(state)
  })

  it('[V14] names of any kind are only names', () => {
    const odd = ['__proto__', 'constructor', 'toString']
    const state = usageOf(
      ...odd.map(name => by(name, name, some(1))),
      ...odd.map(name => condensed(name, name, some(1))),
    )
    expect(state.byModel.map(({ provider, model, calls }) => [provider, model, calls])).toEqual(
      odd.map(name => [name, name, 2]),
    )
    expect(Object.getPrototypeOf(throughJson(state.byModel[0]))).toBe(Object.prototype)
  })

  it('[V14] counts that are none are left out, and take nothing away', () => {
    const state = usageOf(
      answer('a', { usage: { ...some(5), cacheReadTokens: 'x', reasoningTokens: -3, cacheWriteTokens: 2, more: {} } }),
      answer('b', { usage: some(-1) }),
      answer('c', { usage: some(1e300) }),
      context({ contextWindow: 'wide' }),
    )
    expect(state).toMatchObject({ calls: 3, total: { ...some(5), cacheWriteTokens: 2 }, contextWindow: null })
    expect(state.last).toEqual({ ...some(5), cacheWriteTokens: 2 })
  })

  it('[V14] counts of any shape are no fault', () => {
    const odd = [null, 'x', {}, { inputTokens: 'x', outputTokens: 1 }, { inputTokens: 1, outputTokens: null }]
    for (const usage of odd) {
      const state = usageOf(answer('a', { usage }), attempted([null, reported(usage), { type: 'chunk' }]))
      expect(state).toMatchObject({ calls: 2, total: { inputTokens: 0, outputTokens: 0 }, last: null })
    }
  })

  it('[V8] goes on from JSON as from itself', () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 1 << 16 }), { maxLength: 60, size: 'max' }), fc.nat(), (choices, at) => {
        const { entries } = talk(choices)
        const cut = at % (entries.length + 1)
        const half = entries.slice(0, cut).reduce((state, entry) => usageFold.evolve(state, entry), usageFold.initial())
        const back = usageFold.fromJSON(throughJson(usageFold.toJSON(half)), nowhere)
        const whole = eventsOf(entries).reduce(evolveUsage, usageFold.initial())
        expect(entries.slice(cut).reduce((state, entry) => usageFold.evolve(state, entry), back)).toEqual(whole)
      }),
    )
  })

  it('[V8] never gets less, whatever comes, and is the sum of what went to each model', () => {
    const any = fc.oneof(fc.jsonValue(), fc.double(), fc.nat(), fc.constant(undefined))
    const name = fc.constantFrom('p', 'q', '__proto__')
    const counts = fc.oneof(
      any,
      fc.record({ inputTokens: any, outputTokens: any }),
      fc.nat().map(n => some(n)),
    )
    const usage = fc.oneof(counts, fc.record({ inputTokens: fc.nat(), outputTokens: fc.nat(), cacheReadTokens: any }))
    const draft: fc.Arbitrary<Draft> = fc.oneof(
      fc.tuple(name, name, usage).map(([provider, model, spent]) => by(provider, model, spent)),
      fc.tuple(fc.oneof(name, any), name, usage).map(([provider, model, spent]) => condensed(provider, model, spent)),
      any.map(data => ({ type: 'compaction/summary', data })),
      fc.array(fc.oneof(any, usage.map(reported))).map(stream => attempted(stream)),
      fc.tuple(name, name, any).map(([provider, model, contextWindow]) => context({ provider, model, contextWindow })),
      fc.constantFrom(headed(), said('x')),
    )
    const amounts = ({ total }: Pick<UsageState, 'total'>) =>
      [total.inputTokens, total.outputTokens, total.totalTokens, total.cacheReadTokens].map((each = 0) => each)
    fc.assert(
      fc.property(fc.array(draft, { maxLength: 30 }), drafts => {
        let state = usageFold.initial()
        for (const event of log(...drafts)) {
          const next = evolveUsage(state, event)
          amounts(next).forEach((amount, index) =>
            expect(amount).toBeGreaterThanOrEqual(amounts(state)[index] as number),
          )
          expect(next.calls).toBeGreaterThanOrEqual(state.calls)
          expect(next.byModel.slice(0, state.byModel.length).map(modelOf)).toEqual(state.byModel.map(modelOf))
          if (next !== state) expect(usageFold.on).toContain(event.type)
          state = next
        }
        const models = state.byModel
        expect(models.reduce((sum, each) => sum + each.calls, 0)).toBe(state.calls)
        amounts(state).forEach((amount, index) => {
          const sum = models.reduce((before, each) => before + (amounts(each)[index] as number), 0)
          expect(sum / (amount || 1)).toBeCloseTo(amount === 0 ? 0 : 1)
        })
        expect(new Set(models.map(modelOf)).size).toBe(models.length)
        expect(usageFold.fromJSON(throughJson(usageFold.toJSON(state)), nowhere)).toEqual(state)
      }),
    )
  })

  it.each([
    null,
    'x',
    {},
    { provider: 'p', model: 'm', contextWindow: null, calls: 0, total: some(0), last: null },
    { ...usageFold.initial(), total: { inputTokens: 1 } },
    { ...usageFold.initial(), total: some(1, { cacheReadTokens: 'x' as never }) },
    { ...usageFold.initial(), byModel: [{ provider: 'p', model: 'm', calls: 1 }] },
    { ...usageFold.initial(), last: some(-1) },
    { ...usageFold.initial(), contextWindow: 'wide' },
  ])('[K3] %j is no state to go on from', json => {
    expect(() => usageFold.fromJSON(json as never, nowhere)).toThrow(TypeError)
  })
})
