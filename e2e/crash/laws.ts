/** What has to be true of a session that is opened after a kill. */
import {
  type AssistantMessage,
  equalJson,
  type EventOf,
  foldTurns,
  jsonDifference,
  type Message,
  repairLog,
  requestMessages,
  Session,
  type SessionEvent,
} from 'palimpsest/core'
import { validateLog } from 'palimpsest/format'
import { expandStream, imageOffloading, sessionInvariant, streamInvariant } from 'palimpsest/plugins'
import { digestOf, type Telling } from './book.ts'
import type { Shown, State } from './protocol.ts'
import { type Answer, answerTo, textOf } from './script.ts'

export type Law = 'lost' | 'gaps' | 'doubled' | 'invalid' | 'journal'
export type Violation = { readonly law: Law; readonly what: string }

type Report = (law: Law, what: string) => void

/**
 * Whatever is wrong with a session as it was opened. `known`: digests of events that were stored before the last run.
 * `telling`: what was told in the last run, if this session was worked on. `journalMs`: how soon what is shown must be kept.
 */
export function violationsOf(
  state: State,
  known: readonly string[],
  telling: Telling | null,
  journalMs: number,
): readonly Violation[] {
  const found: Violation[] = []
  const report: Report = (law, what) => void found.push({ law, what: `${state.session}: ${what}` })
  checkGaps(state, report)
  checkStored(state, known, telling, report)
  checkDoubled(state.events, report)
  const session = checkTranscript(state, report)
  if (session !== null) checkAnswers(session, state.events, known.length, report)
  if (telling !== null) checkShown(state.events, telling, journalMs, report)
  return found
}

// ── Gaps ────────────────────────────────────────────────────────────────────────────────────────────────────────────

function checkGaps({ events, exported, length }: State, report: Report): void {
  if (events.length !== length) report('gaps', `${length} events, ${events.length} of them can be read`)
  const wrong = events.findIndex(({ seq }, index) => seq !== index)
  if (wrong !== -1) report('gaps', `the event at ${wrong} has seq ${events[wrong]?.seq}`)
  const difference = jsonDifference(exported, events)
  if (difference !== null) report('gaps', `exported and read events differ: ${JSON.stringify(difference)}`)
}

// ── Lost ────────────────────────────────────────────────────────────────────────────────────────────────────────────

function checkStored({ events }: State, known: readonly string[], telling: Telling | null, report: Report): void {
  const digests = events.map(digestOf)
  const changed = known.findIndex((digest, seq) => digests[seq] !== digest)
  if (changed !== -1) {
    report(
      'lost',
      `event ${changed} of ${known.length} was stored before the last run and is ${wordOf(events[changed])}`,
    )
  }
  if (telling === null) return
  const { committed, storedLength, toolCalls } = telling
  for (let seq = 0; seq < storedLength; seq += 1) {
    const told = committed.get(seq)
    if (digests[seq] === undefined || (told !== undefined && told !== digests[seq])) {
      report('lost', `event ${seq} of ${storedLength} was said to be stored and is ${wordOf(events[seq])}`)
      break
    }
  }
  for (const callId of toolCalls) {
    const isLogged = events.some(event => event.type === 'tool/call' && event.data.callId === callId)
    if (!isLogged) report('lost', `call ${callId} had begun and is not in the log`)
  }
  // What is there is the beginning of what was; then come what closes a turn and nothing else.
  const cut = digests.findIndex((digest, seq) => committed.has(seq) && committed.get(seq) !== digest)
  const closing =
    /^(assistant\/message|assistant\/attempt|tool\/result|step\/end|turn\/end|session\/end-seed|agent\/inbox\/spliced)$/
  if (cut !== -1) {
    const other = events.slice(cut).find(({ type }) => !closing.test(type))
    if (other !== undefined) report('invalid', `from seq ${cut} on it is not what it was: ${wordOf(other)}`)
  }
}

const wordOf = (event: SessionEvent | undefined): string =>
  event === undefined ? 'not there' : `${event.seq} ${event.type} ${JSON.stringify(event.data).slice(0, 300)}`

