/** Files into a worker and out of it, in a real browser: streams, compression, progress, cancelling, typed refusals. */
import { afterEach, describe, expect, it, vi } from 'vitest'
import basic from '../../e2e/cases/mig-01-basic.v0.jsonl?raw'
import damaged from '../../e2e/cases/load-08-damaged-middle.jsonl?raw'
import newer from '../../e2e/cases/load-13-version-99.jsonl?raw'
import surface from '../../e2e/cases/sur-06-replace-shadowed-endpoint.jsonl?raw'
import zstdUrl from '../../e2e/cases/real/chat.jsonl.zstd?url'
import type { SessionEvent } from '../core/events.ts'
import type { ReadProgress } from '../files/read-log.ts'
import { FormatError } from '../format/errors.ts'
import { memoryStorage } from '../storage/memory.ts'
import { connect, type Palimpsest } from './client.ts'
import { serve } from './serve.ts'

let count = 0
const open: Palimpsest[] = []

function connected(database = `palimpsest-files-test-${Date.now()}-${(count += 1)}`): Palimpsest {
  const url = new URL('./fixtures/echo.worker.ts', import.meta.url)
  url.searchParams.set('database', database)
  const palimpsest = connect(new Worker(url, { type: 'module' }))
  open.push(palimpsest)
  return palimpsest
}

afterEach(async () => {
  await Promise.all(open.splice(0).map(each => each.close()))
})

const eventsOf = (text: string): SessionEvent[] =>
  text
    .trimEnd()
    .split('\n')
    .slice(1)
    .map(line => JSON.parse(line) as SessionEvent)

/** A log of `turns` turns, long enough to be read in several pieces. */
function longLog(turns: number): Blob {
  const lines = ['{"type":"session","version":3,"id":"long","createdAt":1,"isSeeded":false,"delegationDepth":0}']
  const add = (type: string, data: object, more: object = {}) =>
    lines.push(JSON.stringify({ type, seq: lines.length - 1, time: lines.length, data, ...more }))
  for (let turn = 1; turn <= turns; turn += 1) {
    add('turn/start', { turn })
    const content = [{ type: 'text', text: `${turn} ${'word '.repeat(200)}` }]
    add('user/message', { id: `u${turn}`, role: 'user', content, source: { kind: 'user' } }, { surfaceOp: 'append' })
    add('turn/end', { turn, reason: { kind: 'completed' } })
  }
  return new Blob([lines.join('\n'), '\n'])
}

const zipped = (blob: Blob): Promise<Blob> =>
  new Response(blob.stream().pipeThrough(new CompressionStream('gzip'))).blob()

