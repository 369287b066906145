/**
 * Every interruption in every phase of a turn: whatever happens wherever, the session is valid, nothing that was promised
 * is lost, and the next prompt is answered.
 */
import { describe, expect, it } from 'vitest'
import type { CancelCause, StreamChunk } from '../core/events.ts'
import { ticked } from '../testing/agent-kit.ts'
import { finalProblems, momentProblems } from '../testing/agent-oracle.ts'
import { Scene, type SceneOptions } from '../testing/agent-scene.ts'
import { answerChunks, type ScriptedItem, type ScriptedStep } from '../testing/scripted-model.ts'

// ── Phases ──────────────────────────────────────────────────────────────────────────────────────────────────────────

type Phase = SceneOptions & {
  readonly name: string
  /** Batches with one of these texts wait; any with ''. */
  readonly stuck?: string
  /** How it is reached, default: by a prompt. */
  readonly reach?: (scene: Scene) => void | Promise<void>
  /** What a stop now keeps of the answer, for people and the model. */
  readonly visible?: string
  /** What tells that it was reached: the status, the pauses that are held, the last event, how often the model was asked. */
  readonly at: {
    readonly status: string
    readonly waiting?: readonly string[]
    readonly last: string
    readonly asked?: number
    readonly isStuck?: true
  }
}

const text = (said: string, index = 0): StreamChunk => ({ type: 'text-delta', index, text: said })
const ended = (said: string, index = 0): StreamChunk => ({
  ...{ type: 'block-end', index },
  block: { type: 'text', text: said },
})
const stop: StreamChunk = { type: 'finish', reason: { kind: 'stop' } }
/** Whole calls, by the names of their tools: `c1`, `c2` … */
const calls = (...names: readonly string[]): ScriptedStep => ({
  toolCalls: names.map((name, index) => ({ id: `c${index + 1}`, name })),
})
/** One answer that pauses. */
const paused = (items: (pause: Promise<void>) => readonly ScriptedItem[]): Pick<Phase, 'steps' | 'holds'> => ({
  holds: ['answer'],
  steps: scene => [() => items(scene.pause('answer'))],
})
const failure = { code: 'SERVER', message: 'Out of order' }
const failing: ScriptedStep = { fail: failure, after: [text('half')] }
const callChunks = answerChunks({ toolCalls: [{ id: 'c1', name: 'pay', arguments: '{"a":1}' }] })

