import { expect, test } from 'vitest'
import { fileNameOf, titleFromFile } from './file-name.ts'

test.each([
  ['Trip plan', 'Trip plan.md'],
  ['Tides: high/low?', 'Tides- high-low-.md'],
  ['../../etc/passwd', '-..-etc-passwd.md'],
  ['.hidden. ', 'hidden.md'],
  ['con', '_con.md'],
  ['a\u0000b\u202ec\u200dd\nf', 'a b c d f.md'],
  ['half \ud83d', 'half \ufffd.md'],
  ['Gezeiten – 潮汐 🌊', 'Gezeiten – 潮汐 🌊.md'],
  ['', 'id-1.md'],
  [' .. ', 'id-1.md'],
  [null, 'id-1.md'],
])('[demo] a session called %j is saved as %j', (title, name) => {
  expect(fileNameOf(title, 'id-1', 'md')).toBe(name)
})

test('[demo] a long title is cut between characters, and an id of nothing but separators is left out', () => {
  expect(fileNameOf('🌊'.repeat(100), 'id', 'jsonl')).toBe(`${'🌊'.repeat(40)}.jsonl`)
  expect(fileNameOf(null, '..', 'jsonl')).toBe('session.jsonl')
})

test.each([
  ['Trip plan.jsonl', 'Trip plan'],
  ['chat.jsonl.zstd', 'chat'],
  ['chat.JSONL.gz', 'chat'],
  ['mig-02.v0.jsonl', 'mig-02.v0'],
  ['notes', 'notes'],
  ['.jsonl', null],
])('[demo] the file %j makes the title %j', (name, title) => {
  expect(titleFromFile(name)).toBe(title)
})
