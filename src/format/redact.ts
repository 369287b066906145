/**
 * Takes out of a log what an export may not say (SPEC F12). Everything the log is made of stays: seqs, surface, pairs
 * and ids, so that what comes out is admitted exactly as what went in.
 */
import type { SessionEvent, SessionHeader } from '../core/events.ts'
import { isKnownEventType } from '../core/vocabulary.ts'
import { formatRefusal, shown } from './errors.ts'

/**
 * Answers with what is to stand in the place of `text`; with the same text when nothing has to go. Asked for every text
 * that people, models or tools may have put there, but an empty one. Arguments of a tool call are one text of JSON.
 *
 * It must be a pure function of `text`: the same text stands in several places – a call in its answer and in its start, a
 * result and its rewrite – and must stay the same in all of them. `where` is for reports. Names of members are no texts.
 *
 * Nothing but the text changes; who measures texts, as the interpreter of `palimpsest/tool-result/trim` does, can refuse
 * what became shorter.
 */
export type Redactor = (
  text: string,
  where: {
    /** Of the event; null for the header. */
    readonly seq: number | null
    /** Of the event; `session` for the header. */
    readonly type: string
    /** In the payload, such as `$.content[0].text`. A stream's texts are put together, at the first of their pieces. */
    readonly path: string
  },
) => string

// ── What is structure ───────────────────────────────────────────────────────────────────────────────────────────────

/**
 * Members whose text is structure, by where they stand: in any part of a payload the format describes; in the payload of
 * one event type; in an object of one `type`; in what stands under a name, or in a list there. So are any `…Id` and `…Ids`.
 */
const structural: Readonly<Record<string, string>> = {
  '*': 'id type role kind op plugin provider model mediaType blockType reasoningEffort source',
  // Event types.
  'tool/call': 'name',
  'request/header': 'reason',
  'request/context': 'systemPromptUpdate',
  'agent/inbox/spliced': 'target outcome',
  'agent-preset/selected': 'agentPreset',
  'approval/asked': 'toolName',
  'approval/decided': 'outcome',
  'approval/policy': 'policy',
  'command/run': 'name',
  'goal/change': 'operation',
  'hook/invoked': 'point dialect',
  'hook/result': 'point',
  'llm/retry': 'policyKey mode',
  'permission/preset': 'preset',
  'sandbox/mode': 'mode',
  'schedule/change': 'operation',
  'session/title-llm-request': 'titleProvider',
  'subagent/descriptor': 'mode agentProvider agentModel agentReasoningEffort',
  'subagent/model-selection-policy': 'allowedModels',
  'tool/ptc-dispatch-start': 'name',
  'tool/ptc-dispatch': 'name',
  'web/deepseek-search-llm-request': 'apiVersion',
  // Types of blocks, records and chunks.
  'tool-call': 'name',
  'tool-call-chunks': 'name',
  'tool-call-delta': 'name',
  // Names of members.
  error: 'name code',
  failure: 'code',
  source: 'form',
  tools: 'name',
}
const names: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  Object.entries(structural).map(([where, members]) => [where, new Set(members.split(' '))]),
)
const anywhere = names.get('*') as ReadonlySet<string>

/** How much of a value is known: as the format says; JSON of somebody who may have ids in it; anything at all. */
type Realm = 'described' | 'foreign' | 'opaque'

/** What is structure in JSON the format does not describe, besides ids. */
const discriminators: ReadonlySet<string> = new Set(['id', 'type', 'role', 'kind', 'op'])

/** Members of described payloads that hold JSON of others. */
const realms: ReadonlyMap<string, Realm> = new Map<string, Realm>([
  ...'arguments args meta replayState body'.split(' ').map(name => [name, 'opaque'] as const),
  ...(
    'inputSchema route system persona toolFilter schedule goal member task todos files item matcher decision stopReason ' +
    'phase'
  )
    .split(' ')
    .map(name => [name, 'foreign'] as const),
])
/** The same for members that are described elsewhere. */
const foreignMembers: ReadonlySet<string> = new Set([
  'team/message/queued message',
  'tool-workflow/agent-end outcome',
  'tool/ptc-dispatch content',
])

function realmOf(member: string, { realm, labels }: Container): Realm {
  if (realm !== 'described') return realm
  if (labels.some(label => foreignMembers.has(`${label} ${member}`))) return 'foreign'
  return realms.get(member) ?? 'described'
}

function isStructural(member: string, { realm, labels }: Container): boolean {
  if (realm === 'opaque') return false
  if (/Ids?$/.test(member) || discriminators.has(member)) return true
  return realm === 'described' && (anywhere.has(member) || labels.some(label => names.get(label)?.has(member) === true))
}

