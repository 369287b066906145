import { describe, expect, it } from 'vitest'
import { log, logFrom, said, turnEnd, turnStart } from './builders.ts'
import type { SessionEvent } from './events.ts'
import { SessionSeq } from './ids.ts'
import { ResidentLog } from './resident-log.ts'

const seqs = (events: readonly (SessionEvent | undefined)[]) => events.map(event => event?.seq)

describe('a resident log', () => {
  it('[L12] of a whole log has all of it', () => {
    const whole = new ResidentLog()
    for (const event of log(said('a'), said('b'), said('c'))) whole.push(event)
    expect([whole.base, whole.length]).toEqual([0, 3])
    expect(seqs([-1, 0, 2, 3].map(whole.at))).toEqual([undefined, 0, 2, undefined])
    expect(seqs(whole.slice(1, 3))).toEqual([1, 2])
    whole.shadow([SessionSeq(0)])
    expect(whole.at(0)?.seq).toBe(0)
  })

  it('[K2, L12] has the early events it is given and the tail, and lets go of the early ones only', () => {
    const [a, b] = log(said('a'), said('b')) as [SessionEvent, SessionEvent]
    const part = new ResidentLog(5, [b, a])
    for (const event of logFrom(5, said('c'), said('d'))) part.push(event)
    expect([part.base, part.length]).toEqual([5, 7])
    expect(seqs([0, 1, 2, 4, 5, 6, 7].map(part.at))).toEqual([0, 1, undefined, undefined, 5, 6, undefined])
    part.shadow([SessionSeq(1), SessionSeq(5)])
    expect(seqs([0, 1, 5].map(part.at))).toEqual([0, undefined, 5])
  })

  it('[K5] lets go of what is before a place and left the surface, or was never on it', () => {
    const part = new ResidentLog()
    for (const event of log(turnStart(1), said('a'), said('b'), turnEnd(1), said('c'))) part.push(event)
    part.shadow([SessionSeq(2)])
    part.evict(3)
    expect([part.base, part.length]).toEqual([3, 5])
    expect(seqs([0, 1, 2, 3, 4].map(part.at))).toEqual([undefined, 1, undefined, 3, 4])
    part.evict(0)
    expect(part.base).toBe(3)
    part.shadow([SessionSeq(1), SessionSeq(4)])
    expect(seqs([1, 4].map(part.at))).toEqual([undefined, 4])
    part.evict(5)
    expect([part.base, part.length]).toEqual([5, 5])
    expect(seqs([0, 1, 2, 3, 4].map(part.at))).toEqual(Array.from({ length: 5 }, () => undefined))
  })

  it('[L12] a range that ends before it starts is empty, before the tail too', () => {
    const part = new ResidentLog(5)
    for (const event of logFrom(5, said('c'), said('d'))) part.push(event)
    expect(seqs(part.slice(5, 7))).toEqual([5, 6])
    expect([part.slice(5, 5), part.slice(6, 5), part.slice(5, 3), part.slice(5, -9), part.slice(9, 12)]).toEqual([
      [],
      [],
      [],
      [],
      [],
    ])
  })
})
