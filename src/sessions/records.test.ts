/** What is said of sessions: lists by pages, names, pins, deletion with a way back, tidying up (SPEC W17–W19). */
import { describe, expect, it } from 'vitest'
import { append, stepStart, turnStart, user } from '../core/builders.ts'
import { defineEvent } from '../core/event-definition.ts'
import { BlobId, SessionId } from '../core/ids.ts'
import { memoryStorage } from '../storage/memory.ts'
import { StorageError } from '../storage/storage.ts'
import { withFaults } from '../storage/faults.ts'
import { countedIds, handClock } from '../testing/agent-kit.ts'
import { memoryLease } from './lease.ts'
import { Sessions, type SessionsOptions } from './sessions.ts'

const DAY = 24 * 3_600_000
const id = (name: string) => SessionId(name)

function house(more: Partial<SessionsOptions> = {}) {
  const clock = handClock()
  const storage = memoryStorage()
  const options = { storage, lease: memoryLease(), now: clock.now, newId: countedIds(), ...more }
  const sessions = new Sessions(options)
  const say = async (name: string, text = name) => {
    clock.time += 1_000
    const live = await sessions.open(id(name))
    live.session.append('user/message', user(text, `m${clock.time}`), { surfaceOp: 'append' })
    await live.flush()
    return live
  }
  const names = async () => (await sessions.list()).map(session => session.id as string)
  return { clock, storage, sessions, say, names, again: () => new Sessions({ ...options, lease: memoryLease() }) }
}

describe('lists', () => {
  it('[W18] come in pages, pinned ones first, then last changed first, without reading an event', async () => {
    const inner = memoryStorage()
    const methods: string[] = []
    const storage = withFaults(inner, ({ method }, proceed) => {
      methods.push(method)
      return proceed()
    })
    const { sessions, say } = house({ storage })
    for (const name of ['a', 'b', 'c', 'd', 'e']) await say(name)
    await sessions.closeAll()
    await sessions.pin(id('b'), true)
    methods.length = 0
    const pages: string[][] = []
    for (let after: Parameters<Sessions['page']>[0] = {}; ; ) {
      const page = await sessions.page({ limit: 2, ...after })
      pages.push(page.sessions.map(session => session.id))
      if (page.after === null) break
      after = { after: page.after }
    }
    expect(pages).toEqual([['b', 'e'], ['d', 'c'], ['a']])
    expect(new Set(methods)).toEqual(new Set(['list']))
    expect((await sessions.list()).map(session => [session.id, session.isPinned])).toEqual([
      ['b', true],
      ['e', false],
      ['d', false],
      ['c', false],
      ['a', false],
    ])
    await sessions.pin(id('b'), false)
    expect((await sessions.page({ limit: 1 })).sessions[0]?.id).toBe('e')
  })

  it('[W18] know what is live better, and what is live and not stored yet', async () => {
    const { sessions, say } = house()
    await say('stored')
    await sessions.open(id('fresh'))
    const { sessions: listed } = await sessions.page()
    expect(listed.map(session => [session.id, session.eventCount])).toEqual([
      ['stored', 1],
      ['fresh', 0],
    ])
    // It is on the first page only.
    const { sessions: rest } = await sessions.page({ after: { id: id('stored'), updatedAt: 2_000 } })
    expect(rest).toEqual([])
  })

  it('[W18] show a session that is stored and open here on one page only, as it is stored', async () => {
    const { sessions, say } = house()
    await say('old')
    await sessions.rename(id('old'), 'Old')
    for (const name of ['b', 'c', 'd']) await say(name)
    const first = await sessions.page({ limit: 2 })
    const second = await sessions.page({ limit: 2, after: first.after })
    expect(first.sessions.map(session => session.id)).toEqual(['d', 'c'])
    expect(second.sessions.map(session => [session.id, session.title])).toEqual([
      ['b', null],
      ['old', 'Old'],
    ])
  })

  it('[W18] miss no session that is stored for the first time while they are read', async () => {
    let meanwhile = (): Promise<unknown> => Promise.resolve()
    const storage = withFaults(memoryStorage(), async ({ method }, proceed) => {
      const answer = await proceed()
      if (method === 'list') await meanwhile()
      return answer
    })
    const { sessions, say, names } = house({ storage })
    await sessions.open(id('fresh'))
    meanwhile = () => say('fresh')
    expect(await names()).toEqual(['fresh'])
  })

  it('[W18] tell how much a session stores, a fork only what is its own', async () => {
    const { sessions, say } = house()
    await say('a', 'x'.repeat(5_000))
    await sessions.fork(id('a'), { id: id('b') })
    const sizes = new Map((await sessions.list()).map(session => [session.id as string, session.size ?? 0]))
    expect(sizes.get('a')).toBeGreaterThan(5_000)
    expect(sizes.get('b')).toBeLessThan(500)
  })

  it('[W18] do not take opening a session for a change of it', async () => {
    const { sessions, clock, names, say } = house()
    await say('a')
    await say('b')
    await sessions.closeAll()
    clock.time += 1_000
    await (await sessions.open(id('a'))).flush()
    expect(await names()).toEqual(['b', 'a'])
    await say('a')
    expect(await names()).toEqual(['a', 'b'])
  })
})

