import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { Sequence } from './sequence.ts'

const numbers = (count: number, first = 0): number[] => Array.from({ length: count }, (_, index) => first + index)

function expectSame(sequence: Sequence<number>, values: readonly number[]): void {
  expect(sequence.length).toBe(values.length)
  expect([...sequence]).toEqual(values)
  expect(sequence.slice()).toEqual(values)
  for (const index of [0, 1, 31, 32, 33, values.length - 1, values.length, -1, -2, -values.length - 1]) {
    expect(sequence.at(index)).toBe(values.at(index))
  }
}

describe('Sequence', () => {
  it.each([0, 1, 31, 32, 33, 64, 65, 500])('[V1] holds %i values', count => {
    expectSame(Sequence.from(numbers(count)), numbers(count))
  })

  it('[V1] reads like an array, also where there is nothing', () => {
    const sequence = Sequence.from(numbers(100))
    for (const [start, end] of [
      [0, 0],
      [10, 70],
      [-5, undefined],
      [32, 64],
      [90, 10],
      [-200, 200],
      [99, 100],
    ] as const) {
      expect(sequence.slice(start, end)).toEqual(numbers(100).slice(start, end))
    }
    for (const index of [NaN, 0.5, Infinity]) expect(sequence.at(index)).toBeUndefined()
    expect([Sequence.empty.length, Sequence.empty.at(0), [...Sequence.empty]]).toEqual([0, undefined, []])
  })

  it('[V1] sets one value and many', () => {
    const sequence = Sequence.from(numbers(100))
    expectSame(sequence.set(5, -1), numbers(100).with(5, -1))
    expectSame(sequence.set(-1, -1), numbers(100).with(-1, -1))
    expectSame(
      sequence.setAll([
        [99, -9],
        [3, -3],
        [4, -4],
        [64, -6],
      ]),
      numbers(100).with(99, -9).with(3, -3).with(4, -4).with(64, -6),
    )
    expectSame(sequence, numbers(100))
  })

  it('[V1] is the same sequence when nothing changes', () => {
    const sequence = Sequence.from(numbers(100))
    expect(sequence.set(5, 5)).toBe(sequence)
    expect(sequence.setAll([])).toBe(sequence)
    expect(sequence.prepend([])).toBe(sequence)
  })

  it('[V1] refuses positions it does not have', () => {
    const sequence = Sequence.from([1, 2])
    const absent: Sequence<number | undefined> = sequence
    for (const index of [2, -3, 0.5]) expect(() => absent.set(index, undefined)).toThrow(RangeError)
    for (const [from, to] of [
      [0, 2],
      [1, 0],
      [-1, 0],
    ] as const)
      expect(() => sequence.splice(from, to, [])).toThrow(RangeError)
  })

  it('[V1] sequences of one past do not see each other', () => {
    for (const length of [0, 1, 31, 32, 64]) {
      const base = Sequence.from(numbers(length))
      const [left, right] = [base.append(-1), base.append(-2)]
      expectSame(left.append(-3), [...numbers(length), -1, -3])
      expectSame(right.append(-4), [...numbers(length), -2, -4])
      expectSame(left, [...numbers(length), -1])
      expectSame(base, numbers(length))
    }
  })

  it('[V1] appending and setting the last copies a tail at most, however long it is', () => {
    let sequence = Sequence.from(numbers(100_000))
    const copied: number[] = []
    const original = Array.prototype.slice
    const spy = vi.spyOn(Array.prototype, 'slice').mockImplementation(function (this: unknown[], ...args) {
      const result = original.apply(this, args as []) as unknown[]
      copied.push(result.length)
      return result
    })
    for (let n = 0; n < 200; n += 1) sequence = sequence.append(n).set(-1, -n)
    spy.mockRestore()
    expect(copied.reduce((sum, each) => sum + each, 0)).toBeLessThan(200 * 33)
    expect(sequence.at(-1)).toBe(-199)
  })

  it('[V1] every sequence of a branching history is the array it should be, to the end', () => {
    const step = fc.record({
      which: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.nat({ max: 20 })),
      what: fc.constantFrom('append', 'set', 'setAll', 'splice', 'prepend'),
      at: fc.nat(),
      span: fc.oneof(fc.nat({ max: 3 }), fc.nat({ max: 100 })),
      count: fc.oneof(fc.nat({ max: 3 }), fc.constantFrom(31, 32, 33, 70)),
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 25 }), steps => {
        const known: { sequence: Sequence<number>; values: readonly number[] }[] = [
          { sequence: Sequence.empty, values: [] },
        ]
        let name = 0
        for (const { which, what, at, span, count } of steps) {
          const { sequence, values } = known[known.length - 1 - (which % known.length)] as (typeof known)[number]
          const added = Array.from({ length: count }, () => (name += 1))
          const from = values.length === 0 ? 0 : at % values.length
          const to = Math.min(from + span, values.length - 1)
          if (what === 'prepend') known.push({ sequence: sequence.prepend(added), values: [...added, ...values] })
          else if (what === 'append' || values.length === 0) {
            known.push({
              sequence: added.reduce((grown, each) => grown.append(each), sequence),
              values: [...values, ...added],
            })
          } else if (what === 'set') known.push({ sequence: sequence.set(from, -at), values: values.with(from, -at) })
          else if (what === 'setAll') {
            const changes = [
              [from, -1],
              [to, -2],
              [0, -3],
            ] as const
            known.push({
              sequence: sequence.setAll(changes),
              values: changes.reduce<readonly number[]>((all, [i, v]) => all.with(i, v), values),
            })
          } else {
            known.push({
              sequence: sequence.splice(from, to, added),
              values: values.toSpliced(from, to - from + 1, ...added),
            })
          }
        }
        for (const { sequence, values } of known) expectSame(sequence, values)
      }),
    )
  })
})
