import { describe, expect, it } from 'vitest'
import { appendAny, log, newSession, restored, said, turnStart, user } from './builders.ts'
import { SessionError, type SessionErrorCode } from './errors.ts'
import type { SessionEvent } from './events.ts'
import { checkEnvelope } from './log.ts'
import { isCoreEventType, isKnownEventType, isSurfaceEventType } from './vocabulary.ts'

const [event] = log(turnStart(1))
const refusal = (code: SessionErrorCode): unknown => expect.objectContaining({ name: 'SessionError', code })

describe('the envelope', () => {
  it('[L8] has its keys and no other', () => {
    const full = { ...event, ignorable: true, surfaceOp: 'append', sourceEventSeqs: [0] }
    expect(() => checkEnvelope(full, 0)).not.toThrow()
    expect(() => checkEnvelope({ ...event, id: 'x' }, 0)).toThrow(refusal('envelope'))
    expect(() => checkEnvelope({ ...event, extra: undefined }, 0)).toThrow(refusal('envelope'))
  })

  it.each<[string, unknown]>([
    ['null', null],
    ['a list', [event]],
    ['text', 'turn/start'],
    ['undefined', undefined],
    ['a type that is no text', { ...event, type: 7 }],
    ['no type', { ...event, type: undefined }],
    ['a seq as text', { ...event, seq: '0' }],
    ['a negative seq', { ...event, seq: -1 }],
    ['−0 as seq', { ...event, seq: -0 }],
    ['a fractional time', { ...event, time: 0.5 }],
    ['a time as text', { ...event, time: '2026-11-30' }],
    ['no time', { ...event, time: undefined }],
    ['an unsafe time', { ...event, time: 2 ** 53 }],
    ['no data', { ...event, data: undefined }],
    ['ignorable false', { ...event, ignorable: false }],
    ['ignorable as text', { ...event, ignorable: 'true' }],
    ['ignorable null', { ...event, ignorable: null }],
  ])('[L8] refuses %s', (_name, value) => {
    expect(() => checkEnvelope(value, 0)).toThrow(refusal('envelope'))
  })

  it('[L8] takes a time before 1970, data null, and a time that went back', () => {
    expect(() => checkEnvelope({ ...event, time: -1 }, 0)).not.toThrow()
    expect(() => checkEnvelope({ type: 'session/title', seq: 0, time: 0, data: null }, 0)).not.toThrow()
  })

  it('[L1] refuses any seq but the next, and says both', () => {
    const [, second] = log(said('a'), said('b'))
    for (const expected of [0, 2]) {
      expect(() => checkEnvelope(second, expected)).toThrow(
        expect.objectContaining({ code: 'seq', seq: 1, expected, actual: 1, eventType: 'user/message' }),
      )
    }
  })

  it('[L6] refuses an unknown type, unless it says it may be ignored', () => {
    const unknown = { ...event, type: 'other/thing' }
    expect(() => checkEnvelope(unknown, 0)).toThrow(refusal('unknown-type'))
    expect(() => checkEnvelope({ ...unknown, ignorable: true }, 0)).not.toThrow()
    expect(() => checkEnvelope({ ...event, type: 'toString' }, 0)).toThrow(refusal('unknown-type'))
  })
})

/** What `act` was refused with. */
const refusalOf = (act: () => unknown): SessionError => {
  try {
    act()
  } catch (error) {
    if (error instanceof SessionError) return error
    throw error
  }
  throw new Error('Nothing was refused.')
}