// ── The walk ────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Where a container stands: the way to it, last part first. */
type Place = { readonly parent: Place | null; readonly key: string | number }

type Members = Record<string | number, unknown>

/** An object or array that is being walked. */
type Container = {
  readonly parent: Container | null
  readonly place: Place | null
  readonly original: Members
  /** Made when the first of its texts changes. */
  copy: Members | null
  readonly keys: readonly string[]
  /** Of an array: the name it stands under is the name of its members. Null for an object. */
  readonly name: string | null
  readonly labels: readonly string[]
  readonly realm: Realm
  next: number
}

type Ask = (text: string, place: Place | null) => string

/**
 * `root` with each of its texts that are no structure as `ask` answers; the same object when none changed. Its member
 * `skipped` is not looked into. Keeps its own stack, so any depth works.
 */
function rewrite(
  root: unknown,
  label: string,
  realm: Realm,
  ask: Ask,
  at: Place | null = null,
  skipped: string | null = null,
): unknown {
  if (typeof root === 'string') return root === '' ? root : ask(root, at)
  if (!isContainer(root)) return root
  const first = enter(root, label, realm, null, at)
  for (let container: Container | null = first; container !== null; ) {
    const key: string | undefined = container.keys[container.next]
    if (key === undefined) {
      container = container.parent
      continue
    }
    container.next += 1
    if (container === first && key === skipped) continue
    const value = container.original[key]
    const member = container.name ?? key
    const isList = container.name !== null
    if (typeof value === 'string') {
      if (value === '' || isStructural(member, container)) continue
      const text = ask(value, { parent: container.place, key: isList ? Number(key) : key })
      if (text !== value) change(container, key, text)
    } else if (isContainer(value)) {
      const place = { parent: container.place, key: isList ? Number(key) : key }
      container = enter(value, member, isList ? container.realm : realmOf(member, container), container, place)
    }
  }
  return first.copy ?? root
}

const isContainer = (value: unknown): value is Members => typeof value === 'object' && value !== null

function enter(
  original: Members,
  label: string,
  realm: Realm,
  parent: Container | null,
  place: Place | null,
): Container {
  const isList = Array.isArray(original)
  const type = isList ? undefined : original['type']
  // A list is where what is in it is, and hands on what it is itself.
  const labels = isList && parent !== null ? parent.labels : typeof type === 'string' ? [label, type] : [label]
  return {
    parent,
    place,
    original,
    copy: null,
    keys: Object.keys(original),
    name: isList ? label : null,
    labels,
    realm,
    next: 0,
  }
}

/** Sets a text in a copy of its container, which then stands in a copy of the container around it, and so on. */
function change(container: Container, key: string, text: string): void {
  let value: unknown = text
  let at = key
  for (let each: Container | null = container; each !== null; each = each.parent) {
    const hadCopy = each.copy !== null
    // `__proto__` is a member of the copy like any other.
    each.copy ??= (Array.isArray(each.original) ? [...(each.original as unknown[])] : { ...each.original }) as Members
    each.copy[at] = value
    if (hadCopy) return
    value = each.copy
    // The one around it has moved on already.
    at = each.parent?.keys[each.parent.next - 1] as string
  }
}

