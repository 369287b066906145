/**
 * Whatever people, models, tools, disks and networks do, in whatever order, and wherever it is cut off: the session is
 * valid at every moment, nothing that was promised is lost, nothing runs twice, and the next prompt is answered.
 */
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { CancelCause, FinishReason, TurnEndReason } from '../core/events.ts'
import { allInvariants } from '../core/invariants/all.ts'
import { ticked } from '../testing/agent-kit.ts'
import { finalProblems, momentProblems } from '../testing/agent-oracle.ts'
import { Scene, type SceneOptions } from '../testing/agent-scene.ts'
import { PuppetModel } from '../testing/puppet-model.ts'
import type { AgentError } from './errors.ts'
import type { AgentHooks } from './hooks.ts'
import type { ToolOutput } from './tool.ts'

const FUZZ = Number(import.meta.env['PALIMPSEST_FUZZ'] ?? 1)

/** A world, the puppets in it, and what the worst of it may come to. */
class Play {
  readonly puppet = new PuppetModel({ usesNetwork: true })
  readonly results = new Map<string, ToolOutput | Error>()
  /** The model said what no model may: then its answer is refused, and its turn fails. */
  isDisorderly = false
  /** While the session is closed and opened again. */
  closing: Promise<boolean> | null = null
  scene!: Scene

  static async begin({ hooked, ...options }: World): Promise<Play> {
    const play = new Play()
    play.scene = await Scene.open({
      ...options,
      holds: 'all',
      liveInvariants: allInvariants,
      model: () => play.puppet.model,
      hooks: scene => hooks(scene, hooked),
      result: callId => {
        const result = play.results.get(callId)
        if (result instanceof Error) throw result
        return result
      },
    })
    return play
  }
}

type World = Pick<SceneOptions, 'retry' | 'resume' | 'maxSteps'> & { readonly hooked: readonly (keyof AgentHooks)[] }

const hooks = (scene: Scene, hooked: World['hooked']): readonly AgentHooks[] => {
  const held = (name: string) => () => scene.pause(name).then(() => undefined)
  return hooked.map(name => ({ [name]: held(name) }))
}

const world: fc.Arbitrary<World> = fc.record({
  resume: fc.constantFrom('ask' as const, 'auto' as const, 'never' as const),
  retry: fc.constantFrom({ maxRetries: 0 }, { maxRetries: 2 }, { mode: 'always' as const }),
  maxSteps: fc.constantFrom(3, 50),
  hooked: fc.oneof(
    { weight: 3, arbitrary: fc.constant([]) },
    { weight: 1, arbitrary: fc.subarray<keyof AgentHooks>(['preStep', 'preExecute', 'requestError', 'turnStopping']) },
  ),
})

// ── What can be done ────────────────────────────────────────────────────────────────────────────────────────────────

const NO_KEY = new Error('no key')
const RESET = new Error('connection reset')
const FAILED = new Error('the body failed')

/** Refusals that are in order; then nothing was logged. */
function tried(work: () => unknown): void {
  try {
    work()
  } catch (error) {
    if (error !== NO_KEY) expect(['busy', 'closed']).toContain((error as AgentError).code)
  }
}

const pick = <Value>(values: readonly Value[], at: number): Value => values[at % values.length] as Value
const tools = ['pay', 'look', 'look', 'read', 'mail', 'post', 'nobody'] as const
const causes: readonly CancelCause[] = [{ kind: 'user' }, { kind: 'parent' }, { kind: 'hook', reason: 'budget' }]
const finishes: readonly FinishReason[] = [
  ...[{ kind: 'stop' as const }, { kind: 'stop' as const }, { kind: 'tool-calls' as const }],
  { kind: 'max-tokens' },
  ...['SERVER', 'TRANSPORT', 'AUTH'].map(code => ({ kind: 'error' as const, failure: { code, message: 'no' } })),
  { kind: 'aborted', failure: { code: 'SERVER', message: 'no' } },
]
const results: readonly (ToolOutput | Error)[] = [
  ...['done', FAILED, null, { a: 1 }],
  { content: [{ type: 'text', text: 'done' }], concludesTurn: true },
  { content: [], context: 'And it rains.' },
]

/** The message `at` among those that wait; one nobody knows when none does. */
const pendingId = ({ agent: { inbox } }: Scene, at: number): string => {
  const ids = [...inbox.nextStep, ...inbox.nextTurn].map(({ id }) => id as string)
  return ids.length === 0 ? 'nobody' : pick(ids, at)
}

