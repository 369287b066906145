/**
 * Random logs of format 0, all of whose events the predecessor's own session took, read as files: what the migrations
 * promise of every lawful log.
 */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { loadPeer } from '../../e2e/bench/peer.ts'
import { counter, throughJson } from '../core/builders.ts'
import type { SessionEvent } from '../core/events.ts'
import { Session } from '../core/session.ts'
import { expandStream, type TimedChunk } from '../core/stream-records.ts'
import type { LogReader, ReadLog } from '../format/log-reader.ts'
import { type MigrationRun, runMigration } from '../format/migration-kit.ts'
import type { StoredEvent } from '../format/stored.ts'
import { brokenRelations, validateLog } from '../format/validate.ts'
import { migrationsFrom } from '../format/versions.ts'
import { logLines } from '../format/write-log.ts'
import { newLogReader, readLog, sha256Hex } from './read-log.ts'
import { linesOf } from './v0-lines-kit.ts'
import { type V0Log, v0Log } from './v0-log-kit.ts'

const { Session: PeerSession } = await loadPeer()

/** How much longer than usual to look (`CONTRIBUTING.md`). */
const FUZZ = Number(import.meta.env['PALIMPSEST_FUZZ'] ?? 1)
const RUNS = 100 * FUZZ
const patience = 60_000 * FUZZ

type Members = Readonly<Record<string, unknown>>
type Read = { readonly log: ReadLog; readonly reader: LogReader }

async function read(lines: Iterable<string>, mode: 'strict' | 'recoverable' = 'strict'): Promise<Read> {
  const reader = newLogReader({ mode })
  return { log: await readLog(`${[...lines].join('\n')}\n`, { mode }, reader), reader }
}

const numbers = fc.array(fc.nat({ max: 1 << 16 }), { maxLength: 500, size: 'max' })
const packing = fc.array(fc.nat({ max: 1 << 16 }), { minLength: 1, maxLength: 20 })

/** Whether `law` holds for many logs. */
const always = (law: (old: V0Log, read: Read, lines: readonly string[]) => void | Promise<void>, runs = RUNS) =>
  fc.assert(
    fc.asyncProperty(numbers, packing, async (choices, packed) => {
      const old = v0Log(PeerSession, choices)
      const lines = linesOf(old.header, old.events, packed)
      await law(old, await read(lines), lines)
    }),
    { numRuns: runs },
  )

// ── What a migration may change, told anew ──────────────────────────────────────────────────────────────────────────

const RENAMED: Readonly<Record<string, string>> = {
  'tool/code-dispatch-start': 'tool/ptc-dispatch-start',
  'tool/code-dispatch': 'tool/ptc-dispatch',
}

const renamedPlugin = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value).replaceAll('"plugin":"tools-code-mode"', '"plugin":"tools-ptc"'))

const promptOf = (event: StoredEvent | SessionEvent | undefined): string =>
  (event?.data as { readonly header: { readonly system?: string } } | undefined)?.header.system ?? ''

/** An event of the old log as it should stand in the new one; an answer without its stream. */
function expectedOf(event: StoredEvent, { header }: V0Log, to: (seq: number) => number): unknown {
  const { type, data, surfaceOp, sourceEventSeqs, ...rest } = event
  const range = (value: unknown) => {
    const { start, end } = value as { readonly start: number; readonly end: number }
    return { start: to(start), end: to(end) }
  }
  const list = (value: unknown) => (value as number[]).map(to)
  const moved: Members = { shadowedRange: range, shadowedSeqs: list, messageSeqs: list, sourceEventSeq: to }
  const hasReferences = /^(command\/done|compaction\/(summary|prune)|session\/title(-llm-request)?)$/.test(type)
  let payload = Object.fromEntries(
    Object.entries(data as Members).map(([name, value]) => {
      const move = hasReferences ? (moved[name] as ((value: unknown) => unknown) | undefined) : undefined
      return [name, move === undefined ? value : move(value)]
    }),
  )
  if (type === 'request/header') {
    const { system: _, ...kept } = payload['header'] as Record<string, unknown>
    for (const name of ['tools', 'adapterDefaults'])
      if (Object.keys(kept[name] ?? { x: 1 }).length === 0) delete kept[name]
    payload = { ...payload, header: kept }
  }
  if (type === 'agent-preset/selected' && payload['agentPreset'] === 'code') payload = { agentPreset: 'ptc' }
  if (/^(user\/message|agent\/inbox\/spliced|session\/title-llm-request)$/.test(type)) {
    payload = renamedPlugin(payload) as Members & typeof payload
  }
  if (type === 'session/end-seed' && event.seq === header['seedLength']) payload = { inherited: true }
  return {
    ...rest,
    type: RENAMED[type] ?? type,
    seq: to(event.seq),
    data: payload,
    ...(surfaceOp === undefined
      ? {}
      : surfaceOp === 'append'
        ? { surfaceOp }
        : { surfaceOp: { op: 'replace', startSeq: range(surfaceOp).start, endSeq: range(surfaceOp).end } }),
    ...(sourceEventSeqs === undefined || type === 'assistant/message'
      ? {}
      : { sourceEventSeqs: list(sourceEventSeqs) }),
  }
}

