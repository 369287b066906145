import { describe, expect, it } from 'vitest'
import {
  append,
  called,
  type Draft,
  headed,
  header,
  over,
  returned,
  said,
  stepEnd,
  stepStart,
  turnEnd,
  turnStart,
} from '../builders.ts'
import { Session } from '../session.ts'
import { compactionInvariant } from './compaction-invariant.ts'
import { restoredWith, reopened, tried, written } from './kit.ts'

const after = (...before: readonly Draft[]) => ({
  try: (draft: Draft) => tried(compactionInvariant, before, draft),
})
const id = { compactionId: 'c' }
const start = (data: object = {}): Draft => ({ type: 'compaction/start', data: { ...id, turn: null, ...data } })
const end = (data: object = {}): Draft => ({ type: 'compaction/end', data: { ...id, turn: null, ...data } })
const shadow = (...seqs: readonly number[]) => ({
  shadowedSeqs: seqs,
  shadowedRange: { start: seqs[0], end: seqs.at(-1) },
  shadowedTokenCount: 9,
})
const summary = (data: object = shadow(0, 1)): Draft => ({ type: 'compaction/summary', data: { ...id, ...data } })
const prune = (data: unknown): Draft => ({ type: 'compaction/prune', data })
const checkpoint = (more: object, ...seqs: readonly number[]): Draft => {
  const { data, ...rest } = said('summary')
  const source = { kind: 'plugin', plugin: 'compact', ...more }
  return over({ ...rest, data: { ...(data as object), source } }, seqs[0] as number, seqs.at(-1) as number, seqs)
}
const interrupted: Draft = { type: 'turn/end', data: { turn: 1, reason: { kind: 'interrupted' } } }

/** Seqs 0 and 1 on the surface, and a bracket at 2. */
const talk = [said('a'), said('b')]
const open = [...talk, start()]

