/**
 * The shape each core payload must have. The same checks run for a live append, a seed, a restore and an import, so what
 * one accepts the others accept (SPEC L9).
 */
import { refusal, SessionError } from './errors.ts'
import { SESSION_FORMAT_VERSION, type SessionEvent, type SessionHeader } from './events.ts'
import { isSafeNonNegativeInteger } from './ids.ts'
import { isCoreEventType } from './vocabulary.ts'

/** What is wrong with a value: where in it, and what was expected there. Null when nothing is. */
type Problem = readonly [path: string, expected: string] | null
type Shape = Record<string, unknown>

/**
 * Checks the payload of one event.
 *
 * @throws {SessionError} `payload` with the path of what is wrong.
 */
export function checkPayload(event: SessionEvent): void {
  const problem = payloadProblem(event.type, event.data)
  if (problem === null) return
  const path = `$${problem[0]}`
  throw refusal('payload', event, `should have ${problem[1]} at ${path}`, path)
}

/** Whether `data` is a payload of the type. */
export const isPayload = (type: string, data: unknown): boolean => payloadProblem(type, data) === null

function payloadProblem(type: string, data: unknown): Problem {
  if (!isRecord(data)) return isCoreEventType(type) ? NO_OBJECT : null
  const { turn, message } = data
  switch (type) {
    case 'turn/start':
      return number('.turn', turn)
    case 'turn/end':
      return number('.turn', turn) ?? kind('.reason', data['reason'])
    case 'step/start':
    case 'step/end':
      return place(data)
    case 'system/message':
      return (
        place(data) ??
        within('.message', messageProblem(message, 'system', 'plugin', 'plugin')) ??
        // Readers of the format take no other one, however torn the log is.
        (turn && data['step'] && hasKeys(data, 3) && hasKeys(message as Shape, 4)
          ? null
          : ['', 'turn and step from 1, and a message of id, role, content and source, and no more'])
      )
    case 'user/message':
      return messageProblem(data, 'user')
    case 'assistant/attempt':
      return place(data) ?? stream(data)
    case 'assistant/message':
      return (
        place(data) ??
        stream(data) ??
        within('.message', messageProblem(message, 'assistant', 'model', 'provider') ?? model(message as Shape))
      )
    case 'tool/call':
      return place(data) ?? text('.callId', data['callId']) ?? call(data)
    case 'tool/result':
      return place(data) ?? within('.message', messageProblem(message, 'user', 'tool', 'callId')) ?? resultProblem(data)
    case 'request/header':
      return headerProblem(data)
    case 'request/context':
      return route(data)
    case 'session/end-seed':
      return flag('.inherited', data['inherited'])
    default:
      return null // a plugin's payload is its own business
  }
}

const isRecord = (value: unknown): value is Shape =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''

const NO_OBJECT: Problem = ['', 'an object']
const within = (path: string, problem: Problem): Problem => problem && [path + problem[0], problem[1]]
const text = (path: string, value: unknown): Problem => (isText(value) ? null : [path, 'a non-empty string'])
const string = (path: string, value: unknown): Problem => (typeof value === 'string' ? null : [path, 'a string'])
const flag = (path: string, value: unknown): Problem =>
  value === undefined || value === true ? null : [path, 'true or nothing']
const number = (path: string, value: unknown): Problem =>
  // Not the largest either: whoever counts on from it would leave the safe integers.
  isSafeNonNegativeInteger(value) && value < Number.MAX_SAFE_INTEGER ? null : [path, 'a safe integer of at least 0']
const kind = (path: string, value: unknown, only?: string): Problem =>
  isRecord(value)
    ? within(path, text('.kind', value['kind']) ?? (only === undefined ? null : one('.kind', value['kind'], only)))
    : within(path, NO_OBJECT)
const place = ({ turn, step }: Shape): Problem => number('.turn', turn) ?? number('.step', step)
const call = (data: Shape): Problem => string('.name', data['name']) ?? string('.arguments', data['arguments'])
const route = ({ provider, model }: Shape): Problem => text('.provider', provider) ?? text('.model', model)
const stream = (data: Shape): Problem =>
  Array.isArray(data['stream']) ? null : ['.stream', 'an array of stream records']
const model = ({ source }: Shape): Problem => text('.source.model', (source as Shape)['model'])

/** `sourceKey` names the text a source of that kind must have. */
function messageProblem(message: unknown, role: string, sourceKind?: string, sourceKey = 'kind'): Problem {
  if (!isRecord(message)) return NO_OBJECT
  const { id, content, source } = message
  return (
    text('.id', id) ??
    one('.role', message['role'], role) ??
    within('.content', blocksProblem(content)) ??
    kind('.source', source, sourceKind) ??
    within('.source', text(`.${sourceKey}`, (source as Shape)[sourceKey]))
  )
}

