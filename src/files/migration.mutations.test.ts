/** Lawful logs of format 0 with one thing wrong in their lines: refused with a place, or as good as any other. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { loadPeer } from '../../e2e/bench/peer.ts'
import { counter, throughJson } from '../core/builders.ts'
import { type PalimpsestError, SessionError } from '../core/errors.ts'
import { Session } from '../core/session.ts'
import { FormatError } from '../format/errors.ts'
import type { ReadLog } from '../format/log-reader.ts'
import { brokenRelations } from '../format/validate.ts'
import { locateError, newLogReader, readLog } from './read-log.ts'
import { linesOf } from './v0-lines-kit.ts'
import { v0Log } from './v0-log-kit.ts'

const { Session: PeerSession } = await loadPeer()

/** How much longer than usual to look (`CONTRIBUTING.md`). */
const FUZZ = Number(import.meta.env['PALIMPSEST_FUZZ'] ?? 1)

type Members = Record<string, unknown>
type Pick = (below: number) => number
type Outcome = { readonly log: ReadLog } | { readonly error: PalimpsestError }

/** Reads a file and opens a session on it, as whoever imports it does. What is no refusal in words fails the test. */
async function open(file: Uint8Array, mode: 'strict' | 'recoverable'): Promise<Outcome> {
  const reader = newLogReader({ mode })
  try {
    const log = await readLog(file, { mode }, reader)
    const { header, events, inheritedEventCount } = log
    const inherited = inheritedEventCount === undefined ? {} : { inheritedEventCount }
    Session.fromRestore({ header, events: throughJson(events), ...inherited, now: counter() })
    return { log }
  } catch (error) {
    const located = locateError(error, reader)
    if (located instanceof FormatError || located instanceof SessionError) return { error: located }
    throw located
  }
}

// ── What can go wrong ───────────────────────────────────────────────────────────────────────────────────────────────

/** Everything in a row that can be changed: where, and under which name. */
function placesOf(value: unknown, found: [parent: Members, key: string][] = []): [parent: Members, key: string][] {
  if (typeof value !== 'object' || value === null) return found
  for (const key of Object.keys(value)) {
    found.push([value as Members, key])
    placesOf((value as Members)[key], found)
  }
  return found
}

const ODD: readonly unknown[] = [null, -1, 0, 1, 1.5, 2 ** 53, '', 'x', true, [], {}, [[0, 1]], 'append', 'user']
const REFERENCE = /^(start|end|sourceEventSeqs|shadowedSeqs|messageSeqs|sourceEventSeq|\d+)$/

/** A row with one place of it, of those that `fits`, changed. */
function changed(
  line: string,
  pick: Pick,
  fits: (parent: Members, key: string) => boolean,
  to: (value: unknown) => unknown,
) {
  const row = JSON.parse(line) as Members
  const places = placesOf(row).filter(([parent, key]) => fits(parent, key))
  const place = places[pick(Math.max(places.length, 1))]
  if (place === undefined) return line
  const [parent, key] = place
  const value = to(parent[key])
  if (value === undefined) delete parent[key]
  else parent[key] = value
  return JSON.stringify(row)
}

const moved = (value: unknown, pick: Pick): unknown =>
  typeof value === 'number' ? value + ([-1, 1, -2, 2, 100, 0.5][pick(6)] ?? 0) : value

