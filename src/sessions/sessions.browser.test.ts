/** Branching off, naming, families and waiting turns where sessions are kept in a database (SPEC R7, W18, O2). */
import { describe, expect, it } from 'vitest'
import {
  answered,
  append,
  type Draft,
  said,
  stepEnd,
  stepStart,
  toolCall,
  turnEnd,
  turnStart,
  user,
} from '../core/builders.ts'
import { SessionId } from '../core/ids.ts'
import { turnsFold } from '../core/turns.ts'
import { freshName } from '../storage/indexeddb-kit.ts'
import { indexedDbStorage } from '../storage/indexeddb.ts'
import { countedIds } from '../testing/agent-kit.ts'
import { branchAfter, branchBefore, lastTurnStart } from './branching.ts'
import { webLease } from './lease.ts'
import { Sessions, type SessionsOptions } from './sessions.ts'

const [parent, child, first] = [SessionId('parent'), SessionId('child'), SessionId('first')]
const turn = (number: number): readonly Draft[] => [
  turnStart(number),
  stepStart(number, 1),
  said(`question ${number}`),
  answered(`answer ${number}`, number),
  stepEnd(number, 1),
  turnEnd(number),
]

function house(more: Partial<SessionsOptions> = {}) {
  const name = freshName()
  const newId = countedIds()
  const start = () => {
    const storage = indexedDbStorage({ name })
    const sessions = new Sessions({ storage, lease: webLease(), now: () => 5, newId, ...more })
    const stop = async () => {
      await sessions.closeAll()
      await storage.close()
    }
    return { storage, sessions, stop }
  }
  return { start }
}

describe('sessions in a database', () => {
  it('[R7, W18] are said again from the middle and from the beginning, named, and stay a family', async () => {
    const { start } = house()
    const one = start()
    const live = await one.sessions.open(parent)
    for (const draft of [...turn(1), ...turn(2), ...turn(3)]) append(live.session, draft)
    await one.sessions.rename(parent, 'Trip')
    const again = await branchBefore(live, (await lastTurnStart(live)) ?? -1)
    expect(again).toEqual({ boundary: 11, said: [user('question 3')] })
    await one.sessions.fork(live, { id: child, boundary: await branchAfter(live, 8) })
    await one.sessions.fork(live, { id: first, boundary: (await branchBefore(live, 2)).boundary })
    await one.stop()

    const two = start()
    expect((await two.sessions.open(child)).session.messages.length).toBe(4)
    expect((await two.sessions.open(first)).session.messages.length).toBe(0)
    const members = await two.sessions.family(first)
    expect(members.map(each => [each.id, each.depth, each.title, each.branchedAt])).toEqual([
      ['parent', 0, 'Trip', null],
      ['child', 1, null, 12],
      ['first', 1, null, null],
    ])
    await two.sessions.delete(parent)
    expect((await two.sessions.family(child)).map(each => [each.id, each.isMissing])).toEqual([
      ['parent', true],
      ['child', false],
      ['first', false],
    ])
    await two.stop()
  })

  it('[O2] stay in a turn that waits', async () => {
    const { start } = house({ keepsTurn: (_id, turn) => turn.pendingCalls.length > 0 })
    const one = start()
    const live = await one.sessions.open(parent)
    const asked: Draft = { type: 'approval/asked', data: { id: 'q', toolName: 'read', callId: 'c' } }
    for (const draft of [turnStart(1), stepStart(1, 1), said('go'), answered([toolCall('c')]), asked]) {
      append(live.session, draft)
    }
    await one.stop()
    const two = start()
    const { session } = await two.sessions.open(parent)
    expect(session.fold(turnsFold)).toMatchObject({ openTurn: 1, pendingCalls: [{ callId: 'c' }] })
    expect((await two.storage.get(parent))?.epoch).toBe(2)
    await two.stop()
  })
})
