import { describe, expect, it } from 'vitest'
import { AgentError } from '../agent/errors.ts'
import { SessionError } from '../core/errors.ts'
import { StorageError } from '../storage/storage.ts'
import { decodeError, encodeError, reply, unwrap, WorkerError } from './errors.ts'

/** An error as it arrives on the other side. */
const across = (error: unknown) => decodeError(structuredClone(encodeError(error)))

describe('errors across the boundary', () => {
  it.each([
    [SessionError, new SessionError('surface-range', 'not there', { seq: 4, eventType: 'user/message', path: '$.a' })],
    [StorageError, new StorageError('in-use', 'held', { sessionId: 's', expected: 1, actual: 2 })],
    [AgentError, new AgentError('canceled', 'running')],
    [WorkerError, new WorkerError('lost', 'gone')],
  ])('[B1] keeps class, code and facts of %o', (Class, error) => {
    const decoded = across(error)
    expect(decoded).toBeInstanceOf(Class)
    expect({ ...decoded }).toEqual({ ...error })
    expect(decoded.message).toBe(error.message)
    expect(decoded.stack).toBe(error.stack)
  })

  it('[B1] keeps the chain of causes, to a bounded depth', () => {
    const cause = new TypeError('the root')
    const decoded = across(
      new StorageError('corrupt', 'no', {}, { cause: new SessionError('seq', 'gap', { seq: 2 }, { cause }) }),
    )
    expect(decoded.cause).toBeInstanceOf(SessionError)
    expect((decoded.cause as Error).cause).toMatchObject({
      name: 'WorkerError',
      code: 'internal',
      message: 'TypeError: the root',
    })
    const endless: { message: string; cause?: unknown } = { message: 'again' }
    endless.cause = endless
    let depth = 0
    for (let each: unknown = across(endless); each instanceof Error; each = each.cause) depth += 1
    expect(depth).toBeLessThan(10)
  })

  it.each([
    ['a string', 'just text', 'just text'],
    ['null', null, 'null'],
    ['undefined', undefined, 'undefined'],
    ['an object', { message: 'shaped like one' }, 'shaped like one'],
    ['an object with functions', Object.assign(new RangeError('far'), { retry: () => 1 }), 'RangeError: far'],
    ['an object that cannot be text', Object.create(null) as unknown, 'a value without text'],
    ['a symbol', Symbol('s'), 'Symbol(s)'],
  ])('[B2] encodes %s', (_name, thrown, message) => {
    expect(across(thrown)).toMatchObject({ name: 'WorkerError', code: 'internal', message })
  })

  it('[B2] encodes what throws when it is looked at, and bounds what is huge', () => {
    const hostile = {
      get message(): string {
        throw new TypeError('no')
      },
      get code(): string {
        throw new TypeError('no')
      },
      toString: () => 'x'.repeat(1_000_000),
    }
    const decoded = across(hostile)
    expect(decoded.code).toBe('internal')
    expect(decoded.message.length).toBeLessThan(5_000)
  })

  it('[B2] does not take a class name from the wire for a class', () => {
    const wire = { ...encodeError(new AgentError('canceled', 'x')), name: 'constructor' }
    expect(decodeError(wire)).toBeInstanceOf(WorkerError)
  })

  it('[B1] answers with a value, or with the error', async () => {
    expect(unwrap(await reply(() => 7))).toBe(7)
    const answer = await reply(() => Promise.reject(new AgentError('canceled', 'running')))
    expect(() => unwrap(answer)).toThrow(expect.objectContaining({ name: 'AgentError', code: 'canceled' }))
  })
})
