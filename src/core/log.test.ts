import { describe, expect, it } from 'vitest'
import { log, said, turnStart } from './builders.ts'
import type { SessionErrorCode } from './errors.ts'
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
    expect(() => checkEnvelope({ ...event, type: 'image/offload' }, 0)).toThrow(refusal('unknown-type'))
    expect(() => checkEnvelope({ ...event, type: 'toString' }, 0)).toThrow(refusal('unknown-type'))
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
