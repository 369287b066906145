/** The page of the crash runs: checks what the run before left, then works until it is killed. */
import { type ClientSession, connect, type Palimpsest } from 'palimpsest'
import { MessageId, type SessionEvent, type SessionHeader, type TurnEndReason } from 'palimpsest/core'
import { deriveStatus } from 'palimpsest/views'
import type { Plan, Shown, State, Workload } from './protocol.ts'
import { type Random, randomOf } from './random.ts'
import { Reporter, sleep, troubleOf } from './reporter.ts'
import { promptOf } from './script.ts'

const plan = JSON.parse(new URL(location.href).searchParams.get('plan') ?? '') as Plan
const reporter = new Reporter()
const trouble = (error: unknown) => reporter.say({ kind: 'trouble', text: `page: ${troubleOf(error)}` })
addEventListener('error', event => trouble(event.error ?? event.message))
addEventListener('unhandledrejection', event => trouble(event.reason))

let names = 0
/** No other message has it. */
const freshName = () => `${plan.run}.${(names += 1)}`

function started(): Palimpsest {
  const worker = new Worker(new URL('./worker.ts', import.meta.url), { type: 'module' })
  return connect(worker, { config: { isFast: true }, onLost: trouble })
}

async function stateOf(palimpsest: Palimpsest, session: ClientSession): Promise<State> {
  const { id, length } = session
  const events: SessionEvent[] = []
  for await (const event of session.readEvents()) events.push(event)
  const lines = (await (await palimpsest.sessions.export(id)).text()).trimEnd().split('\n')
  const [{ type: _type, ...header }, ...exported] = lines.map(line => JSON.parse(line) as object) as [
    SessionHeader & { type: string },
    ...SessionEvent[],
  ]
  const { nodes } = session.surface
  const { nextStep, nextTurn } = session.inbox
  return {
    session: id,
    header,
    events,
    exported,
    length,
    nodes,
    messages: await session.deriveMessages(),
    waiting: nextStep.length + nextTurn.length,
  }
}

/** Waits until no turn runs. */
async function idle(session: ClientSession): Promise<void> {
  await session.asked
  if (session.status.agent.kind === 'idle') return
  await new Promise<void>(resolve => {
    const remove = session.subscribe(() => {
      if (session.status.agent.kind !== 'idle') return
      remove()
      resolve()
    })
  })
}

/** What waits gets its turns, or is taken back; then one more prompt. */
async function carryOn(session: ClientSession, random: Random): Promise<TurnEndReason> {
  const { nextStep, nextTurn } = session.inbox
  if (random.chance(0.4)) for (const { id } of [...nextStep, ...nextTurn]) await session.removeQueued(id)
  while (session.inbox.nextStep.length + session.inbox.nextTurn.length > 0) {
    await session.resume()
    await idle(session)
  }
  const reason = await session.send({ text: promptOf(freshName(), { calls: random.between(0, 2) }) }).done
  await session.flush()
  return reason
}

function verified(id: string): Promise<unknown> {
  const worker = new Worker(new URL('./verify.worker.ts', import.meta.url), { type: 'module' })
  return new Promise((resolve, reject) => {
    worker.onmessage = ({ data }: MessageEvent<unknown>) => resolve(data)
    worker.onerror = event => reject(new Error(event.message))
    worker.postMessage(id)
  }).finally(() => worker.terminate())
}

async function check(palimpsest: Palimpsest, id: string, random: Random): Promise<void> {
  const session = await palimpsest.sessions.open(id)
  await reporter.tell({ kind: 'opened', state: await stateOf(palimpsest, session) })
  const reason = await carryOn(session, random)
  await reporter.tell({ kind: 'continued', state: await stateOf(palimpsest, session), reason })
  await session.close()
  await reporter.tell({ kind: 'verified', session: id, difference: await verified(id) })
}

/** Tells Node of every event, of what is said to be stored, and of what is on the page. */
function follow(session: ClientSession): void {
  let shown: Shown | null = null
  const show = () => {
    if (shown === null) return
    const answer = document.querySelector('#answer') as HTMLElement
    answer.textContent = `${shown.reasoning}\n${shown.text}`
    reporter.say({ kind: 'shown', shown })
  }
  session.subscribe(update => {
    if (update.kind === 'committed') {
      reporter.say({ kind: 'committed', events: update.entries.map(({ event }) => event) })
    } else if (update.kind === 'status') {
      const { status, length } = session
      const { saving } = deriveStatus({ status, length, ended: null })
      if (saving === 'saved') reporter.say({ kind: 'stored', upTo: length, by: 'status' })
      else if (saving === 'trouble' || saving === 'lost') trouble(JSON.stringify(status))
    } else if (update.kind === 'frames') {
      for (const frame of update.frames) {
        if (frame.kind === 'start') {
          const { turn, step, messageId } = frame
          shown = { turn, step, messageId, reasoning: '', text: '' }
        } else if (frame.kind === 'chunk' && shown !== null) {
          const { chunk } = frame
          if (chunk.type === 'text-delta') shown = { ...shown, text: shown.text + chunk.text }
          if (chunk.type === 'reasoning-delta') shown = { ...shown, reasoning: shown.reasoning + chunk.text }
        }
      }
      show()
    } else trouble(update.error)
  })
}

