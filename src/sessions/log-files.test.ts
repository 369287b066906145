/** Sessions from files and to files; stored logs of older versions. */
import { describe, expect, it, vi } from 'vitest'
import { throughJson, user } from '../core/builders.ts'
import type { SessionEvent, SessionHeader } from '../core/events.ts'
import { LogId, SessionId, SessionSeq } from '../core/ids.ts'
import { imageOffloading } from '../core/interpreters/image-offload.ts'
import { bytesOf } from '../files/bytes.ts'
import { readLog } from '../files/read-log.ts'
import { FormatError } from '../format/errors.ts'
import { memoryStorage } from '../storage/memory.ts'
import { type SessionStorage, StorageError } from '../storage/storage.ts'
import { countedIds, handClock, observedStorage } from '../testing/agent-kit.ts'
import type { ExportOptions } from './export-log.ts'
import { type Lease, memoryLease } from './lease.ts'
import { Sessions } from './sessions.ts'

const cases: Record<string, string> = import.meta.glob('../../e2e/cases/*.jsonl', {
  query: '?raw',
  import: 'default',
  eager: true,
})
const fileOf = (name: string): string => cases[`../../e2e/cases/${name}.jsonl`] as string
const linesOf = (text: string): string[] => text.trimEnd().split('\n')
const eventsOf = (text: string): SessionEvent[] =>
  linesOf(text)
    .slice(1)
    .map(line => JSON.parse(line) as SessionEvent)
const headerOf = (text: string): SessionHeader => {
  const { type: _type, ...header } = JSON.parse(linesOf(text)[0] as string) as SessionHeader & { type: string }
  return header
}

function house(storage: SessionStorage = memoryStorage(), lease: Lease = memoryLease()) {
  const make = () => new Sessions({ storage, lease, now: handClock().now, newId: countedIds() })
  return { storage, lease, make, sessions: make() }
}

async function textOf(stream: ReadableStream<Uint8Array>): Promise<string> {
  return new Response(stream).text()
}
const exported = async (sessions: Sessions, id: string, options?: ExportOptions): Promise<string> =>
  textOf(await sessions.export(SessionId(id), options))

async function stored(storage: SessionStorage, id: string): Promise<SessionEvent[]> {
  const segments = await storage.read(SessionId(id))
  return segments.flatMap(({ text }) => JSON.parse(text) as SessionEvent[])
}
const everything = async (storage: SessionStorage): Promise<unknown> => {
  const records = await storage.list()
  return throughJson([records, await Promise.all(records.map(({ header }) => stored(storage, header.id)))])
}

const basic = fileOf('mig-01-basic.v3')
const basicId = 'session-mig-01'

