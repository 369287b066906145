import { describe, expect, it } from 'vitest'
import { headed, log, newSession, said, stepStart, throughJson, turnStart } from './builders.ts'
import type { EpochHeader, EventData, SessionEvent } from './events.ts'
import {
  canonicalHeader,
  contextChanged,
  equalHeaders,
  equalTools,
  planHeaderEvent,
  requestFold,
} from './request-header.ts'

const config = { provider: 'demo', model: 'demo-chat' }
const tool = { name: 'read', inputSchema: { type: 'object' } }
const other = { name: 'write', inputSchema: { type: 'object' } }

describe('canonicalHeader', () => {
  it('[H1] drops an empty tool list and adapter defaults without a flag', () => {
    expect(canonicalHeader({ config, tools: [], adapterDefaults: {} })).toStrictEqual({ config })
  })

  it('[H1] keeps what says something', () => {
    const full: EpochHeader = { config: { ...config, stop: [] }, adapterDefaults: { maxTokens: true }, tools: [tool] }
    expect(canonicalHeader(full)).toStrictEqual(full)
    expect(canonicalHeader({ config, adapterDefaults: { reasoningEffort: true } })).toStrictEqual({
      config,
      adapterDefaults: { reasoningEffort: true },
    })
  })

  it('[H1] carries no retired system prompt along', () => {
    expect(Object.keys(canonicalHeader({ config, system: 'old' } as EpochHeader))).toEqual(['config'])
  })
})

describe('what a request has', () => {
  it('[H1, H2] is all that is logged and all that counts: other members of a config are left out', () => {
    const config = { provider: 'p', model: 'm', topP: 0.1 }
    expect(canonicalHeader({ config })).toEqual({ config: { provider: 'p', model: 'm' } })
    expect(canonicalHeader({ config: { ...config, stop: [], temperature: 0 } })).toEqual({
      config: { provider: 'p', model: 'm', stop: [], temperature: 0 },
    })
    expect(equalHeaders({ config }, { config: { ...config, topP: 0.9 }, note: 1 } as EpochHeader)).toBe(true)
  })

  it('[H2] tools are the same when their JSON is, in order', () => {
    const [a, b] = [
      { name: 'a', inputSchema: {} },
      { name: 'b', inputSchema: {} },
    ]
    expect(equalTools([a, b], [a, b])).toBe(true)
    expect(equalTools([a, b], [b, a])).toBe(false)
    expect(equalTools(undefined, [])).toBe(true)
    expect(equalTools([a], [{ ...a, description: undefined } as never])).toBe(true)
  })
})

describe('equalHeaders', () => {
  const full: EpochHeader = {
    config: { ...config, reasoningEffort: 'high', temperature: 0.5, maxTokens: 100, stop: ['a', 'b'] },
    adapterDefaults: { reasoningEffort: true },
    tools: [tool, other],
  }

  it('[H2] is true for the same request, whatever the order of the config keys', () => {
    expect(equalHeaders(full, structuredClone(full))).toBe(true)
    expect(
      equalHeaders(full, { ...full, config: Object.fromEntries(Object.entries(full.config).reverse()) as never }),
    ).toBe(true)
    expect(equalHeaders({ config }, { config: { model: 'demo-chat', provider: 'demo' } })).toBe(true)
  })

  it.each<[string, EpochHeader]>([
    ['the provider', { ...full, config: { ...full.config, provider: 'x' } }],
    ['the model', { ...full, config: { ...full.config, model: 'x' } }],
    ['the effort', { ...full, config: { ...full.config, reasoningEffort: 'low' } }],
    ['the temperature', { ...full, config: { ...full.config, temperature: 0 } }],
    ['the token limit', { ...full, config: { ...full.config, maxTokens: 101 } }],
    ['the order of stop', { ...full, config: { ...full.config, stop: ['b', 'a'] } }],
    ['the length of stop', { ...full, config: { ...full.config, stop: ['a'] } }],
    ['a stop joined', { ...full, config: { ...full.config, stop: ['a,b'] } }],
    ['a flag more', { ...full, adapterDefaults: { reasoningEffort: true, maxTokens: true } }],
    ['another flag', { ...full, adapterDefaults: { maxTokens: true } }],
    ['no flags', { config: full.config, tools: [tool, other] }],
    ['the order of tools', { ...full, tools: [other, tool] }],
    ['a tool less', { ...full, tools: [tool] }],
    ['a tool description', { ...full, tools: [{ ...tool, description: 'x' }, other] }],
    ['a tool schema', { ...full, tools: [{ ...tool, inputSchema: {} }, other] }],
  ])('[H2] sees a difference in %s', (_name, changed) => {
    expect(equalHeaders(full, changed)).toBe(false)
    expect(equalHeaders(changed, full)).toBe(false)
  })

  it.each(['reasoningEffort', 'temperature', 'maxTokens', 'stop'] as const)('[H2] sees that %s is absent', key => {
    const { [key]: _, ...rest } = full.config
    expect(equalHeaders(full, { ...full, config: rest })).toBe(false)
  })

  it('[H2] tells absent from empty stop, and 0 from absent', () => {
    expect(equalHeaders({ config }, { config: { ...config, stop: [] } })).toBe(false)
    expect(equalHeaders({ config }, { config: { ...config, temperature: 0 } })).toBe(false)
    expect(equalHeaders({ config }, { config: { ...config, reasoningEffort: 'null' } })).toBe(false)
  })
})

