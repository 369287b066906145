/**
 * Exact shapes of old payloads, as data: what the tables of the inventory are made of, and the values that several
 * payloads have in common. A check allocates nothing unless it finds something.
 */
import { isSafeNonNegativeInteger } from '../core/ids.ts'

/** What is wrong with a value: where in it, and what was expected there. Null when nothing is. */
export type Problem = readonly [path: string, expected: string] | null
export type Check = (value: unknown) => Problem
/** Members of an object by name; a name that ends in `?` may be missing. */
export type Members = { readonly [name: string]: Check }
export type Shape = Readonly<Record<string, unknown>>

export const isRecord = (value: unknown): value is Shape =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
export const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''

// ── Putting checks together ─────────────────────────────────────────────────────────────────────────────────────────

const that = (holds: (value: unknown) => boolean, expected: string): Check => {
  const problem = ['', expected] as const
  return value => (holds(value) ? null : problem)
}

/** Any value; only missing it may not be. */
export const opaque: Check = that(value => value !== undefined, 'a value')
export const string: Check = that(value => typeof value === 'string', 'a string')
export const text: Check = that(isText, 'a non-empty string')
export const boolean: Check = that(value => typeof value === 'boolean', 'a boolean')
export const number: Check = that(Number.isFinite, 'a number')
export const count: Check = that(isSafeNonNegativeInteger, 'a safe integer of at least 0')
export const countOrNull: Check = that(
  value => value === null || isSafeNonNegativeInteger(value),
  'a safe integer of at least 0 or null',
)
export const array: Check = that(Array.isArray, 'an array')
export const record: Check = that(isRecord, 'an object')
/** One of a few values. */
export const oneOf = (...values: readonly (string | true)[]): Check =>
  that(value => values.includes(value as string | true), values.join(' or '))

export const within = (path: string, problem: Problem): Problem => problem && [path + problem[0], problem[1]]

/** An array of values that all pass. */
export const listOf =
  (check: Check): Check =>
  value => {
    if (!Array.isArray(value)) return array(value)
    for (let index = 0; index < value.length; index += 1) {
      const problem = check(value[index])
      if (problem !== null) return within(`[${index}]`, problem)
    }
    return null
  }

/** An object with these members and no other. */
export function exact(members: Members): Check {
  const fields = Object.entries(members).map(([key, check]) => {
    const isOptional = key.endsWith('?')
    return { name: isOptional ? key.slice(0, -1) : key, check, isOptional }
  })
  const names = new Set(fields.map(({ name }) => name))
  return value => {
    if (!isRecord(value)) return record(value)
    let surplus = 0
    for (const _key in value) surplus += 1
    for (let index = 0; index < fields.length; index += 1) {
      const { name, check, isOptional } = fields[index] as (typeof fields)[number]
      const member = value[name]
      if (member !== undefined) surplus -= 1
      else if (isOptional) continue
      const problem = check(member)
      if (problem !== null) return within(`.${name}`, problem)
    }
    return surplus === 0 ? null : surplusProblem(value, names)
  }
}

function surplusProblem(value: Shape, names: ReadonlySet<string>): Problem {
  const key = Object.keys(value).find(name => !names.has(name))
  return key === undefined ? null : [memberPath(key), 'nothing']
}

/** A key in a path. It may be anything, of any length. */
const memberPath = (key: string): string =>
  /^[A-Za-z_$][\w$]{0,39}$/.test(key) ? `.${key}` : `[${JSON.stringify(key.slice(0, 40))}]`

/** An object whose `tag` says which of the shapes it has; other tags pass when `isOpen`, and are listed otherwise. */
export function variants(tag: string, shapes: Members, isOpen: 'open' | 'closed'): Check {
  const checks = new Map(Object.entries(shapes))
  const unknown = isOpen === 'open' ? null : ([`.${tag}`, [...checks.keys()].join(' or ')] as const)
  return value => {
    if (!isRecord(value)) return record(value)
    const name = value[tag]
    if (!isText(name)) return within(`.${tag}`, text(name))
    const check = checks.get(name)
    return check === undefined ? unknown : check(value)
  }
}

// ── Blocks ──────────────────────────────────────────────────────────────────────────────────────────────────────────

const size: Members = { width: count, height: count }
const imageAttachment = exact({
  attachmentId: text,
  mediaType: oneOf('image/png', 'image/jpeg', 'image/webp', 'image/gif'),
  bytes: count,
  ...size,
  'name?': string,
  'originalDimensions?': exact(size),
})