const actions = {
  send: ({ scene }: Play) => tried(() => scene.send()),
  steer: ({ scene }: Play) => tried(() => scene.send('steer')),
  inject: ({ scene }: Play) => tried(() => scene.inject()),
  edit: ({ scene }: Play, at: number) =>
    tried(() => scene.agent.editQueued(pendingId(scene, at), { text: scene.words('other') })),
  remove: ({ scene }: Play, at: number) => tried(() => scene.remove(pendingId(scene, at))),
  clear: ({ scene }: Play) => tried(() => scene.clear()),
  cancel: ({ scene }: Play, at: number) => scene.cancel(pick(causes, at)),
  resume: ({ scene }: Play) => tried(() => scene.agent.resume()),
  maintain: ({ scene }: Play) => tried(() => scene.maintain()),
  answer({ scene }: Play, at: number) {
    const { status } = scene.agent
    const callId = status.kind === 'approval' ? status.callId : `call-${at}`
    scene.agent.approve(callId, at % 3 === 0 ? 'rejected' : 'allowed-once')
  },
  release({ scene, results: chosen }: Play, at: number) {
    const waiting = [...scene.waiting]
    if (waiting.length === 0) return
    const name = pick(waiting, at)
    if (name.startsWith('body ')) chosen.set(name.slice('body '.length), pick(results, at))
    scene.letGo(name)
  },
  say({ puppet }: Play, at: number) {
    puppet.answer?.say(at % 4 === 0 ? 'reasoning' : 'text', pick([' \n', 'Hel', 'lo', 'a\ud83c', '\udf0d'], at))
  },
  call({ puppet }: Play, at: number) {
    // An id may be used again; it is logged as another one.
    const id = at % 5 === 0 ? 'again' : puppet.nextCallId()
    puppet.answer?.call(id, pick(tools, at), pick(['{}', '{"a":1}', '', 'no json'], at), at % 6 !== 5)
  },
  usage: ({ puppet }: Play, at: number) =>
    puppet.answer?.push({ type: 'usage', usage: { inputTokens: at, outputTokens: 1 } }),
  finish({ puppet }: Play, at: number) {
    const reason = pick(finishes, at)
    if (reason.kind === 'stop' || reason.kind === 'tool-calls') puppet.answer?.close()
    puppet.end(reason)
  },
  breakOff: ({ puppet }: Play) => puppet.answer?.end(),
  throw: ({ puppet }: Play) => puppet.answer?.throw(RESET),
  malform: ({ puppet }: Play, at: number) =>
    puppet.answer?.end(pick([{ type: 'text-delta', index: 0, text: 7 }, { type: 'finish' }, [], 7], at) as never),
  disorder(play: Play) {
    if (play.puppet.answer !== null) play.isDisorderly = true
    play.puppet.answer?.disorder()
  },
  network: ({ scene }: Play, at: number) => scene.network.set(at % 2 === 0),
  async clock({ scene }: Play, at: number) {
    const ms = pick([100, 500, 2_000, 20_000], at)
    vi.advanceTimersByTime(ms)
    await scene.clock.turn(ms)
  },
  hold: ({ scene }: Play, at: number) => scene.disk.hold(() => at % 2 === 0),
  fill({ scene }: Play, at: number) {
    if (at % 2 === 0) scene.disk.fail(null)
    else scene.fillDisk(pick(['before', 'after'] as const, (at - 1) / 2))
  },
  setup({ scene }: Play, at: number) {
    scene.setupFailure = at % 2 === 0 ? null : NO_KEY
  },
  /** What is done before it is closed is done to an agent that is being closed. */
  reopen(play: Play) {
    play.closing ??= play.scene.reopen().finally(() => {
      play.closing = null
    })
  },
  async crash(play: Play, at: number) {
    await play.closing
    await play.scene.crash({ lost: pick([0, 0, 0, 1, 2, 4], at) })
  },
} satisfies Record<string, (play: Play, at: number) => void | Promise<void>>

type Action = { readonly what: keyof typeof actions; readonly at: number; readonly then: number | 'rest' }

const weights: Partial<Record<Action['what'], number>> = {
  ...{ send: 6, steer: 4, cancel: 3, answer: 5, release: 8, say: 6, call: 8, finish: 10, clock: 4, network: 2 },
  ...{ hold: 2, fill: 2, setup: 1, reopen: 2, crash: 2, clear: 1, maintain: 1, disorder: 1, malform: 1 },
}
const action: fc.Arbitrary<Action> = fc.record({
  what: fc.oneof(
    ...(Object.keys(actions) as Action['what'][]).map(what => ({
      weight: weights[what] ?? 2,
      arbitrary: fc.constant(what),
    })),
  ),
  at: fc.nat(60),
  // Mostly what follows from it is waited for, sometimes the next one comes in the middle of that.
  then: fc.oneof({ weight: 3, arbitrary: fc.constant('rest' as const) }, { weight: 2, arbitrary: fc.nat(25) }),
})

async function waited(then: Action['then']): Promise<void> {
  if (then === 'rest') return ticked()
  for (let count = 0; count < then; count += 1) await Promise.resolve()
}

/** Failures nobody has asked for. */
function unexpectedEnds({ scene, isDisorderly }: Play): readonly TurnEndReason[] {
  const expected = ['SERVER', 'TRANSPORT', 'AUTH', 'STREAM', 'NOT_JSON', 'QUOTA_EXCEEDED', 'STEP_LIMIT']
  const words = [NO_KEY, RESET].map(({ message }) => message)
  return scene.events.flatMap(event => {
    if (event.type !== 'turn/end' || event.data.reason.kind !== 'error') return []
    const { code, message } = event.data.reason.error
    const isExpected =
      expected.includes(code) || (code === 'UNKNOWN' ? words.includes(message) : code === 'INVARIANT' && isDisorderly)
    return isExpected ? [] : [event.data.reason]
  })
}

describe('any interleaving', () => {
  // What is journaled in between depends on no clock but the one that is turned.
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
  afterEach(() => void vi.useRealTimers())

  it(
    '[A2, A5, A7, A8, A11, A12, A13, A14, A15, A19, A21, A22, A23, A24, A25, I1, O2, W7] leaves a session that is valid and goes on',
    async () => {
      await fc.assert(
        fc.asyncProperty(world, fc.array(action, { minLength: 1, maxLength: 40 }), async (how, script) => {
          const play = await Play.begin(how)
          for (const { what, at, then } of script) {
            await actions[what](play, at)
            await waited(then)
            expect(momentProblems(play.scene)).toEqual([])
          }
          await play.closing
          play.puppet.isAutomatic = true
          play.puppet.finish()
          expect(await finalProblems(play.scene)).toEqual([])
          expect(unexpectedEnds(play)).toEqual([])
          expect(play.scene.errors.filter(error => error !== NO_KEY)).toEqual([])
        }),
        { numRuns: 60 * FUZZ, ...(FUZZ === 1 ? { seed: 1 } : {}) },
      )
    },
    60_000 * FUZZ,
  )
})