function pathOf(place: Place | null): string {
  const parts: string[] = []
  for (let each = place; each !== null; each = each.parent) {
    const { key } = each
    parts.push(
      typeof key === 'number' ? `[${key}]` : /^[A-Za-z_$][\w$]*$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`,
    )
  }
  return `$${parts.reverse().join('')}`
}

// ── Events ──────────────────────────────────────────────────────────────────────────────────────────────────────────

/**
 * The event with its texts as `redact` answers; the very same event when nothing of it changes. Never changes what it is given.
 *
 * A stream holds the text of its answer once more, cut anywhere: when anything in the stream, put together, or in its
 * message changes, the event's `stream` is empty afterwards, and the message alone says what was said.
 *
 * What a summary was made of, its `llmStreamCall`, is left out of every event, whatever `redact` answers, which is not
 * asked about it: it holds the summary once more, in pieces, in a form nobody has described.
 *
 * @throws {FormatError} `payload` with the path when `redact` answers with anything but a text.
 */
export function redactEvent(event: SessionEvent, redact: Redactor): SessionEvent {
  const { type, seq } = event
  const ask = askerOf({ type, seq }, seq, redact)
  const known = isKnownEventType(type)
  const realm = known && type !== 'subagent/catalog' ? 'described' : 'foreign'
  const hasStream = type === 'assistant/message' || type === 'assistant/attempt'
  const told = type === 'compaction/summary' ? withoutCall(event.data) : event.data
  let data = rewrite(told, type, realm, ask, null, hasStream ? 'stream' : null)
  if (hasStream) data = withoutStream(event.data, data as Members, ask)

  // Nobody here knows what it is; a text of its own it may be, even there.
  const op: unknown = known ? undefined : (event as { readonly surfaceOp?: unknown }).surfaceOp
  const opPlace = { parent: null, key: 'surfaceOp' }
  const surfaceOp = op === 'append' ? op : rewrite(op, type, 'foreign', ask, opPlace)
  if (data === event.data && surfaceOp === op) return event
  return { ...event, data, ...(surfaceOp === op ? {} : { surfaceOp }) } as SessionEvent
}

/** The header with its folder as `redact` answers; the same object when that does not change. */
export function redactHeader(header: SessionHeader, redact: Redactor): SessionHeader {
  const { cwd } = header
  if (cwd === undefined || cwd === '') return header
  const text = askerOf({ type: 'session', seq: 0 }, null, redact)(cwd, { parent: null, key: 'cwd' })
  return text === cwd ? header : { ...header, cwd: text }
}

function askerOf(event: { readonly type: string; readonly seq: number }, seq: number | null, redact: Redactor): Ask {
  return (text, place) => {
    const answer: unknown = redact(text, {
      seq,
      type: event.type,
      // Only for who wants it: of a deep payload it is long.
      get path() {
        return pathOf(place)
      },
    })
    if (typeof answer === 'string') return answer
    const path = pathOf(place)
    const what = `has a text at ${shown(path, 200)} for which redaction answered with ${answer === null ? 'null' : `a value of type ${typeof answer}`}, not a text`
    throw formatRefusal('payload', event, what, { path })
  }
}

/** The payload of a summary without what it was made of. */
function withoutCall(data: unknown): unknown {
  if (!isContainer(data) || !Object.hasOwn(data, 'llmStreamCall')) return data
  const { llmStreamCall: _, ...rest } = data
  return rest
}

// ── Streams ─────────────────────────────────────────────────────────────────────────────────────────────────────────

function withoutStream(original: Members, data: Members, ask: Ask): Members {
  const { stream } = original
  if (!Array.isArray(stream) || stream.length === 0) return data
  return data !== original || changesStream(stream, ask) ? { ...data, stream: [] } : data
}

/** Pieces of text by the kind of what they are in. */
const pieces: ReadonlyMap<unknown, string> = new Map([
  ['text-chunks', 'texts'],
  ['reasoning-chunks', 'texts'],
  ['tool-call-chunks', 'args'],
  ['text-delta', 'text'],
  ['reasoning-delta', 'text'],
  ['tool-call-delta', 'argumentsDelta'],
])

/** Whether `ask` answers anything in the stream with another text. Admission has not looked into it. */
function changesStream(stream: readonly unknown[], ask: Ask): boolean {
  const blocks = new Map<unknown, { readonly place: Place; readonly parts: string[] }>()
  /** Takes the pieces out of a record or a chunk; answers with what is left of it. */
  const take = (value: Members, place: Place): Members => {
    const name = pieces.get(value['type'])
    const held = name === undefined ? undefined : value[name]
    const parts = typeof held === 'string' ? [held] : held
    if (name === undefined || !Array.isArray(parts) || !parts.every(part => typeof part === 'string')) return value
    const block = blocks.get(value['index']) ?? { place: { parent: place, key: name }, parts: [] }
    blocks.set(value['index'], block)
    for (const part of parts) block.parts.push(part)
    const { [name]: _, ...rest } = value
    return rest
  }
  const asks = (value: unknown, place: Place): boolean => rewrite(value, '', 'described', ask, place) !== value

  const top: Place = { parent: null, key: 'stream' }
  for (const [index, record] of stream.entries()) {
    const place = { parent: top, key: index }
    if (!isContainer(record)) {
      if (asks(record, place)) return true
      continue
    }
    const { chunk, ...outside } = take(record, place)
    if (asks(outside, place)) return true
    const chunkPlace = { parent: place, key: 'chunk' }
    if (asks(isContainer(chunk) ? take(chunk, chunkPlace) : chunk, chunkPlace)) return true
  }
  for (const { place, parts } of blocks.values()) {
    const text = parts.join('')
    if (text !== '' && ask(text, place) !== text) return true
  }
  return false
}