describe('the bracket', () => {
  it('[I5] a whole compaction passes, and the next one', () => {
    const first = [...open, summary(), checkpoint(id, 0, 1)]
    expect(after(...first).try(end())).toBe('accepted')
    expect(after(...first, end()).try(start())).toBe('accepted')
    const second = [...first, end(), start({ compactionId: 'd' }), said('c')]
    expect(after(...second).try(summary({ compactionId: 'd', ...shadow(4, 7) }))).toBe('accepted')
  })

  it('[I5] one is open at a time, under a name', () => {
    expect(after(...talk).try(start())).toBe('accepted')
    expect(after(...open).try(start({ compactionId: 'd' }))).toBe('expected no open compaction, found c')
    expect(after().try(start({ compactionId: '' }))).toBe('expected a compactionId, found ""')
    expect(after().try(start({ compactionId: 7 }))).toBe('expected a compactionId, found 7')
    expect(after().try(start({ sourceCommandId: '' }))).toBe('expected a sourceCommandId or nothing, found ""')
    expect(after().try(start({ sourceCommandId: 'x' }))).toBe('accepted')
  })

  it('[I5] its owner is the open turn, or nobody between turns', () => {
    expect(after(turnStart(1)).try(start({ turn: 1 }))).toBe('accepted')
    expect(after(turnStart(1)).try(start({ turn: 2 }))).toBe('expected turn 1, found 2')
    expect(after(turnStart(1)).try(start())).toBe('expected turn 1, found null')
    expect(after().try(start({ turn: 1 }))).toBe('expected turn null, found 1')
    expect(after().try({ type: 'compaction/start', data: id })).toBe('expected turn null, found nothing')
    expect(after(turnStart(1), start({ turn: 1 })).try(end({ turn: 1, error: 'no' }))).toBe('accepted')
    expect(after(turnStart(1), start({ turn: 1 })).try(end({ error: 'no' }))).toBe('expected turn 1, found null')
    expect(after(...open).try(end({ turn: 1, error: 'no' }))).toBe('expected turn null, found 1')
  })

  it('[I5] summary and end carry its ids', () => {
    expect(after(...open).try(summary({ ...shadow(0), compactionId: 'd' }))).toBe('expected compactionId c, found "d"')
    expect(after(...open).try(end({ compactionId: 'd', error: 'no' }))).toBe('expected compactionId c, found "d"')
    expect(after(...talk).try(summary())).toBe('expected an open compaction, found none')
    expect(after(...talk).try(end({ error: 'no' }))).toBe('expected an open compaction, found none')
    const asked = [...talk, start({ sourceCommandId: 'x' })]
    expect(after(...asked).try(summary({ ...shadow(0), sourceCommandId: 'x' }))).toBe('accepted')
    expect(after(...asked).try(summary())).toBe('expected sourceCommandId x, found nothing')
    expect(after(...asked).try(end({ error: 'no', sourceCommandId: 'y' }))).toBe(
      'expected sourceCommandId x, found "y"',
    )
    expect(after(...open).try(summary({ ...shadow(0), sourceCommandId: 'x' }))).toBe('expected no sourceCommandId, found "x"') // biome-ignore format: one line
    expect(after(...open).try(end({ error: 'no', sourceCommandId: null }))).toBe('expected no sourceCommandId, found null') // biome-ignore format: one line
  })

  it('[I5] it has one summary, and without one it ends with an error', () => {
    expect(after(...open, summary()).try(summary())).toBe('expected one summary, found another')
    expect(after(...open).try(end())).toBe('expected a summary before an end without error, found none')
    expect(after(...open).try(end({ error: 'no' }))).toBe('accepted')
    expect(after(...open, summary()).try(end({ error: 'no' }))).toBe('accepted')
    expect(after(...open, summary()).try(end())).toBe('accepted')
    expect(after(...open, summary()).try(end({ error: 7 }))).toBe('expected an error in words or none, found 7')
  })

  it('[I6] it does not reach over the start or end of a turn; steps it may', () => {
    expect(after(...open).try(turnStart(1))).toBe('expected no open compaction, found c')
    const inTurn = [turnStart(1), start({ turn: 1 })]
    expect(after(...inTurn).try(turnEnd(1))).toBe('expected no open compaction, found c')
    expect(after(...inTurn).try(stepStart(1, 1))).toBe('accepted')
    expect(after(...inTurn, stepStart(1, 1)).try(stepEnd(1, 1))).toBe('accepted')
    expect(after(...inTurn, end({ turn: 1, error: 'no' })).try(turnEnd(1))).toBe('accepted')
  })

  it('[I6, case 99] an orphan binds nobody after the log was opened again', () => {
    expect(after(...open, reopened).try(turnStart(1))).toBe('accepted')
    expect(after(...open, reopened).try(start())).toBe('accepted')
    expect(after(...open, reopened).try(end({ error: 'no' }))).toBe('expected an open compaction, found none')
    expect(after(...open, reopened).try(summary())).toBe('expected an open compaction, found none')
  })

  it('[I6] a turn that repair ends takes its bracket with it', () => {
    const inTurn = [turnStart(1), stepStart(1, 1), headed(), start({ turn: 1 })]
    expect(after(...inTurn).try(interrupted)).toBe('accepted')
    expect(after(...inTurn, interrupted).try(turnStart(2))).toBe('accepted')
    const events = written(inTurn).snapshotEvents()
    const options = { header: header(), events, now: () => 9, invariants: [compactionInvariant], repair: true }
    const session = Session.fromRestore(options)
    expect(session.snapshotEvents(4).map(event => event.type)).toEqual(['step/end', 'turn/end', 'session/end-seed'])
    append(session, turnStart(2))
    append(session, start({ turn: 2 }))
    expect(restoredWith(session.snapshotEvents(), [compactionInvariant]).length).toBe(session.length + 1)
  })

  it('[I6, case 81] a fork is not bound by what its parent was compacting', () => {
    const parent = written(open, [compactionInvariant])
    const child = parent.fork({ id: 'child' })
    append(child, turnStart(1))
    expect(() => append(parent, turnStart(1))).toThrow('expected no open compaction, found c')
  })
})