/** Blocks the library itself reads must have their texts; unknown block types pass. */
function blocksProblem(content: unknown, isInner = false): Problem {
  if (!Array.isArray(content)) return ['', 'an array of blocks']
  for (let index = 0; index < content.length; index += 1) {
    const problem = blockProblem(content[index], isInner)
    if (problem !== null) return within(`[${index}]`, problem)
  }
  return null
}

function blockProblem(block: unknown, isInner: boolean): Problem {
  if (!isRecord(block)) return NO_OBJECT
  switch (block['type']) {
    case 'text':
    case 'reasoning':
      return string('.text', block['text'])
    case 'tool-call':
      return string('.id', block['id']) ?? call(block)
    case 'tool-result':
      // What is inside one inside another is nobody's to read, and may nest as deep as it likes.
      return (
        text('.toolCallId', block['toolCallId']) ??
        (isInner ? null : within('.content', blocksProblem(block['content'], true)))
      )
    default:
      return text('.type', block['type'])
  }
}

/** The block of a tool result whose message has passed. */
function resultProblem({ message, error }: Shape): Problem {
  const { content, source } = message as { content: readonly Shape[]; source: Shape }
  const block = content[0]
  if (content.length !== 1 || block?.['type'] !== 'tool-result') {
    return ['.message.content', 'exactly one tool-result block']
  }
  const at = '.message.content[0]'
  if (block['toolCallId'] !== source['callId']) return [`${at}.toolCallId`, 'the callId of its source']
  if (error !== undefined && block['isError'] !== true) {
    return [`${at}.isError`, 'true, because the payload carries an error']
  }
  return null
}

const HEADER_REASONS: readonly unknown[] = ['initial', 'resume', 'change', 'series']

function headerProblem({ header, reason, startsSeries }: Shape): Problem {
  if (!isRecord(header)) return within('.header', NO_OBJECT)
  if (Object.hasOwn(header, 'system')) return ['.header.system', 'nothing: the prompt is a system/message']
  const { config, tools, adapterDefaults } = header
  if (!isRecord(config)) return within('.header.config', NO_OBJECT)
  if (tools !== undefined && !(Array.isArray(tools) && tools.length > 0)) {
    return ['.header.tools', 'a non-empty array or nothing']
  }
  return (
    within('.header.config', route(config) ?? optional('.reasoningEffort', config['reasoningEffort'], text)) ??
    (adapterDefaults === undefined
      ? null
      : within('.header.adapterDefaults', defaultsProblem(adapterDefaults, config))) ??
    (HEADER_REASONS.includes(reason) ? null : ['.reason', 'initial, resume, change or series']) ??
    flag('.startsSeries', startsSeries)
  )
}

function defaultsProblem(defaults: unknown, config: Shape): Problem {
  if (!isRecord(defaults)) return NO_OBJECT
  const keys = Object.keys(defaults)
  if (keys.length === 0) return ['', 'at least one flag or nothing']
  for (const key of keys) {
    const known = key === 'reasoningEffort' || key === 'maxTokens'
    if (!known || defaults[key] !== true || config[key] === undefined) {
      return [`.${key}`, 'true for a config field that is present']
    }
  }
  return null
}

const hasKeys = (value: Shape, count: number): boolean => Object.keys(value).length === count
const optional = (path: string, value: unknown, check: (path: string, value: unknown) => Problem): Problem =>
  value === undefined ? null : check(path, value)
const one = (path: string, value: unknown, only: unknown): Problem =>
  value === only ? null : [path, JSON.stringify(only)]

/** Checks a session header. @throws {SessionError} `header` (SPEC L11). */
export function checkHeader(value: unknown): asserts value is SessionHeader {
  const header = isRecord(value) ? value : {}
  const { version, id, createdAt, isSeeded, cwd, parentSession, origin, delegationDepth, agentPreset } = header
  const problem =
    one('.version', version, SESSION_FORMAT_VERSION) ??
    text('.id', id) ??
    number('.createdAt', createdAt) ??
    (typeof isSeeded === 'boolean' ? null : ['.isSeeded', 'a boolean']) ??
    (Object.hasOwn(header, 'seedLength') ? ['.seedLength', 'nothing'] : null) ??
    optional('.cwd', cwd, string) ??
    optional('.parentSession', parentSession, string) ??
    (origin === undefined ? null : one('.origin', origin, 'subagent')) ??
    optional('.delegationDepth', delegationDepth, number) ??
    optional('.agentPreset', agentPreset, string)
  if (problem !== null) throw new SessionError('header', `A session header should have ${problem[1]} at $${problem[0]}`)
}
