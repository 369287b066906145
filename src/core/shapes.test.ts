import { describe, expect, it } from 'vitest'
import {
  answered,
  assistant,
  called,
  type Draft,
  headed,
  log,
  prompted,
  returned,
  said,
  stepEnd,
  stepStart,
  system,
  textBlock,
  toolCall,
  toolResult,
  turnEnd,
  turnStart,
  user,
} from './builders.ts'
import type { SessionEvent } from './events.ts'
import { checkPayload } from './shapes.ts'

const check = (draft: Draft): void => checkPayload(log(draft)[0] as SessionEvent)
const refusal = (path: string): unknown =>
  expect.objectContaining({ name: 'SessionError', code: 'payload', seq: 0, path })
/** `draft` with its data changed. */
const having = (draft: Draft, change: object): Draft => ({ ...draft, data: { ...(draft.data as object), ...change } })
const header = (change: object, more: object = {}): Draft =>
  having(headed(), { header: { config: { provider: 'p', model: 'm' }, ...change }, ...more })
const config = { provider: 'p', model: 'm' }

describe('what is accepted', () => {
  it.each<[string, Draft]>([
    ['turn/start', turnStart(1)],
    ['turn/end', turnEnd(1)],
    ['turn/end of a later kind', having(turnEnd(1), { reason: { kind: 'something-new' } })],
    ['step/start', stepStart(1, 1)],
    ['step/end', stepEnd(1, 1)],
    ['system/message', prompted('p')],
    ['system/message without text', prompted('')],
    ['user/message', said('x')],
    ['user/message of any source', { ...said('x'), data: { ...user('x'), source: { kind: 'webhook', a: 1 } } }],
    ['blocks of an unknown type', said([{ type: 'hologram', x: 1 } as never])],
    ['assistant/message', answered([textBlock('x'), toolCall('c', 'no json')])],
    ['assistant/message with more members', having(answered('x'), { usage: {}, interrupted: true, extra: 1 })],
    ['assistant/attempt', { type: 'assistant/attempt', data: { turn: 0, step: 0, stream: [{ any: 1 }] } }],
    ['tool/call', called('c')],
    ['tool/result', returned('c')],
    ['tool/result without content', returned('c', [])],
    ['request/header', headed('resume')],
    [
      'request/header, full',
      header(
        { config: { ...config, maxTokens: 1 }, adapterDefaults: { maxTokens: true }, tools: [1] },
        { startsSeries: true },
      ),
    ],
    ['request/context', { type: 'request/context', data: { provider: 'p', model: 'm' } }],
    ['session/end-seed', { type: 'session/end-seed', data: {} }],
    ['session/end-seed, inherited', { type: 'session/end-seed', data: { inherited: true } }],
    ['a plugin event of any shape', { type: 'session/title', data: null }],
    ['an unknown event of any shape', { type: 'other/thing', data: [1], ignorable: true }],
  ])('[L9] %s', (_name, draft) => {
    expect(() => check(draft)).not.toThrow()
  })
})

