import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { FormatError } from './errors.ts'
import { stepBoundaries } from './step-boundaries.ts'
import {
  answer,
  type Entry,
  endSeed,
  logOf,
  requestHeader,
  runMigration,
  type MigrationRun,
  stepEnd,
  stepStart,
  todo,
  turnEnd,
  turnStart,
  user,
} from './migration-kit.ts'
import type { StoredEvent, StoredHeader } from './stored.ts'
import { v2ToV3 } from './v2-to-v3.ts'

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')
const header: StoredHeader = { version: 2, id: 's', createdAt: 900, isSeeded: false }

const runOf = (events: readonly StoredEvent[], inherited: number | null = null): MigrationRun =>
  runMigration(stepBoundaries, { header, events, sha256, inherited, mayRepair: true })
const run = (...entries: readonly Entry[]): MigrationRun => runOf(logOf(...entries))

/** Each event, boundaries with their step; `+` before what was put in. */
const outline = ({ events, map }: MigrationRun): readonly string[] =>
  events.map(({ type, seq, data }) => {
    const { step } = data as { step?: number }
    return `${map.includes(seq) ? '' : '+'}${type}${type.startsWith('step/') ? ` ${step}` : ''}`
  })
const listed = ({ repairs }: MigrationRun): readonly unknown[] => repairs.map(({ code, seq }) => [code, seq])

const call = (step = 1, turn = 1): Entry => ['tool/call', { turn, step, callId: 'c', name: 'n', arguments: '' }]
const attempt = (step = 1): Entry => ['assistant/attempt', { turn: 1, step, stream: [] }]
const result = (step = 1, envelope: Partial<StoredEvent> = { surfaceOp: 'append' }): Entry => [
  'tool/result',
  { turn: 1, step, message: {} },
  envelope,
]
const say = (step = 1): Entry => answer('m', { step, stream: [] })

describe('an event that names a step', () => {
  it.each([[say()], [attempt()], [call()], [result()]])('[F10] gets that step when none is open: %j', entry => {
    const done = run(turnStart(), entry, turnEnd())
    expect(outline(done)).toEqual(['turn/start', '+step/start 1', entry[0], '+step/end 1', 'turn/end'])
    expect(done.events.map(({ time }) => time)).toEqual([1000, 1010, 1010, 1020, 1020])
    expect(done.events[1]?.data).toEqual({ turn: 1, step: 1 })
    expect(done.origins).toEqual([0, 1, 1, 2, 2])
    expect(listed(done)).toEqual([['step-boundary', 1]])
  })

  it('[F10] keeps its step open until another one is named, the turn ends or a step begins', () => {
    expect(outline(run(turnStart(), say(1), call(1), result(1), say(2), turnEnd()))).toEqual([
      'turn/start',
      '+step/start 1',
      'assistant/message',
      'tool/call',
      'tool/result',
      '+step/end 1',
      '+step/start 2',
      'assistant/message',
      '+step/end 2',
      'turn/end',
    ])
    const before = run(turnStart(), say(1), stepStart(1, 2), say(2), stepEnd(1, 2), turnEnd())
    expect(outline(before)).toEqual([
      'turn/start',
      '+step/start 1',
      'assistant/message',
      '+step/end 1',
      'step/start 2',
      'assistant/message',
      'step/end 2',
      'turn/end',
    ])
    expect(listed(before)).toEqual([['step-boundary', 1]])
    expect(outline(run(turnStart(), say(1))).at(-1)).toBe('assistant/message')
  })

  it('[F10] has its step ended by the end that was recorded, and by no other', () => {
    expect(outline(run(turnStart(), say(1), stepEnd(1, 1), turnEnd()))).toEqual([
      'turn/start',
      '+step/start 1',
      'assistant/message',
      'step/end 1',
      'turn/end',
    ])
    expect(outline(run(turnStart(), say(1), stepEnd(1, 2), turnEnd()))).toEqual([
      'turn/start',
      '+step/start 1',
      'assistant/message',
      '+step/end 1',
      'step/end 2',
      'turn/end',
    ])
  })

  it('[F10] stands in the step whose end alone was recorded', () => {
    const done = run(turnStart(), user('u'), stepEnd(1, 3), say(4), turnEnd())
    expect(outline(done)).toEqual([
      'turn/start',
      '+step/start 3',
      'user/message',
      'step/end 3',
      '+step/start 4',
      'assistant/message',
      '+step/end 4',
      'turn/end',
    ])
  })

  it('[F10] that was recorded is ended where another begins or its turn ends, and nowhere else', () => {
    const done = run(turnStart(), stepStart(), say(2), stepStart(1, 2), turnEnd(), turnStart(2))
    expect(outline(done)).toEqual([
      'turn/start',
      'step/start 1',
      'assistant/message',
      '+step/end 1',
      'step/start 2',
      '+step/end 2',
      'turn/end',
      'turn/start',
    ])
    expect(listed(done)).toEqual([
      ['step-boundary', 3],
      ['step-boundary', 4],
    ])
    for (const entries of [
      [turnStart(), stepStart(), say(2)],
      [stepStart(), turnStart(), stepStart(), stepEnd(), turnEnd()],
    ]) {
      const left = run(...entries)
      expect(left.events).toEqual(logOf(...entries))
      expect(left.repairs).toEqual([])
    }
  })

  it('[F10] gets none outside of its turn, nor where it stands for an older result', () => {
    const replace = { surfaceOp: { op: 'replace', start: 2, end: 2 }, sourceEventSeqs: [2] }
    for (const entries of [
      [say()],
      [turnStart(2), say()],
      [turnStart(), stepStart(), result(), stepEnd(), result(1, replace), turnEnd()],
    ]) {
      const events = logOf(...entries)
      const done = runOf(events)
      done.events.forEach((event, seq) => expect(event).toBe(events[seq]))
      expect(done.events).toHaveLength(events.length)
    }
  })
})

