/** Trying a failed model call again: when, how long after, and how often. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { EventOf, LlmFailure, SessionEvent } from '../core/events.ts'
import { retryInvariant, type RetryState } from '../core/invariants/retry-invariant.ts'
import { validateLog } from '../format/validate.ts'
import { agentKit, countedIds, settled, tool, turnedClock, typesOf } from '../testing/agent-kit.ts'
import { answerChunks, type ScriptedStep, scriptedModel } from '../testing/scripted-model.ts'
import { DEFAULT_RETRY, planRetry, type RetryPolicy } from './retry.ts'

const failure = (code = 'SERVER', more: Partial<LlmFailure> = {}): LlmFailure => ({ code, message: 'no', ...more })
const place = { turn: 1, step: 1, provider: 'p' }
const chain = (retry: number, more: object = {}): RetryState => ({
  chains: [{ retryId: 'r', step: 1, provider: 'p', policyKey: 'default', retry, isWaiting: false, ...more }],
})
const none: RetryState = { chains: [] }
const plan = (
  state: RetryState,
  { policy = {}, random = 0.5, ...more }: Partial<LlmFailure> & { policy?: Partial<RetryPolicy>; random?: number } = {},
) =>
  planRetry(
    { ...place, failure: failure(more.code, more) },
    { ...DEFAULT_RETRY, ...policy },
    state,
    { newId: () => 'fresh', random: () => random }, // biome-ignore format: one line
  )

describe('the policy', () => {
  it('A21 doubles the wait up to its longest, and ends after five', () => {
    const delays = [0, 1, 2, 3, 4].map(done => plan(done === 0 ? none : chain(done))?.delayMs)
    expect(delays).toEqual([500, 1_000, 2_000, 4_000, 8_000])
    expect(plan(chain(5))).toBeNull()
    expect(plan(chain(5), { policy: { mode: 'always' } })).toMatchObject({ retry: 6, delayMs: 10_000, mode: 'always' })
  })

  it('A21 jitter moves a wait by a tenth at most, and never beyond the longest', () => {
    expect([0, 0.25, 1].map(random => plan(none, { random })?.delayMs)).toEqual([450, 475, 550])
    expect(plan(chain(9), { random: 1, policy: { mode: 'always' } })?.delayMs).toBe(10_000)
  })

  it.each([
    ['is kept', 3_000, {}, 3_000],
    ['of nothing is kept', 0, {}, 0],
    ['that is too long ends the retries', 10_001, {}, null],
    ['that is too long is not kept in mode always', 10_001, { mode: 'always' as const }, 500],
  ])('A21 a wait the provider asks for %s', (_what, providerRetryAfterMs, policy, delayMs) => {
    expect(plan(none, { code: 'RATE_LIMIT', providerRetryAfterMs, policy })?.delayMs ?? null).toBe(delayMs)
  })

  it('A21 only what may pass is tried again', () => {
    const codes = ['EMPTY_RESPONSE', 'RATE_LIMIT', 'OVERLOADED', 'SERVER', 'TIMEOUT', 'TRANSPORT']
    for (const code of codes) expect(plan(none, { code })).not.toBeNull()
    const final = ['AUTH', 'INVALID_REQUEST', 'CONTENT_FILTER', 'CONTEXT_WINDOW_EXCEEDED', 'INSUFFICIENT_QUOTA']
    for (const code of [...final, 'MODEL_NOT_FOUND', 'UNKNOWN', 'STREAM']) expect(plan(none, { code })).toBeNull()
  })

  it('A21 counts from the log: of this step, provider and policy only', () => {
    expect(plan(chain(2))).toMatchObject({ retryId: 'r', retry: 3 })
    for (const other of [{ step: 2 }, { provider: 'q' }, { policyKey: 'k' }]) {
      expect(plan(chain(2, other))).toMatchObject({ retryId: 'fresh', retry: 1 })
    }
  })

  it('A21 every wait is within its bounds', () => {
    const inputs = { retry: fc.nat(60), random: fc.double({ min: 0, max: 1, noNaN: true }), jitter: fc.double({ min: 0, max: 1, noNaN: true }) } // biome-ignore format: one line
    fc.assert(
      fc.property(fc.record(inputs), ({ retry, random, jitter }) => {
        const delay = plan(chain(retry), { random, policy: { mode: 'always', jitter } })?.delayMs as number
        expect(Number.isInteger(delay) && delay >= 0 && delay <= 10_000).toBe(true)
      }),
    )
  })
})

const ofType = <Type extends SessionEvent['type']>(events: readonly SessionEvent[], type: Type) =>
  events.filter((event): event is EventOf<Type & 'turn/end'> => event.type === type)

async function retrying(steps: readonly ScriptedStep[], retry: Partial<RetryPolicy> = {}) {
  const clock = turnedClock()
  const model = scriptedModel(steps)
  const runs: string[] = []
  const setup = { model, retry, tools: [tool('read', () => void runs.push('read'))], system: 'Be brief.' }
  const kit = await agentKit(setup, { clock, random: () => 0.5, newId: countedIds() })
  const turn = kit.agent.send({ text: 'hi' })
  await settled()
  return { kit, clock, model, runs, turn }
}

describe('in a turn', () => {
  const half: ScriptedStep = { fail: failure('SERVER'), after: [{ type: 'text-delta', index: 0, text: 'half' }] }

  it('[A21, A7] a failed call is tried again in its step, and only the answer reaches the model', async () => {
    const { kit, clock, model, turn } = await retrying([half, half, { text: 'fine' }, { text: 'later' }])
    expect(kit.agent.status).toEqual({ kind: 'retrying', turn: 1, step: 1, retry: 1, maxRetries: 5, until: 1_500, code: 'SERVER' }) // biome-ignore format: one line
    expect(clock.waits()).toEqual([500])
    await clock.turn(499)
    expect(model.requests).toHaveLength(1)
    await clock.turn(1)
    expect(model.requests).toHaveLength(2)
    await clock.turn(1_000)
    expect(await turn.done).toEqual({ kind: 'completed' })
    const events = await kit.stored()
    expect(typesOf(events).slice(3)).toEqual([
      ...['user/message', 'request/header', 'request/context'],
      ...['assistant/attempt', 'llm/retry', 'llm/retry-started'],
      ...['assistant/attempt', 'llm/retry', 'llm/retry-started'],
      ...['assistant/message', 'step/end', 'turn/end'],
    ])
    const plans = events.filter(event => event.type === 'llm/retry').map(event => event.data)
    expect(plans.map(({ retryId, retry, delayMs }) => [retryId, retry, delayMs])).toEqual([
      [plans[0]?.retryId, 1, 500],
      [plans[0]?.retryId, 2, 1_000],
    ])
    expect(validateLog({ header: kit.live.session.header, events })).toEqual([])
    await kit.agent.send({ text: 'more' }).done
    expect(model.requests.map(({ messages }) => messages.map(({ role }) => role).join(' '))).toEqual([
      ...Array.from({ length: 3 }, () => 'system user'),
      'system user assistant user',
    ])
    expect(JSON.stringify(model.requests.at(-1)?.messages)).not.toContain('half')
  })

  it('[A21] the last failure ends the turn', async () => {
    const { kit, clock, model, turn } = await retrying([half, half, half], { maxRetries: 2 })
    await clock.turn(60_000)
    expect(await turn.done).toEqual({ kind: 'error', error: failure('SERVER') })
    expect(model.requests).toHaveLength(3)
    expect(clock.waits()).toEqual([])
    expect(ofType(await kit.stored(), 'turn/end')).toHaveLength(1)
  })

  it('[A21] a stop while it waits ends the turn at once, and nothing more is logged of the retry', async () => {
    const { kit, clock, model, turn } = await retrying([half])
    kit.agent.cancel()
    expect(await turn.done).toEqual({ kind: 'aborted', reason: { kind: 'user' } })
    expect(clock.waits()).toEqual([])
    const types = typesOf(await kit.stored())
    expect(types.slice(types.indexOf('assistant/attempt'))).toEqual(['assistant/attempt', 'llm/retry', 'step/end', 'turn/end']) // biome-ignore format: one line
    expect(model.requests).toHaveLength(1)
    expect(kit.agent.status).toEqual({ kind: 'idle' })
  })

  it('[A21] counts anew in the next step', async () => {
    const call = { toolCalls: [{ id: 'c', name: 'read' }] }
    const { kit, clock, turn, runs } = await retrying([half, call, half, { text: 'done' }], { maxRetries: 1 })
    await clock.turn(5_000)
    expect(await turn.done).toEqual({ kind: 'completed' })
    expect(runs).toEqual(['read'])
    const plans = (await kit.stored()).filter(event => event.type === 'llm/retry').map(event => event.data)
    expect(plans.map(({ step, retry }) => [step, retry])).toEqual([[1, 1], [2, 1]]) // biome-ignore format: one line
  })

  it('[A21] no tool runs from an attempt that failed after it had asked for one', async () => {
    const asked = answerChunks({ toolCalls: [{ id: 'c', name: 'read' }] }).slice(0, -1)
    const { clock, turn, runs } = await retrying([{ fail: failure(), after: asked }, { text: 'done' }])
    await clock.turn(5_000)
    expect(await turn.done).toEqual({ kind: 'completed' })
    expect(runs).toEqual([])
  })

  it('[A21, I8] every log of retries keeps the rule of retries', async () => {
    const { kit, clock, turn } = await retrying([half, half, half, { text: 'x' }])
    await clock.turn(60_000)
    await turn.done
    kit.live.session.registerInvariant(retryInvariant)
  })
})
