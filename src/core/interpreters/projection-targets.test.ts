import { describe, expect, it } from 'vitest'
import { user } from '../builders.ts'
import type { SessionSeq } from '../ids.ts'
import { checkTargets } from './projection-targets.ts'

const context = { messageAt: (seq: SessionSeq) => (seq === 3 ? user('a') : undefined) }
const refused = expect.objectContaining({ name: 'SessionError', code: 'projection' }) as Error

describe('checkTargets', () => {
  it('[M6, M7] gives each entry with its message', () => {
    const target = { seq: 3, more: [1] }
    expect(checkTargets({ targets: [target] }, ['more'], context)).toEqual([{ seq: 3, message: user('a'), target }])
    expect(checkTargets({ targets: [{ seq: 3 }], other: 1 }, [], context)).toHaveLength(1)
  })

  it.each([
    undefined,
    null,
    7,
    'targets',
    {},
    { targets: null },
    { targets: [] },
    { targets: [{}] },
    { targets: [{ seq: 3 }, { seq: 3 }] },
    { targets: [{ seq: 3, more: 1 }] },
    { targets: [{ seq: -0 }] },
    { targets: [{ seq: -1 }] },
    { targets: [{ seq: 4 }] },
    { targets: [undefined] },
  ])('[M6, M7, M4] refuses %j', data => {
    expect(() => checkTargets(data, [], context)).toThrow(refused)
  })
})