describe('what is refused', () => {
  it.each(['1', -1, -0, 1.5, NaN, null, undefined, 2 ** 53])('[L9, case 51] %s as turn or step', wrong => {
    for (const draft of [stepStart(1, 1), answered('x'), returned('c'), called('c'), prompted('p')]) {
      expect(() => check(having(draft, { turn: wrong }))).toThrow(refusal('$.turn'))
      expect(() => check(having(draft, { step: wrong }))).toThrow(refusal('$.step'))
    }
    const attempt = { type: 'assistant/attempt', data: { turn: 1, step: wrong, stream: [] } }
    expect(() => check(attempt)).toThrow(refusal('$.step'))
    expect(() => check(turnStart(wrong as number))).toThrow(refusal('$.turn'))
  })

  it.each([null, 'text', 7, [], true])('[L9, case 51] %j as data of a core event', data => {
    for (const draft of [
      turnStart(1),
      said('x'),
      answered('x'),
      returned('c'),
      headed(),
      { type: 'session/end-seed' },
    ]) {
      expect(() => check({ ...draft, data })).toThrow(refusal('$'))
    }
  })

  it.each([null, undefined, {}, 'x'])('[L9, case 51] %j as stream', stream => {
    expect(() => check(having(answered('x'), { stream }))).toThrow(refusal('$.stream'))
    expect(() => check({ type: 'assistant/attempt', data: { turn: 1, step: 1, stream } })).toThrow(refusal('$.stream'))
  })

  it.each<[string, object, string]>([
    ['role assistant', { role: 'assistant' }, '$.role'],
    ['no id', { id: '' }, '$.id'],
    ['an id that is no text', { id: 7 }, '$.id'],
    ['source null', { source: null }, '$.source'],
    ['source without kind', { source: { kind: '' } }, '$.source.kind'],
    ['content as text', { content: 'hi' }, '$.content'],
    ['no content', { content: undefined }, '$.content'],
    ['a block that is no object', { content: [textBlock('a'), 'b'] }, '$.content[1]'],
    ['a block without type', { content: [{ text: 'a' }] }, '$.content[0].type'],
    ['a text block without text', { content: [{ type: 'text' }] }, '$.content[0].text'],
    ['a thought without text', { content: [{ type: 'reasoning', text: 1 }] }, '$.content[0].text'],
  ])('[L9, case 50] a user message with %s', (_name, change, path) => {
    expect(() => check(having(said('x'), change))).toThrow(refusal(path))
  })

  it.each<[string, object, string]>([
    ['role user', { ...system('p'), role: 'user' }, '$.message.role'],
    ['another source', { ...system('p'), source: { kind: 'user' } }, '$.message.source.kind'],
    ['an empty plugin', { ...system('p'), source: { kind: 'plugin', plugin: '' } }, '$.message.source.plugin'],
    ['no plugin', { ...system('p'), source: { kind: 'plugin' } }, '$.message.source.plugin'],
  ])('[L9, case 50] a system message with %s', (_name, message, path) => {
    expect(() => check(having(prompted('p'), { message }))).toThrow(refusal(path))
  })

  it.each<[string, object, string]>([
    ['role user', { role: 'user' }, '$.message.role'],
    ['another source', { source: { kind: 'user' } }, '$.message.source.kind'],
    ['an empty provider', { source: { kind: 'model', provider: '', model: 'm' } }, '$.message.source.provider'],
    ['no model', { source: { kind: 'model', provider: 'p' } }, '$.message.source.model'],
    ['a call without id', { content: [{ ...toolCall('c'), id: undefined }] }, '$.message.content[0].id'],
    ['a call without name', { content: [{ ...toolCall('c'), name: undefined }] }, '$.message.content[0].name'],
    ['parsed arguments', { content: [{ ...toolCall('c'), arguments: {} }] }, '$.message.content[0].arguments'],
  ])('[L9, case 50] an assistant message with %s', (_name, change, path) => {
    expect(() => check(having(answered('x'), { message: { ...assistant('x'), ...change } }))).toThrow(refusal(path))
  })

  const result = toolResult('c')
  it.each<[string, object, string]>([
    ['role tool', { role: 'tool' }, '$.message.role'],
    ['another source', { source: { kind: 'user' } }, '$.message.source.kind'],
    ['no call id', { source: { kind: 'tool', callId: '' } }, '$.message.source.callId'],
    ['no block', { content: [] }, '$.message.content'],
    ['two blocks', { content: [result.content[0], result.content[0]] }, '$.message.content'],
    ['another block', { content: [textBlock('x')] }, '$.message.content'],
    [
      'content of the block as text',
      { content: [{ ...result.content[0], content: 'x' }] },
      '$.message.content[0].content',
    ],
    [
      'another call id in the block',
      { content: [{ ...result.content[0], toolCallId: 'd' }] },
      '$.message.content[0].toolCallId',
    ],
  ])('[L9, case 50] a tool result with %s', (_name, change, path) => {
    expect(() => check(having(returned('c'), { message: { ...result, ...change } }))).toThrow(refusal(path))
  })

  it('[L9] a tool result with an error that the model is not told of', () => {
    const error = { name: 'E', code: 'E' }
    const path = '$.message.content[0].isError'
    expect(() => check(having(returned('c'), { error }))).toThrow(refusal(path))
    const isError = (value: unknown): object => ({ ...result, content: [{ ...result.content[0], isError: value }] })
    expect(() => check(having(returned('c'), { error, message: isError(false) }))).toThrow(refusal(path))
    expect(() => check(having(returned('c'), { error: null, message: isError(false) }))).toThrow(refusal(path))
    expect(() => check(having(returned('c'), { error, message: isError(true) }))).not.toThrow()
  })

  it.each<[string, object, string]>([
    ['no call id', { callId: '' }, '$.callId'],
    ['no name', { name: undefined }, '$.name'],
    ['parsed arguments', { arguments: {} }, '$.arguments'],
  ])('[L9] a tool call with %s', (_name, change, path) => {
    expect(() => check(having(called('c'), change))).toThrow(refusal(path))
  })

  it.each(['', ' ', null, [], {}, undefined])('[L9, H1, case 42] a request header with system %j', prompt => {
    expect(() => check(header({ system: prompt }))).toThrow(refusal('$.header.system'))
  })

  it.each<[string, object, string]>([
    ['an empty tool list', { tools: [] }, '$.header.tools'],
    ['tools that are no list', { tools: {} }, '$.header.tools'],
    ['empty adapter defaults', { adapterDefaults: {} }, '$.header.adapterDefaults'],
    ['adapter defaults that are no object', { adapterDefaults: [] }, '$.header.adapterDefaults'],
    ['a flag for an absent field', { adapterDefaults: { maxTokens: true } }, '$.header.adapterDefaults.maxTokens'],
    [
      'an unknown flag',
      { config: { ...config, stop: [] }, adapterDefaults: { stop: true } },
      '$.header.adapterDefaults.stop',
    ],
    [
      'a false flag',
      { config: { ...config, maxTokens: 1 }, adapterDefaults: { maxTokens: false } },
      '$.header.adapterDefaults.maxTokens',
    ],
    ['no config', { config: null }, '$.header.config'],
    ['no provider', { config: { model: 'm' } }, '$.header.config.provider'],
    ['an empty model', { config: { provider: 'p', model: '' } }, '$.header.config.model'],
    ['an empty effort', { config: { ...config, reasoningEffort: '' } }, '$.header.config.reasoningEffort'],
  ])('[L9, H1, case 43] a request header with %s', (_name, change, path) => {
    expect(() => check(header(change))).toThrow(refusal(path))
  })

  it.each(['fallback', 'unknown', null, undefined])('[L9, H3, case 49] a header reason %j', reason => {
    expect(() => check(header({}, { reason }))).toThrow(refusal('$.reason'))
  })

  it.each([false, 1, 'true', null])('[L9, H3, case 49] startsSeries %j', startsSeries => {
    expect(() => check(header({}, { startsSeries }))).toThrow(refusal('$.startsSeries'))
  })

  it('[L9] a context without provider or model, a mark that is not true, an end without reason', () => {
    expect(() => check({ type: 'request/context', data: { model: 'm' } })).toThrow(refusal('$.provider'))
    expect(() => check({ type: 'request/context', data: { provider: 'p', model: '' } })).toThrow(refusal('$.model'))
    expect(() => check({ type: 'session/end-seed', data: { inherited: false } })).toThrow(refusal('$.inherited'))
    expect(() => check(having(turnEnd(1), { reason: undefined }))).toThrow(refusal('$.reason'))
    expect(() => check(having(turnEnd(1), { reason: { kind: '' } }))).toThrow(refusal('$.reason.kind'))
  })
})