describe('import', () => {
  it('F15 a file becomes a session of its id, opened by nobody', async () => {
    const { sessions, storage } = house()
    const result = await sessions.import(basic)
    expect(result).toEqual({
      id: basicId,
      outcome: 'created',
      version: 3,
      fileEventCount: 9,
      eventCount: 9,
      repairs: [],
      isUnterminated: false,
    })
    expect(sessions.live(result.id)).toBeUndefined()
    expect(await stored(storage, basicId)).toEqual(eventsOf(basic))
    expect((await storage.get(result.id))?.header).toEqual(headerOf(basic))
    const live = await sessions.open(result.id)
    expect(live.session.surface.nodes).toEqual([4, 3, 6])
    expect(await live.verify()).toBeNull()
  })

  it.each([
    ['a blob', (text: string) => new Blob([text])],
    ['bytes', (text: string) => new TextEncoder().encode(text)],
    ['a stream', (text: string) => new Blob([text]).stream()],
    ['pieces', (text: string) => bytesOf(text).chunks],
  ])('F15 a file may be %s', async (_what, sourceOf) => {
    const { sessions, storage } = house()
    await sessions.import(sourceOf(basic))
    expect(await stored(storage, basicId)).toEqual(eventsOf(basic))
  })

  it('F15 an older log is migrated on its way in', async () => {
    const { sessions, storage } = house()
    const result = await sessions.import(fileOf('mig-01-basic.v0'))
    expect(result).toMatchObject({ version: 0, fileEventCount: 17, eventCount: 9 })
    expect(await stored(storage, basicId)).toMatchObject(eventsOf(basic))
    expect((await storage.get(result.id))?.header.version).toBe(3)
  })

  it('F15 the same file again changes nothing', async () => {
    const { sessions, storage } = house()
    await sessions.import(basic)
    const before = await everything(storage)
    expect(await sessions.import(basic)).toMatchObject({ id: basicId, outcome: 'unchanged' })
    expect(await everything(storage)).toEqual(before)
    // Not even once it was opened, which adds a mark, and while it is open.
    const live = await sessions.open(SessionId(basicId))
    await live.flush()
    expect(await stored(storage, basicId)).toHaveLength(10)
    expect(await sessions.import(basic)).toMatchObject({ id: basicId, outcome: 'unchanged' })
    live.session.append('user/message', user('more'), { surfaceOp: 'append' })
    await live.flush()
    expect(await sessions.import(basic)).toMatchObject({ outcome: 'created' })
  })

  it('F15 a file that was repaired when it was opened is still the same file', async () => {
    const { sessions } = house()
    const { id } = await sessions.import(fileOf('rep-01-two-calls-one-started'))
    const live = await sessions.open(id)
    expect(
      live.session
        .snapshotEvents()
        .map(({ type }) => type)
        .slice(-3),
    ).toEqual(['step/end', 'turn/end', 'session/end-seed'])
    await live.flush()
    const again = await sessions.import(fileOf('rep-01-two-calls-one-started'))
    expect(again).toMatchObject({ id, outcome: 'unchanged' })
  })

  it('F15 a stored log that is the beginning of the file gets the rest', async () => {
    const { sessions, storage } = house()
    await sessions.import(linesOf(basic).slice(0, 5).join('\n'))
    expect(await stored(storage, basicId)).toHaveLength(4)
    expect(await sessions.import(basic)).toMatchObject({ id: basicId, outcome: 'extended', eventCount: 9 })
    expect(await stored(storage, basicId)).toEqual(eventsOf(basic))
    expect((await storage.get(SessionId(basicId)))?.previous).toBeUndefined()
    expect((await sessions.open(SessionId(basicId))).session.surface.nodes).toEqual([4, 3, 6])
  })

  it('F15 another log of that id keeps it: the file gets a fresh one, and keeps its lineage', async () => {
    const { sessions, storage } = house()
    const seeded = fileOf('mig-10-seeded.v3')
    await sessions.import(seeded)
    const before = await stored(storage, 'session-mig-10')
    const other = seeded.replace('"child q"', '"another q"')
    const { id, outcome } = await sessions.import(other)
    expect(outcome).toBe('created')
    expect(id).not.toBe('session-mig-10')
    expect(await stored(storage, 'session-mig-10')).toEqual(before)
    expect((await storage.get(id))?.header).toEqual({ ...headerOf(seeded), id })
    const live = await sessions.open(id)
    expect(live.session.inheritedEventCount).toBe(9)
    expect(live.session.header.parentSession).toBe('session-parent')
  })

  it('F15 a log the stored one goes on from is another log', async () => {
    const { sessions, storage } = house()
    await sessions.import(basic)
    const { id } = await sessions.import(linesOf(basic).slice(0, 5).join('\n'))
    expect(id).not.toBe(basicId)
    expect(await stored(storage, basicId)).toHaveLength(9)
  })

  it('F15 an open session is left alone, wherever it is open', async () => {
    const { sessions, make, storage } = house()
    const live = await sessions.open(SessionId(basicId))
    live.session.append('user/message', user('mine'), { surfaceOp: 'append' })
    const here = await sessions.import(basic)
    const elsewhere = await make().import(fileOf('mig-01-basic.v0'), { id: SessionId(basicId) })
    expect([here.id, elsewhere.id]).not.toContain(basicId)
    await sessions.close(SessionId(basicId))
    expect(await stored(storage, basicId)).toMatchObject([{ type: 'user/message' }])
  })

  it('F15 an id can be asked for', async () => {
    const { sessions, storage } = house()
    expect(await sessions.import(basic, { id: SessionId('mine') })).toMatchObject({ id: 'mine', outcome: 'created' })
    expect((await storage.get(SessionId('mine')))?.header).toEqual({ ...headerOf(basic), id: 'mine' })
  })

  it.each([
    ['load-08-damaged-middle', { name: 'FormatError', code: 'corrupt', line: 10, seq: 8 }],
    ['load-13-version-99', { name: 'FormatError', code: 'newer-version', line: 1 }],
    ['mig-03-user-before-step.v0', { name: 'FormatError', code: 'order', line: 3, seq: 1 }],
    ['sur-06-replace-shadowed-endpoint', { name: 'SessionError', code: 'surface-range', line: 24, seq: 22 }],
    ['frk-07-seeded-without-marker', { name: 'SessionError', code: 'header' }],
  ])('F15 %s is refused, and nothing is stored', async (name, expected) => {
    const { sessions, storage } = house()
    await expect(sessions.import(fileOf(name))).rejects.toMatchObject(expected)
    expect(await storage.list()).toEqual([])
  })

  it('F10 F15 what strict refuses can be opened with repairs, which are told', async () => {
    const { sessions } = house()
    const result = await sessions.import(fileOf('load-08-damaged-middle'), { mode: 'recoverable' })
    expect(result.repairs).toMatchObject([{ code: 'kept-prefix', line: 10, seq: 8 }])
    expect((await sessions.open(result.id)).session.surface.nodes).toEqual([4, 3, 6])
  })

  it('F10 F15 what stands before an event no session takes can be kept', async () => {
    const { sessions } = house()
    const result = await sessions.import(fileOf('sur-06-replace-shadowed-endpoint'), { mode: 'recoverable' })
    expect(result.repairs).toMatchObject([{ code: 'kept-prefix', line: 24, seq: 22 }])
    expect(result.eventCount).toBe(24)
    expect((await sessions.open(result.id)).session.length).toBeGreaterThan(24)
    // A log whose header is wrong has nothing to keep.
    await expect(
      sessions.import(fileOf('frk-07-seeded-without-marker'), { mode: 'recoverable' }),
    ).rejects.toMatchObject({ code: 'header', line: 1 })
  })

  it('F5 F15 [case 123] a message that does not say what its stream did is read, but not stored anew', async () => {
    const { sessions, storage } = house()
    const wrong = fileOf('mig-01-basic.v0').replace('"text":"Hello there"}],"source"', '"text":"Hallo"}],"source"')
    expect((await readLog(wrong)).events).toHaveLength(9)
    await expect(sessions.import(wrong)).rejects.toMatchObject({ code: 'stream', seq: 14, line: 16 })
    expect(await storage.list()).toEqual([])
    const { repairs } = await sessions.import(wrong, { mode: 'recoverable' })
    expect(repairs).toMatchObject([{ code: 'kept-relation', seq: 14 }])
    const other = house()
    const id = SessionId(await storeOld(other.storage, wrong))
    await expect(other.sessions.open(id)).rejects.toMatchObject({ code: 'stream', seq: 14 })
    expect(await stored(other.storage, id)).toHaveLength(17)
  })

  it('F10 F11 a record nobody knows can be exported after its log was mended', async () => {
    const lines = linesOf(fileOf('mig-01-basic.v0'))
    const record = { type: 'x/note', seq: 15, time: 1, data: {}, ignorable: true, sourceEventSeqs: [2, 5, 14] }
    const moved = lines.slice(16).map(line => line.replace(/"seq":(\d+)/, (_, seq) => `"seq":${Number(seq) + 1}`))
    const { sessions } = house()
    const text = [...lines.slice(0, 16), JSON.stringify(record), ...moved].join('\n')
    const { repairs, id } = await sessions.import(text, { mode: 'recoverable' })
    expect(repairs).toMatchObject([{ code: 'kept-verbatim', seq: 15 }])
    const note = eventsOf(await exported(sessions, id)).find(({ type }) => (type as string) === 'x/note')
    // The message of the person and that of the model; the chunk is part of the latter now.
    expect(note).toMatchObject({ sourceEventSeqs: [3, 6] })
  })

  it('F15 an id is never empty', async () => {
    const { sessions, storage } = house()
    await expect(sessions.import(basic, { id: SessionId('') })).rejects.toMatchObject({ code: 'header' })
    expect(await storage.list()).toEqual([])
  })

  it.each([
    ['that share a lease', (lease: Lease) => lease],
    ['that share none', () => memoryLease()],
  ])('F15 of two tabs %s and read the same file, both have the one session', async (_what, leaseOf) => {
    const { sessions, storage, lease } = house()
    const other = new Sessions({ storage, lease: leaseOf(lease), now: handClock().now, newId: countedIds('other') })
    const results = await Promise.all([sessions.import(basic), other.import(basic)])
    expect(results.map(({ id }) => id)).toEqual([basicId, basicId])
    expect(results.map(({ outcome }) => outcome).sort()).toEqual(['created', 'unchanged'])
    expect(await storage.list()).toHaveLength(1)
  })

  it('F15 a storage that cannot be read just now makes no copy', async () => {
    const storage = observedStorage()
    const { sessions } = house(storage)
    await sessions.import(basic)
    vi.spyOn(storage, 'read').mockRejectedValueOnce(new StorageError('unavailable', 'lost'))
    await expect(sessions.import(basic)).rejects.toMatchObject({ code: 'unavailable' })
    expect(await storage.list()).toHaveLength(1)
  })

  it('F15 W13 what was stored is stored, though the log it replaced could not be forgotten', async () => {
    const storage = observedStorage()
    const { sessions } = house(storage)
    const rest = linesOf(basic)
    await sessions.import(rest.slice(0, 5).join('\n'))
    vi.spyOn(storage, 'forgetPrevious').mockRejectedValueOnce(new StorageError('unavailable', 'killed'))
    expect(await sessions.import(basic)).toMatchObject({ outcome: 'extended' })
    expect((await storage.get(SessionId(basicId)))?.previous).toBeDefined()
    // Neither a storage that fails for a moment nor a program that lacks something takes it back.
    vi.spyOn(storage, 'read').mockRejectedValueOnce(new StorageError('unavailable', 'lost'))
    await expect(sessions.open(SessionId(basicId))).rejects.toMatchObject({ code: 'unavailable' })
    expect(await stored(storage, basicId)).toHaveLength(9)
    expect((await sessions.open(SessionId(basicId))).session.surface.nodes).toEqual([4, 3, 6])
    expect((await storage.get(SessionId(basicId)))?.previous).toBeUndefined()
  })

  it('F16 a program without an interpreter leaves both logs to one that has it', async () => {
    const { sessions, storage } = house()
    const offload = { type: 'image/offload', seq: 9, time: 1, data: { targets: [{ seq: 3, imageIndexes: [0] }] } }
    const image = {
      type: 'image',
      attachment: { attachmentId: 'i', mediaType: 'image/png', bytes: 1, width: 1, height: 1 },
    }
    const before = basic.replace('"content":[{"type":"text","text":"hello"}]', `"content":[${JSON.stringify(image)}]`)
    await sessions.import(before)
    const claimed = await storage.claim(SessionId(basicId))
    const text = `[${[...linesOf(before).slice(1), JSON.stringify(offload)].join(',')}]`
    await storage.storeLog({
      session: { header: headerOf(basic), logId: LogId('longer'), inherited: [] },
      segments: [{ firstSeq: SessionSeq(0), count: 10, text }],
      time: 2,
      ...(claimed === null ? {} : { replaces: claimed }),
    })
    await expect(sessions.open(SessionId(basicId))).rejects.toMatchObject({ code: 'interpreter-missing' })
    const able = new Sessions({
      storage,
      lease: memoryLease(),
      now: handClock().now,
      newId: countedIds(),
      projections: [imageOffloading],
    })
    expect((await able.open(SessionId(basicId))).session.eventAt(9)?.type).toBe('image/offload')
  })

  it('F15 a storage that fails in the middle leaves nothing', async () => {
    const storage = observedStorage()
    const { sessions } = house(storage)
    vi.spyOn(storage, 'storeLog').mockRejectedValueOnce(new StorageError('quota-exceeded', 'full'))
    await expect(sessions.import(basic)).rejects.toMatchObject({ code: 'quota-exceeded' })
    expect(await storage.list()).toEqual([])
    // The lease was given back.
    expect(await sessions.import(basic)).toMatchObject({ id: basicId, outcome: 'created' })
  })

  it('F14 F15 progress is told, and an import can be given up', async () => {
    const { sessions, storage } = house()
    const cancel = new AbortController()
    const text = fileOf('trn-01-compacted')
    const half = text.length >> 1
    const pieces = (async function* () {
      await Promise.resolve()
      yield new TextEncoder().encode(text.slice(0, half))
      cancel.abort()
      yield new TextEncoder().encode(text.slice(half))
    })()
    const told: unknown[] = []
    const giving = sessions.import(pieces, { signal: cancel.signal, onProgress: progress => told.push(progress) })
    await expect(giving).rejects.toMatchObject({ name: 'AbortError' })
    expect(told).toMatchObject([{ bytes: half, size: undefined }])
    expect(await storage.list()).toEqual([])
    await expect(sessions.import(text, { signal: AbortSignal.abort() })).rejects.toMatchObject({ name: 'AbortError' })
    await sessions.import(text, { onProgress: progress => told.push(progress) })
    expect(told.at(-1)).toEqual({ bytes: text.length, size: text.length, events: 71 })
  })
})

