/**
 * A log as a transcript for people: who said what, in order, as Markdown (SPEC F13). It shows what was said, not what the
 * model reads now: no prompts of the system, and of what stands for earlier messages only summaries.
 */
import type { ContentBlock, EventOf, SessionEvent, SessionHeader, TurnEndReason, UserMessage } from '../core/events.ts'
import { isAppendSurfaceEvent, isReplaceSurfaceEvent } from '../core/surface.ts'
import { asIs, codeFence, codeSpan, isoTime, oneLine, plainLine, prettyJson, quote, withinQuote } from './markdown-text.ts' // biome-ignore format: one line

export type MarkdownOptions = {
  /** The heading, a text without marks; the session's id unless said otherwise. */
  readonly title?: string
}

/**
 * The transcript of a log that a session admits, piece by piece: joined, they are the text. What people and models wrote
 * is Markdown and stays as it is, but for tags and definitions of links, which are mere text here, and in a quote where it
 * might swallow what follows; what tools wrote is fenced.
 */
export function* transcriptMarkdown(
  { header, events }: { readonly header: SessionHeader; readonly events: Iterable<SessionEvent> },
  { title = '' }: MarkdownOptions = {},
): Generator<string> {
  const heading = plainLine(title)
  const id = `Session ${codeSpan(header.id)}`
  yield `# ${heading === '' ? id : heading}\n`
  const state: State = { place: 'top', calls: new Map() }
  let last: SessionEvent | null = null
  for (const event of events) {
    if (last === null) yield paragraph(`${heading === '' ? 'From' : `${id}, from`} ${isoTime(event.time)}`)
    last = event
    for (const text of partsOf(event, state)) yield paragraph(text)
  }
  if (typeof state.place === 'number') yield paragraph(`*The log ends inside turn ${state.place}.*`)
  if (last !== null) yield paragraph(`Until ${isoTime(last.time)}`)
}

const paragraph = (text: string): string => `\n${text}\n`

type State = {
  /** The number of the open turn; whether what is said outside of turns has its heading. */
  place: number | 'top' | 'outside'
  /** What the calls of this turn are called that were shown and have no result yet, by their id. */
  readonly calls: Map<string, string>
}

function* partsOf(event: SessionEvent, state: State): Generator<string> {
  switch (event.type) {
    case 'turn/start':
      state.place = event.data.turn
      yield `## Turn ${event.data.turn}`
      yield `*${isoTime(event.time)}*`
      return
    case 'turn/end': {
      const { turn, reason } = event.data
      if (reason.kind !== 'completed') {
        yield* outside(state)
        yield `*Turn ${turn} ${endOf(reason)}.*`
      }
      state.place = 'top'
      state.calls.clear()
      return
    }
    case 'assistant/attempt':
      yield* outside(state)
      yield attemptLine(event.data.stream)
      return
    case 'tool/call': {
      const { callId, name, arguments: text } = event.data
      // Mostly its answer has shown it.
      if (state.calls.has(callId)) return
      yield* outside(state)
      yield* callParts(state, { id: callId, name, text })
      return
    }
    case 'compaction/end': {
      const { error } = asRecord(event.data)
      if (error === undefined) return
      yield* outside(state)
      yield `*A compaction failed${because(error)}.*`
      return
    }
    case 'user/message':
      yield* outside(state)
      if (isReplaceSurfaceEvent(event)) {
        yield '### Summary'
        yield '*From here on the model reads this in the place of what was said before.*'
      } else yield `### ${speakerOf(event.data)}`
      yield* blockParts(event.data.content, state)
      return
    case 'assistant/message':
      yield* outside(state)
      yield `### Assistant ${codeSpan(event.data.message.source.model)}${event.data.interrupted === true ? ' (interrupted)' : ''}`
      yield* blockParts(event.data.message.content, state)
      return
    case 'tool/result':
      // A rewrite is for the model only.
      if (!isAppendSurfaceEvent(event)) return
      yield* outside(state)
      yield* resultParts(event, state)
  }
}

/** A heading for what is said outside of turns, when it has none yet. */
function* outside(state: State): Generator<string> {
  if (state.place !== 'top') return
  state.place = 'outside'
  yield '## Outside of turns'
}

function speakerOf({ source }: UserMessage): string {
  if (source.kind === 'user') return 'User'
  return source.kind === 'plugin' ? `Plugin ${named(source.plugin)}` : codeSpan(source.kind)
}

// ── Blocks ──────────────────────────────────────────────────────────────────────────────────────────────────────────

/**
 * What blocks say, in order; that there is nothing when there is nothing. Results may nest, as deep as they like and in
 * any shape: admission does not look into them.
 */
