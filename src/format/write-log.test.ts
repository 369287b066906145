import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { answered, header, log, loopLog, over, said, storedEvents, surfaceLog } from '../core/builders.ts'
import type { SessionEvent, SessionHeader } from '../core/events.ts'
import { SessionSeq } from '../core/ids.ts'
import { validHistory } from '../core/invariants/valid-history.ts'
import { deepFreeze, equalJson } from '../core/json.ts'
import { projectedHistory } from '../core/projected-history.ts'
import { LogReader, type ReadLog } from './log-reader.ts'
import { eventLine, headerLine, logLines } from './write-log.ts'

const choices = fc.array(fc.nat(5_000), { maxLength: 60 })
const written = (whole: { header: SessionHeader; events: Iterable<SessionEvent> }): string =>
  [...logLines(whole)].join('')

function read(text: string): ReadLog {
  const reader = new LogReader({ sha256: () => '' })
  const lines = text.split('\n')
  const rest = lines.pop()
  for (const line of lines) reader.line(line)
  return reader.end(rest)
}

/** An event of a type no build knows, that may be ignored. */
const ignorable = (data: unknown, more: object = {}): SessionEvent =>
  ({ type: 'acme/any', seq: 0, time: 7, data, ignorable: true, ...more }) as unknown as SessionEvent

/** Any half of a surrogate pair, control character and name among the texts. */
const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc
    .array(fc.constantFrom('\ud83d', '\ude00', '\n', '\r', '\u2028', '"', '\\', 'é', '\0'), { maxLength: 5 })
    .map(all => all.join('')),
  fc.constantFrom('__proto__', 'constructor', 'toJSON', '0', 'length'),
)
const json: fc.Arbitrary<unknown> = fc.letrec<{ value: unknown }>(tie => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.oneof(
      fc.constant(null),
      fc.boolean(),
      text,
      fc.double({ noNaN: true, noDefaultInfinity: true }).map(value => value + 0),
    ),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(text, tie('value'), { maxKeys: 4, noNullPrototype: true }),
    // Parsed, `__proto__` is a member of its own.
    tie('value').map(value => JSON.parse(`{"__proto__":${JSON.stringify(value)}}`) as unknown),
  ),
})).value
const nested = (depth: number): unknown => {
  let value: unknown = 'bottom'
  for (let level = 0; level < depth; level += 1) value = level % 2 === 0 ? { in: value } : [value, level]
  return value
}

describe('lines', () => {
  it('[F11] a header is written in one order, the depth always', () => {
    const whole = { agentPreset: 'p', delegationDepth: 2, origin: 'subagent', parentSession: 'q', cwd: '/a' } as const
    expect(headerLine(header())).toBe(
      '{"type":"session","version":3,"id":"test","createdAt":1,"isSeeded":false,"delegationDepth":0}\n',
    )
    expect(headerLine({ ...whole, ...header(), isSeeded: true })).toBe(
      '{"type":"session","version":3,"id":"test","createdAt":1,"cwd":"/a","parentSession":"q","isSeeded":true,' +
        '"origin":"subagent","delegationDepth":2,"agentPreset":"p"}\n',
    )
  })

  it('[F11] a header with more than the version has, or with nothing under a name, is written without it', () => {
    const odd = { ...header(), cwd: undefined, other: 1 } as unknown as SessionHeader
    expect(headerLine(odd)).toBe(headerLine(header()))
  })

  it('[F11] an event is written in one order, its place on the surface beside its payload', () => {
    const [, , replacing] = log(said('a'), said('b'), over(said('c'), 0, 1, [1, 0]))
    const shuffled = Object.fromEntries(Object.entries(replacing as object).reverse()) as unknown as SessionEvent
    expect(eventLine(shuffled)).toBe(
      '{"type":"user/message","seq":2,"time":1002,"data":{"id":"u:c","role":"user","content":[{"type":"text","text":"c"}],' +
        '"source":{"kind":"user"}},"surfaceOp":{"op":"replace","startSeq":0,"endSeq":1},"sourceEventSeqs":[1,0]}\n',
    )
    expect(eventLine(ignorable(null))).toBe('{"type":"acme/any","seq":0,"time":7,"data":null,"ignorable":true}\n')
  })

  it('[F11] lists of seqs are written out', () => {
    const seqs = Array.from({ length: 9 }, (_, seq) => SessionSeq(seq))
    const line = eventLine({ ...log(said('x'))[0], seq: SessionSeq(9), sourceEventSeqs: seqs } as SessionEvent)
    expect(line).toContain('"sourceEventSeqs":[0,1,2,3,4,5,6,7,8]}')
  })

  it('[F11] an unknown event keeps what it says of the surface', () => {
    for (const surfaceOp of [null, false, 0, '', 'any', ['x'], { op: 'replace' }]) {
      const line = eventLine(ignorable(1, { surfaceOp, sourceEventSeqs: [] }))
      expect(line).toContain(`"surfaceOp":${JSON.stringify(surfaceOp)},"sourceEventSeqs":[]`)
      expect(written(read(headerLine(header()) + line))).toBe(headerLine(header()) + line)
    }
  })

  it.each([['a text'], [null], [{}], [[[0, 2]]], [[0, 0]], [[9]], [[-1]], [['0']]])(
    '[F11] sources that every reader would take for others are refused: %j',
    sourceEventSeqs => {
      const event = { ...ignorable(1, { sourceEventSeqs }), seq: SessionSeq(5) }
      const refused = expect.objectContaining({ code: 'reference', seq: 5, path: '$.sourceEventSeqs' }) as Error
      expect(() => eventLine(event)).toThrow(refused)
    },
  )

  it('[F11] whatever a payload holds is read as it was', () => {
    fc.assert(
      fc.property(json, json, (data, surfaceOp) => {
        const event = ignorable(data, { surfaceOp })
        const line = eventLine(event)
        expect(line.indexOf('\n')).toBe(line.length - 1)
        expect(equalJson(JSON.parse(line), event)).toBe(true)
        const whole = headerLine(header()) + line
        const [back] = read(whole).events
        expect(equalJson(back, event)).toBe(true)
        expect(written(read(whole))).toBe(whole)
      }),
    )
  })

  it('[F11] half a surrogate pair is written as an escape, and text stays what it is', () => {
    expect(eventLine(ignorable('\ud800 é 😀 \u2028'))).toContain('"data":"\\ud800 é 😀 \u2028"')
    expect(headerLine(header({ cwd: '/\udc00' }))).toContain('"cwd":"/\\udc00"')
  })

  it('[F11] a payload of any depth is written', () => {
    const event = ignorable(nested(60_000))
    const whole = headerLine(header()) + eventLine(event)
    const { events } = read(whole)
    expect(equalJson(events[0], event)).toBe(true)
    expect(written({ header: header(), events })).toBe(whole)
  })
})