/** Each takes the lines and where to do it; answers the lines. */
const mutations: Readonly<Record<string, (lines: string[], at: number, pick: Pick) => readonly string[]>> = {
  drop: (lines, at) => lines.toSpliced(at, 1),
  double: (lines, at) => lines.toSpliced(at, 0, lines[at] as string),
  swap: (lines, at, pick) => {
    const other = pick(lines.length)
    return lines.with(at, lines[other] as string).with(other, lines[at] as string)
  },
  cut: (lines, at, pick) => lines.with(at, (lines[at] as string).slice(0, pick((lines[at] as string).length))),
  end: (lines, at) => lines.slice(0, at),
  seq: (lines, at, pick) =>
    lines.with(
      at,
      changed(
        lines[at] as string,
        pick,
        (_, key) => /^seq0?$/.test(key),
        value => moved(value, pick),
      ),
    ),
  reference: (lines, at, pick) => {
    const fits = (parent: Members, key: string) => REFERENCE.test(key) && typeof parent[key] === 'number'
    return lines.with(
      at,
      changed(lines[at] as string, pick, fits, value => moved(value, pick)),
    )
  },
  place: (lines, at, pick) =>
    lines.with(
      at,
      changed(
        lines[at] as string,
        pick,
        (_, key) => /^(turn|step)$/.test(key),
        value => moved(value, pick),
      ),
    ),
  remove: (lines, at, pick) =>
    lines.with(
      at,
      changed(
        lines[at] as string,
        pick,
        () => true,
        () => undefined,
      ),
    ),
  replace: (lines, at, pick) =>
    lines.with(
      at,
      changed(
        lines[at] as string,
        pick,
        () => true,
        () => ODD[pick(ODD.length)],
      ),
    ),
  add: (lines, at, pick) => {
    const row = JSON.parse(lines[at] as string) as Members
    const parents = [row, ...placesOf(row).map(([parent, key]) => parent[key])].filter(
      parent => typeof parent === 'object' && parent !== null && !Array.isArray(parent),
    ) as Members[]
    const names = ['extra', 'ignorable', 'surfaceOp', 'sourceEventSeqs', 'stream', 'interrupted', 'isError', 'seed']
    const parent = parents[pick(parents.length)] as Members
    parent[names[pick(names.length)] as string] = ODD[pick(ODD.length)]
    return lines.with(at, JSON.stringify(row))
  },
  retype: (lines, at, pick) => {
    const types = lines.map(line => (JSON.parse(line) as Members)['type'])
    return lines.with(
      at,
      changed(
        lines[at] as string,
        () => 0,
        (_, key) => key === 'type',
        () => types[pick(types.length)],
      ),
    )
  },
}

const kinds = [...Object.keys(mutations), 'flip']
const numbers = fc.array(fc.nat({ max: 1 << 16 }), { minLength: 10, maxLength: 300, size: 'max' })

describe('a lawful log with one thing wrong', () => {
  it(
    '[F4, F8, F10] is refused with its place or opened whole; what recoverable does beyond strict is listed',
    async () => {
      const outcomes = { opened: 0, refused: 0, recovered: 0 }
      await fc.assert(
        fc.asyncProperty(
          numbers,
          fc.constantFrom(...kinds),
          fc.array(fc.nat(1 << 16), { minLength: 6, maxLength: 6 }),
          async (choices, kind, where) => {
            let next = 0
            const pick: Pick = below => (where[next++] ?? 0) % below
            const { header, events } = v0Log(PeerSession, choices)
            const lines = linesOf(header, events, choices)
            const at = pick(9) === 0 ? 0 : pick(lines.length)
            const wrong = mutations[kind]?.(lines, at, pick) ?? lines
            const file = new TextEncoder().encode(wrong.map(line => `${line}\n`).join(''))
            if (kind === 'flip' && file.length > 0) {
              const byte = pick(file.length)
              file[byte] = (file[byte] as number) ^ (1 << pick(8))
            }
            const strict = await open(file, 'strict')
            const recoverable = await open(file, 'recoverable')
            if ('error' in strict) {
              outcomes.refused += 1
              const { line, seq, message } = strict.error
              expect([line ?? seq, message]).toEqual([expect.any(Number), expect.stringMatching(/./)])
              if ('error' in recoverable) return
              outcomes.recovered += 1
              expect(recoverable.log.repairs).not.toEqual([])
              for (const repair of recoverable.log.repairs) expect(repair.line).toEqual(expect.any(Number))
              return
            }
            outcomes.opened += 1
            const { log } = strict
            expect([...brokenRelations(log.header, log.events)]).toEqual([])
            expect(log.repairs.filter(({ code }) => code !== 'torn-tail')).toEqual([])
            expect(recoverable).toEqual(strict)
          },
        ),
        { numRuns: 400 * FUZZ },
      )
      expect(Math.min(...Object.values(outcomes))).toBeGreaterThan(20)
    },
    60_000 * FUZZ,
  )
})