describe('planHeaderEvent', () => {
  const header = { config }
  const changed = { config: { ...config, model: 'other' } }
  const plan = (logged: EpochHeader | null, firstSinceOpen: boolean, startsSeries: boolean): unknown =>
    planHeaderEvent(header, { logged, firstSinceOpen, startsSeries })

  it('[H3] the first header of a log is initial, series or not', () => {
    for (const first of [true, false]) {
      for (const series of [true, false]) expect(plan(null, first, series)).toStrictEqual({ header, reason: 'initial' })
    }
  })

  it('[H3] the first header after opening is resume, changed or not', () => {
    expect(plan(header, true, false)).toStrictEqual({ header, reason: 'resume' })
    expect(plan(changed, true, true)).toStrictEqual({ header, reason: 'resume' })
  })

  it('[H3] another header is a change, which may start a series', () => {
    expect(plan(changed, false, false)).toStrictEqual({ header, reason: 'change' })
    expect(plan(changed, false, true)).toStrictEqual({ header, reason: 'change', startsSeries: true })
  })

  it('[H3] the same header is logged for a new series only', () => {
    expect(plan(header, false, true)).toStrictEqual({ header, reason: 'series' })
    expect(plan({ config: { model: 'demo-chat', provider: 'demo' } }, false, false)).toBeNull()
  })

  it('[H3, L9] every planned event may be appended', () => {
    const session = newSession(turnStart(1), stepStart(1, 1))
    for (const [logged, first, series] of [
      [null, false, false],
      [header, true, false],
      [changed, false, true],
      [header, false, true],
    ] as const) {
      const data = planHeaderEvent(header, { logged, firstSinceOpen: first, startsSeries: series })
      session.append('request/header', data as EventData['request/header'])
    }
    expect(session.fold(requestFold).header).toBe(session.eventAt(5))
  })
})

describe('context', () => {
  const context = { provider: 'demo', model: 'demo-chat', contextWindow: 8, systemPromptUpdate: 'in-history' } as const

  it('[H4] is due at first and when one of its four fields differs', () => {
    expect(contextChanged(context, null)).toBe(true)
    expect(contextChanged(context, { ...context })).toBe(false)
    const { systemPromptUpdate: _, ...plain } = context
    const { contextWindow: __, ...windowless } = context
    for (const logged of [
      { ...context, provider: 'x' },
      { ...context, model: 'x' },
      { ...context, contextWindow: 9 },
      plain,
      windowless,
    ]) {
      expect(contextChanged(context, logged)).toBe(true)
      expect(contextChanged(logged, context)).toBe(true)
    }
  })

  it('[H4] the fold keeps the latest header and the latest context apart, whole', () => {
    const events = log(headed(), { type: 'request/context', data: context }, said('x'), headed('change'), {
      type: 'request/context',
      data: { provider: 'p', model: 'm' },
    })
    const states = [requestFold.initial()]
    for (const event of events) {
      const state = states.at(-1) ?? requestFold.initial()
      states.push(requestFold.evolve(state, { event, surfaceChange: { kind: 'none' } }))
    }
    expect(states[0]).toEqual({ header: null, context: null })
    expect(states[2]).toEqual({ header: events[0], context })
    expect(states[3]).toBe(states[2])
    expect(states[5]).toEqual({ header: events[3], context: { provider: 'p', model: 'm' } })
    const json = throughJson(requestFold.toJSON(states[5] as never))
    const folded = requestFold.fromJSON(json, {
      nodes: [],
      projected: new Map(),
      eventAt: (): SessionEvent | undefined => undefined,
    })
    expect(folded).toEqual(states[5])
  })
})
