import { expect, test } from 'vitest'
import { isUnused, titleFrom, titleFromPrompts, titleOf } from './titles.ts'

const said = (...texts: readonly string[]) => ({ content: texts.map(text => ({ type: 'text' as const, text })) })

test.each([
  ['Where is the ferry? [fast]', 'Where is the ferry?'],
  ['[slow] [fail:once:server]  Tides\n\tin   December', 'Tides in December'],
  ['', 'Untitled'],
  ['[fast]', 'Untitled'],
  ['word '.repeat(100), 'word word word word word word word word…'],
  ['x'.repeat(90), 'x'.repeat(40)],
  [`${'x'.repeat(39)}😀 y`, `${'x'.repeat(39)}\uFFFD…`],
])('[demo] the prompt %j makes the title %j', (prompt, title) => {
  expect(titleFrom(prompt)).toBe(title)
})

test('[demo] the first message with words names a session; without words it has no name', () => {
  expect(titleFromPrompts([])).toBeNull()
  expect(titleFromPrompts([said(), said(' \n')])).toBeNull()
  expect(titleFromPrompts([said(' '), said('Second', 'message'), said('Third')])).toBe('Second message')
  const attachment = { attachmentId: 'a', mediaType: 'image/png', bytes: 1, width: 1, height: 1 } as const
  expect(titleFromPrompts([{ content: [{ type: 'image', attachment }] }, said('What is this?')])).toBe('What is this?')
})

test('[demo] a session without a name is new until something was said in it', () => {
  expect(isUnused({ title: null, eventCount: 1 })).toBe(true)
  expect(titleOf({ title: null, eventCount: 1 })).toBe('New session')
  expect(titleOf({ title: null, eventCount: 2 })).toBe('Untitled')
  expect(titleOf({ title: 'Tides', eventCount: 0 })).toBe('Tides')
})
