import { describe, expect, test } from 'vitest'
import { keyArgument } from '../conversation/content.ts'
import { clock, counted, duration, seqsInWords, tokens } from './format.ts'
import { titleFrom, titleOf } from '../sessions/titles.ts'

describe('words for numbers', () => {
  test.each([
    [40, '40 ms'],
    [0.4, '0 ms'],
    [-5, '0 ms'],
    [1_400, '1.4 s'],
    [125_000, '2 min 5 s'],
  ])('[demo] %s ms is %s', (ms, words) => {
    expect(duration(ms)).toBe(words)
  })

  test('[demo] counts, tokens, seqs', () => {
    expect(counted(1, 'event')).toBe('1 event')
    expect(counted(12_000, 'event')).toBe('12,000 events')
    expect([999, 1_200, 12_345].map(tokens)).toEqual(['999', '1.2k', '12k'])
    expect(seqsInWords([4])).toBe('#4')
    expect(seqsInWords([4, 5, 6])).toBe('#4…#6')
    expect(seqsInWords([4, 9])).toBe('#4, #9')
    expect(seqsInWords([9, 4, 7, 12])).toBe('#9, #4 and 2 more')
  })

  test('[demo] a time out of range is shown as it is', () => {
    expect(clock(Number.MAX_SAFE_INTEGER)).toBe(String(Number.MAX_SAFE_INTEGER))
    expect(clock(0)).toMatch(/^\d\d:\d\d:\d\d\.000$/)
  })
})

describe('words for sessions and tools', () => {
  test('[demo] a title is made of first words, without directives and broken characters', () => {
    expect(titleFrom('  Tell me   about the sea [fast] ')).toBe('Tell me about the sea')
    expect(titleFrom('a'.repeat(100))).toHaveLength(40)
    expect(titleFrom(`${'word '.repeat(20)}`)).toMatch(/…$/)
    expect(titleFrom('\ud83d broken')).toBe('� broken')
    expect(titleFrom('[fast]')).toBe('Untitled')
    expect(titleOf({ title: null, eventCount: 0 })).toBe('New session')
    expect(titleOf({ title: null, eventCount: 3 })).toBe('Untitled')
  })

  test('[demo] the argument that tells a call apart is the first text', () => {
    expect(keyArgument('{"n":1,"query":"tides"}')).toBe('tides')
    expect(keyArgument('{"a":"')).toBe('')
    expect(keyArgument('null')).toBe('')
    expect(keyArgument(JSON.stringify({ a: '🌊'.repeat(80) }))).toBe(`${'🌊'.repeat(59)}…`)
  })
})