describe('a message before the first step', () => {
  it('[F10] stands in the step before the one that begins next', () => {
    const done = run(turnStart(), user('u'), todo, user('v'), stepStart(), stepEnd(), turnEnd())
    expect(outline(done)).toEqual([
      'turn/start',
      '+step/start 1',
      'user/message',
      'todo/write',
      'user/message',
      '+step/end 1',
      'step/start 1',
      'step/end 1',
      'turn/end',
    ])
    expect(done.events.map(({ time }) => time)).toEqual([1000, 1010, 1010, 1020, 1030, 1040, 1040, 1050, 1060])
    expect(done.origins).toEqual([0, 1, 1, 2, 3, 4, 4, 5, 6])
    expect(listed(done)).toEqual([['step-boundary', 1]])
    expect(outline(run(turnStart(), user('u'), stepStart(1, 3)))).toContain('+step/start 2')
  })

  it('[F10] stands in the step that is named next', () => {
    expect(outline(run(turnStart(), user('u'), todo, say(2), stepEnd(1, 2), turnEnd()))).toEqual([
      'turn/start',
      '+step/start 2',
      'user/message',
      'todo/write',
      'assistant/message',
      'step/end 2',
      'turn/end',
    ])
  })

  it('[F10] stands in the first step when the turn or the log ends', () => {
    expect(outline(run(turnStart(), user('u'), turnEnd()))).toEqual([
      'turn/start',
      '+step/start 1',
      'user/message',
      '+step/end 1',
      'turn/end',
    ])
    expect(outline(run(turnStart(), user('u'), todo))).toEqual([
      'turn/start',
      '+step/start 1',
      'user/message',
      'todo/write',
    ])
    expect(outline(run(turnStart(), user('u'), turnStart(2))).slice(3)).toEqual(['+step/end 1', 'turn/start'])
  })

  it('[F10] needs none after it, and gets none outside of a turn', () => {
    for (const entries of [
      [turnStart(), stepStart(), stepEnd(), user('u'), turnEnd(), turnStart(2), user('v'), stepStart(2)],
      [user('u'), turnStart(), stepStart(), stepEnd(), turnEnd()],
    ]) {
      const done = run(...entries)
      expect(done.events).toEqual(logOf(...entries))
      expect(done.repairs).toEqual([])
    }
  })

  it('[F10] lets version 3 have the log; its head stands first', () => {
    const first = run(turnStart(), user('u'), stepStart(), requestHeader('a'), say(), stepEnd(), turnEnd())
    const done = runMigration(v2ToV3, { header, events: first.events, sha256 })
    expect(done.events.map(({ type }) => type).slice(0, 4)).toEqual([
      'turn/start',
      'step/start',
      'system/message',
      'user/message',
    ])
    expect(() => runMigration(v2ToV3, { header, events: logOf(turnStart(), user('u')), sha256 })).toThrow(FormatError)
  })
})

describe('a request header outside of a step', () => {
  it('[F10] that changes the prompt gets one, found as for a message', () => {
    expect(outline(run(turnStart(), requestHeader('a'), stepStart()))).toEqual([
      'turn/start',
      '+step/start 1',
      'request/header',
      '+step/end 1',
      'step/start 1',
    ])
    const later = run(turnStart(), stepStart(), stepEnd(), requestHeader('a'), todo, say(2), turnEnd())
    expect(outline(later).slice(3)).toEqual([
      '+step/start 2',
      'request/header',
      'todo/write',
      'assistant/message',
      '+step/end 2',
      'turn/end',
    ])
    const last = run(turnStart(), stepStart(), stepEnd(), requestHeader('a'), turnEnd())
    expect(outline(last).slice(3)).toEqual(['+step/start 2', 'request/header', '+step/end 2', 'turn/end'])
  })

  it('[F10] that leaves the prompt as it is needs none', () => {
    const entries = [
      turnStart(),
      requestHeader(''),
      stepStart(),
      requestHeader('a'),
      stepEnd(),
      requestHeader('a'),
      turnEnd(),
      requestHeader('b'),
    ]
    expect(run(...entries).events).toEqual(logOf(...entries))
  })
})

