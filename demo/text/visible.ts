/**
 * Characters that change how text reads without being seen (direction overrides, zero-width characters, controls, tags)
 * become visible marks, so that nobody is shown one thing and given another.
 */

/** Text to show as it is, or a mark that stands for hidden characters. `source` is what stood there. */
export type Segment = { readonly text: string } | Mark

export interface Mark {
  /** What to show: `U+202E`, `U+200B ×3`, or `40 hidden characters`. */
  readonly mark: string
  /** What it is, in words. */
  readonly name: string
  readonly source: string
}

/** So many marks one text may have as marks; later ones are written out as text, `[U+200B]`, which costs no element. */
const MARKS_MAX = 100

const HIDDEN_CLASS =
  '\\0-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f-\\x9f\\xad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200f' +
  '\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff9-\\ufffb\\u{1d173}-\\u{1d17a}' +
  '\\u{e0000}-\\u{e0fff}\\ud800-\\udfff'
const HIDDEN = new RegExp(`[${HIDDEN_CLASS}]|\\r(?!\\n)`, 'u')
const HIDDEN_ALL = new RegExp(HIDDEN, 'gu')

/** `text` in segments: what can be read, and marks for what is hidden in it. */
export function revealHidden(text: string): readonly Segment[] {
  if (text === '') return []
  if (!HIDDEN.test(text)) return [{ text }]
  const segments: Segment[] = []
  let plain = ''
  let end = 0
  let marks = 0
  const flush = () => {
    if (plain !== '') segments.push({ text: plain })
    plain = ''
  }
  for (const run of hiddenRuns(text)) {
    plain += text.slice(end, run.index)
    end = run.index + run.source.length
    const mark = markOf(run.source)
    if (++marks > MARKS_MAX) plain += `[${mark.mark}]`
    else {
      flush()
      segments.push(mark)
    }
  }
  plain += text.slice(end)
  flush()
  return segments
}

/** Whether something in `text` would be shown as a mark. */
export function hasHidden(text: string): boolean {
  return HIDDEN.test(text) && !hiddenRuns(text).next().done
}

/** Neighbouring hidden characters that do not belong where they are. */
function* hiddenRuns(text: string): Generator<{ index: number; source: string }, undefined> {
  let run: { index: number; source: string } | null = null
  for (const match of text.matchAll(HIDDEN_ALL)) {
    const [source] = match
    if (belongs(text, match.index, source)) continue
    if (run !== null && run.index + run.source.length === match.index) run.source += source
    else {
      if (run !== null) yield run
      run = { index: match.index, source }
    }
  }
  if (run !== null) yield run
  return undefined
}

const PICTOGRAPH = /^\p{Extended_Pictographic}/u
const PICTOGRAPH_END = /[\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f]$/u
/** Scripts in which U+200C and U+200D choose between forms of letters. */
const JOINING_END = new RegExp(
  `[${[
    ...['Arabic', 'Syriac', 'Mandaic', 'Nko', 'Mongolian', 'Devanagari', 'Bengali', 'Gurmukhi', 'Gujarati', 'Oriya'],
    ...['Tamil', 'Telugu', 'Kannada', 'Malayalam', 'Sinhala', 'Khmer', 'Myanmar', 'Tibetan'],
  ]
    .map(script => `\\p{Script=${script}}`)
    .join('')}]$`,
  'u',
)
const VARIED_END = /[\p{Extended_Pictographic}\p{So}\p{Sm}\p{Script=Han}\p{Script=Myanmar}\p{Script=Phags_Pa}]$/u
const MONGOLIAN_END = /\p{Script=Mongolian}$/u
const HAN_END = /\p{Script=Han}$/u
const FLAG =
  /^\u{1f3f4}(?:\u{e0067}\u{e0062}(?:\u{e0065}\u{e006e}\u{e0067}|\u{e0073}\u{e0063}\u{e0074}|\u{e0077}\u{e006c}\u{e0073}))\u{e007f}/u
const FLAG_LENGTH = 14