// ── Doubled ─────────────────────────────────────────────────────────────────────────────────────────────────────────

function messageOf(event: SessionEvent): Message | null {
  switch (event.type) {
    case 'user/message':
      return event.data
    case 'system/message':
    case 'assistant/message':
    case 'tool/result':
      return event.data.message
    default:
      return null
  }
}

function checkDoubled(events: readonly SessionEvent[], report: Report): void {
  const ids = new Map<string, number>()
  const prompts = new Map<string, number>()
  const settled = new Map<string, number>()
  const once = (seen: Map<string, number>, key: string, seq: number, what: string) => {
    const first = seen.get(key)
    if (first !== undefined) report('doubled', `${what} ${key} is at ${first} and at ${seq}`)
    seen.set(key, seq)
  }
  for (const event of events) {
    const message = messageOf(event)
    if (message !== null && message.id !== '') once(ids, message.id, event.seq, 'message')
    if (event.type === 'user/message') once(prompts, textOf(event.data), event.seq, 'the prompt')
    if (event.type === 'assistant/message' || event.type === 'assistant/attempt') {
      once(settled, `${event.data.turn}.${event.data.step}`, event.seq, 'an answer of step')
    }
  }
}

// ── Invalid ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The session of the events read, folded here. Null when its log breaks a rule. */
function checkTranscript(state: State, report: Report): Session | null {
  const { header, events, messages, nodes } = state
  for (const finding of validateLog({ header, events }, { projections: [imageOffloading] })) {
    report('invalid', `${finding.code} at ${finding.seq}: ${finding.message}`)
  }
  const { openTurn } = foldTurns(events)
  if (openTurn !== null) report('invalid', `turn ${openTurn} is open`)
  for (const { type } of repairLog(events)) report('invalid', `a repair is left to do: ${type}`)
  checkPairs(events, report)
  try {
    const session = Session.fromRestore({
      header: structuredClone(header),
      events: structuredClone(events),
      now: Date.now,
      readOnly: true,
      projections: [imageOffloading],
      invariants: [sessionInvariant, streamInvariant],
    })
    const derived = session.deriveMessages()
    if (!equalJson(derived, messages)) {
      report('invalid', `its messages are not those of its log: ${JSON.stringify(jsonDifference(messages, derived))}`)
    }
    if (!equalJson(session.surface.nodes, nodes)) report('invalid', 'its surface is not that of its log')
    for (const { kind, index } of requestMessages(derived).changes) report('invalid', `message ${index}: ${kind}`)
    return session
  } catch (error) {
    report('invalid', `its log does not open: ${String(error)}`)
    return null
  }
}

/** Every call of an answer has one result, in its step, and every result its call. */
function checkPairs(events: readonly SessionEvent[], report: Report): void {
  const asked = new Map<string, string>()
  const answered = new Map<string, number>()
  for (const event of events) {
    if (event.type === 'assistant/message') {
      for (const block of event.data.message.content) {
        if (block.type !== 'tool-call') continue
        if (asked.has(block.id)) report('doubled', `call ${block.id} is asked for twice, again at ${event.seq}`)
        asked.set(block.id, `${event.data.turn}.${event.data.step}`)
      }
    } else if (event.type === 'tool/result' && event.surfaceOp === 'append') {
      const [block] = event.data.message.content
      if (block?.type !== 'tool-result') continue
      const { toolCallId: id } = block
      const first = answered.get(id)
      if (first !== undefined) report('doubled', `call ${id} is answered at ${first} and at ${event.seq}`)
      if (asked.get(id) !== `${event.data.turn}.${event.data.step}`) report('invalid', `result ${event.seq} of no call`)
      answered.set(id, event.seq)
    }
  }
  for (const id of asked.keys()) if (!answered.has(id)) report('invalid', `call ${id} was never answered`)
}

