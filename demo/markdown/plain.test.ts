import { expect, test } from 'vitest'
import { hostile } from './hostile.ts'
import { plainText } from './plain.ts'

test.each([
  ['Just words.', 'Just words.'],
  ['**Bold**, _soft_ and `code`.', 'Bold, soft and code.'],
  ['# A title\n\nand [a link](https://example.com/x).', 'A title\nand a link.'],
  ['Half a **bold', 'Half a **bold'],
  ['', ''],
])('[demo] %j is read as %j', (markdown, spoken) => {
  expect(plainText(markdown)).toBe(spoken)
})

test('[demo] list items and cells are kept apart', () => {
  expect(plainText('- one\n- two').split(/\s+/)).toEqual(['one', 'two'])
  expect(plainText('| a | b |\n| - | - |\n| c | d |').split(/\s+/)).toEqual(['a', 'b', 'c', 'd'])
})

test('[demo] whatever the text, it is read without failing', () => {
  for (const each of hostile)
    expect(typeof plainText(typeof each === 'string' ? each : JSON.stringify(each))).toBe('string')
})
