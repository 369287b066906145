/** Cutting long text where a reader would: after a line or word, never inside of a character. */

/** How far before the wanted place a better one is looked for. */
const LOOK_BACK = 200
/** What belongs to the character before it. */
const EXTENDS = /^[\p{M}\p{Emoji_Modifier}\u200c\u200d\u{e0020}-\u{e007f}]/u

/** A place at or before `at`, which `text` reaches, between two characters. */
export function characterStart(text: string, at: number): number {
  if (at >= text.length) return text.length
  let place = at
  for (let steps = 0; steps < 16 && place > 0; steps++) {
    if (/[\udc00-\udfff]/.test(text.charAt(place)) && /[\ud800-\udbff]/.test(text.charAt(place - 1))) place--
    else if (EXTENDS.test(text.slice(place, place + 2)) || text.charAt(place - 1) === '\u200d') place--
    else if (text.charAt(place) === '\n' && text.charAt(place - 1) === '\r') place--
    else return place
  }
  return isInsidePair(text, at) ? at - 1 : at
}

const isInsidePair = (text: string, at: number): boolean =>
  /[\udc00-\udfff]/.test(text.charAt(at)) && /[\ud800-\udbff]/.test(text.charAt(at - 1))

/** A place to cut at or shortly before `at`. */
export function cutAt(text: string, at: number): number {
  if (at >= text.length) return text.length
  const from = Math.max(0, at - LOOK_BACK)
  const tail = text.slice(from, at)
  const line = tail.lastIndexOf('\n')
  const space = line >= 0 ? line : tail.lastIndexOf(' ')
  return space >= 0 ? characterStart(text, from + space + 1) : characterStart(text, at)
}

/** `text` in pieces of about `length`; appending to the text changes only the last one. */
export function pieces(text: string, length: number): readonly string[] {
  const found: string[] = []
  for (let from = 0; from < text.length; ) {
    const to = Math.max(cutAt(text, from + length), from + 1)
    found.push(text.slice(from, to))
    from = to
  }
  return found
}
