import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { append, log, over, returned, said, storedEvents, textBlock, throughJson, toolCall } from '../builders.ts'
import type { SessionErrorCode } from '../errors.ts'
import type { ContentBlock, ToolResultMessage } from '../events.ts'
import { SessionSeq } from '../ids.ts'
import { image, observed, openWith } from '../projected-history.ts'
import { Session } from '../session.ts'
import { toolResultTrim, trimText, TRIM_MARKER } from './tool-result-trim.ts'

const refusal = (code: SessionErrorCode): unknown => expect.objectContaining({ name: 'SessionError', code })
const text = textBlock
const reasoning: ContentBlock = { type: 'reasoning', text: 'thought' }
const trim = (session: Session, ...targets: readonly unknown[]) =>
  append(session, { type: toolResultTrim.type, data: { targets } })
const to = (seq: number, headChars: number, tailChars: number): object => ({ seq, headChars, tailChars })
const shown = (session: Session, position = 0): readonly ContentBlock[] =>
  (session.messages.atNode(position) as ToolResultMessage).content[0].content

describe('trimText', () => {
  it('[M7, case 103] counts code points', () => {
    expect(trimText([text('😀'.repeat(60))], 4, 3)).toEqual([text(`😀😀😀😀${TRIM_MARKER}😀😀😀`)])
  })

  it('[M7, case 103] keeps head and tail over all text blocks, other blocks where they are', () => {
    const call = toolCall('x')
    const content = [text('A'.repeat(40)), reasoning, text('B'.repeat(30)), call, text('C'.repeat(30))]
    expect(trimText(content, 4, 3)).toEqual([text(`AAAA${TRIM_MARKER}`), reasoning, call, text('CCC')])
  })

  it.each<[string, readonly string[], number, number, readonly string[] | null]>([
    ['all is kept', ['abc'], 2, 1, null],
    ['all of several is kept', ['ab', 'cd'], 9, 9, null],
    ['nothing is kept', ['ab', 'cd'], 0, 0, [TRIM_MARKER]],
    ['only the head', ['abc'], 1, 0, [`a${TRIM_MARKER}`]],
    ['only the tail', ['abc'], 0, 1, [`${TRIM_MARKER}c`]],
    ['the head is a block', ['ab', 'cd', 'ef'], 2, 2, ['ab', TRIM_MARKER, 'ef']],
    ['the head ends inside a block', ['ab', 'cd', 'ef'], 3, 2, ['ab', `c${TRIM_MARKER}`, 'ef']],
    ['the tail starts inside a block', ['ab', 'cd', 'ef'], 2, 3, ['ab', `${TRIM_MARKER}d`, 'ef']],
    ['head and tail meet in a block', ['ab', 'cde', 'fg'], 3, 3, ['ab', `c${TRIM_MARKER}e`, 'fg']],
    ['one is left out', ['abc'], 1, 1, [`a${TRIM_MARKER}c`]],
    ['empty blocks go', ['', 'abc', ''], 1, 1, [`a${TRIM_MARKER}c`]],
    ['no text at all', [], 0, 0, null],
    ['only empty text', [''], 0, 0, null],
    ['lone surrogates', ['\ud83d\ud83d', '\ude00'], 1, 0, [`\ud83d${TRIM_MARKER}`]],
  ])('[M7] %s', (_name, texts, head, tail, expected) => {
    expect(trimText(texts.map(text), head, tail)).toEqual(expected?.map(text) ?? null)
  })

  it('[M7] keeps exactly head and tail, one marker between, and every other block in its order', () => {
    const block = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 6 }).map(text),
      fc.constantFrom(reasoning, image('i')),
    )
    fc.assert(
      fc.property(fc.array(block), fc.nat(12), fc.nat(12), (content, head, tail) => {
        const trimmed = trimText(content, head, tail)
        const textOf = (blocks: readonly ContentBlock[]) =>
          blocks.map(each => (each.type === 'text' ? each.text : '')).join('')
        // By block: neighbours that make one character together are still two.
        const points = content.flatMap(each => (each.type === 'text' ? [...each.text] : []))
        if (points.length <= head + tail) {
          expect(trimmed).toBeNull()
          return
        }
        const kept = points.slice(0, head).join('') + TRIM_MARKER + points.slice(points.length - tail).join('')
        expect(textOf(trimmed as ContentBlock[])).toBe(kept)
        const others = (blocks: readonly ContentBlock[]) => blocks.filter(({ type }) => type !== 'text')
        expect(others(trimmed as ContentBlock[])).toEqual(others(content))
        expect(trimmed?.some(each => each.type === 'text' && each.text === '')).toBe(false)
      }),
    )
  })
})