describe('export', () => {
  const files = Object.entries(cases).filter(([, text]) => text.startsWith('{') && headerOf(text).version === 3)

  it.each(files)('F11 import and export of %s give the same bytes', async (_name, text) => {
    const first = house()
    try {
      await first.sessions.import(text)
    } catch (error) {
      expect(error).toMatchObject({ name: expect.stringMatching(/FormatError|SessionError/) as string })
      return
    }
    const { id } = headerOf(text)
    const once = await exported(first.sessions, id)
    const second = house()
    await second.sessions.import(once)
    expect(await exported(second.sessions, id)).toBe(once)
    expect(eventsOf(once)).toEqual(eventsOf(text))
    expect(headerOf(once)).toEqual(headerOf(text))
  })

  it('F11 what a live session has not stored yet is exported as well', async () => {
    const { sessions, storage } = house()
    const live = await sessions.open(SessionId('a'))
    live.session.append('user/message', user('not stored'), { surfaceOp: 'append' })
    expect(await storage.list()).toEqual([])
    expect(eventsOf(await exported(sessions, 'a'))).toMatchObject([{ type: 'user/message', seq: 0 }])
  })

  it('F11 a fork is exported whole, and can be imported without its parent', async () => {
    const { sessions } = house()
    await sessions.import(basic)
    const child = await sessions.fork(SessionId(basicId), { id: SessionId('child') })
    await child.flush()
    const text = await exported(sessions, 'child')
    const other = house()
    await other.sessions.import(text)
    const { session } = await other.sessions.open(SessionId('child'))
    expect(session.surface.nodes).toEqual(child.session.surface.nodes)
    expect(session.inheritedEventCount).toBe(9)
    expect(session.header.parentSession).toBe(basicId)
  })

  it('F11 gzip goes out and comes in again', async () => {
    const { sessions } = house()
    await sessions.import(basic)
    const zipped = await new Response(await sessions.export(SessionId(basicId), { compress: 'gzip' })).blob()
    expect([...new Uint8Array(await zipped.arrayBuffer()).subarray(0, 2)]).toEqual([0x1f, 0x8b])
    const other = house()
    await other.sessions.import(zipped)
    expect(await exported(other.sessions, basicId)).toBe(await exported(sessions, basicId))
  })

  it('F11 a log that is replaced while it is exported is no part of the file', async () => {
    const { sessions } = house()
    const long = (text: string) => {
      const first = linesOf(basic)[0] as string
      const rows = Array.from({ length: 600 }, (_, seq) =>
        JSON.stringify({
          type: 'user/message',
          seq,
          time: seq,
          data: user(`${text} ${'x'.repeat(10_000)}`, `m${seq}`),
          surfaceOp: 'append',
        }),
      )
      return [first, ...rows].join('\n')
    }
    await sessions.import(long('one'))
    const reader = (await sessions.export(SessionId(basicId))).getReader()
    await reader.read()
    await sessions.delete(SessionId(basicId))
    await sessions.import(long('two'))
    const rest = (async () => {
      for (let next = await reader.read(); !next.done; next = await reader.read())
        expect(next.value.length).toBeGreaterThan(0)
    })()
    await expect(rest).rejects.toMatchObject({ code: 'not-found' })
  })

  it('F11 W8 a fork is exported however deep what it inherits is', async () => {
    const { sessions } = house()
    const first = linesOf(basic)[0] as string
    const said = (seq: number) =>
      JSON.stringify({ type: 'user/message', seq, time: seq, data: user('hi', `m${seq}`), surfaceOp: 'append' })
    const deep = `{"type":"x/y","seq":1,"time":1,"data":${'['.repeat(20_000)}${']'.repeat(20_000)},"ignorable":true}`
    await sessions.import([first, said(0), deep, said(2)].join('\n'))
    await sessions.fork(SessionId(basicId), { id: SessionId('child'), boundary: 1 })
    await sessions.close(SessionId('child'))
    expect(linesOf(await exported(sessions, 'child'))[2]).toBe(deep)
  })

  it('F12 the title of a transcript is a text as well', async () => {
    const { sessions } = house()
    await sessions.import(basic)
    await sessions.rename(SessionId(basicId), 'About SECRET')
    const text = await exported(sessions, basicId, { as: 'markdown', redact: said => said.replace('SECRET', '…') })
    expect(text).not.toContain('SECRET')
  })

  it('F12 texts are redacted, and what is left still opens', async () => {
    const { sessions } = house()
    await sessions.import(basic)
    const text = await exported(sessions, basicId, { redact: said => said.replace(/hello/gi, '▒') })
    expect(text).not.toMatch(/hello/i)
    const other = house()
    await other.sessions.import(text)
    const { session } = await other.sessions.open(SessionId(basicId))
    expect(session.surface.nodes).toEqual([4, 3, 6])
  })

  it('F13 a transcript has the title and what was said', async () => {
    const { sessions } = house()
    await sessions.import(basic)
    await sessions.rename(SessionId(basicId), 'Greetings')
    const text = await exported(sessions, basicId, { as: 'markdown' })
    expect(text).toMatch(/^# Greetings\n/)
    expect(text).toContain('Hello there')
  })

  it('F11 a session nobody stored is not found', async () => {
    const { sessions } = house()
    await expect(sessions.export(SessionId('a'))).rejects.toMatchObject({ code: 'session-not-found', sessionId: 'a' })
  })
})

/** A session as an older build stored it. */
async function storeOld(storage: SessionStorage, text: string): Promise<string> {
  const header = headerOf(text)
  const lines = linesOf(text).slice(1)
  await storage.append({
    id: SessionId(header.id),
    logId: LogId('old'),
    epoch: 1,
    segment: { firstSeq: SessionSeq(0), count: lines.length, text: `[${lines.join(',')}]` },
    durability: 'strict',
    time: 1,
    create: { header, logId: LogId('old'), inherited: [] },
  })
  return header.id
}

describe('stored logs of older versions', () => {
  it('F16 opening for writing migrates it into a log of its own, and forgets the old one', async () => {
    const { sessions, storage } = house()
    const id = SessionId(await storeOld(storage, fileOf('mig-02-prompt-change.v0')))
    const live = await sessions.open(id)
    const expected = eventsOf(fileOf('mig-02-prompt-change.v3'))
    expect(live.session.snapshotEvents(0, expected.length)).toMatchObject(expected)
    await live.flush()
    expect(await live.verify()).toBeNull()
    const record = await storage.get(id)
    expect(record).toMatchObject({ header: { version: 3 }, nextSeq: expected.length + 1 })
    expect(record?.logId).not.toBe('old')
    expect(record?.previous).toBeUndefined()
    live.session.append('user/message', user('goes on'), { surfaceOp: 'append' })
    await sessions.close(id)
    expect((await sessions.open(id)).session.deriveMessages().at(-1)).toMatchObject({ content: [{ text: 'goes on' }] })
  })

  it('F16 lists, exports and forks read it; only opening writes', async () => {
    const { sessions, storage } = house()
    const id = SessionId(await storeOld(storage, fileOf('mig-01-basic.v0')))
    const before = await everything(storage)
    expect(await sessions.list()).toMatchObject([{ id, eventCount: 17 }])
    expect(eventsOf(await exported(sessions, id))).toMatchObject(eventsOf(basic))
    expect(await everything(storage)).toEqual(before)
    expect(await sessions.import(fileOf('mig-01-basic.v0'))).toMatchObject({ id, outcome: 'unchanged' })
    const child = await sessions.fork(id, { id: SessionId('child') })
    expect(child.session.surface.nodes).toEqual([4, 3, 6])
    expect((await storage.get(SessionId('child')))?.header.version).toBe(3)
    await sessions.close(SessionId('child'))
    expect((await sessions.open(SessionId('child'))).session.inheritedEventCount).toBe(10)
  })

  it('F16 a fork leaves it open to who opens it meanwhile', async () => {
    const { sessions, storage } = house()
    const id = SessionId(await storeOld(storage, fileOf('mig-01-basic.v0')))
    const forking = sessions.fork(id, { id: SessionId('child') })
    const live = await sessions.open(id)
    await forking
    expect([sessions.live(id) === live, live.isClosed]).toEqual([true, false])
  })

  it.each(['mig-03-user-before-step.v0', 'mig-16-error-without-iserror.v0'])(
    'F16 %s cannot be migrated: it is refused and stays as it is',
    async name => {
      const { sessions, storage } = house()
      const id = SessionId(await storeOld(storage, fileOf(name)))
      const before = await stored(storage, id)
      await expect(sessions.open(id)).rejects.toBeInstanceOf(FormatError)
      expect(await stored(storage, id)).toEqual(before)
      expect(await storage.get(id)).toMatchObject({ logId: 'old', header: { version: 0 } })
      await expect(sessions.open(id)).rejects.toBeInstanceOf(FormatError)
    },
  )

  it.each<[version: number, last: object]>([
    [2, { type: 'todo/write', time: 1.5, data: { todos: [] } }],
    [0, { type: 'user/message', time: 1, data: user('precious'), surfaceOp: 'append', sourceEventSeqs: [6] }],
    [0, { type: 'todo/write', time: 1, data: { todos: [1] }, extra: 1 }],
  ])('F16 the end of a stored log of version %i is never cut off', async (version, last) => {
    const { sessions, storage } = house()
    const header = {
      version,
      id: 'old',
      createdAt: 1,
      delegationDepth: 0,
      ...(version === 2 ? { isSeeded: false } : {}),
    }
    const events = [
      ['turn/start', { turn: 1 }],
      ['step/start', { turn: 1, step: 1 }],
      ['user/message', user('one'), { surfaceOp: 'append' }],
      ['step/end', { turn: 1, step: 1 }],
      ['turn/end', { turn: 1, reason: { kind: 'completed' } }],
      ['turn/start', { turn: 2 }],
    ].map(([type, data, more], seq) => JSON.stringify({ type, seq, time: 1, data, ...(more as object) }))
    const text = [JSON.stringify({ type: 'session', ...header }), ...events, JSON.stringify({ seq: 6, ...last })].join(
      '\n',
    )
    const id = SessionId(await storeOld(storage, text))
    const before = await stored(storage, id)
    await expect(sessions.open(id)).rejects.toMatchObject({ code: expect.stringMatching(/corrupt|envelope/) as string })
    await expect(sessions.export(id)).rejects.toThrow()
    expect(await stored(storage, id)).toEqual(before)
    expect((await storage.get(id))?.logId).toBe('old')
  })

  it('F3 F16 one of a newer build is refused by name, and others are not affected', async () => {
    const { sessions, storage } = house()
    const id = SessionId(await storeOld(storage, fileOf('load-13-version-99')))
    const before = await stored(storage, id)
    await expect(sessions.open(id)).rejects.toMatchObject({ code: 'newer-version', actual: 99, sessionId: id })
    await expect(sessions.export(id)).rejects.toMatchObject({ code: 'newer-version' })
    expect(await stored(storage, id)).toEqual(before)
    await sessions.import(basic)
    expect((await sessions.list()).map(each => each.id).sort()).toEqual([id, basicId].sort())
  })

  it.each([
    'storeLog', // nothing written
    'forgetPrevious', // written, not forgotten
  ] as const)('F16 a migration that ends at %s is taken up where it was', async method => {
    const storage = observedStorage()
    const { sessions } = house(storage)
    const id = SessionId(await storeOld(storage, fileOf('mig-01-basic.v0')))
    vi.spyOn(storage, method).mockRejectedValueOnce(new StorageError('unavailable', 'killed'))
    await expect(sessions.open(id)).rejects.toMatchObject({ code: 'unavailable' })
    const record = await storage.get(id)
    expect(record?.header.version).toBe(method === 'storeLog' ? 0 : 3)
    expect(record?.previous?.logId).toBe(method === 'storeLog' ? undefined : 'old')
    const live = await sessions.open(id)
    expect(live.session.snapshotEvents(0, 9)).toMatchObject(eventsOf(basic))
    expect((await storage.get(id))?.previous).toBeUndefined()
  })

  it('F16 a new log that reads back as something else gives way to the old one', async () => {
    const storage = observedStorage()
    const { sessions } = house(storage)
    const id = SessionId(await storeOld(storage, fileOf('mig-01-basic.v0')))
    const storeLog = storage.storeLog.bind(storage)
    const lossy = vi.spyOn(storage, 'storeLog').mockImplementation(log => {
      const segments = [...log.segments].map(segment => ({
        ...segment,
        text: segment.text.replace('Hello there', 'Hallo'),
      }))
      return storeLog({ ...log, segments })
    })
    await expect(sessions.open(id)).rejects.toMatchObject({ code: 'corrupt', sessionId: id })
    expect(await storage.get(id)).toMatchObject({ logId: 'old', header: { version: 0 } })
    expect(await stored(storage, id)).toHaveLength(17)
    lossy.mockRestore()
    expect((await sessions.open(id)).session.snapshotEvents(0, 9)).toMatchObject(eventsOf(basic))
  })

  it('F16 a new log found broken after a crash gives way to the old one, which is migrated again', async () => {
    const storage = observedStorage()
    const { sessions } = house(storage)
    const id = SessionId(await storeOld(storage, fileOf('mig-01-basic.v0')))
    const claimed = await storage.claim(id)
    await storage.storeLog({
      session: { header: headerOf(basic), logId: LogId('broken'), inherited: [] },
      segments: [{ firstSeq: SessionSeq(0), count: 1, text: '[{"type":"nonsense"}]' }],
      time: 2,
      ...(claimed === null ? {} : { replaces: claimed }),
    })
    const live = await sessions.open(id)
    expect(live.session.snapshotEvents(0, 9)).toMatchObject(eventsOf(basic))
  })

  it('F16 of two that migrate it one wins, and the other reads what it made', async () => {
    const { storage, lease, sessions, make } = house()
    const id = SessionId(await storeOld(storage, fileOf('mig-01-basic.v0')))
    const other = make()
    const results = await Promise.allSettled([sessions.open(id), other.open(id)])
    expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    await Promise.all([sessions.closeAll(), other.closeAll()])
    const live = await new Sessions({ storage, lease, now: handClock().now, newId: countedIds('third') }).open(id)
    expect(live.session.snapshotEvents(0, 9)).toMatchObject(eventsOf(basic))
  })

  it('F16 without a lease the epoch decides', async () => {
    const storage = memoryStorage()
    const [one, two] = [house(storage, memoryLease()), house(storage, memoryLease())]
    const id = SessionId(await storeOld(storage, fileOf('mig-01-basic.v0')))
    const results = await Promise.allSettled([one.sessions.open(id), two.sessions.open(id)])
    for (const result of results) {
      if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 'stale-epoch' })
    }
    expect(results.some(({ status }) => status === 'fulfilled')).toBe(true)
    const live = await house(storage).sessions.open(id)
    expect(live.session.snapshotEvents(0, 9)).toMatchObject(eventsOf(basic))
  })
})