describe('a refusal of what is appended', () => {
  const toAppend = { surfaceOp: 'append' }
  const refused = (type: unknown, data: unknown, intent?: unknown): SessionError =>
    refusalOf(() => appendAny(newSession(said('before')), type, data, intent))
  const hidden = Object.defineProperty({ ...toAppend }, 'x', { value: 1 })

  it.each<[string, unknown, RegExp]>([
    ['that it is no object', 7, /intent .*object/],
    ['that it is no plain object', new (class Intent {})(), /intent .*plain object/],
    ['that a key is hidden', hidden, /intent .*hidden/],
    ['the key that is too many', { ...toAppend, other: 1 }, /intent .*\bother\b/],
  ])('[L5] for its intent says which event it is, and %s', (_name, intent, what) => {
    const error = refused('user/message', user('x'), intent)
    expect(error).toMatchObject({ code: 'intent', seq: 1, eventType: 'user/message' })
    expect(error.message).toMatch(/user\/message at seq 1/)
    expect(error.message).toMatch(what)
  })

  it('[L3, L5] for a value JSON cannot carry says in which part it is and where, and keeps the cause', () => {
    const surfaceOp = { op: 'replace', startSeq: 0n, endSeq: 0 }
    const inIntent = refused('user/message', user('x'), { surfaceOp, sourceEventSeqs: [0] })
    expect(inIntent).toMatchObject({ code: 'not-json', seq: 1, path: '$.surfaceOp.startSeq' })
    expect(inIntent.message).toMatch(/\bintent\b/)
    const inData = refused('session/title', { title: 0n })
    expect(inData).toMatchObject({ code: 'not-json', seq: 1, path: '$.title' })
    expect(inData.message).toMatch(/\bdata\b/)
    expect(inData.cause).toMatchObject({ name: 'SessionError', code: 'not-json', path: '$.title' })
  })

  it('[L4] is not made of what a getter of the caller throws', () => {
    const thrown = new RangeError('from the getter')
    const data = {
      get title(): string {
        throw thrown
      },
    }
    const session = newSession()
    let caught: unknown
    try {
      appendAny(session, 'session/title', data)
    } catch (error) {
      caught = error
    }
    expect(caught).toBe(thrown)
    expect(session.length).toBe(0)
  })

  it('[L6, L7] for its type says what is wrong with it', () => {
    expect(refused('other/thing', {}).message).toMatch(/other\/thing at seq 1 .*known/)
    expect(refused('session/end-seed', {}).message).toMatch(/session\/end-seed at seq 1 .*\bonly\b/)
  })
})

describe('a refusal of what is restored', () => {
  const refused = (second: object | null): SessionError =>
    refusalOf(() => restored([event, second] as unknown as SessionEvent[]))
  const next = { ...event, seq: 1 }

  it.each<[string, object | null, RegExp]>([
    ['that it is no object', null, /object/],
    ['the key that is too many', { ...next, other: 1 }, /\bother\b/],
    ['the type', { ...next, type: 7 }, /\btype\b/],
    ['the seq', { ...next, seq: '1' }, /seq 1 .*\bseq\b/],
    ['the time', { ...next, time: 0.5 }, /\btime\b/],
    ['the data', { ...next, data: undefined }, /\bdata\b/],
    ['ignorable', { ...next, ignorable: false }, /\bignorable\b/],
  ])('[L8] says where it stands, and names %s', (_name, second, what) => {
    const error = refused(second)
    expect(error).toMatchObject({ code: 'envelope', index: 1, seq: 1 })
    expect(error.message).toMatch(/event at seq 1/)
    expect(error.message).toMatch(what)
  })

  it('[L6] of an unknown type says that it may not be ignored', () => {
    expect(refused({ ...next, type: 'other/thing' }).message).toMatch(/other\/thing at seq 1 .*ignore/)
  })

  it('[L1] at the wrong place says the seq it has and the one it should have', () => {
    const error = refused({ ...next, seq: 7 })
    expect(error).toMatchObject({ code: 'seq', index: 1, seq: 7, expected: 1, actual: 7 })
    expect(error.message).toMatch(/\b7\b.*\b1\b/)
  })
})

describe('the vocabulary', () => {
  it('[L6] knows surface, core and plugin types apart', () => {
    const types = ['user/message', 'turn/start', 'session/title', 'other/thing', '__proto__', 'constructor', '']
    expect(types.map(isSurfaceEventType)).toEqual([true, false, false, false, false, false, false])
    expect(types.map(isCoreEventType)).toEqual([true, true, false, false, false, false, false])
    expect(types.map(isKnownEventType)).toEqual([true, true, true, false, false, false, false])
  })
})
