/**
 * The shape each core payload must have. The same checks run for a live append, a seed, a restore and an import, so what
 * one accepts the others accept (SPEC L9).
 */
import { SessionError } from './errors.ts'
import type { SessionEvent } from './events.ts'
import { isSafeNonNegativeInteger } from './ids.ts'

type Shape = Record<string, unknown>

/**
 * Checks the payload of one event.
 *
 * @throws {SessionError} `payload` with the path of what is wrong.
 */
export function checkPayload(event: SessionEvent): void {
  const fail: Fail = (path, expected) => {
    throw new SessionError('payload', `${event.type} at seq ${event.seq}: expected ${expected} at $${path}`, {
      seq: event.seq,
      eventType: event.type,
      path: `$${path}`,
    })
  }
  const data = event.data as unknown
  switch (event.type) {
    case 'turn/start':
    case 'turn/end':
      numbers(record(data, fail), ['turn'], fail)
      if (event.type === 'turn/end') kind((data as Shape)['reason'], '.reason', fail)
      return
    case 'step/start':
    case 'step/end':
      numbers(record(data, fail), ['turn', 'step'], fail)
      return
    case 'system/message':
      numbers(record(data, fail), ['turn', 'step'], fail)
      checkMessage((data as Shape)['message'], '.message', 'system', 'plugin', ['plugin'], fail)
      return
    case 'user/message':
      checkMessage(data, '', 'user', null, [], fail)
      return
    case 'assistant/attempt':
    case 'assistant/message':
      numbers(record(data, fail), ['turn', 'step'], fail)
      if (!Array.isArray((data as Shape)['stream'])) fail('.stream', 'an array of stream records')
      if (event.type === 'assistant/attempt') return
      checkMessage((data as Shape)['message'], '.message', 'assistant', 'model', ['provider', 'model'], fail)
      return
    case 'tool/call':
      numbers(record(data, fail), ['turn', 'step'], fail)
      for (const key of ['callId', 'name']) if (!isText((data as Shape)[key])) fail(`.${key}`, 'a non-empty string')
      if (typeof (data as Shape)['arguments'] !== 'string') fail('.arguments', 'a string')
      return
    case 'tool/result':
      numbers(record(data, fail), ['turn', 'step'], fail)
      checkToolResult(data as Shape, fail)
      return
    case 'request/header':
      checkRequestHeader(record(data, fail), fail)
      return
    case 'request/context':
      for (const key of ['provider', 'model'])
        if (!isText(record(data, fail)[key])) fail(`.${key}`, 'a non-empty string')
      return
    case 'session/end-seed': {
      const { inherited } = record(data, fail)
      if (inherited !== undefined && inherited !== true) fail('.inherited', 'true or nothing')
      return
    }
    default:
  }
}

type Fail = (path: string, expected: string) => never

const isRecord = (value: unknown): value is Shape =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''

function record(value: unknown, fail: Fail, path = ''): Shape {
  return isRecord(value) ? value : fail(path, 'an object')
}

function numbers(data: Shape, keys: readonly string[], fail: Fail): void {
  for (const key of keys) {
    if (!isSafeNonNegativeInteger(data[key])) fail(`.${key}`, 'a safe integer of at least 0')
  }
}

function kind(value: unknown, path: string, fail: Fail): void {
  if (!isText(record(value, fail, path)['kind'])) fail(`${path}.kind`, 'a non-empty string')
}

function checkMessage(
  value: unknown,
  path: string,
  role: string,
  sourceKind: string | null,
  sourceKeys: readonly string[],
  fail: Fail,
): void {
  const message = record(value, fail, path)
  if (!isText(message['id'])) fail(`${path}.id`, 'a non-empty string')
  if (message['role'] !== role) fail(`${path}.role`, `'${role}'`)
  checkBlocks(message['content'], `${path}.content`, fail)
  const source = message['source']
  kind(source, `${path}.source`, fail)
  if (sourceKind !== null && (source as Shape)['kind'] !== sourceKind) fail(`${path}.source.kind`, `'${sourceKind}'`)
  for (const key of sourceKeys) {
    if (!isText((source as Shape)[key])) fail(`${path}.source.${key}`, 'a non-empty string')
  }
}

/** Blocks the library itself reads must have their texts; unknown block types pass. */
function checkBlocks(value: unknown, path: string, fail: Fail): void {
  if (!Array.isArray(value)) return fail(path, 'an array of blocks')
  for (let index = 0; index < value.length; index += 1) {
    const problem = blockProblem(value[index])
    if (problem !== null) fail(`${path}[${index}]${problem[0]}`, problem[1])
  }
}

/** What is wrong with one block: where in it, and what was expected. */
function blockProblem(block: unknown): readonly [string, string] | null {
  if (!isRecord(block)) return ['', 'an object']
  switch (block['type']) {
    case 'text':
    case 'reasoning':
      return typeof block['text'] === 'string' ? null : ['.text', 'a string']
    case 'tool-call':
      if (!isText(block['id'])) return ['.id', 'a non-empty string']
      if (typeof block['name'] !== 'string') return ['.name', 'a string']
      return typeof block['arguments'] === 'string' ? null : ['.arguments', 'a string']
    default:
      return isText(block['type']) ? null : ['.type', 'a non-empty string']
  }
}

function checkToolResult(data: Shape, fail: Fail): void {
  checkMessage(data['message'], '.message', 'user', 'tool', ['callId'], fail)
  const { content, source } = data['message'] as { content: readonly Shape[]; source: Shape }
  const block = content[0]
  if (content.length !== 1 || block?.['type'] !== 'tool-result') {
    return fail('.message.content', 'exactly one tool-result block')
  }
  checkBlocks(block['content'], '.message.content[0].content', fail)
  if (block['toolCallId'] !== source['callId']) fail('.message.content[0].toolCallId', 'the callId of its source')
  if (data['error'] !== undefined && block['isError'] !== true) {
    fail('.message.content[0].isError', 'true, because the payload carries an error')
  }
}

const HEADER_REASONS: readonly unknown[] = ['initial', 'resume', 'change', 'series']

function checkRequestHeader(data: Shape, fail: Fail): void {
  const header = record(data['header'], fail, '.header')
  if (Object.hasOwn(header, 'system')) fail('.header.system', 'nothing: the prompt is a system/message')
  const config = record(header['config'], fail, '.header.config')
  for (const key of ['provider', 'model']) {
    if (!isText(config[key])) fail(`.header.config.${key}`, 'a non-empty string')
  }
  const effort = config['reasoningEffort']
  if (effort !== undefined && !isText(effort)) fail('.header.config.reasoningEffort', 'a non-empty string or nothing')
  const { tools, adapterDefaults } = header
  if (tools !== undefined && (!Array.isArray(tools) || tools.length === 0)) {
    fail('.header.tools', 'a non-empty array or nothing')
  }
  if (adapterDefaults !== undefined) {
    const flags = Object.entries(record(adapterDefaults, fail, '.header.adapterDefaults'))
    if (flags.length === 0) fail('.header.adapterDefaults', 'at least one flag or nothing')
    for (const [key, flag] of flags) {
      const known = key === 'reasoningEffort' || key === 'maxTokens'
      if (!known || flag !== true || config[key] === undefined) {
        fail(`.header.adapterDefaults.${key}`, 'true for a config field that is present')
      }
    }
  }
  if (!HEADER_REASONS.includes(data['reason'])) fail('.reason', 'initial, resume, change or series')
  if (data['startsSeries'] !== undefined && data['startsSeries'] !== true) fail('.startsSeries', 'true or nothing')
}
