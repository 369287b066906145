/** Logs from public failure reports (`e2e/cases`), opened as they are stored. The expectations stand in the manifest. */
import { describe, expect, it } from 'vitest'
import manifest from '../../e2e/cases/manifest.json'
import { counter, throughJson } from './builders.ts'
import type { SessionErrorCode } from './errors.ts'
import type { SessionEvent, SessionHeader } from './events.ts'
import { repairLog } from './repair.ts'
import { requestMessages } from './request-messages.ts'
import { Session } from './session.ts'
import { isAppendSurfaceEvent } from './surface.ts'

const all: Record<string, string> = import.meta.glob('../../e2e/cases/*.jsonl', {
  query: '?raw',
  import: 'default',
  eager: true,
})
/** Those of the current version, and of newer ones; older ones are read by `format`. */
const files = Object.fromEntries(
  Object.entries(all).filter(([path, text]) => /load-13/.test(path) || /^[^\n]*"version":3\b/.test(text)),
)

type Stored = { readonly header: SessionHeader; readonly events: SessionEvent[] }
type Expectation = {
  readonly load?: string
  readonly atSeq?: number
  readonly surface?: readonly number[]
  readonly modelMessages?: readonly string[]
  readonly keepsSeq?: number
  readonly headSeq?: number
  readonly inheritedEventCount?: number
}
type Case = { readonly file: string; readonly case: string; readonly expect: Expectation }

const read = (file: string): Stored => {
  const [first, ...rest] = (files[`../../e2e/cases/${file}`] as string).trimEnd().split('\n')
  const { type: _, ...header } = JSON.parse(first as string) as SessionHeader & { type: string }
  return { header, events: rest.map(line => JSON.parse(line) as SessionEvent) }
}
const open = ({ header, events }: Stored, inherited?: number): Session =>
  Session.fromRestore({
    header,
    events,
    now: counter(),
    ...(inherited === undefined ? {} : { inheritedEventCount: inherited }),
  })

const cases = (manifest as readonly Case[]).filter(({ file }) => `../../e2e/cases/${file}` in files)
const accepted = cases.filter(each => each.expect.load === 'accept')
/** The rule each refused log breaks; the manifest has words for it only. */
const codes: Record<string, SessionErrorCode> = {
  'sur-01-v3-old-replace-keys.jsonl': 'surface-op',
  'sur-04-replace-swallows-system-head.jsonl': 'system-head',
  'sur-15-head-plus-neighbour.jsonl': 'system-head',
  'frk-07-marker-without-seeded.jsonl': 'header',
  'frk-07-seeded-without-marker.jsonl': 'header',
  'load-13-version-4.jsonl': 'header',
  'load-13-version-99.jsonl': 'header',
}

describe('cases', () => {
  it('[L16] every stored log here has an expectation', () => {
    expect(cases.map(({ file }) => file).sort()).toEqual(
      Object.keys(files)
        .map(path => path.replace(/.*\//, ''))
        .sort(),
    )
    expect(cases.length).toBe(accepted.length + Object.keys(codes).length)
  })

  it.each(cases.filter(({ file }) => file in codes))('[L16, $case] $file is refused', ({ file, expect: expected }) => {
    const stored = read(file)
    const facts = expected.atSeq === undefined ? {} : { seq: expected.atSeq, index: expected.atSeq }
    const error = expect.objectContaining({ name: 'SessionError', code: codes[file], ...facts }) as Error
    expect(() => open(stored)).toThrow(error)
    if (expected.atSeq === undefined) return
    // What came before it is fine.
    expect(open({ ...stored, events: stored.events.slice(0, expected.atSeq) }).length).toBe(expected.atSeq + 1)
  })

  it.each(accepted)('[L16, $case] $file is accepted', ({ file, expect: expected }) => {
    const stored = read(file)
    const before = throughJson(stored.events)
    const session = open(stored, expected.inheritedEventCount)
    const { surface, modelMessages, keepsSeq, headSeq, inheritedEventCount } = expected
    if (surface !== undefined) expect(session.surface.nodes).toEqual(surface)
    if (modelMessages !== undefined) expect(session.deriveMessages().map(({ role }) => role)).toEqual(modelMessages)
    if (keepsSeq !== undefined) expect(session.eventAt(keepsSeq)).toEqual({ ...before[keepsSeq], ignorable: true })
    if (headSeq !== undefined) expect(session.surface.at(0)).toBe(headSeq)
    if (inheritedEventCount !== undefined) {
      expect(session.eventAt(inheritedEventCount)).toMatchObject({
        type: 'session/end-seed',
        data: { inherited: true },
      })
      expect(session.inheritedEventCount).toBe(inheritedEventCount)
    }
    expect(session.snapshotEvents(0, before.length)).toEqual(before)
    expect(repairLog(before)).toEqual([])
  })

  it('[L14, REP-11] the prefix of a cancelled answer stands on the surface without the half tool call', () => {
    const session = open(read('rep-11-v3-interrupted-prefix.jsonl'))
    const { messages, changes } = requestMessages(session.messages)
    expect(messages.at(-1)?.content.map(({ type }) => type)).toEqual(['reasoning', 'text'])
    expect(changes).toEqual([])
  })

  it('[S8, SUR-15] a cleared head keeps its place and says nothing', () => {
    const session = open(read('sur-15-head-cleared.jsonl'))
    expect(session.messages.atNode(0)).toBeNull()
    expect(session.deriveMessages().some(({ role }) => role === 'system')).toBe(false)
  })

  it('[S1, LOAD-02] an ignorable event nobody knows is no part of a transcript', () => {
    const { events } = read('load-02-unknown-ignorable-event-v3.jsonl')
    expect(isAppendSurfaceEvent(events[8] as SessionEvent)).toBe(false)
  })
})
