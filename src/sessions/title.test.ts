/** What sessions are called: in their logs, in lists, in forks and files (SPEC W18, R7, F15). */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { append, type Draft, log, said, throughJson, turnEnd, turnStart } from '../core/builders.ts'
import type { SessionEvent } from '../core/events.ts'
import { SessionId, SessionSeq } from '../core/ids.ts'
import { hasLoneSurrogate } from '../core/well-formed.ts'
import { validateLog } from '../format/validate.ts'
import { withFaults } from '../storage/faults.ts'
import { memoryStorage } from '../storage/memory.ts'
import { StorageError } from '../storage/storage.ts'
import { countedIds, handClock, storedEvents } from '../testing/agent-kit.ts'
import { memoryLease } from './lease.ts'
import type { LiveSession } from './live-session.ts'
import { Sessions } from './sessions.ts'
import { titleFold, type TitleState, titleText } from './title.ts'

const a = SessionId('a')
const titled = (title: unknown, source: unknown = { kind: 'user' }, more: object = {}): Draft => ({
  type: 'session/title',
  data: { title, messageSeqs: [], source, ...more },
})
const foldOf = (...drafts: readonly Draft[]): TitleState =>
  log(...drafts).reduce(
    (state, event) => titleFold.evolve(state, { event, surfaceChange: { kind: 'none' } }),
    titleFold.initial(),
  )

function house() {
  const clock = handClock()
  const inner = memoryStorage()
  let fail: string | null = null
  const storage = withFaults(inner, ({ method }, proceed) =>
    method === fail ? Promise.reject(new StorageError('unavailable', 'as told')) : proceed(),
  )
  const make = () => new Sessions({ storage, lease: memoryLease(), now: clock.now, newId: countedIds() })
  const sessions = make()
  const talk = async (name: SessionId = a) => {
    const live = await sessions.open(name)
    for (const draft of [turnStart(1), said('where to?', `${name} 1`), turnEnd(1)]) append(live.session, draft)
    await live.flush()
    return live
  }
  return {
    ...{ clock, inner, sessions, make, talk },
    failing: async (method: string, work: () => Promise<unknown>) => {
      fail = method
      await expect(work()).rejects.toMatchObject({ code: 'unavailable' })
      fail = null
    },
    listed: async (name: SessionId = a) => (await sessions.list()).find(each => each.id === name)?.title,
    recorded: async (name: SessionId = a) => (await inner.get(name))?.title,
  }
}
const titlesIn = (events: readonly SessionEvent[]) =>
  events.flatMap(event => (event.type === 'session/title' ? [event.data] : []))
const from = { messageSeqs: [SessionSeq(1)], source: { kind: 'model', model: 'm' } }
const file = async (sessions: Sessions, id: SessionId) => new Response(await sessions.export(id)).text()

describe('the title of a log', () => {
  it('[L15] is what the last title event says, and who', () => {
    expect(foldOf()).toEqual({ title: null, source: null, seq: null })
    expect(foldOf(said('x'), titled('One'))).toEqual({ title: 'One', source: 'user', seq: 1 })
    expect(foldOf(titled('One'), titled('Two', { kind: 'llm' }), said('x'))).toEqual({
      ...{ title: 'Two', source: 'llm', seq: 1 },
    })
    expect(foldOf(titled('One'), titled(''))).toEqual({ title: null, source: 'user', seq: 1 })
    expect(foldOf(titled('One', 'plugin')).source).toBe('plugin')
    for (const source of [null, 7, [], {}, { kind: 7 }]) expect(foldOf(titled('One', source)).source).toBeNull()
  })

  it('[L15, I11] passes over what has no title in words', () => {
    const before = foldOf(titled('One'))
    for (const data of [null, 7, 'Two', [], {}, { title: null }, { title: 7 }, { title: ['Two'] }]) {
      expect(foldOf(titled('One'), { type: 'session/title', data })).toEqual(before)
    }
  })

  it('[K1, K3] comes back from JSON, and from nothing else', () => {
    for (const state of [foldOf(), foldOf(titled('One')), foldOf(titled('One', 7))]) {
      expect(titleFold.fromJSON(throughJson(titleFold.toJSON(state)), {} as never)).toEqual(state)
    }
    for (const json of [null, 7, {}, { title: 7, source: null, seq: null }, { title: 'x', source: 'user', seq: -1 }]) {
      expect(() => titleFold.fromJSON(json, {} as never)).toThrow(TypeError)
    }
  })

  it('[A3] is a text that can be shown: well-formed, trimmed, of 200 code points at most', () => {
    expect(titleText('  Trip\n')).toBe('Trip')
    expect(titleText('a\ud800b')).toBe('a\ufffdb')
    expect([...titleText('😀'.repeat(500))]).toHaveLength(200)
    expect(titleText(`x${'😀'.repeat(500)}`)).toBe(`x${'😀'.repeat(199)}`)
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 500 }), fc.nat(600), (text, at) => {
        const title = titleText(`${text}${' '.repeat(at)}\udc00${text}`)
        expect(hasLoneSurrogate(title)).toBe(false)
        expect([...title].length).toBeLessThanOrEqual(200)
        expect(titleText(title)).toBe(title)
      }),
    )
  })

  it('[L15] is known to all sessions, once', async () => {
    const options = { storage: memoryStorage(), lease: memoryLease(), now: () => 1, newId: countedIds() }
    for (const folds of [[], [titleFold]]) {
      const live = await new Sessions({ ...options, folds }).open(SessionId(`with ${folds.length}`))
      append(live.session, titled('One'))
      expect(live.session.fold(titleFold).title).toBe('One')
    }
  })
})

