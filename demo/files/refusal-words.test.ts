import { FormatError, SessionError, StorageError, WorkerError } from 'palimpsest'
import { expect, test } from 'vitest'
import { placeInWords, refusalWords } from './refusal-words.ts'

test('[demo] damage is offered repairs once, and a file of no known kind never', () => {
  const damaged = new FormatError('corrupt', 'Line 10 is not JSON', { line: 10, seq: 8 })
  expect(refusalWords(damaged, 'strict').next).toBe('repair')
  expect(refusalWords(damaged, 'recoverable')).toMatchObject({
    next: null,
    hint: expect.stringContaining('Repairs do not help') as string,
  })
  for (const code of ['newer-version', 'no-route', 'malformed-version', 'foreign-header'] as const) {
    expect(refusalWords(new FormatError(code, ''), 'strict').next).toBeNull()
  }
  expect(refusalWords(new FormatError('newer-version', ''), 'strict').hint).toContain('newer build')
})

test('[demo] of what admission refuses the beginning can be kept, unless it is the header or a plugin is missing', () => {
  expect(refusalWords(new SessionError('payload', '', { seq: 8 }), 'strict')).toMatchObject({ next: 'repair' })
  expect(refusalWords(new SessionError('payload', '', { seq: 8 }), 'recoverable')).toMatchObject({ next: null })
  expect(refusalWords(new SessionError('header', ''), 'strict')).toMatchObject({ next: null })
  expect(refusalWords(new SessionError('unknown-type', ''), 'strict').hint).toContain('plugin')
})

test('[demo] what is wrong with the browser and not with the file can be tried again', () => {
  expect(refusalWords(new StorageError('quota-exceeded', ''), 'strict')).toMatchObject({ next: 'again' })
  const unreadable = new WorkerError('internal', 'NotReadableError: The requested file could not be read')
  expect(refusalWords(unreadable, 'strict').what).toBe('The browser could not read the file.')
  expect(refusalWords(new WorkerError('lost', ''), 'strict').hint).toContain('Reload')
  expect(refusalWords('a text', 'strict').next).toBe('again')
})

test('[demo] a place in words', () => {
  expect(placeInWords({ line: 10, seq: 8 })).toBe('Line 10, seq 8')
  expect(placeInWords({ seq: 8 })).toBe('Seq 8')
  expect(placeInWords({})).toBe('')
})