/** One block; what is inside a tool result is looked at by `blocks`. */
const block = variants(
  'type',
  {
    text: exact({ type: opaque, text: string }),
    reasoning: exact({ type: opaque, text: string }),
    image: exact({ type: opaque, attachment: imageAttachment }),
    file: exact({ type: opaque, attachment: exact({ attachmentId: text, name: string, bytes: count }) }),
    'tool-call': exact({ type: opaque, id: string, name: string, arguments: string }),
    'tool-result': exact({ type: opaque, toolCallId: text, content: array, 'isError?': boolean }),
  },
  'open',
)

/** A list of blocks that is left for the one inside its block before `next`. */
type Outer = { readonly outer: Outer | null; readonly list: readonly unknown[]; readonly next: number }

/** Content of a message. Tool results may nest as deep as they like: the walk keeps its own stack. */
export const blocks: Check = content => {
  if (!Array.isArray(content)) return array(content)
  let list: readonly unknown[] = content
  let next = 0
  let outer: Outer | null = null
  for (;;) {
    if (next === list.length) {
      if (outer === null) return null
      ;({ list, next, outer } = outer)
      continue
    }
    const item = list[next]
    const problem = block(item)
    if (problem !== null) return within(`${pathOf(outer)}[${next}]`, problem)
    next += 1
    const { type, content: inner } = item as Shape
    if (type === 'tool-result') {
      outer = { outer, list, next }
      list = inner as readonly unknown[]
      next = 0
    }
  }
}

const SHOWN_DEPTH = 8

/** Path of an inner list; of a deep one only its end. */
function pathOf(innermost: Outer | null): string {
  let path = ''
  let depth = 0
  for (let at = innermost; at !== null; at = at.outer) {
    if (depth === SHOWN_DEPTH) return `…${path}`
    path = `[${at.next - 1}].content${path}`
    depth += 1
  }
  return path
}

// ── Messages ────────────────────────────────────────────────────────────────────────────────────────────────────────

export const usage: Check = exact({
  inputTokens: count,
  outputTokens: count,
  'totalTokens?': count,
  'cacheReadTokens?': count,
  'cacheWriteTokens?': count,
  'reasoningTokens?': count,
})
export const failure: Check = exact({
  message: string,
  code: text,
  'status?': count,
  'providerRetryAfterMs?': number,
  'requestId?': string,
})

const sections = listOf(exact({ name: string, text: string }))

/** A source that has `own` besides what every plugin's has. Of the forms, two have something to show for it. */
function pluginSource(own: Members): Check {
  const base: Members = { kind: opaque, plugin: text, ...own }
  const plain = exact({ ...base, form: opaque })
  const formless = exact({ ...base, 'sections?': sections, 'summary?': string })
  const forms = variants(
    'form',
    {
      instructions: plain,
      catalog: plain,
      snapshot: exact({ ...base, form: opaque, sections }),
      notice: exact({ ...base, form: opaque, summary: string }),
      relay: plain,
      recall: plain,
    },
    'closed',
  )
  return value => ((value as Shape)['form'] === undefined ? formless(value) : forms(value))
}

const somePlugin = pluginSource({})
const compactPlugin = pluginSource({ compactionId: text, 'sourceCommandId?': text })
const modelSource = exact({ kind: oneOf('model'), provider: text, model: text, 'replayState?': opaque })
const toolSource = exact({ kind: oneOf('tool'), callId: text })
const source = variants(
  'kind',
  {
    user: exact({ kind: opaque, 'rpcId?': text, 'clientTimeZone?': text }),
    plugin: value => ((value as Shape)['plugin'] === 'compact' ? compactPlugin : somePlugin)(value),
    model: modelSource,
    tool: toolSource,
  },
  'open',
)

const messageOf = (role: Check, from: Check): Check => exact({ id: text, role, content: blocks, source: from })

/** A message of any role, as a request to a model had it. */
export const anyMessage: Check = messageOf(oneOf('system', 'user', 'assistant'), source)
export const userMessage: Check = messageOf(oneOf('user'), source)
export const assistantMessage: Check = messageOf(oneOf('assistant'), modelSource)

const resultShape = messageOf(oneOf('user'), toolSource)

/** The message of a tool result: one block, about the call its source names. */
export const toolResultMessage: Check = value => {
  const problem = resultShape(value)
  if (problem !== null) return problem
  const { content, source: from } = value as { content: readonly Shape[]; source: Shape }
  const only = content[0]
  if (content.length !== 1 || only?.['type'] !== 'tool-result') return ['.content', 'exactly one tool-result block']
  return only['toolCallId'] === from['callId'] ? null : ['.content[0].toolCallId', 'the callId of its source']
}
