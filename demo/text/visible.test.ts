import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { hasHidden, revealHidden } from './visible.ts'

const sourceOf = (text: string) =>
  revealHidden(text)
    .map(segment => ('text' in segment ? segment.text : segment.source))
    .join('')
const marksOf = (text: string) => revealHidden(text).flatMap(segment => ('mark' in segment ? [segment.mark] : []))

describe('hidden characters', () => {
  test.each([
    ['a\u202eb', ['U+202E']],
    ['\u2066a\u2069', ['U+2066', 'U+2069']],
    ['a\u200fb\u200ec\u061cd', ['U+200F', 'U+200E', 'U+061C']],
    ['a\u200bb\u2060c\ufeffd', ['U+200B', 'U+2060', 'U+FEFF']],
    ['a\u200b\u200b\u200bb', ['U+200B ×3']],
    ['a\u200b\u200cb', ['U+200B U+200C']],
    ['a\u{e0041}b', ['U+E0041']],
    ['\u0000\u001b\u007f\u0085', ['U+0000 U+001B U+007F U+0085']],
    ['a\rb', ['U+000D']],
    ['a\ud800b', ['U+D800']],
    ['\u200da', ['U+200D']],
    ['a\u200db\u200cc', ['U+200D', 'U+200C']],
    ['a\ufe01b\u{e0100}', ['U+FE01', 'U+E0100']],
    ['a\u3164\u00ad\u2063', ['U+3164 U+00AD U+2063']],
    ['\u{1f600}\u{e0062}\u{e007f}', ['U+E0062 U+E007F']],
    ['\u200b\u200c'.repeat(20), ['40 hidden characters']],
  ])('%j shows %j', (text, marks) => {
    expect(marksOf(text)).toEqual(marks)
    expect(hasHidden(text)).toBe(true)
  })

  test.each([
    ...['plain', 'two\nlines\tand\r\nmore', 'naïve e\u0301', 'שלום', 'مرحبا', '日本語'],
    ...[
      '👨\u200d👩\u200d👧',
      '🏳\ufe0f\u200d🌈',
      '👩🏽\u200d💻',
      '❤\ufe0f',
      '1\ufe0f\u20e3',
      '🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}',
    ],
    ...['می\u200cخواهم', 'क्\u200dष', '葛\u{e0100}'],
  ])('%j has none', text => {
    expect(revealHidden(text)).toEqual([{ text }])
    expect(hasHidden(text)).toBe(false)
  })

  test('are named', () => {
    expect(revealHidden('\u202e')).toEqual([{ mark: 'U+202E', name: 'right-to-left override', source: '\u202e' }])
  })

  test('take nothing away', () => {
    const character = fc.oneof(
      fc.constantFrom(
        'a',
        '\u200b',
        '\u200d',
        '\u202e',
        '\ufe0f',
        '👩',
        '\u{e0041}',
        '\u{1f3f4}',
        '\r',
        '\n',
        'ا',
        '\u0000',
      ),
      fc.string({ unit: 'binary', maxLength: 1 }),
    )
    fc.assert(
      fc.property(fc.array(character, { maxLength: 60 }), characters => {
        expect(sourceOf(characters.join(''))).toBe(characters.join(''))
      }),
    )
  })

  test('beyond a hundred are written out, at no cost of elements', () => {
    const segments = revealHidden('a\u200b'.repeat(1_000))
    expect(segments.filter(segment => 'mark' in segment)).toHaveLength(100)
    expect(segments.at(-1)).toEqual({ text: 'a[U+200B]'.repeat(900) })
  })

  test('are found quickly', () => {
    for (const text of [
      'a'.repeat(5_000_000),
      '\u200b'.repeat(1_000_000),
      '\u{e0041}'.repeat(500_000),
      'a\u202e'.repeat(300_000),
    ]) {
      const startedAt = process.cpuUsage()
      revealHidden(text)
      expect(process.cpuUsage(startedAt).user / 1_000).toBeLessThan(3_000)
    }
  }, 30_000)
})
