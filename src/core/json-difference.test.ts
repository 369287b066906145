import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { throughJson } from './builders.ts'
import { equalJson, jsonDifference } from './json.ts'

const hostile = JSON.parse('{"__proto__": {"a": 1}, "constructor": null, "toString": [1]}') as object

describe('jsonDifference', () => {
  it.each<[unknown, unknown, string, unknown, unknown]>([
    [1, 2, '$', 1, 2],
    [null, {}, '$', null, {}],
    [{}, [], '$', {}, []],
    [[], null, '$', [], null],
    [undefined, null, '$', undefined, null],
    ['1', 1, '$', '1', 1],
    [{ a: [1, { b: 2 }] }, { a: [1, { b: 3 }] }, '$.a[1].b', 2, 3],
    [{ a: 1, b: 1 }, { b: 2, a: 2 }, '$.a', 1, 2],
    [[[1], [2]], [[1], [2, 3]], '$[1]', [2], [2, 3]],
    [{ a: {} }, { a: { b: undefined } }, '$.a', {}, { b: undefined }],
    [{ a: 1 }, { b: 1 }, '$', { a: 1 }, { b: 1 }],
    [{ 'a b': 1, '': 2 }, { 'a b': 2, '': 2 }, '$["a b"]', 1, 2],
    [{ a: 1 }, Object.create({ a: 1 }), '$', { a: 1 }, {}],
    [{ toString: 1 }, {}, '$', { toString: 1 }, {}],
    [{ in: hostile }, { in: { ...hostile, constructor: 1 } }, '$.in.constructor', null, 1],
    [hostile, JSON.parse('{"__proto__": {"a": 2}, "constructor": null, "toString": [1]}'), '$.__proto__.a', 1, 2],
    [{}, JSON.parse('{"__proto__": {}}'), '$', {}, JSON.parse('{"__proto__": {}}')],
  ])('[K4] of %j and %j is at the first place, as the expected value reads', (left, right, path, expected, actual) => {
    expect(jsonDifference(left, right)).toEqual({ path, expected, actual })
    expect(equalJson(right, left)).toBe(false)
  })

  it('[K4] is null for equal values, whatever the order of their keys', () => {
    expect(jsonDifference({ a: 1, b: [{}] }, { b: [{}], a: 1 })).toBeNull()
    expect(jsonDifference(hostile, throughJson(hostile))).toBeNull()
    fc.assert(fc.property(fc.jsonValue(), value => equalJson(value, throughJson(value))))
  })

  it('[K4] names two values that do differ at a place that is in both or in one', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (left, right) => {
        const difference = jsonDifference(left, right)
        if (difference === null) expect(throughJson(left)).toEqual(throughJson(right))
        else expect(difference.expected).not.toEqual(difference.actual)
      }),
    )
  })

  it('[K4] goes as deep as a value does', () => {
    const deep = (end: unknown): unknown => {
      let value = end
      for (let depth = 0; depth < 100_000; depth += 1) value = depth % 2 === 0 ? [value] : { a: value }
      return value
    }
    expect(jsonDifference(deep(1), deep(1))).toBeNull()
    const difference = jsonDifference(deep(1), deep(2))
    expect(difference).toMatchObject({ expected: 1, actual: 2 })
    expect(difference?.path.length).toBe(1 + 5 * 50_000)
  })
})
