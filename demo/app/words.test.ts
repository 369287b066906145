import { describe, expect, test } from 'vitest'
import { keyArgument } from '../conversation/content.ts'
import { bytes, clock, counted, dayAndTime, duration, seqsInWords, tokens } from './format.ts'
import { titleFrom, titleOf } from '../sessions/titles.ts'
import {
  approvalWords,
  branchRefusalWords,
  failureInShort,
  notAttachedWords,
  notDeletedWords,
  openFailureWords,
  promiseWords,
  storageWords,
} from './words.ts'

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

  test.each([
    [1, '1 byte'],
    [999, '999 bytes'],
    [1_000, '1.0 kB'],
    [9_960, '10 kB'],
    [48_300, '48 kB'],
    [999_499, '999 kB'],
    [999_500, '1.0 MB'],
    [12_000_000, '12 MB'],
    [3.2e9, '3.2 GB'],
    [5e15, '5000 TB'],
  ])('[demo] %s bytes are %s', (count, words) => {
    expect(bytes(count)).toBe(words)
  })

  test('[demo] a day is told unless it is today', () => {
    const now = new Date(2026, 11, 3, 14, 5).getTime()
    expect(dayAndTime(now, now)).toBe('today, 14:05')
    expect(dayAndTime(new Date(2026, 10, 30, 9, 0).getTime(), now)).toBe('30 Nov, 09:00')
    expect(dayAndTime(Number.MAX_SAFE_INTEGER, now)).toBe(String(Number.MAX_SAFE_INTEGER))
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
    expect(titleOf({ title: null, eventCount: 1 })).toBe('New session')
    expect(titleOf({ title: null, eventCount: 3 })).toBe('Untitled')
  })

  test('[demo] the argument that tells a call apart is the first text', () => {
    expect(keyArgument('{"n":1,"query":"tides"}')).toBe('tides')
    expect(keyArgument('{"a":"')).toBe('')
    expect(keyArgument('null')).toBe('')
    expect(keyArgument(JSON.stringify({ a: '🌊'.repeat(80) }))).toBe(`${'🌊'.repeat(59)}…`)
  })
})

describe('words for turns', () => {
  test('[demo] a failure is a part of a sentence, in the words of its ending or else in its own', () => {
    expect(failureInShort({ code: 'SERVER', message: 'x' })).toBe('the provider had an internal error')
    expect(failureInShort({ code: 'RATE_LIMIT', message: 'x' })).toBe(
      'the provider asks for a pause: too many requests',
    )
    expect(failureInShort({ code: 'ODD', message: 'Something odd' })).toBe('Something odd')
  })

  test('[demo] every answer to a question has words, and an open question has none', () => {
    const states = ['allowed-once', 'rejected', 'cancelled', 'unavailable'] as const
    expect(new Set(states.map(approvalWords)).size).toBe(4)
    expect(approvalWords('asked')).toBe('')
  })

  test('[demo] why there is no branch is said, and so is why a file was not attached', () => {
    const codes = ['empty-prompt', 'malformed-prompt', 'invalid-boundary', 'open-turn', 'closed', 'lost', 'odd']
    const words = codes.map(code => branchRefusalWords({ code, message: 'Because.' }))
    expect(new Set(words).size).toBe(codes.length)
    expect(words.at(-1)).toBe('That did not work: Because.')
    expect(notAttachedWords({ code: 'quota-exceeded', message: '' })).toContain('storage is full')
    expect(notAttachedWords(new Error('Because.'))).toBe('was not attached: Because.')
  })
})

describe('words for deletions and storage', () => {
  test('[demo] what was deleted is no failure, and why something was not is said', () => {
    expect(openFailureWords({ code: 'deleted', message: '' }).what).toBe('This session was deleted.')
    expect(notDeletedWords({ code: 'in-use', message: '' })).toContain('open in another tab')
    expect(notDeletedWords({ code: 'quota-exceeded', message: '' })).toContain('too full')
    expect(notDeletedWords(new Error('Because.'))).toBe('was not deleted: Because.')
  })

  test('[demo] storage is one calm line, a warning when there is little room, and nothing where the browser is silent', () => {
    const calm = { usage: 12_000_000, quota: 100_000_000, isPersisted: false }
    expect(storageWords(calm)).toEqual({
      stored: '12 MB stored. The browser may clear it when space runs low.',
      warning: '',
    })
    expect(storageWords({ ...calm, isPersisted: true })?.stored).toBe('12 MB stored. The browser keeps it.')
    expect(storageWords({ ...calm, usage: 80_000_000 })?.warning).toMatch(/^80 % of the 100 MB this browser allows/)
    expect(storageWords({ ...calm, usage: 79_999_999 })?.warning).toBe('')
    expect(storageWords({ ...calm, quota: null })?.warning).toBe('')
    expect(storageWords({ ...calm, usage: 0 })?.stored).toBe('Nothing stored yet.')
    expect(storageWords({ ...calm, usage: null })).toBeNull()
    expect(promiseWords(true)).not.toBe(promiseWords(false))
  })
})