function* blockParts(content: readonly ContentBlock[], state: State, isTool = false): Generator<string> {
  const pending: { readonly block: unknown; readonly isTool: boolean }[] = []
  const put = (blocks: readonly unknown[], isInner: boolean) => {
    for (let index = blocks.length - 1; index >= 0; index -= 1) pending.push({ block: blocks[index], isTool: isInner })
  }
  put(content, isTool)
  const calls = content.filter(({ type }) => type === 'tool-call').length
  let isEmpty = true
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const block = asRecord(next.block)
    const { type, attachment, content: inner } = block
    const text = typeof block['text'] === 'string' ? block['text'] : ''
    if (type === 'tool-result') {
      if (Array.isArray(inner)) put(inner, true)
      continue
    }
    if ((type === 'text' || type === 'reasoning') && text.trim() === '') continue
    isEmpty = false
    if (type === 'text') yield next.isTool ? codeFence(text) : asIs(text)
    else if (type === 'reasoning') yield quote(`**Reasoning**\n\n${withinQuote(text)}`)
    else if (type === 'tool-call') {
      const { id, name, arguments: args } = block
      const call = { id: String(id), name: String(name), text: String(args) }
      yield* callParts(next.isTool ? null : state, call, calls > 1)
    } else if (type === 'image' || type === 'file') yield attachmentLine(type, asRecord(attachment))
    else yield `*A block of type ${named(type)}*`
  }
  if (isEmpty) yield '*(nothing)*'
}

function attachmentLine(type: 'image' | 'file', attachment: Fields): string {
  const { attachmentId, name = attachmentId, mediaType, width, height, bytes } = attachment
  const facts = [
    typeof mediaType === 'string' ? plainLine(mediaType) : '',
    typeof width === 'number' && typeof height === 'number' ? `${width} × ${height}` : '',
    typeof bytes === 'number' ? `${bytes} bytes` : '',
  ].filter(fact => fact !== '')
  return `${type === 'image' ? 'Image' : 'File'}: ${named(name)}${facts.length === 0 ? '' : ` (${facts.join(', ')})`}`
}

type Call = { readonly id: string; readonly name: string; readonly text: string }

/** A call; with `state` its result will find what it is called: also by its id, where there are several. */
function* callParts(state: State | null, { id, name, text }: Call, isOneOfMany = false): Generator<string> {
  const label = isOneOfMany ? `${codeSpan(name)} (${codeSpan(id)})` : codeSpan(name)
  state?.calls.set(id, label)
  yield `**Tool call** ${label}`
  if (text.trim() === '') return
  const pretty = prettyJson(text)
  yield pretty === null ? codeFence(text) : codeFence(pretty, 'json')
}

function* resultParts({ data }: EventOf<'tool/result'>, state: State): Generator<string> {
  const { message, error } = data
  const [block] = message.content
  const label = state.calls.get(block.toolCallId) ?? codeSpan(block.toolCallId)
  state.calls.delete(block.toolCallId)
  const { code, reason } = asRecord(error)
  const why = code === undefined ? '' : ` ${named(code)}${because(reason)}`
  yield `**Result** of ${label}${block.isError === true ? `: **error**${why}` : ''}`
  yield* blockParts(block.content, state, true)
}

// ── Endings ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** How a turn ended, to follow its name. Of a reason only its kind is certain. */
function endOf(reason: TurnEndReason): string {
  const { kind, error, reason: cause } = reason as { readonly kind: string } & Fields
  switch (kind) {
    case 'aborted':
      return `was stopped ${stoppedBy(asRecord(cause))}`
    case 'blocked':
      return 'was blocked'
    case 'error':
      return `failed${failureOf(error)}`
    case 'max-tokens':
      return 'ended at the limit of tokens'
    case 'interrupted':
      return 'was interrupted'
    default:
      return `ended: ${codeSpan(kind)}`
  }
}

function stoppedBy({ kind, reason }: Fields): string {
  switch (kind) {
    case 'user':
      return 'by the user'
    case 'parent':
      return 'by its parent'
    case 'hook':
      return `by a hook${because(reason)}`
    case 'disposed':
      return 'because the session was closed'
    default:
      return 'for an unknown reason'
  }
}

/** One line about a model call without an answer. Admission does not look into its stream. */
function attemptLine(stream: readonly unknown[]): string {
  for (let index = stream.length - 1; index >= 0; index -= 1) {
    const { type, reason } = asRecord(asRecord(stream[index])['chunk'])
    if (type !== 'finish') continue
    const { kind, failure } = asRecord(reason)
    if (kind === 'aborted') return `*An attempt was stopped${failureOf(failure)}.*`
    return `*An attempt failed${failure === undefined ? because(kind) : failureOf(failure)}.*`
  }
  return '*An attempt ended without an answer.*'
}

function failureOf(failure: unknown): string {
  const { message, code } = asRecord(failure)
  return because(message) + (typeof code === 'string' ? ` (${codeSpan(code)})` : '')
}

// ── Values nobody has checked ───────────────────────────────────────────────────────────────────────────────────────

type Fields = Readonly<Record<string, unknown>>

const asRecord = (value: unknown): Fields => (typeof value === 'object' && value !== null ? (value as Fields) : {})
const because = (reason: unknown): string =>
  typeof reason === 'string' && oneLine(reason) !== '' ? `: ${codeSpan(reason)}` : ''
const named = (name: unknown): string => (typeof name === 'string' ? codeSpan(name) : '(unnamed)')
