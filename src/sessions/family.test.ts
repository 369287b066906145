/** Families of sessions: where one comes from, and what branched off (SPEC W22). */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { append, said } from '../core/builders.ts'
import { LogId, SessionId, SessionSeq } from '../core/ids.ts'
import { withFaults } from '../storage/faults.ts'
import { memoryStorage } from '../storage/memory.ts'
import { countedIds, handClock } from '../testing/agent-kit.ts'
import { type FamilyMember, familyOf } from './family.ts'
import { memoryLease } from './lease.ts'
import type { SessionSummary } from './session-list.ts'
import { Sessions } from './sessions.ts'

const id = SessionId

function house() {
  const clock = handClock()
  const methods: string[] = []
  const storage = withFaults(memoryStorage(), ({ method }, proceed) => {
    methods.push(method)
    return proceed()
  })
  const sessions = new Sessions({ storage, lease: memoryLease(), now: clock.now, newId: countedIds() })
  const fork = async (from: string, child: string, boundary?: number | null) => {
    clock.time += 1_000
    await sessions.fork(id(from), { id: id(child), ...(boundary === undefined ? {} : { boundary }) })
  }
  const start = async (name: string) => {
    clock.time += 1_000
    const live = await sessions.open(id(name))
    for (const text of ['one', 'two', 'three']) append(live.session, said(text, `${name} ${text}`))
    await live.flush()
  }
  /** Each member as `depth:id`. */
  const family = async (name: string) => (await sessions.family(id(name))).map(each => `${each.depth}:${each.id}`)
  return { clock, methods, storage, sessions, fork, start, family }
}

/** A family of its own: `r`, from it `a` and `b`, from `a` `a1` and `a2`, from `a1` `a11`. */
async function grown() {
  const kit = house()
  await kit.start('r')
  await kit.start('stranger')
  await kit.fork('r', 'a', 1)
  await kit.fork('r', 'b', null)
  await kit.fork('a', 'a1')
  await kit.fork('a', 'a2', 0)
  await kit.fork('a1', 'a11')
  await kit.sessions.closeAll()
  return kit
}
const ALL = ['0:r', '1:a', '2:a1', '3:a11', '2:a2', '1:b']

