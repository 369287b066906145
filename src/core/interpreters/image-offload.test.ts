import { describe, expect, it } from 'vitest'
import { append, assistant, log, over, prompted, returned, said, storedEvents, textBlock, user } from '../builders.ts'
import type { SessionErrorCode } from '../errors.ts'
import type { ContentBlock, Message } from '../events.ts'
import { image, observed, openWith } from '../projected-history.ts'
import type { Session } from '../session.ts'

const refusal = (code: SessionErrorCode): unknown => expect.objectContaining({ name: 'SessionError', code })
const offload = (session: Session, ...targets: readonly unknown[]) =>
  append(session, { type: 'image/offload', data: { targets } })
const on = (seq: number, ...imageIndexes: readonly number[]): object => ({ seq, imageIndexes })
const marked = (name: string): ContentBlock => image(name, { offloaded: true })
const nested = (...content: readonly ContentBlock[]): ContentBlock => ({
  type: 'tool-result',
  toolCallId: 'quoted' as never,
  content,
})
const contents = (session: Session): readonly unknown[] => session.deriveMessages().map(({ content }) => content)

describe('image/offload', () => {
  it('[M6] marks the images it names, and nothing else', () => {
    const session = openWith(log(said([textBlock('see'), image('a'), image('b', { more: 1 }), image('c')]), said('b')))
    offload(session, on(0, 0, 2))
    expect(contents(session)).toEqual([
      [textBlock('see'), marked('a'), image('b', { more: 1 }), marked('c')],
      [textBlock('b')],
    ])
    expect(session.eventAt(0)).toMatchObject({ data: { content: [{}, image('a'), {}, {}] } })
  })

  it('[M6] counts all images depth first, in results too, offloaded ones as well', () => {
    const inner = nested(image('b'), nested(image('c')), image('d'))
    const session = openWith(log(said([image('a'), inner, image('e', { offloaded: true }), image('f')])))
    offload(session, on(0, 2, 3))
    offload(session, on(0, 5))
    const [block] = (contents(session)[0] as ContentBlock[]).slice(1)
    expect(block).toEqual(nested(image('b'), nested(marked('c')), marked('d')))
    expect((contents(session)[0] as ContentBlock[])[3]).toEqual(marked('f'))
    expect(() => offload(session, on(0, 6))).toThrow(refusal('projection'))
  })

  it('[M6] takes messages of people and results, several at once', () => {
    const session = openWith(log(said([image('a')]), returned('c', [textBlock('x'), image('b')])))
    offload(session, on(1, 0), on(0, 0))
    expect(contents(session)).toEqual([
      [marked('a')],
      [{ type: 'tool-result', toolCallId: 'c', content: [textBlock('x'), marked('b')] }],
    ])
    expect(session.surface.contentGeneration).toBe(1)
  })

  it.each<[string, unknown]>([
    ['no targets', []],
    ['targets that are no list', {}],
    ['a target that is nothing', [null]],
    ['a target that is a text', ['0']],
    ['a target that is a list', [[0, [0]]]],
    ['another member', [{ ...on(0, 0), more: 1 }]],
    ['another member instead', [{ seq: 0, indexes: [0] }]],
    ['no indexes', [on(0)]],
    ['indexes that are no list', [{ seq: 0, imageIndexes: 0 }]],
    ['an index twice', [on(0, 0, 0)]],
    ['falling indexes', [on(0, 1, 0)]],
    ['a negative index', [on(0, -1)]],
    ['an index that is no integer', [on(0, 0.5)]],
    ['an index that is a text', [{ seq: 0, imageIndexes: ['0'] }]],
    ['an image that is not there', [on(0, 2)]],
    ['an image that is offloaded', [on(0, 1)]],
    ['one good and one bad index', [on(0, 0, 2)]],
    ['one good and one bad target', [on(0, 0), on(3, 0)]],
    ['a message twice', [on(0, 0), on(0, 0)]],
    ['a seq that is a text', [{ seq: '0', imageIndexes: [0] }]],
    ['an answer', [on(1, 0)]],
    ['a prompt', [on(2, 0)]],
    ['a replaced message', [on(4, 0)]],
    ['an event off the surface', [on(6, 0)]],
    ['itself', [on(7, 0)]],
    ['the future', [on(99, 0)]],
  ])('[M6, M4, L17] refuses %s', (_name, targets) => {
    const answer = { turn: 1, step: 1, message: assistant([image('x')]), stream: [] }
    const session = openWith(
      log(
        said([image('a'), image('b', { offloaded: true })]),
        { type: 'assistant/message', data: answer, surfaceOp: 'append' },
        prompted([image('p')]),
        said('none'),
        said([image('old')]),
        over(said([image('new')]), 4, 4, [4]),
      ),
    )
    const before = observed(session)
    expect(() => append(session, { type: 'image/offload', data: { targets } })).toThrow(refusal('projection'))
    expect(observed(session)).toEqual(before)
    const events = [
      ...storedEvents(session),
      { ...log(said('x'))[0], type: 'image/offload', seq: 7, data: { targets } },
    ]
    const stored = events.map(event => (event.type === 'image/offload' ? without(event) : event))
    expect(() => openWith(stored as never)).toThrow(refusal('projection'))
  })

  const without = ({ surfaceOp: _, ...event }: Record<string, unknown>): unknown => event

  it.each<[string, unknown]>([
    ['null', null],
    ['a number', 5],
    ['a list', [on(0, 0)]],
    ['a text', 'targets'],
  ])('[M6] refuses a payload that is %s', (_name, data) => {
    const session = openWith(log(said([image('a')])))
    expect(() => append(session, { type: 'image/offload', data })).toThrow(refusal('projection'))
  })

  it('[M6, L16] refuses what nests too deep, the same on every engine', () => {
    let deep: ContentBlock = image('bottom')
    const session = (depth: number): Session => {
      deep = image('bottom')
      for (let count = 0; count < depth; count += 1) deep = nested(deep)
      return openWith(log(said([deep], 'deep')), { readOnly: false })
    }
    offload(session(100), on(0, 0))
    for (const depth of [101, 3000, 100_000]) {
      expect(() => offload(session(depth), on(0, 0))).toThrow(
        expect.objectContaining({ code: 'projection', message: expect.stringContaining('deeper than 100') as string }),
      )
    }
  })

  it('[M6, S7] a rewriter starts from the message as it is shown: marks survive', () => {
    const session = openWith(log(said([image('a'), textBlock('x')])))
    offload(session, on(0, 0))
    const shown = session.deriveMessages()[0] as Message
    append(session, over(said(shown.content.slice(0, 1), 'again'), 0, 0, [0]))
    expect(session.deriveMessages()).toEqual([user([marked('a')], 'again')])
  })
})