describe('deletion', () => {
  it('[W19] can be undone: until then the session is not listed, cannot be opened, and keeps all it had', async () => {
    const { sessions, say, names, again } = house()
    await say('a', 'kept')
    await sessions.rename(id('a'), 'Trip')
    await say('b')
    await sessions.delete(id('a'), { undoable: true })
    expect(await names()).toEqual(['b'])
    expect(sessions.live(id('a'))).toBeUndefined()
    await expect(sessions.open(id('a'))).rejects.toMatchObject({
      name: 'StorageError',
      code: 'deleted',
      sessionId: 'a',
    })
    await expect(again().open(id('a'))).rejects.toMatchObject({ code: 'deleted' })
    expect((await sessions.page({ deleted: true })).sessions).toMatchObject([
      { id: 'a', title: 'Trip', deletedAt: 3_000 },
    ])
    await sessions.undelete(id('a'))
    expect(await names()).toEqual(['b', 'a'])
    const live = await sessions.open(id('a'))
    expect(live.session.deriveMessages()).toMatchObject([{ content: [{ text: 'kept' }] }])
    expect((await sessions.list())[1]).toMatchObject({ title: 'Trip', deletedAt: null })
  })

  it('[W19, W3] lets no writer go on, wherever it is', async () => {
    const { sessions, say, again } = house()
    const live = await say('a')
    await again().delete(id('a'), { undoable: true })
    live.session.append('user/message', user('too late', 'm'), { surfaceOp: 'append' })
    await expect(live.flush()).rejects.toMatchObject({ code: 'stale-epoch' })
    await sessions.closeAll().catch(() => undefined)
    await sessions.undelete(id('a'))
    expect((await again().open(id('a'))).session.deriveMessages()).toHaveLength(1)
  })

  it('[W19] is for good unless it says so, and for good after a while', async () => {
    const { sessions, storage, clock, say, names } = house()
    for (const name of ['a', 'b', 'c']) await say(name)
    await sessions.delete(id('a'))
    expect(await storage.get(id('a'))).toBeNull()
    await expect(sessions.undelete(id('a'))).rejects.toMatchObject({ code: 'not-found' })
    await sessions.delete(id('b'), { undoable: true })
    clock.time += 3 * DAY
    await sessions.delete(id('c'), { undoable: true })
    clock.time += 5 * DAY
    await sessions.tidy()
    expect(await storage.get(id('b'))).toBeNull()
    expect((await sessions.page({ deleted: true })).sessions.map(session => session.id)).toEqual(['c'])
    expect(await names()).toEqual([])
    // Nothing is left to undo, and none of it is an error.
    await sessions.delete(id('b'), { undoable: true })
    await sessions.delete(id('nobody'), { undoable: true })
  })

  it('[W19] for good passes over what somebody brings back meanwhile', async () => {
    let meanwhile = (): Promise<unknown> => Promise.resolve()
    const storage = withFaults(memoryStorage(), async ({ method }, proceed) => {
      const answer = await proceed()
      if (method === 'list') await meanwhile()
      return answer
    })
    const { sessions, clock, say } = house({ storage })
    for (const name of ['a', 'b']) {
      await say(name, 'kept')
      await sessions.delete(id(name), { undoable: true })
    }
    clock.time += 8 * DAY
    meanwhile = async () => {
      await sessions.undelete(id('a'))
      await sessions.open(id('a'))
    }
    await sessions.tidy()
    expect([(await storage.get(id('a')))?.deletedAt, await storage.get(id('b'))]).toEqual([undefined, null])
    const { session } = sessions.live(id('a')) ?? expect.fail('not open')
    expect(session.deriveMessages()).toMatchObject([{ content: [{ text: 'kept' }] }])
    // There is nothing to bring back, open or not.
    await sessions.undelete(id('a'))
  })

  it('[W19, R7] lets nobody fork what was deleted', async () => {
    const { sessions, say } = house()
    await say('a')
    await sessions.delete(id('a'), { undoable: true })
    await expect(sessions.fork(id('a'))).rejects.toMatchObject({ name: 'StorageError', code: 'deleted' })
    await expect(sessions.fork(id('a'), { boundary: 0 })).rejects.toMatchObject({ code: 'deleted' })
  })

  it('[W7, W19] is not taken back by a write that is tried again', async () => {
    let fail = (): void => undefined
    let isFirst = true
    const storage = withFaults(memoryStorage(), async ({ method }, proceed) => {
      if (method !== 'append' || !isFirst) return proceed()
      isFirst = false
      return new Promise((_resolve, reject) => (fail = () => reject(new StorageError('unavailable', 'gone'))))
    })
    const { sessions } = house({ storage })
    const live = await sessions.open(id('a'))
    live.session.append('user/message', user('x', 'm'), { surfaceOp: 'append' })
    await Promise.resolve()
    await Promise.resolve()
    const flushed = live.flush().catch((error: unknown) => error)
    await sessions.delete(id('a'))
    fail()
    expect(await flushed).toMatchObject({ name: 'StorageError' })
    expect(await storage.get(id('a'))).toBeNull()
  })

  it('[W9, W19] of a parent leaves its forks what they inherit', async () => {
    const { sessions, clock, say, again } = house()
    await say('a', 'inherited')
    await sessions.fork(id('a'), { id: id('b') })
    await sessions.closeAll()
    await sessions.delete(id('a'), { undoable: true })
    clock.time += 8 * DAY
    await sessions.tidy()
    expect((await again().open(id('b'))).session.deriveMessages()).toMatchObject([{ content: [{ text: 'inherited' }] }])
  })

  it('[F15, W19] gives an imported log an id of its own while the one it asks for can be brought back', async () => {
    const { sessions, say } = house()
    await say('a')
    const file = await new Response(await sessions.export(id('a'))).blob()
    await sessions.delete(id('a'), { undoable: true })
    const { id: imported, outcome } = await sessions.import(file)
    expect([imported === 'a', outcome]).toEqual([false, 'created'])
    await sessions.undelete(id('a'))
    expect((await sessions.list()).map(session => session.id).sort()).toEqual(['a', imported].sort())
  })

  it('[W7] that cannot be stored says so, and the session stays', async () => {
    const inner = memoryStorage()
    let isFull = false
    const storage = withFaults(inner, ({ method }, proceed) =>
      isFull && method === 'update' ? Promise.reject(new StorageError('quota-exceeded', 'full')) : proceed(),
    )
    const { sessions, say, names } = house({ storage })
    await say('a')
    isFull = true
    await expect(sessions.delete(id('a'), { undoable: true })).rejects.toMatchObject({ code: 'quota-exceeded' })
    expect(await names()).toEqual(['a'])
    // Its lease was given up.
    await sessions.open(id('a'))
  })
})

