import { describe, expect, it } from 'vitest'
import { answered, called, type Draft, prompted, returned, said, stepStart, textBlock, toolCall, turnEnd, turnStart } from '../builders.ts' // biome-ignore format: one line
import type { EpochHeader } from '../events.ts'
import { requestOf } from '../request.ts'
import type { Session } from '../session.ts'
import { type CheckedRequest, checkRequest } from './check-request.ts'
import { refusalOf, written } from './kit.ts'

const header: EpochHeader = {
  config: { provider: 'demo', model: 'm', temperature: 0.5, maxTokens: 9, stop: ['x'] },
  tools: [{ name: 'read', inputSchema: { type: 'object' } }],
}
const headed: Draft = { type: 'request/header', data: { header, reason: 'initial' } }
const asked = [turnStart(1), stepStart(1, 1), prompted('be brief'), said('hi'), headed]

/** The request a session stands for, with changes; frozen. */
const requestFor = (session: Session, more: object = {}): CheckedRequest => {
  const { messages = [], header: logged = header } = requestOf(session) ?? {}
  return Object.freeze({ sessionId: 'test', header: logged, messages: Object.freeze(messages), ...more })
}
/** Where and why a request is refused; null when it is not. */
const refused = (session: Session, request: CheckedRequest) => {
  const error = refusalOf(() => checkRequest(session, request))
  if (error !== null) expect(error).toMatchObject({ code: 'invariant', sessionId: 'test' })
  return error && [error.path, error.message.replace('A request of session test ', '')]
}

describe('a request', () => {
  const session = written(asked)
  const messages = session.deriveMessages()

  it('[I10] is the one the log stands for', () => {
    expect(refused(session, requestFor(session))).toBeNull()
    expect(refused(session, requestFor(session, { messages: Object.freeze([...messages]) }))).toBeNull()
    const signal = { aborted: false }
    expect(refused(session, requestFor(session, { signal }))).toBeNull()
  })

  it('[I10] is the healed one where the log needs healing', () => {
    const calls = answered([textBlock('x'), toolCall('a')])
    const healed = written([...asked, calls, said('on')])
    expect(refused(healed, requestFor(healed))).toBeNull()
    expect(refused(healed, requestFor(healed, { messages: Object.freeze(healed.deriveMessages()) }))?.[0]).toBe(
      '$.messages',
    )
    const whole = written([...asked, calls, called('a'), returned('a')])
    expect(refused(whole, requestFor(whole, { messages: Object.freeze(whole.deriveMessages()) }))).toBeNull()
  })

  it('[I10] is frozen, and so is its list of messages', () => {
    expect(refused(session, { ...requestFor(session) })).toEqual(['$', 'is not frozen'])
    expect(refused(session, requestFor(session, { messages: [...messages] }))?.[0]).toBe('$.messages')
  })

  it('[I10] is of this session', () => {
    expect(refused(session, requestFor(session, { sessionId: 'other' }))).toEqual([
      '$.sessionId',
      'differs from its log at $.sessionId',
    ])
  })

  it('[I10] is made in a step, after a header', () => {
    const early = 'is made before the first step of the turn'
    expect(refused(written([]), requestFor(written([])))).toEqual(['$', early])
    const next = written([...asked, { type: 'step/end', data: { turn: 1, step: 1 } }, turnEnd(1), turnStart(2)])
    expect(refused(next, requestFor(next))).toEqual(['$', early])
    const bare = written(asked.slice(0, -1))
    expect(refused(bare, requestFor(bare))).toEqual(['$.header', 'is made before any header is logged'])
  })

  it.each<[string, EpochHeader, string]>([
    ['provider', { ...header, config: { ...header.config, provider: 'other' } }, '$.header.config.provider'],
    ['model', { ...header, config: { ...header.config, model: 'n' } }, '$.header.config.model'],
    ['temperature', { ...header, config: { ...header.config, temperature: 1 } }, '$.header.config.temperature'],
    ['maxTokens', { ...header, config: { ...header.config, maxTokens: 8 } }, '$.header.config.maxTokens'],
    ['stop', { ...header, config: { ...header.config, stop: ['y'] } }, '$.header.config.stop[0]'],
    ['tools', { ...header, tools: [{ name: 'write', inputSchema: {} }] }, '$.header.tools[0].name'],
    ['no tools', { config: header.config }, '$.header'],
    ['a system prompt', { ...header, system: 'be' } as EpochHeader, '$.header'],
  ])('[I10] has the header that was logged: %s', (_what, wrong, path) => {
    expect(refused(session, requestFor(session, { header: wrong }))?.[0]).toBe(path)
  })

  it('[I10] has the messages of the surface, and no others', () => {
    const of = (...list: readonly unknown[]) => requestFor(session, { messages: Object.freeze(list) })
    expect(refused(session, of(...messages, messages[1]))?.[0]).toBe('$.messages')
    expect(refused(session, of(messages[1], messages[0]))?.[0]).toBe('$.messages[0].id')
    expect(refused(session, of(messages[0], { ...messages[1], content: [textBlock('ho')] }))).toEqual([
      '$.messages[1].content[0].text',
      'differs from its log at $.messages[1].content[0].text',
    ])
  })

  it('[I10] has no prompt beside its messages', () => {
    for (const system of [undefined, '', null, 'be brief', {}]) {
      expect(refused(session, requestFor(session, { system }))?.[0]).toBe('$.system')
    }
  })
})