describe('naming a session', () => {
  it('[W23] that is open says so in its log first, and then in its record', async () => {
    const { sessions, talk, listed, inner } = house()
    await talk()
    await sessions.rename(a, ' Trip ')
    expect(await listed()).toBe('Trip')
    const own = { title: 'Trip', messageSeqs: [], source: { kind: 'user' } }
    expect(titlesIn(await storedEvents(inner, 'a'))).toEqual([own])
    // What it is called already need not be said again.
    await sessions.rename(a, 'Trip')
    expect(titlesIn(await storedEvents(inner, 'a'))).toHaveLength(1)
    await sessions.rename(a, null)
    expect(await listed()).toBeNull()
    expect(titlesIn(await storedEvents(inner, 'a')).at(-1)).toEqual({ ...own, title: '' })
    const { header } = (await sessions.open(a)).session
    expect(validateLog({ header, events: await storedEvents(inner, 'a') })).toEqual([])
  })

  it('[W23] that is not open says so in its record, and opening it does not take that back', async () => {
    const { sessions, talk, listed, inner } = house()
    await talk()
    await sessions.rename(a, 'Trip')
    await sessions.close(a)
    await sessions.rename(a, 'Other')
    expect(titlesIn(await storedEvents(inner, 'a'))).toHaveLength(1)
    await sessions.open(a)
    expect(await listed()).toBe('Other')
    await sessions.close(a)
    await sessions.rename(a, null)
    await sessions.open(a)
    expect(await listed()).toBeNull()
  })

  it('[W23, W7] that cannot be stored is refused, and may be tried again', async () => {
    const { sessions, talk, listed, failing, inner } = house()
    await talk()
    await failing('append', () => sessions.rename(a, 'Trip'))
    expect(await listed()).toBeNull()
    await sessions.rename(a, 'Trip')
    expect([await listed(), titlesIn(await storedEvents(inner, 'a')).length]).toEqual(['Trip', 1])
  })

  it('[W23] that was cut off between log and record is listed as its log says once it is opened', async () => {
    const { sessions, talk, listed, failing, recorded, make } = house()
    const live = await talk()
    await failing('update', () => sessions.setTitle(live, 'Trip', from))
    expect(await recorded()).toBeUndefined()
    await sessions.close(a)
    const again = make()
    await again.open(a)
    expect([await listed(), await recorded()]).toEqual(['Trip', 'Trip'])
  })

  it('[W23] waits for what is being opened or closed', async () => {
    const { sessions, talk, listed, inner } = house()
    await talk()
    await sessions.close(a)
    const [, , , live] = await Promise.all([
      sessions.open(a),
      sessions.rename(a, 'One'),
      sessions.close(a),
      sessions.open(a),
      sessions.rename(a, 'Two'),
    ])
    expect([await listed(), live.session.fold(titleFold).title]).toEqual(['Two', 'Two'])
    expect(titlesIn(await storedEvents(inner, 'a')).map(({ title }) => title)).toEqual(['One', 'Two'])
  })
})