const phases: readonly Phase[] = [
  {
    name: 'before the first request is stored',
    stuck: '',
    at: { status: 'thinking', last: 'request/context', asked: 0, isStuck: true },
  },
  {
    name: 'a prompt waits for the network',
    reach: scene => {
      scene.network.set(false)
      scene.send()
    },
    at: { status: 'offline', last: 'agent/inbox/spliced', asked: 0 },
  },
  {
    name: 'a step waits for the network',
    steps: () => [calls('pay')],
    holds: ['body c1'],
    reach: async scene => {
      scene.send()
      await ticked()
      scene.network.set(false)
      scene.release('body c1')
    },
    at: { status: 'offline', last: 'step/start' },
  },
  {
    name: 'the request is sent and nothing has arrived',
    ...paused(pause => [pause, ...answerChunks({ text: 'Hello.' })]),
    at: { status: 'thinking', waiting: ['answer'], last: 'request/context' },
  },
  {
    name: 'reasoning is arriving',
    visible: 'Hm',
    ...paused(pause => [
      { type: 'reasoning-delta', index: 0, text: 'Hm' },
      pause,
      { type: 'block-end', index: 0, block: { type: 'reasoning', text: 'Hm.' } },
      text('Yes.', 1),
      ended('Yes.', 1),
      stop,
    ]),
    at: { status: 'answering', waiting: ['answer'], last: 'request/context' },
  },
  {
    name: 'only blank text has arrived',
    ...paused(pause => [text(' \n'), pause, text('Yes.'), ended(' \nYes.'), stop]),
    at: { status: 'answering', waiting: ['answer'], last: 'request/context' },
  },
  {
    name: 'visible text is arriving',
    visible: 'Hello',
    ...paused(pause => [text('Hel'), text('lo'), pause, ended('Hello.'), stop]),
    at: { status: 'answering', waiting: ['answer'], last: 'request/context' },
  },
  {
    name: 'inside the arguments of a call',
    ...paused(pause => [
      { type: 'block-start', index: 0, blockType: 'tool-call' },
      { type: 'tool-call-delta', index: 0, id: 'c1', name: 'pay', argumentsDelta: '{"a"' },
      pause,
      ...callChunks.slice(-2),
    ]),
    at: { status: 'answering', waiting: ['answer'], last: 'request/context' },
  },
  {
    name: 'inside the arguments of a call after text',
    visible: 'I pay.',
    ...paused(pause => [
      text('I pay.'),
      ended('I pay.'),
      { type: 'tool-call-delta', index: 1, id: 'c1', name: 'pay', argumentsDelta: '{"a"' },
      pause,
      { type: 'tool-call-delta', index: 1, id: 'c1', argumentsDelta: ':1}' },
      { ...(callChunks.at(-2) as StreamChunk & { type: 'block-end' }), index: 1 },
      ...callChunks.slice(-1),
    ]),
    at: { status: 'answering', waiting: ['answer'], last: 'request/context' },
  },
  {
    name: 'the text is whole and the finish is missing',
    visible: 'Hello.',
    ...paused(pause => [text('Hello.'), ended('Hello.'), pause, stop]),
    at: { status: 'answering', waiting: ['answer'], last: 'request/context' },
  },
  {
    name: 'a call is whole and the finish is missing',
    ...paused(pause => [...callChunks.slice(0, -1), pause, ...callChunks.slice(-1)]),
    at: { status: 'answering', waiting: ['answer'], last: 'request/context' },
  },
  {
    name: 'the answer is committed and not stored',
    steps: () => [{ text: 'Hello.' }],
    stuck: '"assistant/message"',
    at: { status: 'idle', last: 'turn/end', isStuck: true },
  },
  {
    name: 'a failed call is looked at by a hook',
    steps: () => [failing],
    holds: ['hook'],
    hooks: scene => [{ requestError: () => scene.pause('hook').then(() => undefined) }],
    at: { status: 'answering', waiting: ['hook'], last: 'assistant/attempt' },
  },
  {
    name: 'a retry is waited for',
    steps: () => [failing],
    retry: { maxRetries: 2 },
    at: { status: 'retrying', last: 'llm/retry' },
  },
  {
    name: 'a retry has started and is not stored',
    steps: () => [failing],
    retry: { maxRetries: 2 },
    stuck: '"llm/retry-started"',
    reach: async scene => {
      scene.send()
      await scene.clock.turn(500)
    },
    at: { status: 'thinking', last: 'llm/retry-started', isStuck: true },
  },
  {
    name: 'a retried answer is arriving',
    visible: 'Now',
    steps: scene => [failing, () => [text('Now'), scene.pause('answer'), ended('Now.'), stop]],
    holds: ['answer'],
    retry: { maxRetries: 2 },
    reach: async scene => {
      scene.send()
      await scene.clock.turn(500)
    },
    at: { status: 'answering', waiting: ['answer'], last: 'llm/retry-started', asked: 2 },
  },
  {
    name: 'a call is recorded and not stored',
    steps: () => [calls('pay', 'look')],
    stuck: '"tool/call"',
    at: { status: 'tool', last: 'tool/call', isStuck: true },
  },
  {
    name: 'a hook decides about a call',
    steps: () => [calls('pay')],
    holds: ['hook'],
    hooks: scene => [{ preExecute: () => scene.pause('hook').then(() => undefined) }],
    at: { status: 'tool', waiting: ['hook'], last: 'tool/call' },
  },
  {
    name: 'a person is asked',
    steps: () => [calls('mail')],
    at: { status: 'approval', last: 'approval/asked' },
  },
  {
    name: 'a person is asked about the second of three calls',
    steps: () => [calls('pay', 'mail', 'mail')],
    at: { status: 'approval', last: 'approval/asked' },
  },
  {
    name: 'a person is asked while another call runs',
    steps: () => [calls('look', 'post', 'pay')],
    holds: ['body c1'],
    at: { status: 'approval', waiting: ['body c1'], last: 'approval/asked' },
  },
  {
    name: 'a person is asked again, after the session was opened',
    steps: () => [calls('pay', 'mail', 'pay')],
    reach: async scene => {
      scene.send()
      await ticked()
      await scene.reopen()
    },
    at: { status: 'approval', last: 'session/end-seed' },
  },
  {
    name: 'a call is allowed and that is not stored',
    steps: () => [calls('mail')],
    stuck: '"approval/decided"',
    reach: async scene => {
      scene.send()
      await ticked()
      scene.agent.approve('c1', 'allowed-once')
    },
    at: { status: 'tool', last: 'approval/decided', isStuck: true },
  },
  {
    name: 'a call is refused and that is not stored',
    steps: () => [calls('mail')],
    stuck: '"approval/decided"',
    reach: async scene => {
      scene.send()
      await ticked()
      scene.agent.approve('c1', 'rejected')
    },
    at: { status: 'thinking', last: 'step/start', isStuck: true },
  },
  {
    name: 'a body runs alone',
    steps: () => [calls('pay', 'pay')],
    holds: ['body c1'],
    at: { status: 'tool', waiting: ['body c1'], last: 'tool/call' },
  },
  {
    name: 'an idempotent body runs alone',
    steps: () => [calls('read', 'pay')],
    holds: ['body c1'],
    at: { status: 'tool', waiting: ['body c1'], last: 'tool/call' },
  },
  {
    name: 'of two bodies side by side the first is done',
    steps: () => [calls('look', 'look', 'pay')],
    holds: ['body c2'],
    at: { status: 'tool', waiting: ['body c2'], last: 'tool/result' },
  },
  {
    name: 'of two bodies side by side the second is done',
    steps: () => [calls('look', 'look', 'pay')],
    holds: ['body c1'],
    at: { status: 'tool', waiting: ['body c1'], last: 'tool/call' },
  },
  {
    name: 'a result is committed and the next step is not stored',
    steps: () => [calls('pay')],
    stuck: '"tool/result"',
    at: { status: 'thinking', last: 'step/start', isStuck: true },
  },
  {
    name: 'a hook looks at the first step',
    holds: ['hook'],
    hooks: scene => [{ preStep: () => scene.pause('hook').then(() => undefined) }],
    at: { status: 'thinking', waiting: ['hook'], last: 'agent/inbox/spliced', asked: 0 },
  },
  {
    name: 'a hook looks at the second step, which was steered',
    steps: () => [calls('pay')],
    holds: ['hook', 'body c1'],
    hooks: scene => [{ preStep: ({ step }) => (step === 1 ? undefined : scene.pause('hook').then(() => undefined)) }],
    reach: async scene => {
      scene.send()
      await ticked()
      scene.send('steer')
      scene.release('body c1')
    },
    at: { status: 'thinking', waiting: ['hook'], last: 'agent/inbox/spliced' },
  },
  {
    name: 'a hook looks at the end of the turn',
    holds: ['hook'],
    hooks: scene => [{ turnStopping: () => scene.pause('hook').then(() => undefined) }],
    at: { status: 'answering', waiting: ['hook'], last: 'step/end' },
  },
  {
    name: 'the answer of a second step is arriving',
    visible: 'Paid',
    steps: scene => [calls('pay'), () => [text('Paid'), scene.pause('answer'), ended('Paid.'), stop]],
    holds: ['answer'],
    at: { status: 'answering', waiting: ['answer'], last: 'step/start', asked: 2 },
  },
  {
    name: 'the session is maintained',
    holds: ['maintenance'],
    reach: async scene => {
      scene.send()
      await scene.rest()
      scene.hold('maintenance')
      scene.maintain()
    },
    at: { status: 'maintenance', waiting: ['maintenance'], last: 'turn/end' },
  },
  {
    name: 'it is idle and something is pending',
    ...paused(pause => [text('Hel'), pause]),
    reach: async scene => {
      scene.send()
      await ticked()
      scene.send('send')
      scene.send('steer')
      scene.cancel()
    },
    at: { status: 'idle', waiting: ['answer'], last: 'turn/end' },
  },
  {
    name: 'nothing was said yet',
    reach: () => undefined,
    at: { status: 'idle', last: 'none', asked: 0 },
  },
]

