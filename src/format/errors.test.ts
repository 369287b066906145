import { describe, expect, it } from 'vitest'
import { type FormatError, formatRefusal, shown } from './errors.ts'
import { readHeader } from './header.ts'
import { envelopeProblem, parseRow } from './row.ts'

const long = 'a text of a person '.repeat(2000)

describe('messages', () => {
  it('[F8] show names of a file up to 80 characters', () => {
    expect(shown('turn/end')).toBe('turn/end')
    expect(shown('x'.repeat(80))).toBe('x'.repeat(80))
    expect(shown('x'.repeat(81))).toBe(`${'x'.repeat(79)}…`)
    expect(shown(`${'x'.repeat(78)}😀y`)).toBe(`${'x'.repeat(78)}…`)
  })

  it('[F8] of refusals are short, whatever the event is called and holds; the facts are whole', () => {
    const { message, eventType } = formatRefusal('envelope', { type: long, seq: 7 }, `may not have the key ${long}`)
    expect(message).toMatch(/^a text of .*… at seq 7 may not have the key a text of .*…$/)
    expect(message.length).toBeLessThan(500)
    expect(eventType).toBe(long)
  })

  it('[F8] of bad rows are short', () => {
    const key = `may not have the key ${shown(long)}`
    expect(envelopeProblem({ type: 'x', seq: 0, time: 1, data: 1, [long]: 1 })).toBe(key)
    const odd = parseRow(`{"data":{"${long}":-0}}`)
    expect(odd).toMatch(/^holds a number that is none of JSON\. .*…$/)
    expect((odd as string).length).toBeLessThan(500)
  })

  it('[F8] quote nothing of a first line that is not JSON', () => {
    let error: FormatError | null = null
    try {
      readHeader('password: swordfish')
    } catch (thrown) {
      error = thrown as FormatError
    }
    expect(error).toMatchObject({ code: 'foreign-header', line: 1 })
    expect(error?.cause).toBeUndefined()
  })
})
