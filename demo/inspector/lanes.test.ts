import fc from 'fast-check'
import type { SessionEvent } from 'palimpsest/core'
import { describe, expect, test } from 'vitest'
import { type LanePart, lanesOf, LANES } from './lanes.ts'

const plain = (seq: number): SessionEvent => ({ type: 'turn/start', seq, time: 0, data: { turn: 1 } }) as never
const replacing = (seq: number, ...sources: number[]): SessionEvent =>
  ({
    type: 'user/message',
    seq,
    time: 0,
    data: {},
    surfaceOp: { op: 'replace', startSeq: sources[0], endSeq: sources.at(-1) },
    sourceEventSeqs: sources,
  }) as never

/** The lines beside each row, one character a part: ┌ ├ │ └, or nothing. */
function drawn(events: readonly SessionEvent[]): string[] {
  const lanes = lanesOf(events)
  const sign = ({ kind, up, down }: LanePart) => (kind === 'through' ? '│' : up ? (down ? '├' : '└') : down ? '┌' : '─')
  return events.map(({ seq }) => {
    const parts = new Map(lanes.get(seq)?.map(part => [part.lane, sign(part)]))
    return Array.from({ length: LANES }, (_, lane) => parts.get(lane) ?? ' ').join('')
  })
}

describe('lines of provenance', () => {
  test('[demo] lead from a replacement to each event it stands for', () => {
    const events = [plain(0), plain(1), plain(2), plain(3), plain(4), replacing(5, 1, 2, 4)]
    expect(drawn(events)).toEqual(['    ', '┌   ', '├   ', '│   ', '├   ', '└   '])
  })

  test('[demo] of several replacements lie side by side, and a lane that is free again is used again', () => {
    const events = [plain(0), plain(1), replacing(2, 0), replacing(3, 1), plain(4), replacing(5, 4)]
    expect(drawn(events)).toEqual(['┌   ', '│┌  ', '└│  ', ' └  ', '┌   ', '└   '])
  })

  test('[demo] that leave the window run to its edge', () => {
    expect(drawn([plain(10), plain(11), replacing(12, 3, 11)])).toEqual(['│   ', '├   ', '└   '])
  })

  test('[demo] beyond the lanes there is room for are left out, not drawn over others', () => {
    const events = [0, 1, 2, 3, 4].map(plain)
    events.push(...[5, 6, 7, 8, 9].map(seq => replacing(seq, seq - 5)))
    const lanes = lanesOf(events)
    for (const parts of lanes.values()) {
      expect(new Set(parts.map(part => part.lane)).size).toBe(parts.length)
      expect(parts.every(part => part.lane < LANES)).toBe(true)
    }
    expect(new Set([...lanes.values()].flatMap(parts => parts.map(part => part.of))).size).toBe(LANES)
  })

  test('[demo] are whole: every line drawn has its end, its sources and everything between', () => {
    const log = fc
      .array(fc.option(fc.array(fc.nat(40), { minLength: 1, maxLength: 4 }), { nil: null }), { maxLength: 40 })
      .map(rows =>
        rows.map((sources, seq) => {
          const earlier = [...new Set(sources?.filter(source => source < seq) ?? [])].sort((a, b) => a - b)
          return earlier.length === 0 ? plain(seq) : replacing(seq, ...earlier)
        }),
      )
    fc.assert(
      fc.property(log, events => {
        const lanes = lanesOf(events)
        for (const event of events) {
          const end = lanes.get(event.seq)?.find(part => part.kind === 'end')
          if (end === undefined) continue
          const sources = 'sourceEventSeqs' in event ? (event.sourceEventSeqs ?? []) : []
          for (let seq = Math.min(...sources); seq < event.seq; seq += 1) {
            const part = lanes.get(seq)?.find(each => each.of === event.seq)
            expect(part?.lane).toBe(end.lane)
            expect(part?.kind).toBe(sources.includes(seq as never) ? 'source' : 'through')
          }
        }
      }),
    )
  })
})
