/** Logs from public failure reports (`e2e/cases`), read from the file as it is. The expectations stand in the manifest. */
import { describe, expect, it } from 'vitest'
import manifest from '../../e2e/cases/manifest.json'
import { counter } from '../core/builders.ts'
import type { PalimpsestError } from '../core/errors.ts'
import type { SessionEvent } from '../core/events.ts'
import { equalJson } from '../core/json.ts'
import { requestMessages } from '../core/request-messages.ts'
import { Session } from '../core/session.ts'
import { expandStream } from '../core/stream-records.ts'
import { isAppendSurfaceEvent } from '../core/surface.ts'
import type { ReadLog } from '../format/log-reader.ts'
import { locateError, newLogReader, readLog } from './read-log.ts'

const files: Record<string, string> = import.meta.glob('../../e2e/cases/*.jsonl', {
  query: '?raw',
  import: 'default',
  eager: true,
})
const textOf = (file: string): string => files[`../../e2e/cases/${file}`] as string

type Expectation = {
  readonly load?: string
  readonly migrate?: string
  readonly expected?: string
  readonly atSeq?: number
  readonly atLine?: number
  readonly validPrefixEvents?: number
  readonly expectedSeq?: number
  readonly gotSeq?: number
  readonly surface?: readonly number[]
  readonly surfaceHas?: number
  readonly transcriptSeqs?: readonly number[]
  readonly transcriptCount?: number
  readonly modelCount?: number
  readonly closers?: readonly string[]
  readonly modelMessages?: readonly string[]
  readonly modelMessagesAfterRepair?: readonly string[]
  readonly modelMessagesAfterMigration?: readonly string[]
  readonly events?: number
  readonly inheritedEventCount?: number
  readonly headSeq?: number
  readonly keepsSeq?: number
  readonly chunkTexts?: readonly string[]
  readonly chunkTimes?: readonly number[]
  readonly forks?: readonly { readonly atSeq: number; readonly childSurface: readonly number[] }[]
  readonly requestResultsFor?: Readonly<Record<string, number>>
  readonly recover?: { readonly surfaceTypes: readonly string[]; readonly repairs: readonly { readonly seq: number }[] }
}
type Case = { readonly file: string; readonly case: string; readonly expect: Expectation }

const cases = (manifest as readonly Case[]).filter(({ file }) => file.endsWith('.jsonl'))

/** What strict reading does where the manifest leaves a choice; the rest follows from `load` and `migrate`. */
const choices: Readonly<Record<string, 'opens' | 'refused'>> = {
  'load-02-unknown-ignorable-event.jsonl': 'refused', // an unknown type of an old log, ignorable or not (8.3)
  'load-11-bom.jsonl': 'opens',
  'load-12-no-final-newline.jsonl': 'opens',
  'mig-08-real-world-extras.v0.jsonl': 'refused', // a member its type does not have (8.7)
  'mig-12-unknown-ignorable.v0.jsonl': 'refused',
  'mig-14-old-spellings.v0.jsonl': 'opens',
  'rep-10-two-results.jsonl': 'opens', // pairs others broke stay: what is sent is healed
}
const opens = ({ file, expect: { load = '', migrate = '' } }: Case): boolean =>
  file in choices ? choices[file] === 'opens' : /^accept(-repaired)?$/.test(migrate || load) && !/^refuse$/.test(load)

/** What only recoverable reading opens, and by which repairs. */
const recovered: Readonly<Record<string, readonly { readonly code: string; readonly seq: number }[]>> = {
  'ctx-01-context-message.v0.jsonl': [{ code: 'context-message', seq: 3 }],
  'load-02-unknown-ignorable-event.jsonl': [{ code: 'kept-verbatim', seq: 6 }],
  'load-04-seq-restart.jsonl': [{ code: 'kept-prefix', seq: 25 }],
  'load-05-duplicate-seq.jsonl': [{ code: 'kept-prefix', seq: 8 }],
  'load-06-repair-race.jsonl': [{ code: 'kept-prefix', seq: 9 }],
  'load-08-damaged-middle.jsonl': [{ code: 'kept-prefix', seq: 8 }],
  'load-17-packed-row-extra-key.jsonl': [{ code: 'kept-prefix', seq: 5 }],
  'load-17-packed-row-short-dt.jsonl': [{ code: 'kept-prefix', seq: 5 }],
  'mig-03-user-before-step.v0.jsonl': [{ code: 'step-boundary', seq: 1 }],
  'mig-08-real-world-extras.v0.jsonl': [
    { code: 'kept-verbatim', seq: 0 },
    { code: 'kept-verbatim', seq: 1 },
  ],
  'mig-12-unknown-ignorable.v0.jsonl': [{ code: 'kept-verbatim', seq: 4 }],
  'sur-01-v3-old-replace-keys.jsonl': [{ code: 'kept-prefix', seq: 16 }],
  'sur-08-provenance-duplicate.jsonl': [{ code: 'kept-prefix', seq: 15 }],
  'sur-08-provenance-future.jsonl': [{ code: 'kept-prefix', seq: 15 }],
  'sur-08-provenance-not-integer.jsonl': [{ code: 'kept-prefix', seq: 15 }],
  'sur-08-provenance-self.jsonl': [{ code: 'kept-prefix', seq: 15 }],
}