// ── Interruptions ───────────────────────────────────────────────────────────────────────────────────────────────────

type Interruption = {
  readonly name: string
  readonly happens: (scene: Scene, phase: Phase) => void | Promise<void>
}

/** What was cut short of answers, as the model reads it. */
const interrupted = ({ events }: Scene): readonly string[] =>
  events.flatMap(event =>
    event.type === 'assistant/message' && event.data.interrupted === true
      ? event.data.message.content.map(block => ('text' in block ? block.text : block.type))
      : [],
  )
const pendingIds = ({ agent: { inbox } }: Scene): readonly string[] =>
  [...inbox.nextStep, ...inbox.nextTurn, ...inbox.claimed.map(({ message }) => message)].map(({ id }) => id)

const user: CancelCause = { kind: 'user' }

/** What is sent must be taken or refused, and what is refused is not there. */
const tried = (send: () => unknown): void => {
  try {
    send()
  } catch (error) {
    expect(error).toEqual(NO_KEY)
  }
}
const NO_KEY = new Error('no key')

const interruptions: readonly Interruption[] = [
  { name: 'nothing', happens: () => undefined },
  {
    name: 'a stop',
    async happens(scene, { visible, name }) {
      const pending = pendingIds(scene)
      const { running } = scene.agent
      scene.cancel()
      await scene.rest()
      if (running !== null) expect(await running.done).toEqual({ kind: 'aborted', reason: user })
      // Nothing goes on by itself.
      expect(pendingIds(scene)).toEqual(pending)
      const before = name === 'it is idle and something is pending' ? ['Hel'] : []
      expect(interrupted(scene)).toEqual(visible === undefined ? before : [visible])
    },
  },
  {
    name: 'two stops, of which the first one counts',
    async happens(scene) {
      const { running } = scene.agent
      scene.cancel({ kind: 'hook', reason: 'budget' })
      scene.cancel(user)
      scene.release()
      await scene.rest()
      const reason = await running?.done
      if (reason?.kind === 'aborted') expect(reason.reason).toEqual({ kind: 'hook', reason: 'budget' })
    },
  },
  { name: 'steering', happens: scene => void scene.send('steer') },
  { name: 'another prompt', happens: scene => void scene.send() },
  { name: 'injected text', happens: scene => void scene.inject() },
  {
    name: 'steering and another prompt, and both are taken back',
    happens: scene => {
      for (const { messageId } of [scene.send('steer'), scene.send()]) scene.remove(messageId)
    },
  },
  {
    name: 'steering, rewritten, and a stop',
    happens: scene => {
      const { messageId } = scene.send('steer')
      scene.agent.editQueued(messageId, { text: 'other words' })
      scene.cancel()
    },
  },
  {
    name: 'a stop and another prompt',
    happens: scene => {
      scene.cancel()
      scene.send()
    },
  },
  {
    name: 'a stop and steering, and a stop of that',
    async happens(scene) {
      const isRunning = scene.agent.running !== null
      scene.cancel()
      const { messageId } = scene.send('steer')
      scene.cancel()
      await scene.rest()
      if (isRunning) expect(pendingIds(scene)).toContain(messageId)
    },
  },
  {
    name: 'a stop and resuming',
    happens: scene => {
      scene.cancel()
      scene.agent.resume()
    },
  },
  {
    name: 'closing and opening',
    async happens(scene) {
      expect(await scene.reopen()).toBe(true)
    },
  },
  {
    name: 'closing and opening, and it goes on by itself',
    async happens(scene) {
      expect(await scene.reopen({ resume: 'auto' })).toBe(true)
    },
  },
  {
    name: 'a prompt, then closing and opening, twice',
    async happens(scene) {
      scene.send()
      expect([await scene.reopen(), await scene.reopen()]).toEqual([true, true])
    },
  },
  { name: 'a crash', happens: scene => scene.crash() },
  {
    name: 'a crash, and nobody goes on',
    async happens(scene) {
      await scene.crash({ resume: 'never' })
      await ticked()
      const isRunning = scene.agent.running !== null
      expect(scene.agent.status).toMatchObject(isRunning ? { kind: 'approval' } : { kind: 'idle' })
      const isPending = pendingIds(scene).length > 0
      expect(scene.agent.resume() !== null).toBe(!isRunning && isPending)
    },
  },
  { name: 'a crash, and it goes on by itself', happens: scene => scene.crash({ resume: 'auto' }) },
  {
    name: 'a crash after all was stored',
    async happens(scene, { visible }) {
      if (!scene.disk.isHolding) await scene.kit.live.flush()
      const [open] = scene.openCall()
      await scene.crash()
      if (visible !== undefined) expect(interrupted(scene)).toEqual([visible])
      // Nothing is kept of a call before something came of it.
      if (open !== undefined && open.length > 0) expect(scene.cutOff.at(-1)?.chunks).toEqual(open)
    },
  },
  {
    name: 'a crash after steering, and resuming',
    async happens(scene) {
      scene.send('steer')
      await ticked()
      await scene.crash()
      scene.agent.resume()
    },
  },
  {
    name: 'two crashes',
    async happens(scene) {
      await scene.crash()
      await ticked()
      await scene.crash()
    },
  },
  ...[1, 2, 3, 5].map(lost => ({
    name: `a crash that loses the last ${lost} batches`,
    happens: (scene: Scene) => scene.crash({ lost }),
  })),
  {
    name: 'a crash that loses the last batch, and it goes on by itself',
    happens: scene => scene.crash({ lost: 1, resume: 'auto' }),
  },
  {
    name: 'a full disk, for a while',
    async happens(scene) {
      scene.fillDisk()
      scene.release()
      scene.send()
      await ticked()
    },
  },
  {
    name: 'a disk whose answers get lost, for a while',
    async happens(scene) {
      scene.fillDisk('after')
      scene.release()
      scene.send()
      await ticked()
    },
  },
  {
    name: 'a full disk, on which it cannot be closed',
    async happens(scene) {
      scene.fillDisk()
      const { length } = scene.session
      scene.send('steer')
      expect(await scene.reopen()).toBe(length === 0 && scene.session.length === 0)
      expect(momentProblems(scene)).toEqual([])
      scene.disk.fail(null)
      expect(await scene.reopen()).toBe(true)
    },
  },
  {
    name: 'a full disk, and a crash',
    async happens(scene) {
      scene.fillDisk()
      scene.release()
      scene.send()
      await ticked()
      await scene.crash()
    },
  },
  {
    name: 'a model that throws',
    async happens(scene) {
      scene.release('answer', new Error('connection reset'))
      scene.modelFailure = new Error('connection reset')
      await ticked()
    },
  },
  {
    name: 'a setup that throws at the next turn',
    async happens(scene) {
      scene.setupFailure = NO_KEY
      tried(() => scene.send())
      scene.disk.hold(() => false)
      scene.release()
      await ticked()
      tried(() => scene.send())
    },
  },
  {
    name: 'a setup that throws when the session is opened',
    async happens(scene) {
      scene.setupFailure = NO_KEY
      expect(await scene.reopen()).toBe(true)
      tried(() => scene.send())
    },
  },
  {
    name: 'the network going, and a prompt',
    async happens(scene) {
      scene.network.set(false)
      tried(() => scene.send())
      scene.release()
      await ticked()
    },
  },
  {
    name: 'the network going, and a stop',
    async happens(scene) {
      scene.network.set(false)
      scene.release()
      await ticked()
      scene.cancel()
    },
  },
  {
    name: 'an answer nobody asked for',
    happens: scene => {
      const { length } = scene.session
      const { status } = scene.agent
      const asked = status.kind === 'approval' ? [status.callId] : []
      for (const id of ['c1', 'c2', 'c3', '', 'nobody'].filter(each => !asked.includes(each)))
        expect(scene.agent.approve(id, 'allowed-once')).toBe(false)
      expect(scene.session.length).toBe(length)
    },
  },
  {
    name: 'a refusal of all calls',
    async happens(scene) {
      for (let round = 0; round < 4; round += 1) {
        const { status } = scene.agent
        if (status.kind === 'approval') scene.agent.approve(status.callId, 'rejected')
        await ticked()
      }
    },
  },
]

describe.each(phases.map(phase => [phase.name, phase] as const))('[A2, A7, A11, A25] when %s:', (_when, phase) => {
  it.each(interruptions.map(({ name, happens }) => [name, happens] as const))('%s', async (_what, happens) => {
    const { stuck, reach = (scene: Scene) => void scene.send(), at, name: _name, ...options } = phase
    const scene = await Scene.open(options)
    if (stuck !== undefined) scene.disk.hold(({ segment }) => segment.text.includes(stuck))
    await reach(scene)
    await ticked()
    const { status, waiting = [], last, asked = 1, isStuck = false } = at
    expect({
      status: scene.agent.status.kind,
      waiting: [...scene.waiting],
      last: scene.events.at(-1)?.type ?? 'none',
      asked: scene.asked,
      isStuck: scene.disk.isHolding,
    }).toEqual({ status, waiting, last, asked, isStuck })
    expect(momentProblems(scene)).toEqual([])

    await happens(scene, phase)
    expect(momentProblems(scene)).toEqual([])
    expect(await finalProblems(scene)).toEqual([])
    expect(scene.errors.filter(error => error !== NO_KEY)).toEqual([])
  })
})
