import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { FormatError } from './errors.ts'
import { type MapSeq, opaqueAt, withReferences } from './references.ts'
import { logOf } from './migration-kit.ts'
import type { StoredEvent } from './stored.ts'

const event = (type: string, data: unknown, envelope?: Partial<StoredEvent>): StoredEvent => ({
  type,
  seq: 20,
  time: 5,
  data,
  ...envelope,
})
const plusHundred: MapSeq = seq => seq + 100
const same: MapSeq = seq => seq

const refusal = (run: () => unknown): FormatError => {
  try {
    run()
  } catch (error) {
    if (error instanceof FormatError) return error
    throw error
  }
  throw new Error('nothing was refused')
}

describe('references', () => {
  it.each<[string, StoredEvent, object]>([
    [
      'sources of an event',
      event('user/message', { id: 'a' }, { sourceEventSeqs: [3, 1], surfaceOp: 'append' }),
      { sourceEventSeqs: [103, 101], surfaceOp: 'append', data: { id: 'a' } },
    ],
    [
      'both ends of a replaced range',
      event('user/message', {}, { surfaceOp: { op: 'replace', start: 7, end: 2 } }),
      { surfaceOp: { op: 'replace', start: 107, end: 102 } },
    ],
    ['the source of a command', event('command/done', { sourceEventSeq: 4 }), { data: { sourceEventSeq: 104 } }],
    [
      'what a summary shadows',
      event('compaction/summary', { shadowedRange: { start: 2, end: 4 }, shadowedSeqs: [2, 3, 4], x: 2 }),
      { data: { shadowedRange: { start: 102, end: 104 }, shadowedSeqs: [102, 103, 104], x: 2 } },
    ],
    [
      'what is pruned',
      event('compaction/prune', { shadowedRange: { start: 2, end: 2 }, shadowedSeqs: [2] }),
      { data: { shadowedRange: { start: 102, end: 102 }, shadowedSeqs: [102] } },
    ],
    ['messages of a title', event('session/title', { messageSeqs: [1, 2] }), { data: { messageSeqs: [101, 102] } }],
    [
      'messages of the request for a title',
      event('session/title-llm-request', { messageSeqs: [1], messages: [{ text: '1' }] }),
      { data: { messageSeqs: [101], messages: [{ text: '1' }] } },
    ],
  ])('[F5] moves %s', (_name, before, after) => {
    const text = JSON.stringify(before)
    expect(withReferences(before, 120, plusHundred, 'start')).toEqual({ ...before, seq: 120, ...after })
    expect(JSON.stringify(before)).toBe(text)
  })

  it.each<[string, StoredEvent]>([
    ['arguments of a tool', event('tool/call', { arguments: '{"seq":3}', sourceEventSeq: 3, messageSeqs: [3] })],
    ['how far something was delivered', event('session-log-deepseek/delivery-accepted', { throughSeq: 3 })],
    ['the number of an agent', event('tool-workflow/agent-start', { seq: 3 })],
    ['text that says a seq', event('session/title', { title: 'seq 3', messageSeqs: [] })],
    ['the title of a done command', event('command/done', { text: '3' })],
    ['a summary with the fields of a title', event('compaction/summary', { messageSeqs: [3], sourceEventSeq: 1 })],
  ])('[F5] never touches %s', (_name, before) => {
    const after = withReferences(before, 120, plusHundred, 'start')
    expect(after).toEqual({ ...before, seq: 120 })
    expect(after.data).toBe(before.data)
  })

  it('[F5] gives back the same object when nothing changes', () => {
    const before = event(
      'user/message',
      {},
      { sourceEventSeqs: [1, 2], surfaceOp: { op: 'replace', start: 1, end: 2 } },
    )
    expect(withReferences(before, 20, same, 'start')).toBe(before)
    expect(opaqueAt(before, 20, same)).toBe(before)
    expect(opaqueAt(before, 21, same)).toEqual({ ...before, seq: 21 })
  })

  it('[F10] of an event nobody knows only its sources are moved, without those that are gone', () => {
    const map: MapSeq = seq => (seq === 2 ? null : seq + 100)
    const before = event('x/y', { sourceEventSeq: 1 }, { sourceEventSeqs: [1, 2, 3], surfaceOp: { op: 'replace' } })
    expect(opaqueAt(before, 120, map)).toEqual({ ...before, seq: 120, sourceEventSeqs: [101, 103] })
    const { sourceEventSeqs: _sources, ...rest } = before
    expect(opaqueAt({ ...before, sourceEventSeqs: [2] }, 120, map)).toEqual({ ...rest, seq: 120 })
  })

  it('[F5] spells the ends of a range the newer way, in the same place of the envelope', () => {
    const before = event('tool/result', {}, { surfaceOp: { op: 'replace', start: 1, end: 2 }, sourceEventSeqs: [1] })
    const after = withReferences(before, 20, same, 'startSeq')
    expect(after.surfaceOp).toEqual({ op: 'replace', startSeq: 1, endSeq: 2 })
    expect(Object.keys(after)).toEqual(Object.keys(before))
  })

  it.each<[string, unknown]>([
    ['a surplus key', { op: 'replace', start: 1, end: 2, note: '' }],
    ['a key of the newer spelling', { op: 'replace', startSeq: 1, endSeq: 2 }],
    ['a missing end', { op: 'replace', start: 1 }],
    ['another operation', { op: 'remove', start: 1, end: 2 }],
    ['an own __proto__', JSON.parse('{"op":"replace","start":1,"end":2,"__proto__":3}')],
    ['an inherited end', JSON.parse('{"op":"replace","start":1,"__proto__":{"end":2}}')],
    ['another word', 'prepend'],
    ['null', null],
    ['a list', ['append']],
  ])('[F5] refuses an operation with %s', (_name, surfaceOp) => {
    const error = refusal(() => withReferences(event('user/message', {}, { surfaceOp }), 20, same, 'start'))
    expect(error).toMatchObject({ code: 'surface-op', seq: 20, eventType: 'user/message', path: 'surfaceOp' })
  })

  it.each([20, 21, -1, 1.5, -0, 2 ** 53, '3', null, [3], {}])('[F5] refuses %j as a reference', value => {
    const places: [StoredEvent, string][] = [
      [event('user/message', {}, { sourceEventSeqs: [1, value] }), 'sourceEventSeqs[1]'],
      [event('user/message', {}, { surfaceOp: { op: 'replace', start: 1, end: value } }), 'surfaceOp.end'],
      [event('command/done', { sourceEventSeq: value }), '$.sourceEventSeq'],
      [event('compaction/prune', { shadowedRange: { start: value, end: 1 } }), '$.shadowedRange.start'],
      [event('compaction/summary', { shadowedSeqs: [value] }), '$.shadowedSeqs[0]'],
      [event('session/title', { messageSeqs: [1, 1, value] }), '$.messageSeqs[2]'],
    ]
    for (const [before, path] of places) {
      const error = refusal(() => withReferences(before, 20, same, 'start'))
      expect(error).toMatchObject({ code: 'reference', seq: 20, path })
    }
  })

  it('[F5, case 123] refuses a reference to what became part of another event', () => {
    const before = event('session/title', { messageSeqs: [4] })
    const error = refusal(() => withReferences(before, 20, () => null, 'start'))
    expect(error).toMatchObject({ code: 'reference', path: '$.messageSeqs[0]' })
    expect(error.message).toContain('the event at seq 4')
  })

  it('[F5] leaves it to the audit of payloads what has no place for a reference', () => {
    for (const data of [null, 3, [1], { shadowedRange: 4, shadowedSeqs: 'x' }, {}]) {
      const before = event('compaction/summary', data)
      expect(withReferences(before, 20, same, 'start')).toBe(before)
    }
    const error = refusal(() => withReferences(event('x', {}, { sourceEventSeqs: { 0: 1 } }), 20, same, 'start'))
    expect(error).toMatchObject({ code: 'reference', path: 'sourceEventSeqs' })
  })

  it('[F5] keeps an own __proto__ as data and takes lists of any length', () => {
    const data: unknown = JSON.parse('{"__proto__":{"x":1},"messageSeqs":[1]}')
    const after = withReferences(event('session/title', data), 20, plusHundred, 'start')
    expect(JSON.stringify(after.data)).toBe('{"__proto__":{"x":1},"messageSeqs":[101]}')
    const long = { type: 'session/title', seq: 300_000, time: 0, data: { messageSeqs: [...Array(300_000).keys()] } }
    expect(withReferences(long, 300_000, same, 'start')).toBe(long)
  })

  it('[F5] refuses whatever else it is given with a FormatError only, and changes no input', () => {
    const types = ['user/message', 'command/done', 'compaction/summary', 'session/title', 'tool/call']
    fc.assert(
      fc.property(fc.constantFrom(...types), fc.json(), fc.json(), fc.json(), (type, data, sources, operation) => {
        const value = (text: string): unknown => JSON.parse(text)
        const [before] = logOf([type, value(data), { sourceEventSeqs: value(sources), surfaceOp: value(operation) }])
        const text = JSON.stringify(before)
        try {
          withReferences({ ...(before as StoredEvent), seq: 3 }, 1, seq => seq, 'startSeq')
        } catch (error) {
          expect(error).toBeInstanceOf(FormatError)
        }
        expect(JSON.stringify(before)).toBe(text)
      }),
      { numRuns: 200 },
    )
  })
})