type Opened = {
  readonly log: ReadLog
  readonly session: Session
  /** Seq in the opened log of an event of the file. */
  readonly to: (seq: number) => number
}

async function open(file: string, mode: 'strict' | 'recoverable' = 'strict'): Promise<Opened> {
  const reader = newLogReader({ mode })
  try {
    const log = await readLog(textOf(file), { mode }, reader)
    const inherited = log.inheritedEventCount === undefined ? {} : { inheritedEventCount: log.inheritedEventCount }
    const { header, events } = log
    const session = Session.fromRestore({ header, events: [...events], ...inherited, now: counter(), repair: true })
    const map = reader.seqMap()
    return { log, session, to: seq => map[seq] ?? -1 }
  } catch (error) {
    throw locateError(error, reader)
  }
}

const refusalOf = (file: string, mode?: 'recoverable'): Promise<PalimpsestError> =>
  open(file, mode).then(
    () => expect.fail(`${file} opened`),
    (error: unknown) => error as PalimpsestError,
  )

/** As the manifest writes it: `tool/result:c1:TOOL_NOT_STARTED`, `turn/end:interrupted`. */
function closerName(event: SessionEvent): string {
  if (event.type === 'turn/end') return `turn/end:${event.data.reason.kind}`
  if (event.type !== 'tool/result') return event.type
  return `tool/result:${event.data.message.source.callId}:${event.data.error?.code}`
}

/** Without what a migration puts in front of the messages it found: the empty head, and the prompt of a header. */
const saidNodes = (session: Session): number[] =>
  session.surface.nodes.filter(seq => session.eventAt(seq)?.type !== 'system/message')