describe('a title that is found', () => {
  it('[W23] names a session, and may be found anew', async () => {
    const { sessions, talk, listed, inner } = house()
    const live = await talk()
    await sessions.setTitle(live, 'Where to', from)
    expect(await listed()).toBe('Where to')
    await sessions.setTitle(live, ' Where to go ', from)
    expect(await listed()).toBe('Where to go')
    expect(titlesIn(await storedEvents(inner, 'a')).at(-1)).toEqual({ title: 'Where to go', ...from })
    expect(validateLog({ header: live.session.header, events: await storedEvents(inner, 'a') })).toEqual([])
    await sessions.setTitle(live, '  ', from)
    expect(await listed()).toBe('Where to go')
  })

  it('[W23] does not replace what a person said, however they said it', async () => {
    const { sessions, talk, listed } = house()
    const live = await talk()
    await sessions.rename(a, 'Trip')
    const { length } = live.session
    await sessions.setTitle(live, 'Where to', from)
    expect([await listed(), live.session.length]).toEqual(['Trip', length])
    // Taken away, it is nobody's.
    await sessions.rename(a, null)
    await sessions.setTitle(live, 'Where to', from)
    expect(await listed()).toBe('Where to')
    await sessions.close(a)
    await sessions.rename(a, 'Journey')
    const again = await sessions.open(a)
    await sessions.setTitle(again, 'Where to', from)
    expect(await listed()).toBe('Journey')
    // Whoever says the same means it.
    await sessions.rename(a, 'Where to')
    await sessions.setTitle(again, 'Elsewhere', from)
    expect(await listed()).toBe('Where to')
  })

  it('[W23] for a session that is closed is refused', async () => {
    const { sessions, talk, listed } = house()
    const live = await talk()
    await sessions.close(a)
    await expect(sessions.setTitle(live, 'Late', from)).rejects.toMatchObject({ code: 'closed' })
    expect(await listed()).toBeNull()
  })
})

describe('titles that go on', () => {
  const b = SessionId('b')

  it('[R7] into forks, as far as they inherit them', async () => {
    const { sessions, talk, listed, recorded } = house()
    const live = await talk()
    const end = live.session.length - 1
    await sessions.setTitle(live, 'Where to', from)
    const child = await sessions.fork(live, { id: b })
    expect([await listed(b), await recorded(b)]).toEqual(['Where to', 'Where to'])
    // It is called what something found: something else may be found for the child.
    await sessions.setTitle(child, 'Where else', from)
    expect([await listed(), await listed(b)]).toEqual(['Where to', 'Where else'])
    for (const [id, boundary] of [
      ['c', end],
      ['d', null],
    ] as const) {
      await sessions.fork(live, { id: SessionId(id), boundary })
      expect(await listed(SessionId(id))).toBeNull()
    }
  })

  it('[F15] into files: an imported log is listed under its title', async () => {
    const { sessions, talk } = house()
    await talk()
    await sessions.rename(a, 'Trip')
    const there = house()
    await there.sessions.import(await file(sessions, a))
    expect(await there.listed()).toBe('Trip')
    // What it has more gives a name to what has none.
    const bare = house()
    await bare.sessions.import((await file(sessions, a)).split('\n').slice(0, -2).join('\n'))
    expect(await bare.listed()).toBeNull()
    expect((await bare.sessions.import(await file(sessions, a))).outcome).toBe('extended')
    expect(await bare.listed()).toBe('Trip')
  })

  it('[F15] and a log that only got another name since is the same log', async () => {
    const { sessions, talk, listed } = house()
    await talk()
    const before = await file(sessions, a)
    await sessions.rename(a, 'Trip')
    await sessions.close(a)
    await sessions.open(a)
    await sessions.rename(a, 'Journey')
    await sessions.close(a)
    expect(await sessions.import(before)).toMatchObject({ id: 'a', outcome: 'unchanged' })
    expect(await listed()).toBe('Journey')
    append((await sessions.open(a)).session, said('more'))
    await sessions.close(a)
    expect((await sessions.import(before)).outcome).toBe('created')
  })

  it('[F13] into transcripts, but no empty one', async () => {
    const { sessions, talk } = house()
    await talk()
    const heading = async () => (await new Response(await sessions.export(a, { as: 'markdown' })).text()).split('\n')[0]
    const unnamed = await heading()
    await sessions.rename(a, 'Trip')
    expect(await heading()).toBe('# Trip')
    await sessions.rename(a, null)
    expect(await heading()).toBe(unnamed)
  })

  it('[K2, K6] into keyframes, of which a session opens', async () => {
    const { sessions, talk, make, inner } = house()
    const live: LiveSession = await talk()
    await sessions.rename(a, 'Trip')
    for (let at = 0; at < 20; at += 1) append(live.session, said('x'.repeat(20_000), `x${at}`))
    await live.flush()
    expect(await inner.keyframe(a)).not.toBeNull()
    await sessions.close(a)
    const again = await make().open(a)
    expect(again.session.fold(titleFold)).toEqual({ title: 'Trip', source: 'user', seq: SessionSeq(3) })
    expect(await again.verify()).toBeNull()
  })
})