describe('attachments', () => {
  const image = (attachmentId: string) => ({
    type: 'image' as const,
    attachment: { attachmentId, mediaType: 'image/png' as const, bytes: 4, width: 1, height: 1 },
  })
  const bytes = new Uint8Array([0, 1, 254, 255])
  const HASH = /^sha256:[0-9a-f]{64}$/

  async function withImage() {
    const kit = house()
    const blob = await kit.sessions.putBlob(bytes)
    const live = await kit.say('a')
    const content = [{ type: 'text' as const, text: 'look' }, image(blob)]
    live.session.append('user/message', { ...user('look', 'i'), content }, { surfaceOp: 'append' })
    await live.flush()
    return { ...kit, blob, live }
  }

  it('[W17] are stored once, under their hash', async () => {
    const { sessions } = house()
    const first = await sessions.putBlob(bytes)
    expect(first).toMatch(HASH)
    expect(await sessions.putBlob(new Blob([bytes]))).toBe(first)
    expect(first).toBe(
      `sha256:${[...new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))].map(byte => byte.toString(16).padStart(2, '0')).join('')}`,
    )
    expect(await sessions.getBlob(first)).toEqual(bytes)
    expect(await sessions.getBlob(BlobId('sha256:nothing'))).toBeNull()
  })

  it('[W17] stay as long as a session refers to them, forks included', async () => {
    const { sessions, clock, blob, storage } = await withImage()
    await sessions.fork(id('a'), { id: id('b') })
    const unused = await sessions.putBlob(new Uint8Array([7]))
    await sessions.tidy()
    expect(await storage.getBlob(unused)).not.toBeNull()
    clock.time += DAY
    await sessions.delete(id('a'))
    await sessions.tidy()
    expect(await storage.getBlob(unused)).toBeNull()
    expect(await sessions.getBlob(blob)).toEqual(bytes)
    await sessions.delete(id('b'))
    await sessions.tidy()
    expect(await storage.getBlob(blob)).toBeNull()
  })

  it('[W17] pending in the inbox are kept as well; words of a person are no reference', async () => {
    const { sessions, clock, storage, say } = house()
    const [pending, quoted] = [await sessions.putBlob(bytes), await sessions.putBlob(new Uint8Array([9]))]
    const live = await say('a', `"attachmentId":"${quoted}"`)
    const message = { ...user('later', 'p'), content: [image(pending)] }
    live.session.append('agent/inbox/spliced', { target: 'next-turn', start: 0, inserted: [message] })
    await live.flush()
    clock.time += DAY
    await sessions.tidy()
    expect(await storage.getBlob(pending)).toEqual(bytes)
    expect(await storage.getBlob(quoted)).toBeNull()
  })

  it('[F18] leave with an export when asked to, and come back as the same log', async () => {
    const { sessions, blob } = await withImage()
    const text = async (options: object) => new Response(await sessions.export(id('a'), options)).text()
    expect(await text({})).not.toContain('base64')
    const file = await text({ blobs: true })
    expect(file).toContain(
      `"attachmentId":"data:application/octet-stream;base64,${btoa(String.fromCharCode(...bytes))}"`,
    )

    const there = house()
    const { id: imported } = await there.sessions.import(file)
    expect(await there.sessions.getBlob(blob)).toEqual(bytes)
    const { session } = await there.sessions.open(imported)
    expect(session.deriveMessages()[1]).toMatchObject({
      content: [{ text: 'look' }, { attachment: { attachmentId: blob } }],
    })
    await there.sessions.closeAll()
    expect(await new Response(await there.sessions.export(imported, { blobs: true })).text()).toContain('base64')
    // And to whom it came from, it is the same.
    expect(await sessions.import(file)).toMatchObject({ id: 'a', outcome: 'unchanged' })
  })

  it('[F18] come back wherever an event has them', async () => {
    const noted = defineEvent<{ note: object }>('acme/noted', { ignorable: true })
    const { sessions, say } = house({ eventTypes: [noted] })
    const blob = await sessions.putBlob(bytes)
    const { session } = await say('a')
    session.append(noted, { note: { attachmentId: blob } })
    append(session, turnStart(1))
    append(session, stepStart(1, 1))
    const block = { type: 'file' as const, attachment: { attachmentId: blob, name: 'x', bytes: 4 } }
    const chunk = { type: 'block-end' as const, index: 0, block }
    session.append('assistant/attempt', { turn: 1, step: 1, stream: [{ time: 1, chunk }] as never })
    const text = async (options: object) => new Response(await sessions.export(id('a'), options)).text()
    const there = house({ eventTypes: [noted] })
    const { id: imported } = await there.sessions.import(await text({ blobs: true }))
    expect(await new Response(await there.sessions.export(imported)).text()).toBe(await text({}))
  })

  it('[F18] that are not here, or are no base64, stay what they are', async () => {
    const { sessions, say } = house()
    const live = await say('a')
    const missing = `sha256:${'0'.repeat(64)}`
    for (const [index, attachmentId] of [
      missing,
      'data:application/octet-stream;base64,A',
      'data:text/plain,x',
    ].entries()) {
      const content = [image(attachmentId)]
      live.session.append('user/message', { ...user('x', `n${index}`), content }, { surfaceOp: 'append' })
    }
    await sessions.closeAll()
    const file = await new Response(await sessions.export(id('a'), { blobs: true })).text()
    const there = house()
    const { id: imported } = await there.sessions.import(file)
    const { session } = await there.sessions.open(imported)
    expect(
      session
        .deriveMessages()
        .slice(1)
        .map(({ content: [block] }) => block),
    ).toMatchObject([
      { attachment: { attachmentId: missing } },
      { attachment: { attachmentId: 'data:application/octet-stream;base64,A' } },
      { attachment: { attachmentId: 'data:text/plain,x' } },
    ])
  })
})