// ── Answers ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Each answer from `from` on says what the model said to its request, or a beginning of that. */
function checkAnswers(session: Session, events: readonly SessionEvent[], from: number, report: Report): void {
  for (const event of events.slice(from)) {
    if (event.type !== 'assistant/message' && event.type !== 'assistant/attempt') continue
    const answer = answerTo(session.requestAt(event.seq)?.messages ?? [])
    const say = (what: string) => report('invalid', `answer ${event.seq} (${event.type}): ${what}`)
    const streamed = streamedOf(event)
    for (const kind of ['reasoning', 'text'] as const) {
      if (!(answer[kind] ?? '').startsWith(streamed[kind]))
        say(`its stream is not what the model said: ${streamed[kind]}`)
    }
    if (event.type === 'assistant/message') checkMessage(event, answer, say)
  }
}

function checkMessage(event: EventOf<'assistant/message'>, answer: Answer, say: (what: string) => void): void {
  const { message, interrupted = false } = event.data
  const said = saidIn(message)
  const calls = message.content.flatMap(block => (block.type === 'tool-call' ? [block] : []))
  if (interrupted) {
    for (const kind of ['reasoning', 'text'] as const) {
      if (!isBeginning(said[kind], answer[kind] ?? '')) say(`its ${kind} is no beginning of the model's: ${said[kind]}`)
    }
    if (calls.length > 0) say('it was interrupted and has calls')
    return
  }
  const isWhole =
    said.reasoning === (answer.reasoning ?? '') &&
    said.text === answer.text &&
    equalJson(calls.map(({ id }) => String(id)), answer.calls.map(({ id }) => id)) // biome-ignore format: one line
  if (!isWhole) say(`it is not what the model said: ${said.text}`)
}

const saidIn = ({ content }: AssistantMessage): { readonly reasoning: string; readonly text: string } => ({
  reasoning: content.map(block => (block.type === 'reasoning' ? block.text : '')).join(''),
  text: content.map(block => (block.type === 'text' ? block.text : '')).join(''),
})

function streamedOf(event: EventOf<'assistant/message'> | EventOf<'assistant/attempt'>) {
  const streamed = { reasoning: '', text: '' }
  for (const { chunk } of expandStream(event.data.stream)) {
    if (chunk.type === 'text-delta') streamed.text += chunk.text
    if (chunk.type === 'reasoning-delta') streamed.reasoning += chunk.text
  }
  return streamed
}

/** Half a character at the end stands as U+FFFD where text has to be well-formed. */
const isBeginning = (text: string, whole: string): boolean =>
  whole.startsWith(text) || (text.endsWith('\uFFFD') && whole.startsWith(text.slice(0, -1)))

// ── Shown ───────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Text that was on the page `journalMs` before a kill is in the log after it. */
function checkShown(
  events: readonly SessionEvent[],
  { shown, killedAt }: Telling,
  journalMs: number,
  report: Report,
): void {
  const latest = new Map<string, Shown>()
  for (const { at, shown: each } of shown) {
    if (at <= killedAt - journalMs) latest.set(`${each.turn}.${each.step}`, each)
  }
  for (const [step, { reasoning, text }] of latest) {
    const settled = events.filter(
      event =>
        (event.type === 'assistant/message' || event.type === 'assistant/attempt') &&
        `${event.data.turn}.${event.data.step}` === step,
    )
    const kept = settled.map(event => keptOf(event as EventOf<'assistant/message'> | EventOf<'assistant/attempt'>))
    const has = (kind: 'reasoning' | 'text', wanted: string) =>
      wanted.trim() === '' || kept.some(each => each[kind].startsWith(wanted))
    // A message holds whole characters only.
    const missing = (['reasoning', 'text'] as const).filter(
      kind => !has(kind, (kind === 'text' ? text : reasoning).replace(/[\uD800-\uDBFF]$/, '')),
    )
    for (const kind of missing) {
      const wanted = kind === 'text' ? text : reasoning
      const most = Math.max(0, ...kept.map(each => each[kind].length))
      report('journal', `step ${step}: ${wanted.length} units of ${kind} were shown, ${most} are in the log`)
    }
  }
}

/** Of a message what it says; of an attempt, which says nothing, what came. */
const keptOf = (event: EventOf<'assistant/message'> | EventOf<'assistant/attempt'>) =>
  event.type === 'assistant/message' ? saidIn(event.data.message) : streamedOf(event)