describe('a family', () => {
  it('[W22] has the first ancestor, then all that branched off, the same for each of them', async () => {
    const { family } = await grown()
    for (const name of ['r', 'a', 'b', 'a1', 'a2', 'a11']) expect(await family(name)).toEqual(ALL)
    expect(await family('stranger')).toEqual(['0:stranger'])
    expect(await family('nobody')).toEqual([])
  })

  it('[W22] says of each what a list says, whose child it is, and where it branched off', async () => {
    const { sessions } = await grown()
    await sessions.rename(id('a1'), 'Other way')
    const members = await sessions.family(id('a'))
    const [r, a, a1, a11, a2, b] = members as [FamilyMember, ...FamilyMember[]]
    expect([r.parent, a?.parent, a1?.parent, b?.parent]).toEqual([null, 'r', 'a', 'r'])
    expect([r, a, a1, a11, a2, b].map(each => each?.branchedAt)).toEqual([null, 2, 3, 4, 1, null])
    expect(a1).toMatchObject({ title: 'Other way', isMissing: false, deletedAt: null, eventCount: 4 })
    const listed = new Map((await sessions.list()).map(each => [each.id, each]))
    for (const { depth: _depth, isMissing: _isMissing, branchedAt: _branchedAt, ...summary } of members) {
      expect(summary).toEqual(listed.get(summary.id))
    }
  })

  it('[W22] is read from records alone', async () => {
    const { methods, family } = await grown()
    methods.length = 0
    await family('a11')
    expect(methods).toEqual(['list', 'list'])
  })

  it('[W22] knows what is open better', async () => {
    const { sessions } = await grown()
    const live = await sessions.open(id('a2'))
    append(live.session, said('more'))
    await sessions.open(id('alone'))
    const member = (await sessions.family(id('r'))).find(each => each.id === id('a2'))
    expect(member?.eventCount).toBe(live.session.length)
    expect(await sessions.family(id('alone'))).toMatchObject([{ id: 'alone', depth: 0, eventCount: 0, parent: null }])
  })

  it('[W22, W19] keeps together what a deleted ancestor left', async () => {
    const { sessions, family } = await grown()
    await sessions.delete(id('a'))
    // What branched off from it is a family, of which nobody knows where it came from.
    for (const name of ['a', 'a1', 'a2', 'a11']) expect(await family(name)).toEqual(['0:a', '1:a1', '2:a11', '1:a2'])
    const [missing] = await sessions.family(id('a1'))
    expect(missing).toEqual({
      ...{ id: 'a', title: null, parent: null, createdAt: 0, updatedAt: 0, eventCount: 0, size: null },
      ...{ isPinned: false, deletedAt: null, depth: 0, isMissing: true, branchedAt: null },
    })
    expect(await family('b')).toEqual(['0:r', '1:b'])
  })

  it('[W22, W19] leaves out what was deleted and can be brought back, unless others descend from it', async () => {
    const { clock, sessions, family } = await grown()
    await sessions.delete(id('a2'), { undoable: true })
    await sessions.delete(id('a'), { undoable: true })
    expect(await family('a11')).toEqual(['0:r', '1:a', '2:a1', '3:a11', '1:b'])
    const a = (await sessions.family(id('r')))[1]
    expect(a).toMatchObject({ id: 'a', isMissing: false, deletedAt: clock.time, branchedAt: 2 })
    // Asked for by name it is in its family as little.
    expect(await family('a2')).toEqual(['0:r', '1:a', '2:a1', '3:a11', '1:b'])
    for (const name of ['a11', 'a1']) await sessions.delete(id(name), { undoable: true })
    expect(await family('a')).toEqual(['0:r', '1:b'])
    for (const name of ['r', 'b']) await sessions.delete(id(name), { undoable: true })
    expect(await family('r')).toEqual([])
    await sessions.undelete(id('a11'))
    expect(await family('r')).toEqual(['0:r', '1:a', '2:a1', '3:a11'])
  })

  it('[W22] of imported sessions is what their headers say', async () => {
    const { sessions, fork, start, family } = house()
    await start('r')
    await fork('r', 'a')
    const file = await new Response(await sessions.export(id('a'))).text()
    const there = house()
    await there.sessions.import(file)
    expect(await there.family('a')).toEqual(['0:r', '1:a'])
    expect((await there.sessions.family(id('a'))).map(each => each.isMissing)).toEqual([true, false])
    // It has all of its events itself.
    expect((await there.sessions.family(id('a')))[1]?.branchedAt).toBeNull()
    await there.sessions.import(await new Response(await sessions.export(id('r'))).text())
    expect((await there.sessions.family(id('a'))).map(each => each.isMissing)).toEqual([false, false])
    expect(await family('r')).toEqual(['0:r', '1:a'])
  })
})

