/** Logs the predecessor wrote itself (`e2e/cases/real`), beside what it makes of them. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { counter, throughJson } from '../core/builders.ts'
import type { SessionEvent, SessionHeader } from '../core/events.ts'
import { Session } from '../core/session.ts'
import { expandStream } from '../core/stream-records.ts'
import { bytesOf } from './bytes.ts'
import { decompress } from './decompress.ts'
import { readLog } from './read-log.ts'

const bytesIn = (name: string): Uint8Array =>
  new Uint8Array(readFileSync(new URL(`../../e2e/cases/real/${name}`, import.meta.url)))
const jsonIn = (name: string): unknown => JSON.parse(new TextDecoder().decode(bytesIn(name)))

/** The predecessor's own migration of a file. */
type Migrated = {
  readonly header: SessionHeader
  readonly inheritedEventCount: number
  readonly events: readonly SessionEvent[]
}

const logs = ['chat', 'tools', 'tools-child', 'tools-compacted', 'retry', 'crashed']
const files = logs.flatMap(name => [`${name}.jsonl`, `${name}.jsonl.zstd`])

/** The event with its stream as single chunks: how they are packed may differ. */
function expanded(event: SessionEvent): unknown {
  if (event.type !== 'assistant/message' && event.type !== 'assistant/attempt') return event
  return { ...event, data: { ...event.data, stream: expandStream(event.data.stream) } }
}

/** Plain and zstd were written in two runs: only their clocks differ. */
const withoutTimes = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value, (key, part: unknown) => (/^(time|createdAt)$/.test(key) ? 0 : part)))

const sessionOf = ({ header, events }: { readonly header: SessionHeader; readonly events: readonly SessionEvent[] }) =>
  Session.fromRestore({ header, events: throughJson(events), now: counter() })

describe('logs of the predecessor', () => {
  it.each(files)('[F5, F14] %s opens strictly, and nothing of it is repaired', async file => {
    const log = await readLog(bytesIn(file))
    expect(log.version).toBe(0)
    expect(log.repairs).toEqual([])
    expect(log.isUnterminated).toBe(false)
    expect(sessionOf(log).inheritedEventCount).toBe(log.inheritedEventCount ?? 0)
    expect(await readLog(bytesIn(file), { mode: 'recoverable' })).toEqual(log)
  })

  it.each(logs)('[F14] %s is the same log, plain and zstd', async name => {
    const [plain, zstd] = await Promise.all([readLog(bytesIn(`${name}.jsonl`)), readLog(bytesIn(`${name}.jsonl.zstd`))])
    const [one, other] = [plain, zstd].map(({ events, ...log }) =>
      withoutTimes({ ...log, events: events.map(expanded) }),
    )
    expect(other).toEqual(one)
    expect((await decompress(bytesOf(bytesIn(`${name}.jsonl.zstd`)).chunks)).compression).toBe('zstd')
  })

  it.each(files)('[F5] %s says to the model what the predecessor says', async file => {
    const messages = sessionOf(await readLog(bytesIn(file))).deriveMessages()
    const said = messages.filter(({ role }) => role !== 'system')
    expect(throughJson(said)).toEqual(jsonIn(`${file.replace(/\.zstd$/, '')}.messages.json`))
  })

  it.each(logs)("[F5] %s becomes what the predecessor's own migration makes of it", async name => {
    const log = await readLog(bytesIn(`${name}.jsonl`))
    const { header, events, inheritedEventCount } = jsonIn(`${name}.migrated.v3.json`) as Migrated
    expect(log.header).toEqual(header)
    expect(log.inheritedEventCount ?? 0).toBe(inheritedEventCount)
    expect(log.events.map(expanded)).toEqual(events.map(expanded))
  })
})