/** Flushes, and tells that all there was before is stored. */
async function flushed(session: ClientSession, upTo = session.length): Promise<void> {
  await session.flush()
  // At once, so that there is little time in which it might become true.
  await reporter.tellNow({ kind: 'stored', upTo, by: 'flush' })
}

const append = (session: ClientSession, random: Random, most = random.chance(0.1) ? 400 : 20) => {
  const name = freshName()
  const text = `note ${name} ${'of the sea '.repeat(random.between(1, most))}`
  return session.append(
    'user/message',
    { id: MessageId(`note-${name}`), role: 'user', content: [{ type: 'text', text }], source: { kind: 'user' } },
    { surfaceOp: 'append' },
  )
}

async function appends(session: ClientSession, random: Random, heavyAt: number): Promise<never> {
  for (let count = 1; ; count += 1) {
    if (count !== heavyAt) {
      await append(session, random)
      await flushed(session)
      continue
    }
    // The flush is asked for behind them, before any is answered: whatever it has to wait for is still to be done.
    const many = Array.from({ length: random.between(100, 250) }, () => append(session, random, 2_000))
    await flushed(session, session.length + many.length)
    await Promise.all(many)
  }
}

async function flood(session: ClientSession, random: Random, bursts: number, events: number): Promise<void> {
  for (let burst = 0; burst < bursts; burst += 1) {
    await Promise.all(Array.from({ length: events }, () => append(session, random)))
    await flushed(session)
  }
  reporter.say({ kind: 'rest' })
}

async function syncs(session: ClientSession, random: Random, strict: number, relaxed: number): Promise<void> {
  const mark = (name: string) => reporter.tell({ kind: 'mark', name })
  await session.flush()
  for (let index = 0; index < strict; index += 1) {
    await mark(`strict ${index}`)
    await append(session, random)
    await session.flush()
    await mark(`stored ${index}`)
  }
  await mark('relaxed')
  for (let index = 0; index < relaxed; index += 1) {
    await append(session, random)
    await sleep(5)
  }
  while (deriveStatus({ status: session.status, length: session.length, ended: null }).saving !== 'saved')
    await sleep(5)
  await mark('appended')
  reporter.say({ kind: 'rest' })
}

async function turns(session: ClientSession, random: Random, workload: Extract<Workload, { kind: 'turns' }>) {
  const { wantsLong, wantsTools, flushEveryMs } = workload
  const send = () =>
    session.send({
      text: promptOf(freshName(), {
        long: random.chance(wantsLong ? 0.8 : 0.1),
        calls: wantsTools ? random.between(1, 4) : random.between(-2, 3),
        fails: random.chance(0.07),
      }),
    })
  const flushing = async () => {
    for (;;) {
      await sleep(flushEveryMs)
      await flushed(session)
    }
  }
  if (flushEveryMs > 0) flushing().catch(trouble)
  for (;;) {
    const turn = send()
    const more = random.between(1, 10)
    if (more <= 2) {
      // Behind it, and one of them may be taken back.
      const queued = [send(), send()]
      const taken = await Promise.all(queued.map(each => each.taken))
      if (more === 1) await session.removeQueued(taken[1]?.messageId ?? '')
    } else if (more === 3) {
      await sleep(random.between(0, 400))
      await session.steer({ text: promptOf(freshName(), { calls: 1 }) }).taken
    } else if (more === 4) {
      await sleep(random.between(0, 600))
      await turn.cancel()
    }
    await turn.taken
    await idle(session)
    await flushed(session)
  }
}

async function run(): Promise<void> {
  const random = randomOf(`${plan.seed} page`)
  const palimpsest = started()
  for (const id of plan.checks) await check(palimpsest, id, random)
  await reporter.tell({ kind: 'checked' })
  const { workload } = plan
  if (workload === null) return palimpsest.close()
  const session = await palimpsest.sessions.open(workload.session)
  // The system prompt has the first place of a conversation: notes come after it.
  if (session.length === 0) await session.send({ text: promptOf(freshName()) }).done
  await palimpsest.configure({ isFast: false })
  follow(session)
  const events: SessionEvent[] = []
  for await (const event of session.readEvents()) events.push(event)
  await reporter.tell({ kind: 'committed', events })
  await reporter.tell({ kind: 'begun' })
  if (workload.kind === 'appends') await appends(session, random, workload.heavyAt)
  else if (workload.kind === 'flood') await flood(session, random, workload.bursts, workload.events)
  else if (workload.kind === 'syncs') await syncs(session, random, workload.strict, workload.relaxed)
  else await turns(session, random, workload)
}

run().catch(trouble)