describe('what is taken off the surface', () => {
  /** Nodes 5, 1, 2 in this order. */
  const rewritten = [said('a'), said('b'), said('c'), turnStart(1), start({ turn: 1 }), over(said('A'), 0, 0, [0])]

  it.each<[string, (data: object) => Draft]>([
    ['compaction/summary', summary],
    ['compaction/prune', prune],
  ])('[I7] %s names a span of the surface, node by node', (_type, draft) => {
    const on = after(...rewritten)
    for (const seqs of [[5], [5, 1], [1, 2], [5, 1, 2]]) expect(on.try(draft(shadow(...seqs)))).toBe('accepted')
    expect(on.try(draft({ ...shadow(5), shadowedSeqs: [] }))).toBe('expected shadowedSeqs, found a list of 0')
    expect(on.try(draft({ ...shadow(5), shadowedSeqs: 5 }))).toBe('expected shadowedSeqs, found 5')
    expect(on.try(draft(shadow(0, 1)))).toBe('expected shadowedSeqs[0] on the surface, found 0')
    expect(on.try(draft(shadow(5, 2)))).toBe('expected shadowedSeqs[1] to be 1, found 2')
    expect(on.try(draft(shadow(1, 5)))).toBe('expected shadowedSeqs[1] to be 2, found 5')
    expect(on.try(draft(shadow(2, 5)))).toBe('expected shadowedSeqs[1] to be none, found 5')
    expect(on.try(draft({ ...shadow(5, 1), shadowedRange: { start: 1, end: 1 } }))).toBe('expected shadowedRange.start 5, found 1') // biome-ignore format: one line
    expect(on.try(draft({ ...shadow(5, 1), shadowedRange: { start: 5, end: 2 } }))).toBe('expected shadowedRange.end 1, found 2') // biome-ignore format: one line
    expect(on.try(draft({ ...shadow(5, 1), shadowedRange: null }))).toBe(
      'expected shadowedRange.start 5, found nothing',
    )
  })

  it('[I7] its tokens are counted', () => {
    const counted = (shadowedTokenCount: unknown) => after(...talk).try(prune({ ...shadow(0), shadowedTokenCount }))
    expect(counted(0)).toBe('accepted')
    for (const wrong of [-1, 0.5, 2 ** 53, '9', null]) expect(counted(wrong)).toContain('expected a shadowedTokenCount')
  })

  it('[I7] a prune needs no bracket', () => {
    const before = [turnStart(1), stepStart(1, 1), called('a'), returned('a')]
    expect(after(...before).try(prune(shadow(3)))).toBe('accepted')
    expect(after(...before, prune(shadow(3))).try(over(returned('a', 'short'), 3, 3, [3]))).toBe('accepted')
  })

  it('[I7] a checkpoint that replaces carries the id of the open bracket', () => {
    const before = [...open, summary()]
    expect(after(...before).try(checkpoint(id, 0, 1))).toBe('accepted')
    expect(after(...before).try(checkpoint({ compactionId: 'd' }, 0, 1))).toBe('expected compactionId c, found "d"')
    expect(after(...before).try(checkpoint({}, 0, 1))).toBe('expected compactionId c, found nothing')
    expect(after(...talk).try(checkpoint(id, 0, 1))).toBe('expected an open compaction, found none')
    expect(after(...open, reopened).try(checkpoint(id, 0, 1))).toBe('expected an open compaction, found none')
  })

  it('[I7] other replacements, and a checkpoint that is said anew, need no bracket', () => {
    expect(after(...talk).try(over(said('ab'), 0, 1, [0, 1]))).toBe('accepted')
    expect(after(...talk).try(checkpoint({ plugin: 'other' }, 0, 1))).toBe('accepted')
    const { type, data } = checkpoint(id, 0, 1)
    expect(after(...talk).try({ type, data, surfaceOp: 'append' })).toBe('accepted')
  })
})

describe('payloads', () => {
  it.each([null, true, 7, 'text', [], [1], {}, { shadowedSeqs: [null], shadowedTokenCount: 0 }])(
    '[I11] %j is answered in words',
    data => {
      for (const type of ['start', 'summary', 'end', 'prune']) {
        for (const before of [[], open]) {
          expect(after(...before).try({ type: `compaction/${type}`, data })).toMatch(/^expected .+, found /)
        }
      }
    },
  )
})