describe('files through a worker', () => {
  it('[F15] a dropped file becomes a session that opens, and is in the list', async () => {
    const { sessions } = connected()
    let told = 0
    sessions.subscribe(() => (told += 1))
    const result = await sessions.import(new File([basic], 'old.jsonl'))
    expect(result).toMatchObject({ id: 'session-mig-01', outcome: 'created', version: 0, eventCount: 9, repairs: [] })
    expect(told).toBe(1)
    expect(await sessions.list()).toMatchObject([{ id: 'session-mig-01', eventCount: 9 }])
    const session = await sessions.open(result.id)
    expect(await session.deriveMessages()).toMatchObject([{ role: 'system' }, { role: 'user' }, { role: 'assistant' }])
    // It is still there for another worker.
    expect(await sessions.import(basic)).toMatchObject({ id: 'session-mig-01', outcome: 'unchanged' })
  })

  it('[F14] streams, bytes, text and gzip come in alike; a stream is handed over, not copied', async () => {
    for (const source of [
      new Blob([basic]).stream(),
      new TextEncoder().encode(basic),
      basic,
      await zipped(new Blob([basic])),
      (await zipped(new Blob([basic]))).stream(),
    ]) {
      const { sessions } = connected()
      expect(await sessions.import(source)).toMatchObject({ outcome: 'created', eventCount: 9 })
    }
  })

  it('[F14] a zstd file of the predecessor is read, checksums included', async () => {
    const bytes = new Uint8Array(await (await fetch(zstdUrl)).arrayBuffer())
    const { sessions } = connected()
    const { id, version, repairs } = await sessions.import(bytes)
    expect([version, repairs]).toEqual([0, []])
    const session = await sessions.open(id)
    expect((await session.deriveMessages()).length).toBeGreaterThan(1)
    const bad = bytes.slice()
    bad[bad.length - 1] = (bad[bad.length - 1] as number) ^ 1
    await expect(sessions.import(bad)).rejects.toMatchObject({ name: 'FormatError', code: 'compression' })
    expect(await sessions.list()).toHaveLength(1)
  })

  it('[B1, F15] a refusal keeps its class, code, line and seq, and leaves nothing', async () => {
    const { sessions } = connected()
    const refusal = (source: string) => sessions.import(source).then(() => expect.fail('It was imported'), (error: unknown) => error) // biome-ignore format: one line
    const corrupt = await refusal(damaged)
    expect(corrupt).toBeInstanceOf(FormatError)
    expect(corrupt).toMatchObject({ code: 'corrupt', line: 10, seq: 8 })
    expect(await refusal(newer)).toMatchObject({ name: 'FormatError', code: 'newer-version', actual: 99 })
    expect(await refusal(surface)).toMatchObject({ name: 'SessionError', code: 'surface-range', line: 24, seq: 22 })
    const torn = new Uint8Array(await (await zipped(longLog(50))).arrayBuffer()).subarray(0, 500)
    await expect(sessions.import(torn)).rejects.toMatchObject({ name: 'FormatError', code: 'compression' })
    expect(await sessions.list()).toEqual([])
    const { repairs } = await sessions.import(damaged, { mode: 'recoverable' })
    expect(repairs).toMatchObject([{ code: 'kept-prefix', line: 10, seq: 8 }])
  })

  it('[F14] progress arrives, and the caller can give up', async () => {
    const { sessions } = connected()
    const file = longLog(4_000)
    const told: ReadProgress[] = []
    await sessions.import(file, { onProgress: progress => told.push(progress) })
    expect(told.length).toBeGreaterThan(1)
    expect(told.at(-1)).toEqual({ bytes: file.size, size: file.size, events: 12_000 })
    expect(told.map(({ bytes }) => bytes)).toEqual(told.map(({ bytes }) => bytes).sort((left, right) => left - right))

    const cancel = new AbortController()
    // A file that never ends: only giving up settles it.
    const head = await file.slice(0, 100_000).arrayBuffer()
    const endless = new ReadableStream<Uint8Array>({ start: controller => controller.enqueue(new Uint8Array(head)) })
    const importing = sessions.import(endless, { id: 'other', signal: cancel.signal, onProgress: () => cancel.abort() })
    await expect(importing).rejects.toMatchObject({ name: 'AbortError' })
    await expect(sessions.import(file, { signal: AbortSignal.abort() })).rejects.toMatchObject({ name: 'AbortError' })
    expect(await sessions.list()).toHaveLength(1)
  })

  it('[F14] a file that comes to very much can be given up while it is read', { timeout: 60_000 }, async () => {
    const { sessions } = connected()
    const newlines = new Blob([new Uint8Array(1 << 20).fill(10)])
    const bomb = await zipped(
      new Blob([await longLog(1).arrayBuffer(), ...Array.from({ length: 400 }, () => newlines)]),
    )
    const cancel = new AbortController()
    let told = 0
    const importing = sessions.import(bomb, { signal: cancel.signal, onProgress: () => (told += 1) })
    const refusal = importing.then(() => expect.fail('It was imported'), (error: unknown) => error) // biome-ignore format: one line
    // However slow the machine is, it is given up while it is read, and after some of it was.
    await vi.waitUntil(() => told > 0, { timeout: 30_000, interval: 5 })
    await new Promise(resolve => setTimeout(resolve, 200))
    const aborted = performance.now()
    cancel.abort()
    expect(await refusal).toMatchObject({ name: 'AbortError' })
    expect(performance.now() - aborted).toBeLessThan(1_000)
    expect(await sessions.list()).toEqual([])
  })

  it('[F14] gzip of several members is refused by name, and so is one that is cut off or damaged', async () => {
    const { sessions } = connected()
    const one = await zipped(longLog(2_000))
    const bytes = new Uint8Array(await one.arrayBuffer())
    const damaged = bytes.slice().fill(255, 400, 440)
    const cutOff = bytes.slice(0, -200)
    for (const [source, message] of [
      [new Blob([one, one]), 'behind its first member'],
      [new Blob([one, 'junk']), 'behind its first member'],
      [damaged, 'is damaged'],
      [cutOff, 'is cut off'],
    ] as const) {
      await expect(sessions.import(source)).rejects.toThrow(message)
      await expect(sessions.import(source)).rejects.toMatchObject({ name: 'FormatError', code: 'compression' })
    }
    const { repairs } = await sessions.import(cutOff, { mode: 'recoverable' })
    expect(repairs).toMatchObject([{ code: 'torn-tail' }])
  })

  it('[F15, W12] a worker that dies while it stores leaves the whole log or nothing', { timeout: 60_000 }, async () => {
    const file = longLog(1_500)
    for (const delay of [0, 60, 300]) {
      const database = `palimpsest-files-test-${Date.now()}-killed-${delay}`
      const url = new URL('./fixtures/echo.worker.ts', import.meta.url)
      url.searchParams.set('database', database)
      const worker = new Worker(url, { type: 'module' })
      const doomed = connect(worker)
      let wasRead = () => {}
      const isRead = new Promise<void>(resolve => (wasRead = resolve))
      const importing = doomed.sessions.import(file, {
        onProgress: ({ bytes }) => {
          if (bytes === file.size) wasRead()
        },
      })
      const ended = importing.catch((error: unknown) => error)
      await isRead
      await new Promise(resolve => setTimeout(resolve, delay))
      worker.terminate()
      const { sessions } = connected(database)
      const list = await sessions.list()
      expect(list.length).toBeLessThanOrEqual(1)
      for (const { id, eventCount } of list) {
        expect(eventCount).toBe(4_500)
        expect(eventsOf(await (await sessions.export(id)).text())).toHaveLength(4_500)
      }
      expect(await sessions.import(file)).toMatchObject({ id: 'long', eventCount: 4_500 })
      await doomed.close().catch(() => undefined)
      await ended
    }
  })

  it('[F11] what goes out comes in again as the same, gzip too', async () => {
    const { sessions } = connected()
    await sessions.import(basic)
    const file = await sessions.export('session-mig-01')
    expect(file.type).toBe('application/jsonl')
    const text = await file.text()
    expect(eventsOf(text)).toHaveLength(9)
    const other = connected()
    await other.sessions.import(await sessions.export('session-mig-01', { compress: 'gzip' }))
    expect(await (await other.sessions.export('session-mig-01')).text()).toBe(text)
    await expect(sessions.export('nobody')).rejects.toMatchObject({ code: 'session-not-found' })
  })

  it('[F13] a transcript has the title of the session', async () => {
    const { sessions } = connected()
    await sessions.import(basic)
    await sessions.rename('session-mig-01', 'Greetings')
    const file = await sessions.export('session-mig-01', { as: 'markdown' })
    expect(file.type).toContain('text/markdown')
    expect(await file.text()).toMatch(/^# Greetings\n[^]*Hello there/)
  })

  it("[F12] a page asks for the worker's own redactor", async () => {
    const { port1, port2 } = new MessageChannel()
    const model = { config: { provider: 'p', model: 'm' }, async *stream() {} }
    serve({ agent: () => ({ model }), storage: memoryStorage(), redact: text => text.replace(/hello/gi, '…') }, port1)
    const palimpsest = connect(port2)
    open.push(palimpsest)
    await palimpsest.sessions.import(basic)
    expect(await (await palimpsest.sessions.export('session-mig-01', { redact: true })).text()).not.toMatch(/hello/i)
    expect(await (await palimpsest.sessions.export('session-mig-01')).text()).toMatch(/hello/i)
    const { sessions } = connected()
    await sessions.import(basic)
    await expect(sessions.export('session-mig-01', { redact: true })).rejects.toMatchObject({ code: 'argument' })
  })

  it('[F16] a session another tab imports meanwhile is one session', async () => {
    const database = `palimpsest-files-test-${Date.now()}-shared`
    const [one, two] = [connected(database), connected(database)]
    const results = await Promise.all([one.sessions.import(basic), two.sessions.import(basic)])
    const ids = new Set((await one.sessions.list()).map(({ id }) => id))
    expect(ids).toContain('session-mig-01')
    // Whoever came second found it there, or was given an id of its own: nothing is mixed.
    for (const { id } of results) {
      expect(ids).toContain(id)
      expect(eventsOf(await (await one.sessions.export(id)).text())).toHaveLength(9)
    }
  })
})