const isChunk = ({ type }: StoredEvent): boolean => type === 'assistant/chunk'
const streamOf = (event: SessionEvent): readonly TimedChunk[] =>
  event.type === 'assistant/message' || event.type === 'assistant/attempt' ? expandStream(event.data.stream) : []
const chunkOf = ({ time, data }: StoredEvent): unknown => ({ time, chunk: (data as { chunk: unknown }).chunk })

/** The beginning of a migrated log as a session. A cut in what is inherited inherits nothing. */
function prefix({ header, events, inheritedEventCount: cut }: ReadLog, length: number): Session {
  const isSeeded = header.isSeeded && cut !== undefined && cut < length
  const begin = throughJson(events.slice(0, length))
  return Session.fromRestore({ header: { ...header, isSeeded }, events: begin, now: counter() })
}

const GENERATED = ['system/message', 'assistant/attempt', 'session/end-seed', 'turn/end']

describe('lawful logs of format 0', () => {
  it(
    '[F4, F5, F10] are read, the same each time, and nothing of them is repaired',
    () =>
      always(async (old, { log, reader }, lines) => {
        expect(log.version).toBe(0)
        expect(log.eventCount).toBe(old.events.length)
        expect([log.repairs, log.isUnterminated]).toEqual([[], false])
        const again = await read(lines)
        expect(again.log).toEqual(log)
        expect(again.reader.seqMap()).toEqual(reader.seqMap())
        expect((await read(lines, 'recoverable')).log).toEqual(log)
        expect((await read(linesOf(old.header, old.events))).log).toEqual(log)
      }),
    patience,
  )

  it(
    '[F4, F5] have each event where the map says, as it was but for what the versions changed',
    () =>
      always((old, { log, reader }) => {
        const map = reader.seqMap()
        expect(map).toHaveLength(old.events.length)
        const to = (seq: number): number => map[seq] ?? expect.fail(`seq ${seq} went nowhere`)
        const seqs = map.filter(seq => seq !== null)
        expect(seqs).toEqual([...new Set(seqs)].toSorted((left, right) => left - right))
        old.events.forEach((event, seq) => {
          if (isChunk(event)) return expect(map[seq]).toBeNull()
          const { stream: _, ...data } = log.events[to(seq)]?.data as Record<string, unknown>
          expect({ ...log.events[to(seq)], data }).toEqual(expectedOf(event, old, to))
        })
        const mapped = new Set(seqs)
        for (const { type, seq } of log.events) if (!mapped.has(seq)) expect(GENERATED).toContain(type)
      }),
    patience,
  )

  it(
    '[F5, L13] lose no chunk: each answer has those it cited, and all are there in order, with their times',
    () =>
      always((old, { log, reader }) => {
        const map = reader.seqMap()
        expect(log.events.flatMap(streamOf)).toEqual(old.events.filter(isChunk).map(chunkOf))
        for (const { type, seq, sourceEventSeqs = [] } of old.events) {
          if (type !== 'assistant/message') continue
          const cited = (sourceEventSeqs as readonly number[]).map(source => old.events[source] as StoredEvent)
          expect(streamOf(log.events[map[seq] as number] as SessionEvent)).toEqual(cited.map(chunkOf))
        }
        for (const event of log.events) if (event.type === 'assistant/attempt') expect(streamOf(event)).not.toEqual([])
      }),
    patience,
  )

  it(
    '[F5] have what the versions put in where it belongs: failed attempts, prompts, the mark of the cut',
    () =>
      always((old, { log, reader }) => {
        const map = reader.seqMap()
        /** What stood before `seq` of the old log is what stands before `target` of the new one. */
        const stands = (target: number, seq: number) =>
          map.forEach((mapped, from) => {
            if (mapped !== null && mapped !== target) expect([from, mapped < target]).toEqual([from, from < seq])
          })
        const chunks = old.events.filter(isChunk)
        let taken = 0
        for (const event of log.events) {
          const { type, seq, time } = event
          taken += streamOf(event).length
          if (type === 'assistant/attempt') {
            const last = chunks[taken - 1] as StoredEvent
            expect([time, reader.originOf(seq).seq]).toEqual([last.time, last.seq])
            stands(seq, last.seq)
          } else if (type === 'system/message') {
            const isHead = event.surfaceOp === 'append'
            expect(log.events[isHead ? seq - 1 : seq + 1]?.type).toBe(isHead ? 'step/start' : 'request/header')
          }
        }
        const cut = old.header['seedLength'] as number | undefined
        const marks = log.events.filter(({ type, data }) => type === 'session/end-seed' && 'inherited' in data)
        expect(marks.map(({ seq }) => seq)).toEqual(cut === undefined ? [] : [log.inheritedEventCount])
        if (cut !== undefined) stands(log.inheritedEventCount as number, cut)
      }),
    patience,
  )

  it(
    '[F5, S10, P1] say at each request what the predecessor says, under the prompt of that request',
    () =>
      always((old, { log, reader }) => {
        const map = reader.seqMap()
        for (const { length, messages } of old.said) {
          // A request's header stands at `length`, unless the log ends there.
          const header = old.events.slice(0, length + 1).findLast(({ type }) => type === 'request/header')
          const target = map[length]
          const session = prefix(log, typeof target === 'number' ? target + 1 : log.events.length)
          const derived = throughJson(session.deriveMessages())
          expect(derived.filter(({ role }) => role !== 'system')).toEqual(renamedPlugin(messages))
          const system = derived.filter(({ role }) => role === 'system')
          expect(system.length).toBeLessThanOrEqual(1)
          const node = session.eventAt(session.surface.nodes[0] ?? -1)
          if (session.surface.nodes.length > 0) expect(node?.type).toBe('system/message')
          const blocks = node?.type === 'system/message' ? node.data.message.content : []
          const prompt = promptOf(header)
          expect(blocks).toEqual(prompt === '' ? [] : [{ type: 'text', text: prompt }])
          expect(system.map(({ content }) => content)).toEqual(prompt === '' ? [] : [blocks])
        }
      }),
    patience,
  )

  it(
    '[F2, F5] are the same in three migrations as in one, from memory and from files between them',
    () =>
      always(async (old, { log, reader }) => {
        const cut = (old.header['seedLength'] as number | undefined) ?? null
        let run: MigrationRun = {
          ...{ header: old.header, events: old.events, inherited: cut, origins: [], repairs: [] },
          map: old.events.map((_, seq) => seq),
        }
        for (const migration of migrationsFrom(0)) {
          const { header, events, inherited } = run
          const next = runMigration(migration, { header, events: throughJson(events), inherited, sha256: sha256Hex })
          run = { ...next, map: run.map.map(seq => (seq === null ? null : (next.map[seq] ?? null))) }
          const stored = await read(linesOf(next.header, next.events))
          expect(stored.log.events).toEqual(log.events)
          expect(stored.log.header).toEqual(log.header)
          expect(stored.log.version).toBe(migration.to)
          // What a file of version 3 inherits its own marker says.
          if (migration.to < 3) expect(stored.log.inheritedEventCount).toBe(log.inheritedEventCount)
        }
        expect(run.events).toEqual(log.events)
        expect(run.header).toEqual(log.header)
        expect(run.map).toEqual(reader.seqMap())
        expect(run.inherited ?? undefined).toBe(log.inheritedEventCount)
      }),
    patience,
  )

  it(
    '[F11] are exported and imported as what they became, byte for byte',
    () =>
      always(async (_, { log }) => {
        const lines = [...logLines(log)]
        const again = (await read(lines.map(line => line.trimEnd()))).log
        expect(again.events).toEqual(log.events)
        expect(again.header).toEqual(log.header)
        expect([...logLines(again)]).toEqual(lines)
      }),
    patience,
  )

  it(
    '[F9] keep every rule of the current version',
    () =>
      always((_, { log }) => {
        expect([...brokenRelations(log.header, log.events)].map(({ message }) => message)).toEqual([])
        expect(validateLog(log).map(({ message }) => message)).toEqual([])
        const { inheritedEventCount } = prefix(log, log.events.length)
        expect(inheritedEventCount).toBe(log.inheritedEventCount ?? 0)
      }),
    patience,
  )
})
