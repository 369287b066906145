/**
 * For this library's own tests: what has to be so whatever was done to an agent – at any moment, and once everything has
 * come to its end. Answers what is not, in words.
 */
import type { EventOf, KnownEventType, SessionEvent } from '../core/events.ts'
import { inboxFold, isEmptyInbox, pendingMessages } from '../core/inbox.ts'
import { allInvariants } from '../core/invariants/all.ts'
import { equalJson } from '../core/json.ts'
import { Session } from '../core/session.ts'
import { chunkProblem, streamMismatch } from '../core/stream-grammar.ts'
import { expandStream, type TimedChunk } from '../core/stream-records.ts'
import { turnsFold } from '../core/turns.ts'
import { validateLog } from '../format/validate.ts'
import { storedEvents } from './agent-kit.ts'
import type { Act, CutOff, Scene } from './agent-scene.ts'

type Report = (problem: string) => void

const ofType = <Type extends KnownEventType>(events: readonly SessionEvent[], type: Type): readonly EventOf<Type>[] =>
  events.filter(event => event.type === type) as unknown as readonly EventOf<Type>[]

/** What is wrong right now; cheap enough to be asked after everything that is done. */
export function momentProblems(scene: Scene): readonly string[] {
  const found: string[] = [...scene.problems]
  const report: Report = problem => found.push(problem)
  const { events } = scene
  checkMessages(scene, events, report)
  checkTurns(scene, events, report)
  checkBodies(scene, report)
  checkStatus(scene, report)
  for (const act of acts(scene)) checkFrames(act, events, report)
  for (const cutOff of scene.cutOff) checkCutOff(cutOff, events, report)
  return found
}

/**
 * Lets the scene come to its end, says something more, and answers what is wrong then: with the log, with what was
 * promised, with the agent, and with opening the session again.
 */
export async function finalProblems(scene: Scene): Promise<readonly string[]> {
  await scene.rest()
  const found = [...momentProblems(scene)]
  const report: Report = problem => found.push(problem)
  const { messageId } = scene.send()
  await scene.rest()
  const end = scene.ends.get(messageId)
  if (!equalJson(end, { kind: 'completed' }))
    report(`Another prompt was not answered: ${end instanceof Error ? String(end) : JSON.stringify(end)}`)
  found.push(...momentProblems(scene).filter(problem => !found.includes(problem)))

  const { kit, session, disk } = scene
  if (!isEmptyInbox(scene.agent.inbox)) report('Something is pending still')
  for (const id of scene.sent) if (!scene.ends.has(id)) report(`How the turn of ${id} ended is told to nobody`)
  for (const { statuses } of acts(scene)) {
    const last = statuses.at(-1)
    const isCrash = statuses !== kit.statuses && scene.past.some(act => act.statuses === statuses && act.isCut)
    if (last !== undefined && last.kind !== 'idle' && !isCrash) report(`Its last status is ${JSON.stringify(last)}`)
  }
  await kit.live.flush()
  const { header } = session
  const stored = await storedEvents(disk.storage)
  if (!equalJson(stored, scene.events)) report('What is stored is not what is in memory')
  for (const { code, seq = -1, message } of validateLog({ header, events: stored }))
    if (code !== 'stream' || !isChangedOnPurpose(stored[seq])) report(`Not valid at ${seq}: ${message}`)
  try {
    Session.fromRestore({ header, events: structuredClone([...stored]), now: () => 1, invariants: allInvariants })
  } catch (error) {
    report(`An invariant does not hold: ${String(error)}`)
  }
  const difference = await kit.live.verify()
  if (difference !== null) report(`Folded anew it is another session: ${JSON.stringify(difference)}`)

  if (!(await scene.reopen())) report('It cannot be closed')
  await scene.rest()
  const added = scene.events.slice(stored.length).map(({ type }) => type)
  if (added.length > 1 || (added[0] ?? 'session/end-seed') !== 'session/end-seed')
    report(`Opening it again adds ${added.join(', ')}`)
  found.push(...momentProblems(scene).filter(problem => !found.includes(problem)))
  await scene.end()
  return found
}

/** What every agent told so far. */
const acts = ({ past, kit }: Scene): readonly Act[] => [
  ...past,
  { ...kit, isCut: false, isOver: kit.agent.running === null, upTo: Infinity },
]

/** No message is lost, said twice, or pending twice. */
function checkMessages(
  { session, promised, sent, ends }: Scene,
  events: readonly SessionEvent[],
  report: Report,
): void {
  const inbox = session.fold(inboxFold)
  const pending = pendingMessages(inbox).map(({ id }) => id as string)
  const claimed = inbox.claimed.map(({ message }) => message.id as string)
  const said = ofType(events, 'user/message').map(({ data }) => data.id as string)
  const places = [...pending, ...claimed, ...said]
  for (const id of repeated(places)) report(`Message ${id} is in two places`)
  for (const id of pending) if (sent.has(id) && ends.has(id)) report(`Message ${id} waits, and its end was told`)
  const there = new Set(places)
  for (const [id, promise] of promised) {
    if (there.has(id) !== (promise === 'kept'))
      report(`Message ${id} is ${promise}, and ${there.has(id) ? '' : 'not '}there`)
  }
  for (const id of repeated(session.deriveMessages().map(message => message.id))) report(`Two messages are named ${id}`)
}

