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
  ...Array.from({ length: 8 }, () => ({ kind: 'stop' as const })),
  { kind: 'tool-calls' },
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

/** What can be done: how likely it is in the situation – not at all when it means nothing there – and how it is done. */
type Deed = readonly [likely: (play: Play) => number, done: (play: Play, at: number) => unknown]

const isIdle = ({ scene: { agent } }: Play) => agent.running === null && agent.status.kind === 'idle'
const isPending = ({ scene: { agent } }: Play) => agent.inbox.nextStep.length + agent.inbox.nextTurn.length > 0
const isAnswering = ({ puppet }: Play) => puppet.answer !== null
const given =
  (isSo: (play: Play) => boolean, then: number, otherwise = 0) =>
  (play: Play): number =>
    isSo(play) ? then : otherwise

const deeds: Readonly<Record<string, Deed>> = {
  send: [given(isIdle, 30, 4), ({ scene }) => tried(() => scene.send())],
  steer: [given(isIdle, 1, 4), ({ scene }) => tried(() => scene.send('steer'))],
  inject: [() => 2, ({ scene }) => tried(() => scene.inject())],
  edit: [
    given(isPending, 3),
    ({ scene }, at) => tried(() => scene.agent.editQueued(pendingId(scene, at), { text: scene.words('other') })),
  ],
  remove: [given(isPending, 3), ({ scene }, at) => tried(() => scene.remove(pendingId(scene, at)))],
  clear: [given(isPending, 1), ({ scene }) => tried(() => scene.clear())],
  cancel: [given(isIdle, 1, 3), ({ scene }, at) => scene.cancel(pick(causes, at))],
  resume: [given(isIdle, 6, 1), ({ scene }) => tried(() => scene.agent.resume())],
  maintain: [given(isIdle, 3), ({ scene }) => tried(() => scene.maintain())],
  answer: [
    given(({ scene }) => scene.agent.status.kind === 'approval', 15, 1),
    ({ scene }, at) => {
      const { status } = scene.agent
      const callId = status.kind === 'approval' ? status.callId : `call-${at}`
      scene.agent.approve(callId, at % 3 === 0 ? 'rejected' : 'allowed-once')
    },
  ],
  release: [
    given(({ scene }) => scene.waiting.size > 0, 12),
    ({ scene, results: chosen }, at) => {
      const name = pick([...scene.waiting], at)
      if (name.startsWith('body ')) chosen.set(name.slice('body '.length), pick(results, at))
      scene.letGo(name)
    },
  ],
  say: [
    given(isAnswering, 6),
    ({ puppet }, at) =>
      puppet.answer?.say(at % 4 === 0 ? 'reasoning' : 'text', pick([' \n', 'Hel', 'lo', 'a\ud83c', '\udf0d'], at)),
  ],
  call: [given(isAnswering, 3), (play, at) => callOf(play, at, pick(['{}', '{"a":1}', '', 'no json'], at))],
  /** An answer that asks for some calls, whole. */
  calls: [
    given(isAnswering, 14),
    (play, at) => {
      for (let count = 0; count <= at % 4; count += 1) callOf(play, at + count * 6, '{}')
      play.puppet.answer?.close()
      play.puppet.end({ kind: 'tool-calls' })
    },
  ],
  usage: [
    given(isAnswering, 1),
    (play, at) => {
      if (play.puppet.answer?.usage(at) === true) play.isDisorderly = true
    },
  ],
  finish: [
    given(isAnswering, 10),
    ({ puppet }, at) => {
      const reason = pick(finishes, at)
      if (reason.kind === 'stop' || reason.kind === 'tool-calls') puppet.answer?.close()
      puppet.end(reason)
    },
  ],
  breakOff: [given(isAnswering, 1), ({ puppet }) => puppet.answer?.end()],
  throw: [given(isAnswering, 1), ({ puppet }) => puppet.answer?.throw(RESET)],
  malform: [
    given(isAnswering, 1),
    ({ puppet }, at) =>
      puppet.answer?.end(pick([{ type: 'text-delta', index: 0, text: 7 }, { type: 'finish' }, [], 7], at) as never),
  ],
  disorder: [
    given(isAnswering, 1),
    play => {
      play.isDisorderly = true
      play.puppet.answer?.disorder()
    },
  ],
  network: [
    given(({ scene }) => scene.network.isOnline(), 1, 6),
    async ({ scene }) => {
      // Platforms tell it in a task of its own.
      await ticked()
      scene.network.set(!scene.network.isOnline())
    },
  ],
  clock: [
    given(({ scene }) => scene.clock.waits().length > 0, 12, 2),
    async ({ scene }, at) => {
      const ms = pick([100, 500, 2_000, 20_000], at)
      vi.advanceTimersByTime(ms)
      await scene.clock.turn(ms)
    },
  ],
  hold: [() => 1, ({ scene }) => scene.disk.hold(() => true)],
  letGo: [given(({ scene }) => scene.disk.isHolding, 10), ({ scene }) => scene.disk.hold(() => false)],
  fill: [() => 1, ({ scene }, at) => scene.fillDisk(pick(['before', 'after'], at))],
  empty: [given(({ scene }) => scene.disk.isFailing, 8), ({ scene }) => scene.disk.fail(null)],
  setup: [
    given(({ scene }) => scene.setupFailure === null, 1, 8),
    ({ scene }) => {
      scene.setupFailure = scene.setupFailure === null ? NO_KEY : null
    },
  ],
  /** What is done before it is closed is done to an agent that is being closed. */
  reopen: [
    given(({ closing }) => closing === null, 2),
    play => {
      play.closing = play.scene.reopen().finally(() => {
        play.closing = null
      })
    },
  ],
  crash: [
    () => 1,
    async (play, at) => {
      await play.closing
      await play.scene.crash({ lost: pick([0, 0, 0, 1, 2, 4], at) })
    },
  ],
}