describe('the rest of the log', () => {
  it('[F10] stays the same objects until something is put in, then only seqs change', () => {
    const events = logOf(
      turnStart(),
      stepStart(),
      user('u'),
      stepEnd(),
      say(2),
      user('v', {}, { sourceEventSeqs: [2, 4], surfaceOp: { op: 'replace', start: 2, end: 4 } }),
      ['x/y', { sourceEventSeq: 4 }, { ignorable: true, sourceEventSeqs: 'opaque' }],
    )
    const done = runOf(events)
    for (const seq of [0, 1, 2, 3]) expect(done.events[seq]).toBe(events[seq])
    expect(done.events[6]).toEqual({
      ...events[5],
      seq: 6,
      sourceEventSeqs: [2, 5],
      surfaceOp: { op: 'replace', start: 2, end: 5 },
    })
    expect(done.events[7]).toEqual({ ...events[6], seq: 7 })
    expect(done.map).toEqual([0, 1, 2, 3, 5, 6, 7])
  })

  it('[F10] keeps its header, and its cut where the marker went', () => {
    const events = logOf(turnStart(), say(), turnEnd(), endSeed({ inherited: true }), turnStart(2))
    expect(runOf(events, 3).inherited).toBe(5)
    expect(runOf(events, 9).inherited).toBe(11)
    expect(runOf(events).inherited).toBeNull()
    expect(runOf(events).header).toBe(header)
  })

  it('[F10] is left alone where nothing may be repaired', () => {
    const events = logOf(turnStart(), say(), turnEnd())
    const done = runMigration(stepBoundaries, { header, events, sha256, inherited: 1 })
    expect(done.events).toEqual(events)
    expect(done.inherited).toBe(1)
  })
})

describe('any log', () => {
  const number = fc.integer({ min: 1, max: 2 })
  const entry: fc.Arbitrary<Entry> = fc.oneof(
    number.map(turn => turnStart(turn)),
    number.map(turn => turnEnd(turn)),
    number.map(step => stepStart(1, step)),
    number.map(step => stepEnd(1, step)),
    number.map(step => say(step)),
    number.map(step => call(step)),
    fc.constantFrom('a', 'b', undefined).map(prompt => requestHeader(prompt)),
    fc.constantFrom(todo, user('u'), endSeed()),
  )

  it('[F10] keeps every event in order, listing each step put in, and is fine the second time', () => {
    fc.assert(
      fc.property(fc.array(entry, { maxLength: 30 }), entries => {
        const events = logOf(...entries)
        const text = JSON.stringify(events)
        const done = runOf(events)
        expect(done.events.map(({ seq }) => seq)).toEqual([...done.events.keys()])
        const kept = done.map.map(seq => done.events[seq ?? -1])
        expect(kept.map(event => [event?.type, event?.time, event?.data])).toEqual(
          events.map(({ type, time, data }) => [type, time, data]),
        )
        expect([...done.map].sort((left, right) => Number(left) - Number(right))).toEqual(done.map)
        const put = outline(done).filter(each => each.startsWith('+step/'))
        // One for each step put in, with its end, and one for each end that was missing.
        expect(done.repairs.length).toBeLessThanOrEqual(put.length)
        expect(done.repairs.length > 0).toBe(put.length > 0)
        expect(runOf(done.events).repairs).toEqual([])
        expect(JSON.stringify(events)).toBe(text)
      }),
      { numRuns: 3000 },
    )
  })

  it('[F10] leaves alone what version 3 can have and whose steps are all there', () => {
    const step = fc.tuple(fc.constantFrom('a', 'b', undefined), fc.boolean())
    fc.assert(
      fc.property(fc.array(step, { maxLength: 8 }), steps => {
        const inside = steps.flatMap(([prompt, hasCall], at): Entry[] => [
          stepStart(1, at + 1),
          user('u'),
          requestHeader(prompt),
          say(at + 1),
          ...(hasCall ? [call(at + 1), result(at + 1)] : []),
          stepEnd(1, at + 1),
          todo,
        ])
        const events = logOf(turnStart(), ...inside, turnEnd())
        expect(runOf(events).events).toEqual(events)
      }),
      { numRuns: 100 },
    )
  })

  it('[F10] of hostile payloads gives nothing but FormatErrors', () => {
    const types = ['turn/start', 'turn/end', 'step/start', 'step/end', 'request/header', 'user/message', 'tool/call']
    const hostile = fc.tuple(fc.constantFrom(...types, 'tool/result', 'x'), fc.json(), fc.json())
    fc.assert(
      fc.property(fc.array(hostile, { maxLength: 12 }), rows => {
        const entries = rows.map(([type, data, operation]): Entry => {
          const surfaceOp: unknown = JSON.parse(operation)
          return [type, JSON.parse(data), typeof surfaceOp === 'number' ? { surfaceOp } : {}]
        })
        try {
          run(turnStart(), ...entries)
        } catch (error) {
          expect(error).toBeInstanceOf(FormatError)
        }
      }),
      { numRuns: 200 },
    )
  })
})