/** Turns begin and end once, and each call of one that is over has one answer. */
function checkTurns({ session, agent, isClosing }: Scene, events: readonly SessionEvent[], report: Report): void {
  const started = ofType(events, 'turn/start').map(({ data }) => data.turn)
  const ended = ofType(events, 'turn/end').map(({ data }) => data.turn)
  const { openTurn, openStep } = session.fold(turnsFold)
  const open = openTurn === null ? [] : [openTurn]
  if (started.join() !== [...ended, ...open].join()) report(`Turns ${started.join()} started, ${ended.join()} ended`)
  if (agent.running === null && openTurn !== null && !isClosing) report(`Turn ${openTurn} is open, and nobody is at it`)

  const asked = ofType(events, 'assistant/message').flatMap(({ data: { message, turn, step } }) =>
    message.content.flatMap(block => (block.type === 'tool-call' ? [{ id: block.id, turn, step }] : [])),
  )
  const answers = session
    .deriveMessages()
    .flatMap(({ content }) =>
      content.flatMap(block => (block.type === 'tool-result' ? [block.toolCallId as string] : [])),
    )
  for (const id of repeated(answers)) report(`Call ${id} is answered twice`)
  for (const id of repeated(asked.map(call => call.id))) report(`Call ${id} is asked for twice`)
  for (const { id, turn, step } of asked) {
    const isOver = turn !== openTurn || step !== openStep
    if (isOver && !answers.includes(id)) report(`Call ${id} of step ${turn}.${step} was never answered`)
  }
  for (const id of answers) if (!asked.some(call => call.id === id)) report(`Answer ${id} is of no call`)
}

/** No body runs twice, but one that may. */
function checkBodies({ bodies }: Scene, report: Report): void {
  const ran = new Set<string>()
  for (const { callId, mayRunAgain } of bodies) {
    if (ran.has(callId) && !mayRunAgain) report(`${callId} ran again`)
    ran.add(callId)
  }
}

function checkStatus({ agent, clock }: Scene, report: Report): void {
  const { status, running } = agent
  const isBetween =
    status.kind === 'idle' || status.kind === 'maintenance' || (status.kind === 'offline' && status.turn === null)
  if (running !== null && isBetween) report(`It runs, and says ${JSON.stringify(status)}`)
  if (running === null && !isBetween) report(`It does not run, and says ${JSON.stringify(status)}`)
  if (running === null && clock.waits().length > 0)
    report(`Nothing runs, and timers are left: ${clock.waits().join(', ')}`)
}

/** Each call begins and ends once, its chunks between, and its event holds what was shown. */
function checkFrames({ frames, isCut, isOver, upTo }: Act, events: readonly SessionEvent[], report: Report): void {
  let open: { readonly attemptId: string; readonly chunks: TimedChunk[] } | null = null
  let last = 0
  for (const frame of frames) {
    const { kind, attemptId, revision } = frame
    if (kind === 'start') {
      if (open !== null) report(`Call ${attemptId} starts before ${open.attemptId} ends`)
      if (revision !== last + 1) report(`Call ${attemptId} has revision ${revision} after ${last}`)
      open = { attemptId, chunks: [] }
      last = revision
      continue
    }
    if (open?.attemptId !== attemptId || revision !== last) {
      report(`A ${kind} of call ${attemptId} comes outside of it`)
      continue
    }
    if (kind === 'chunk') {
      const { index, time, chunk } = frame
      if (index !== open.chunks.length) report(`Chunk ${index} comes as the ${open.chunks.length}th`)
      open.chunks.push({ time, chunk })
      continue
    }
    const { outcome } = frame
    if (outcome.kind !== 'committed') report(`Call ${attemptId} was never settled`)
    else if (outcome.seq < upTo) checkSettled(events[outcome.seq], outcome.eventType, open.chunks, report)
    open = null
  }
  if (open !== null && isOver && !isCut) report(`Call ${open.attemptId} has no end`)
}

/** All that was shown is in the event; a last chunk that is none may follow. */
function checkSettled(
  event: SessionEvent | undefined,
  type: string,
  chunks: readonly TimedChunk[],
  report: Report,
): void {
  if (event?.type !== type || (event.type !== 'assistant/message' && event.type !== 'assistant/attempt'))
    return report(`A call was settled by ${event?.type}, not ${type}`)
  const kept = expandStream(event.data.stream)
  const isKept = equalJson(kept.slice(0, chunks.length), chunks)
  if (!isKept || kept.length > chunks.length + 1) report(`Event ${event.seq} does not hold what was shown`)
}

/** What was journaled of a call that was cut off is kept by the event that settles it. */
function checkCutOff({ seq, chunks }: CutOff, events: readonly SessionEvent[], report: Report): void {
  const event = events[seq]
  const sound: TimedChunk[] = []
  for (const each of chunks) {
    if (chunkProblem(each.chunk) !== null) break
    sound.push(each)
    if (each.chunk.type === 'finish') break
  }
  if (event?.type !== 'assistant/message' && event?.type !== 'assistant/attempt')
    return report(`A call that was cut off was settled by ${event?.type} at ${seq}`)
  if (!equalJson(expandStream(event.data.stream), sound)) report(`Event ${seq} does not hold what was journaled`)
}

/**
 * What the format has of a stream and its message is kept but for what the agent changes on purpose: text of white space
 * alone, and calls whose id was used before or whose name is missing.
 */
const isChangedOnPurpose = (event: SessionEvent | undefined): boolean =>
  event?.type === 'assistant/message' && streamMismatch(event.data, { exact: false }) === null

function repeated(ids: readonly string[]): readonly string[] {
  const known = new Set<string>()
  return ids.filter(id => known.has(id) || (known.add(id), false))
}