/** Whether a character without a shape of its own is part of the emoji, letter or flag before it. */
function belongs(text: string, at: number, character: string): boolean {
  const before = codePointBefore(text, at)
  const after = text.slice(at + character.length, at + character.length + 2)
  const code = character.codePointAt(0) ?? 0
  if (code === 0x200d) return (PICTOGRAPH_END.test(before) && PICTOGRAPH.test(after)) || JOINING_END.test(before)
  if (code === 0x200c) return JOINING_END.test(before)
  if (code >= 0xfe00 && code <= 0xfe0f) {
    return !HIDDEN.test(before) && (VARIED_END.test(before) || (/[0-9#*]$/.test(before) && after.startsWith('\u20e3')))
  }
  if (code >= 0x180b && code <= 0x180f) return !HIDDEN.test(before) && MONGOLIAN_END.test(before)
  if (code >= 0xe0100 && code <= 0xe01ef) return HAN_END.test(before)
  if (code >= 0xe0000 && code <= 0xe007f) {
    const near = Math.max(0, at - FLAG_LENGTH)
    const flag = text.slice(near, at).lastIndexOf('\u{1f3f4}')
    return flag >= 0 && FLAG.test(text.slice(near + flag, near + flag + FLAG_LENGTH))
  }
  return false
}

function codePointBefore(text: string, at: number): string {
  const pair = text.slice(Math.max(0, at - 2), at)
  return /[\ud800-\udbff][\udc00-\udfff]/.test(pair) ? pair : pair.slice(-1)
}

function markOf(source: string): Mark {
  const characters = [...source.slice(0, 64)]
  const [first = ''] = characters
  const count = source.length / first.length
  if (first.repeat(count) === source) {
    const times = count === 1 ? '' : ` ×${count.toLocaleString('en')}`
    return { mark: `${codeOf(first)}${times}`, name: nameOf(first), source }
  }
  if (source.length <= 8) {
    return { mark: characters.map(codeOf).join(' '), name: characters.map(nameOf).join(', '), source }
  }
  const kinds = [...new Set(characters)].slice(0, 4)
  return {
    mark: `${[...source].length.toLocaleString('en')} hidden characters`,
    name: `${kinds.map(kind => `${codeOf(kind)} ${nameOf(kind)}`).join(', ')} …`,
    source,
  }
}

const codeOf = (character: string): string =>
  `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`

const NAMES: Readonly<Record<number, string>> = {
  0x00: 'null',
  0x07: 'bell',
  0x08: 'backspace',
  0x0d: 'carriage return',
  0x1b: 'escape',
  0x7f: 'delete',
  0xad: 'soft hyphen',
  0x061c: 'Arabic letter mark',
  0x180e: 'Mongolian vowel separator',
  0x200b: 'zero width space',
  0x200c: 'zero width non-joiner',
  0x200d: 'zero width joiner',
  0x200e: 'left-to-right mark',
  0x200f: 'right-to-left mark',
  0x2028: 'line separator',
  0x2029: 'paragraph separator',
  0x202a: 'left-to-right embedding',
  0x202b: 'right-to-left embedding',
  0x202c: 'pop directional formatting',
  0x202d: 'left-to-right override',
  0x202e: 'right-to-left override',
  0x2060: 'word joiner',
  0x2066: 'left-to-right isolate',
  0x2067: 'right-to-left isolate',
  0x2068: 'first strong isolate',
  0x2069: 'pop directional isolate',
  0x3164: 'Hangul filler',
  0xfeff: 'zero width no-break space',
}

function nameOf(character: string): string {
  const code = character.codePointAt(0) ?? 0
  const name = NAMES[code]
  if (name !== undefined) return name
  if (code < 0x20 || (code >= 0x7f && code <= 0x9f)) return 'control character'
  if (code >= 0xd800 && code <= 0xdfff) return 'half of a character'
  if (code > 0xe0020 && code < 0xe007f) return `tag ${String.fromCodePoint(code - 0xe0000)}`
  if (code >= 0xe0000 && code <= 0xe007f) return 'tag character'
  if ((code >= 0xfe00 && code <= 0xfe0f) || (code >= 0xe0100 && code <= 0xe01ef)) return 'variation selector'
  return 'invisible character'
}
