import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Draft, log, throughJson, turnEnd, turnStart } from './builders.ts'
import { compactionFold, type CompactionState } from './compaction-fold.ts'
import type { SessionEvent } from './events.ts'
import type { FoldContext } from './fold.ts'
import { SessionSeq } from './ids.ts'

const start = (more: object = {}): Draft => ({
  type: 'compaction/start',
  data: { compactionId: 'c', turn: null, ...more },
})
const summary = (compactionId: unknown = 'c'): Draft => ({ type: 'compaction/summary', data: { compactionId } })
const end = (compactionId: unknown = 'c'): Draft => ({ type: 'compaction/end', data: { compactionId, turn: null } })
const endSeed: Draft = { type: 'session/end-seed', data: {} }
const interrupted: Draft = { type: 'turn/end', data: { turn: 1, reason: { kind: 'interrupted' } } }

const advance = (state: CompactionState, event: SessionEvent): CompactionState =>
  compactionFold.evolve(state, { event, surfaceChange: { kind: 'none' } })
const folded = (...drafts: readonly Draft[]): CompactionState =>
  log(...drafts).reduce(advance, compactionFold.initial())

describe('the bracket of a compaction', () => {
  it('[I5] is open from its start to its end', () => {
    const open = { compactionId: 'c', turn: null, sourceCommandId: null, hasSummary: false, startSeq: 0 }
    expect(folded()).toEqual({ open: null })
    expect(folded(start())).toEqual({ open })
    expect(folded(start({ turn: 3, sourceCommandId: 'x' }))).toEqual({
      open: { ...open, turn: 3, sourceCommandId: 'x' },
    })
    expect(folded(start(), summary())).toEqual({ open: { ...open, hasSummary: true } })
    expect(folded(start(), summary(), end())).toEqual({ open: null })
    expect(folded(turnStart(1), start({ turn: 1 })).open?.startSeq).toBe(SessionSeq(1))
  })

  it('[I5, case 99] an orphan is forgotten where the log was handed over, and where repair ended its turn', () => {
    expect(folded(start(), endSeed)).toEqual({ open: null })
    expect(folded(turnStart(1), start({ turn: 1 }), interrupted)).toEqual({ open: null })
    expect(folded(turnStart(1), start({ turn: 1 }), turnEnd(1)).open).not.toBeNull()
    expect(folded(start(), endSeed, start({ compactionId: 'd' })).open?.compactionId).toBe('d')
  })

  it('[I5] the first of two open ones is the lock, and others do not close it', () => {
    expect(folded(start(), start({ compactionId: 'd' }), end('d')).open?.compactionId).toBe('c')
    expect(folded(start(), summary('d')).open?.hasSummary).toBe(false)
  })

  it.each([null, 0, 'text', [], {}, { compactionId: 7 }, { compactionId: '' }, { compactionId: 'c', turn: 'x' }])(
    '[I11] a start of %j opens nothing',
    data => {
      expect(folded({ type: 'compaction/start', data })).toEqual({ open: null })
    },
  )

  it('[I11] any payload leaves a state, and an event that changes nothing the same state', () => {
    const type = fc.constantFrom('compaction/start', 'compaction/summary', 'compaction/end', 'compaction/prune')
    const draft = fc.record({ type, data: fc.jsonValue() })
    fc.assert(
      fc.property(fc.array(draft), drafts => {
        const before = folded(start())
        const state = log(start(), ...drafts).slice(1).reduce(advance, before) // biome-ignore format: one line
        expect(state).toBe(before)
      }),
    )
  })

  it('[L15] goes through JSON', () => {
    for (const drafts of [[], [start()], [start({ turn: 1, sourceCommandId: 'x' }), summary()]]) {
      const state = folded(...drafts)
      const json = throughJson(compactionFold.toJSON(state))
      expect(compactionFold.fromJSON(json, {} as FoldContext)).toEqual(state)
    }
  })
})