function callOf({ puppet }: Play, at: number, text: string): void {
  // An id may be used again; it is logged as another one.
  const id = at % 5 === 0 ? 'again' : puppet.nextCallId()
  puppet.answer?.call(id, pick(tools, at), text, at % 6 !== 5)
}

/** One of what can be done now; `dice` decides which. */
function deedFor(play: Play, dice: number): string {
  const likely = Object.entries(deeds).map(([name, [weight]]) => [name, weight(play)] as const)
  let left = dice % likely.reduce((sum, [, weight]) => sum + weight, 0)
  return likely.find(([, weight]) => (left -= weight) < 0)?.[0] as string
}

type Action = { readonly dice: number; readonly at: number; readonly then: number | 'rest' }

const action: fc.Arbitrary<Action> = fc.record({
  dice: fc.nat(9_999),
  at: fc.nat(59),
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
        fc.asyncProperty(world, fc.array(action, { maxLength: 50, size: 'max' }), async (how, script) => {
          const play = await Play.begin(how)
          const done: string[] = []
          for (const { dice, at, then } of script) {
            const name = deedFor(play, dice)
            done.push(`${name} ${at}, ${then}`)
            await deeds[name]?.[1](play, at)
            await waited(then)
            expect(momentProblems(play.scene), done.join('; ')).toEqual([])
          }
          await play.closing
          play.puppet.isAutomatic = true
          play.puppet.finish()
          expect(await finalProblems(play.scene), done.join('; ')).toEqual([])
          expect(unexpectedEnds(play), done.join('; ')).toEqual([])
          expect(play.scene.errors.filter(error => error !== NO_KEY)).toEqual([])
        }),
        { numRuns: 60 * FUZZ, ...(FUZZ === 1 ? { seed: 1 } : {}) },
      )
    },
    60_000 * FUZZ,
  )
})
