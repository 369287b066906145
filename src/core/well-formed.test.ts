import { describe, expect, it } from 'vitest'
import { textBlock, toolCall } from './builders.ts'
import { image } from './projected-history.ts'
import { hasLoneSurrogate, wellFormedBlock, wellFormedText } from './well-formed.ts'

describe('lone surrogates', () => {
  it.each([
    ['', '', false],
    ['plain', 'plain', false],
    ['😀', '😀', false],
    ['\ud83d', '\ufffd', true],
    ['\ude00', '\ufffd', true],
    ['\ude00\ud83d', '\ufffd\ufffd', true],
    ['a\ud83d\ud83d\ude00b', 'a\ufffd😀b', true],
    ['\ufffd', '\ufffd', false],
  ])('[A3] in %j', (text, expected, isLone) => {
    // Twice: nothing is remembered.
    for (let count = 0; count < 2; count += 1) expect(hasLoneSurrogate(text)).toBe(isLone)
    expect(wellFormedText(text)).toBe(expected)
    expect(hasLoneSurrogate(wellFormedText(text))).toBe(false)
  })

  it('[A3] of a block are replaced in its own texts; other blocks stay the same objects', () => {
    const blocks = [textBlock('fine 😀'), toolCall('c', '{"a":"😀"}'), image('\ud83d')]
    for (const block of blocks) expect(wellFormedBlock(block)).toBe(block)
    expect(wellFormedBlock(textBlock('\ud83d'))).toEqual(textBlock('\ufffd'))
    expect(wellFormedBlock({ type: 'reasoning', text: 'x\ude00' })).toEqual({ type: 'reasoning', text: 'x\ufffd' })
    const call = toolCall('\ud83d', '{"\ude00":1}', 'n\ud83d')
    expect(wellFormedBlock(call)).toEqual(toolCall('\ufffd', '{"\ufffd":1}', 'n\ufffd'))
    // Two halves in two texts are no pair.
    expect(wellFormedBlock(toolCall('\ud83d', '{}', '\ude00'))).toEqual(toolCall('\ufffd', '{}', '\ufffd'))
  })
})