describe('cases', () => {
  it('[F2] every log of the manifest is here', () => {
    expect(cases.map(({ file }) => `../../e2e/cases/${file}`).sort()).toEqual(Object.keys(files).sort())
    expect(
      cases.filter(
        ({ file, expect: { load = '', migrate = '' } }) => /-or-/.test(load + migrate) && !(file in choices),
      ),
    ).toEqual([])
  })

  it.each(cases.filter(opens))('[F2, F8, $case] $file opens', async ({ file, expect: expected }) => {
    const { log, session, to } = await open(file)
    const isOld = log.version < 3
    const first = JSON.parse(
      textOf(file)
        .replace(/^\ufeff/, '')
        .split('\n')[0] as string,
    ) as { readonly version: number }
    expect(log.version).toBe(first.version)
    if (expected.surface !== undefined) {
      const nodes = expected.surface.map(seq => to(seq))
      expect(isOld ? saidNodes(session) : session.surface.nodes).toEqual(isOld ? nodes : expected.surface)
    }
    if (expected.surfaceHas !== undefined) expect(session.surface.nodes).toContain(to(expected.surfaceHas))
    if (expected.events !== undefined) expect(log.eventCount).toBe(expected.events)
    if (expected.validPrefixEvents !== undefined) {
      expect(log.eventCount).toBe(expected.validPrefixEvents)
      expect(log.repairs).toMatchObject([{ code: 'torn-tail', seq: expected.validPrefixEvents }])
    } else expect(log.repairs).toEqual([])
    const transcript = session
      .snapshotEvents(0, log.events.length)
      .filter(event => isAppendSurfaceEvent(event) && event.type !== 'system/message')
      .map(({ seq }) => seq)
    if (expected.transcriptSeqs !== undefined) expect(transcript).toEqual(expected.transcriptSeqs.map(seq => to(seq)))
    if (expected.transcriptCount !== undefined) expect(transcript).toHaveLength(expected.transcriptCount)
    const closers = session.snapshotEvents(log.events.length, session.firstLiveSeq)
    const names = (expected.closers ?? []).map(name => name.replace(/:src=.*/, ''))
    expect(closers.map(closerName)).toEqual(names)
    const sources = /:src=\[(\d+)\]/.exec(expected.closers?.[0] ?? '')?.[1]
    if (sources !== undefined) expect(closers[0]).toMatchObject({ sourceEventSeqs: [to(Number(sources))] })
    const { messages } = requestMessages(session.messages)
    const roles = messages
      .filter(({ role }) => !isOld || role !== 'system')
      .map(({ role, source }) =>
        source.kind === 'tool' && 'callId' in source ? `tool:${source.callId as string}` : role,
      )
    const said = expected.modelMessages ?? expected.modelMessagesAfterRepair
    if (said !== undefined) {
      const wanted = said.map(role => (isOld || !role.startsWith('tool') ? role : 'user'))
      expect(
        file.startsWith('trn-06')
          ? session
              .deriveMessages()
              .map(({ role }) => role)
              .filter(role => role !== 'system')
          : roles,
      ).toEqual(wanted)
    }
    if (expected.modelCount !== undefined) expect(roles).toHaveLength(expected.modelCount)
    if (expected.requestResultsFor !== undefined) {
      for (const [callId, count] of Object.entries(expected.requestResultsFor)) {
        expect(roles.filter(role => role === `tool:${callId}`)).toHaveLength(count)
      }
    }
    if (expected.keepsSeq !== undefined) expect(session.eventAt(expected.keepsSeq)).toMatchObject({ ignorable: true })
    if (expected.headSeq !== undefined) expect(session.surface.at(0)).toBe(expected.headSeq)
    if (expected.inheritedEventCount !== undefined)
      expect(session.inheritedEventCount).toBe(expected.inheritedEventCount)
    for (const { atSeq, childSurface } of expected.forks ?? []) {
      const child = session.fork({ id: `child-${atSeq}`, boundary: to(atSeq) })
      expect(saidNodes(child)).toEqual(childSurface.map(seq => to(seq)))
    }
    if (expected.chunkTexts !== undefined) {
      const answer = session.snapshotEvents().find(event => event.type === 'assistant/message')
      const deltas = expandStream(answer?.data.stream).flatMap(({ time, chunk }) =>
        chunk.type === 'text-delta' ? [{ time, text: chunk.text }] : [],
      )
      expect(deltas.map(({ text }) => text)).toEqual(expected.chunkTexts)
      expect(deltas.map(({ time }) => time)).toEqual(expected.chunkTimes)
    }
  })

  it.each(cases.filter(each => !opens(each)))('[F8, $case] $file is refused', async ({ file, expect: expected }) => {
    const before = textOf(file)
    const error = await refusalOf(file)
    expect(error.name).toMatch(/^(FormatError|SessionError)$/)
    if (expected.atSeq !== undefined) expect(error.seq).toBe(expected.atSeq)
    if (expected.atLine !== undefined) expect(error.line).toBe(expected.atLine)
    if (expected.expectedSeq !== undefined) {
      expect(error).toMatchObject({ expected: expected.expectedSeq, actual: expected.gotSeq })
    }
    expect(textOf(file)).toBe(before)
  })

  it.each(cases.filter(({ file }) => file in recovered))(
    '[F10, $case] $file opens with repairs that are listed',
    async ({ file, expect: expected }) => {
      const { log, session, to } = await open(file, 'recoverable')
      expect(log.repairs.map(({ code, seq }) => ({ code, seq }))).toEqual(recovered[file])
      for (const { line, message } of log.repairs)
        expect([line, message]).toEqual([expect.any(Number), expect.any(String)])
      if (expected.validPrefixEvents !== undefined) expect(log.eventCount).toBe(expected.validPrefixEvents)
      if (expected.recover !== undefined) {
        const types = session.surface.nodes.map(seq => session.eventAt(seq)?.type)
        expect(types).toEqual(expected.recover.surfaceTypes)
      }
      if (expected.keepsSeq !== undefined) {
        const stored = JSON.parse(textOf(file).split('\n')[expected.keepsSeq + 1] as string) as SessionEvent
        expect(session.eventAt(to(expected.keepsSeq))).toEqual({ ...stored, seq: to(expected.keepsSeq) })
      }
      const roles = expected.modelMessagesAfterMigration
      if (roles !== undefined) expect(session.deriveMessages().map(({ role }) => role)).toEqual(roles)
    },
  )

  it('[F10] what else is refused is refused in either mode', async () => {
    for (const each of cases) {
      if (opens(each) || each.file in recovered) continue
      expect((await refusalOf(each.file, 'recoverable')).name).toMatch(/^(FormatError|SessionError)$/)
    }
  })

  it.each(cases.filter(({ expect: { expected } }) => expected !== undefined))(
    '[F5, $case] $file becomes its published successor',
    async ({ file, expect: { expected = '' } }) => {
      const [{ log }, successor] = await Promise.all([open(file), open(expected)])
      expect(log.header).toEqual(successor.log.header)
      expect(log.events).toHaveLength(successor.log.events.length)
      log.events.forEach((event, seq) => {
        const wanted = successor.log.events[seq] as SessionEvent
        const [mine, theirs] = [event, wanted].map(expanded)
        expect(mine).toEqual(theirs)
      })
    },
  )

  it('[F4] reading twice gives the same', async () => {
    for (const each of cases.filter(opens)) {
      const [one, two] = await Promise.all([open(each.file), open(each.file)])
      expect(equalJson(one.log, two.log)).toBe(true)
    }
  })

  it('[F8, LOAD-12, LOAD-11] CRLF, blank lines, a byte order mark and a missing newline do not change what is read', async () => {
    const files = ['load-12-crlf', 'load-12-blank-line', 'load-12-no-final-newline', 'load-11-bom']
    const logs = await Promise.all(files.map(name => open(`${name}.jsonl`)))
    for (const { log } of logs) expect(log.events).toEqual(logs[0]?.log.events)
    expect(logs.map(({ log }) => log.isUnterminated)).toEqual([false, false, true, false])
  })
})

/** The event with its stream as single chunks: packing may differ. */
function expanded(event: SessionEvent): unknown {
  if (event.type !== 'assistant/message' && event.type !== 'assistant/attempt') return event
  return { ...event, data: { ...event.data, stream: expandStream(event.data.stream) } }
}
