import { describe, expect, it } from 'vitest'
import { log, said, turnStart } from './builders.ts'
import { type Committed, type Fold, FoldSet } from './fold.ts'
import { SessionSeq } from './ids.ts'

const counting = (key: string, by = 1): Fold<number> => ({
  key,
  version: 1,
  initial: () => 0,
  evolve: state => state + by,
  toJSON: state => state,
  fromJSON: json => json as number,
})
const committed = (...[event]: ReturnType<typeof log>): Committed => ({
  event: event as Committed['event'],
  surfaceChange: { kind: 'none' },
})

const appended = { kind: 'append', seq: SessionSeq(0) } as const

describe('FoldSet', () => {
  it('[L15] starts each fold at its initial state and advances all together', () => {
    const [one, ten] = [counting('one'), counting('ten', 10)]
    const folds = new FoldSet([one, ten] as never)
    expect([folds.state(one), folds.state(ten)]).toEqual([0, 0])
    folds.evolve(committed(...log(turnStart(1))))
    folds.evolve(committed(...log(said('x'))))
    expect([folds.state(one), folds.state(ten)]).toEqual([2, 20])
  })

  it('[L15] takes a fold later, with the state it has by then', () => {
    const folds = new FoldSet([])
    const late = counting('late')
    folds.register(late, 7)
    folds.evolve(committed(...log(turnStart(1))))
    expect(folds.state(late)).toBe(8)
  })

  it('[L15] advances a fold that came later by types that were there before it', () => {
    const folds = new FoldSet([counting('first'), counting('one')] as never)
    const changes = [committed(...log(turnStart(1))), { ...committed(...log(said('x'))), surfaceChange: appended }]
    for (const change of changes) folds.evolve(change)
    const late = counting('late')
    folds.register(late, 2)
    for (const change of changes) folds.evolve(change)
    expect(folds.state(late)).toBe(4)
  })

  it('[L15] refuses a used key, and a fold that is not registered', () => {
    const folds = new FoldSet([counting('one')] as never)
    const error = expect.objectContaining({ name: 'SessionError', code: 'registration' }) as Error
    expect(() => folds.register(counting('one'), 0)).toThrow(error)
    expect(() => folds.state(counting('one'))).toThrow(error)
  })
})