describe('headers that cannot be true', () => {
  const summary = (name: string, parent: string | null, more: Partial<SessionSummary> = {}): SessionSummary => ({
    ...{ id: id(name), title: null, parent: parent === null ? null : id(parent), createdAt: 1, updatedAt: 1 },
    ...{ eventCount: 1, size: 1, isPinned: false, deletedAt: null, ...more },
  })
  const brief = (name: string, ...summaries: readonly SessionSummary[]) =>
    familyOf(id(name), [], summaries).map(each => `${each.depth}:${each.id}`)

  it('[W22] of one that names itself', () => {
    expect(brief('a', summary('a', 'a'), summary('b', 'a'))).toEqual(['0:a', '1:b'])
    expect(brief('b', summary('a', 'a'), summary('b', 'a'))).toEqual(['0:a', '1:b'])
  })

  it('[W22] of some that name each other: the oldest comes first, whoever is asked for', () => {
    const circle = [
      summary('a', 'c', { createdAt: 3 }),
      summary('b', 'a', { createdAt: 1 }),
      summary('c', 'b', { createdAt: 2 }),
      summary('tail', 'c'),
    ]
    for (const { id: name } of circle) expect(brief(name, ...circle)).toEqual(['0:b', '1:c', '2:tail', '2:a'])
    const twins = [summary('y', 'x'), summary('x', 'y')]
    for (const name of ['x', 'y']) expect(brief(name, ...twins)).toEqual(['0:x', '1:y'])
  })

  it('[W22] of a chain of ten thousand, and of ten thousand children', () => {
    const chain = Array.from({ length: 10_000 }, (_, at) => summary(`s${at}`, at === 0 ? null : `s${at - 1}`))
    for (const name of ['s0', 's9999']) {
      const members = familyOf(id(name), [], chain)
      expect([members.length, members[0]?.id, members.at(-1)?.id, members.at(-1)?.depth]).toEqual([
        10_000,
        's0',
        's9999',
        9_999,
      ])
    }
    const children = Array.from({ length: 10_000 }, (_, at) => summary(`c${at}`, 'gone', { createdAt: 10_000 - at }))
    const members = familyOf(id('c5'), [], children)
    expect(members).toHaveLength(10_001)
    expect([members[0]?.isMissing, members[1]?.id]).toEqual([true, 'c9999'])
  })

  it('[W22] has everybody once, after the parent, whatever is named', () => {
    const parents = fc.array(fc.tuple(fc.nat(12), fc.nat(3), fc.boolean()), { minLength: 1, maxLength: 12 })
    fc.assert(
      fc.property(parents, list => {
        const summaries = list.map(([parent, createdAt, isDeleted], at) =>
          summary(`s${at}`, parent === 12 ? null : `s${parent}`, { createdAt, deletedAt: isDeleted ? 1 : null }),
        )
        for (const { id: name, deletedAt } of summaries) {
          const members = familyOf(name, [], summaries)
          const ids = members.map(each => each.id)
          expect(new Set(ids).size).toBe(ids.length)
          expect(ids.includes(name) || deletedAt !== null).toBe(true)
          members.forEach(({ parent, depth }, at) => {
            expect(depth === 0).toBe(at === 0)
            if (at > 0) expect(members[ids.indexOf(parent ?? name)]?.depth).toBe(depth - 1)
          })
          // One family, not one for each who asks.
          for (const each of ids) expect(familyOf(each, [], summaries).map(other => other.id)).toEqual(ids)
        }
      }),
    )
  })
})

describe('where it branched off', () => {
  it('[W22] is what its record shares, however many logs that is of', async () => {
    const { storage, family, sessions } = house()
    const header = { version: 3, createdAt: 1, isSeeded: false } as const
    const create = async (name: string, from: number, more: object, inherited: readonly [string, number, number][]) => {
      const session = { header: { ...header, ...more, id: name }, logId: LogId(name) }
      const ranges = inherited.map(([log, start, to]) => ({
        logId: LogId(log),
        from: SessionSeq(start),
        to: SessionSeq(to),
      }))
      await storage.append({
        ...{ id: id(name), logId: LogId(name), epoch: 1, durability: 'strict', time: 1 },
        segment: { firstSeq: SessionSeq(from), count: 3, text: '[1,2,3]' },
        create: { ...session, inherited: ranges },
      })
    }
    await create('r', 0, {}, [])
    await create('a', 2, { isSeeded: true, parentSession: 'r' }, [['r', 0, 2]])
    await create('b', 4, { isSeeded: true, parentSession: 'a' }, [
      ['r', 0, 2],
      ['a', 2, 4],
    ])
    expect(await family('b')).toEqual(['0:r', '1:a', '2:b'])
    expect((await sessions.family(id('b'))).map(each => each.branchedAt)).toEqual([null, 2, 4])
  })
})