describe('logs', () => {
  it('[F11] what was written is the same after it was read, byte for byte', () => {
    const histories = fc.oneof(
      choices.map(numbers => storedEvents(validHistory(numbers, { crashes: true }))),
      choices.map(numbers => storedEvents(projectedHistory(numbers))),
      choices.map(numbers => log(...loopLog(numbers).drafts)),
      choices.map(numbers => log(...surfaceLog(numbers).drafts)),
    )
    const headers = fc.record(
      {
        id: text.filter(id => id !== ''),
        createdAt: fc.maxSafeNat().filter(time => time < Number.MAX_SAFE_INTEGER),
        cwd: text,
        parentSession: text,
        origin: fc.constant('subagent' as const),
        delegationDepth: fc.nat(),
        agentPreset: text,
        isSeeded: fc.boolean(),
      },
      { requiredKeys: [] },
    )
    fc.assert(
      fc.property(histories, headers, (events, more) => {
        const first = written({ header: header(more), events })
        const back = read(first)
        expect(back.repairs).toEqual([])
        expect(back.events).toEqual(events)
        expect(back.header).toEqual({ delegationDepth: 0, ...header(more) })
        expect(written(back)).toBe(first)
      }),
      { numRuns: 60 },
    )
  })

  it('[F11] lines come one by one, and nothing that was handed in changes', () => {
    const events = log(said('a'), answered('b'))
    deepFreeze(events)
    let taken = 0
    const counted = (function* () {
      for (const event of events) {
        taken += 1
        yield event
      }
    })()
    const lines = logLines({ header: Object.freeze(header()), events: counted })
    expect([lines.next().value, taken]).toEqual([headerLine(header()), 0])
    expect([lines.next().value, taken]).toEqual([eventLine(events[0] as SessionEvent), 1])
    expect([...lines]).toEqual([eventLine(events[1] as SessionEvent)])
  })

  it('[F11] a log is written whole or not at all', () => {
    const [first, second] = log(said('a'), said('b')) as [SessionEvent, SessionEvent]
    const refused = (seq: number, expected: number): Error =>
      expect.objectContaining({ name: 'FormatError', code: 'order', seq, expected, sessionId: 'test' }) as Error
    expect(() => written({ header: header(), events: [second] })).toThrow(refused(1, 0))
    expect(() => written({ header: header(), events: [first, first] })).toThrow(refused(0, 1))
  })

  it('[F12] a log can be written with its texts redacted', () => {
    const whole = { header: header({ cwd: '/home/ann' }), events: log(said('ann says'), answered('hello ann')) }
    const lines = [...logLines(whole, { redact: name => name.replaceAll('ann', '…') })].join('')
    const { header: of, events } = read(lines)
    expect(of.cwd).toBe('/home/…')
    expect(JSON.stringify(events)).toContain('"text":"… says"')
    expect(JSON.stringify(events)).toContain('"text":"hello …"')
    expect(JSON.stringify(events)).toContain('"id":"u:ann says"')
  })
})