describe('palimpsest/tool-result/trim', () => {
  it('[M7] shortens what the model reads and leaves the log', () => {
    const session = openWith(log(returned('a', [text('abcdefgh'), image('i')], { meta: 1 })))
    trim(session, to(0, 2, 1))
    expect(shown(session)).toEqual([text(`ab${TRIM_MARKER}h`), image('i')])
    expect(session.deriveMessages()[0]).toMatchObject({ id: 'r:a', source: { kind: 'tool', callId: 'a' } })
    expect(session.eventAt(0)).toMatchObject({
      data: { meta: 1, message: { content: [{ content: [text('abcdefgh'), {}] }] } },
    })
    expect(session.eventAt(2)).toMatchObject({ type: 'palimpsest/tool-result/trim', ignorable: true })
  })

  it('[M7, M5] starts from what is shown: an offloaded image stays so, a shorter text gets shorter', () => {
    const session = openWith(log(returned('a', [text('abcdefgh'), image('i')])))
    session.append('image/offload', { targets: [{ seq: SessionSeq(0), imageIndexes: [0] }] })
    session.append(toolResultTrim, { targets: [{ seq: SessionSeq(0), headChars: 3, tailChars: 0 }] })
    session.append(toolResultTrim, { targets: [{ seq: SessionSeq(0), headChars: 1, tailChars: 0 }] })
    expect(shown(session)).toEqual([text(`a${TRIM_MARKER}`), image('i', { offloaded: true })])
  })

  it.each<[string, unknown]>([
    ['no targets', []],
    ['another member', [{ ...to(0, 1, 1), more: 1 }]],
    ['a missing member', [{ seq: 0, headChars: 1 }]],
    ['a negative count', [to(0, -1, 1)]],
    ['a count that is a text', [{ seq: 0, headChars: '1', tailChars: 1 }]],
    ['a count that is no integer', [to(0, 1.5, 1)]],
    ['nothing to leave out', [to(0, 4, 4)]],
    ['counts as large as can be', [to(0, Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER)]],
    ['a result twice', [to(0, 1, 1), to(0, 1, 1)]],
    ['a message of a person', [to(1, 0, 0)]],
    ['a message of a person that looks like a result', [to(2, 0, 0)]],
    ['a message of a person that says it is from a tool', [to(3, 0, 0)]],
    ['one good, one bad', [to(0, 1, 1), to(1, 1, 1)]],
    ['a replaced result', [to(4, 0, 0)]],
    ['the future', [to(40, 0, 0)]],
  ])('[M7, M4, L17] refuses %s', (_name, targets) => {
    const quoted = returned('q', 'quoted').data as { message: ToolResultMessage }
    const two = [...quoted.message.content, text('and a word')]
    const session = openWith(
      log(
        returned('a', 'abcdefgh'),
        said('abcdefgh'),
        { type: 'user/message', data: { ...quoted.message, content: two }, surfaceOp: 'append' },
        { type: 'user/message', data: { ...quoted.message, content: [] }, surfaceOp: 'append' },
        returned('b', 'abcdefgh'),
        over(said('instead'), 4, 4, [4]),
      ),
    )
    const before = observed(session)
    expect(() => trim(session, ...(targets as unknown[]))).toThrow(refusal('projection'))
    expect(observed(session)).toEqual(before)
  })

  it('[M7, L6] who does not know it may pass it over and reads the whole result', () => {
    const session = openWith(log(returned('a', 'abcdefgh')))
    trim(session, to(0, 1, 1))
    const events = throughJson(storedEvents(session))
    const reader = Session.fromRestore({ header: session.header, events, now: () => 1, readOnly: true })
    expect(shown(reader)).toEqual([text('abcdefgh')])
    expect(reader.surface.contentGeneration).toBe(0)
    expect(() => reader.registerEventType(toolResultTrim)).toThrow(refusal('registration'))
  })
})
