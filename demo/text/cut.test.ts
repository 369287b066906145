import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { characterStart, cutAt, pieces } from './cut.ts'
import { pretty } from './pretty.ts'

describe('cutting', () => {
  test('loses nothing', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 300 }), fc.integer({ min: 1, max: 50 }), (text, length) => {
        expect(pieces(text, length).join('')).toBe(text)
      }),
    )
  })

  test('does not change earlier pieces when text grows', () => {
    const text = 'Some words and\nlines, one after the other. '.repeat(50)
    const before = pieces(text, 100)
    expect(pieces(`${text}and more`, 100).slice(0, before.length - 1)).toEqual(before.slice(0, -1))
  })

  test('spares characters', () => {
    expect(characterStart('ab😀', 3)).toBe(2)
    expect(characterStart('a👩\u200d💻b', 4)).toBe(1)
    expect(characterStart('ae\u0301', 2)).toBe(1)
    expect(characterStart('a\r\nb', 2)).toBe(1)
    expect(characterStart('abc', 9)).toBe(3)
    expect(characterStart(`😀${'\u0301'.repeat(50)}`, 40)).toBe(40)
  })

  test('prefers the end of a line, then of a word', () => {
    expect(cutAt('one two\nthree four', 15)).toBe(8)
    expect(cutAt('one two three four', 15)).toBe(14)
    expect(cutAt('onetwothreefour', 10)).toBe(10)
  })
})

test('JSON is laid out when it is short', () => {
  expect(pretty('{"a":[1]}')).toBe('{\n  "a": [\n    1\n  ]\n}')
  expect(pretty('{"a":')).toBe('{"a":')
  const long = JSON.stringify('a'.repeat(60_000))
  expect(pretty(long)).toBe(long)
})
