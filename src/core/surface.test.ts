import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  answered,
  citing,
  type Draft,
  log,
  logFrom,
  over,
  prompted,
  returned,
  said,
  surfaceLog,
  toolResult,
  turnEnd,
  turnStart,
} from './builders.ts'
import { defineEvent } from './event-definition.ts'
import type { SessionErrorCode } from './errors.ts'
import type { SessionEvent } from './events.ts'
import { SessionSeq } from './ids.ts'
import {
  applySurfaceChange,
  checkSurfaceFields,
  foldSurface,
  isAppendSurfaceEvent,
  isReplaceSurfaceEvent,
  isSurfaceEvent,
  planSurfaceChange,
  surfaceFold,
  type SurfaceState,
} from './surface.ts'

const refusal = (code: SessionErrorCode, seq?: number): unknown =>
  expect.objectContaining({ name: 'SessionError', code, ...(seq === undefined ? {} : { seq }) })
const nodesOf = (...drafts: readonly Draft[]): readonly number[] => foldSurface(log(...drafts)).nodes
/** Folds all but the last event, then checks that the last is refused and changes nothing. */
const expectRefusal = (code: SessionErrorCode, drafts: readonly Draft[], message?: RegExp): void => {
  const events = log(...drafts)
  const last = events.pop() as SessionEvent
  const surface = foldSurface(events)
  const before = structuredClone(surface)
  const plan = (): unknown => {
    checkSurfaceFields(last)
    return planSurfaceChange(surface, last, seq => events[seq])
  }
  expect(plan).toThrow(refusal(code, last.seq))
  if (message !== undefined) expect(plan).toThrow(message)
  expect(surface).toEqual(before)
}
const messageOf = (act: () => unknown): string => {
  try {
    act()
  } catch (error) {
    return (error as Error).message
  }
  return ''
}
const choices = fc.array(fc.nat({ max: 1 << 16 }), { maxLength: 120 })

describe('which events stand on the surface', () => {
  it('[S1, case 1] those of the surface types, in log order', () => {
    expect(nodesOf(turnStart(1), said('hi'), answered('hello'), turnEnd(1))).toEqual([1, 2])
    expect(nodesOf(prompted('p'), returned('c'), answered([]), prompted(''))).toEqual([0, 1, 2, 3])
  })

  it.each<[string, Draft]>([
    ['user/message', said('x')],
    ['assistant/message', answered('x')],
    ['system/message', prompted('x')],
    ['tool/result', returned('c')],
  ])('[S1] refuses %s without a marker', (_type, { type, data }) => {
    expectRefusal('surface-op', [said('hi'), { type, data }], /must carry surfaceOp/)
  })

  it.each<[string, unknown]>([
    ['append', 'append'],
    ['a replacement', { op: 'replace', startSeq: 0, endSeq: 0 }],
    ['null', null],
    ['nonsense', 7],
  ])('[S1, case 17] refuses turn/start with the marker %s', (_name, surfaceOp) => {
    expectRefusal('surface-op', [said('hi'), { ...turnStart(1), surfaceOp }], /not eligible/)
  })

  it.each(['turn/start', 'assistant/attempt', 'request/context', 'session/title', 'tool/ptc-dispatch', 'tool/call'])(
    '[S1, case 18] refuses surface fields on the known type %s, ignorable or not',
    type => {
      for (const more of [{}, { ignorable: true }]) {
        const draft = { type, data: {}, ...more }
        expectRefusal('surface-op', [said('hi'), { ...draft, surfaceOp: 'append' }], /not eligible/)
        expectRefusal('surface-op', [said('hi'), citing(draft, [0])], /not eligible/)
      }
    },
  )

  it('[S1] names the field a log-only event may not carry', () => {
    expectRefusal('surface-op', [said('hi'), { ...turnStart(1), surfaceOp: 'append' }], /\bsurfaceOp\b/)
    expectRefusal('surface-op', [said('hi'), citing(turnStart(1), [0])], /\bsourceEventSeqs\b/)
  })

  it('[S1, case 19] leaves an unknown ignorable event alone, whatever its surface fields hold', () => {
    const opaque = { type: 'other/thing', data: 1, ignorable: true, surfaceOp: { any: 1 }, sourceEventSeqs: 'x' }
    expect(nodesOf(opaque)).toEqual([])
    expect(nodesOf(said('a'), { ...opaque, surfaceOp: 'append' }, said('b'))).toEqual([0, 2])
    expect(nodesOf(said('a'), { ...opaque, surfaceOp: { op: 'replace', startSeq: 0, endSeq: 0 } })).toEqual([0])
  })

  it('[S1] refuses surface fields on an unknown event that may not be ignored', () => {
    expectRefusal('surface-op', [{ type: 'other/thing', data: 1, surfaceOp: 'append' }], /not eligible/)
  })
})

describe('the shape of a replacement', () => {
  const replace = (surfaceOp: unknown): Draft => ({ ...said('x'), surfaceOp, sourceEventSeqs: [0] })

  it.each<[string, unknown]>([
    ['null', null],
    ['an array', ['replace', 0, 0]],
    ['another string', 'replace'],
    ['an empty string', ''],
    ['a number', 1],
    ['a boolean', true],
  ])('[S2] refuses %s as surfaceOp', (_name, surfaceOp) => {
    expectRefusal('surface-op', [said('a'), replace(surfaceOp)], /invalid surfaceOp/)
  })

  it.each<[string, unknown]>([
    ['the old names', { op: 'replace', start: 0, end: 0 }],
    ['mixed names', { op: 'replace', startSeq: 0, end: 0 }],
    ['both spellings', { op: 'replace', startSeq: 0, endSeq: 0, start: 0, end: 0 }],
    ['an extra key', { op: 'replace', startSeq: 0, endSeq: 0, note: '' }],
    ['a missing start', { op: 'replace', endSeq: 0 }],
    ['a missing end', { op: 'replace', startSeq: 0 }],
    ['an undefined start', { op: 'replace', startSeq: undefined, endSeq: 0 }],
    ['another op', { op: 'append', startSeq: 0, endSeq: 0 }],
    ['no op', { startSeq: 0, endSeq: 0, x: 0 }],
    ['−1', { op: 'replace', startSeq: -1, endSeq: 0 }],
    ['−0 as start', { op: 'replace', startSeq: -0, endSeq: 0 }],
    ['−0 as end', { op: 'replace', startSeq: 0, endSeq: -0 }],
    ['a fraction', { op: 'replace', startSeq: 0, endSeq: 0.5 }],
    ['text', { op: 'replace', startSeq: '0', endSeq: 0 }],
    ['null', { op: 'replace', startSeq: 0, endSeq: null }],
    ['NaN', { op: 'replace', startSeq: NaN, endSeq: 0 }],
    ['an unsafe integer', { op: 'replace', startSeq: 0, endSeq: 2 ** 53 }],
  ])('[S2, case 15] refuses %s', (_name, surfaceOp) => {
    expectRefusal('surface-op', [said('a'), replace(surfaceOp)], /invalid replace/)
  })

  it('[S2] names the keys it found instead', () => {
    const old = replace({ op: 'replace', start: 0, end: 0 })
    for (const key of [/\bop\b/, /\bstart\b/, /\bend\b/]) expectRefusal('surface-op', [said('a'), old], key)
  })

  it.each<[string, number, number]>([
    ['start is itself', 1, 0],
    ['end is itself', 0, 1],
    ['start is later', 7, 0],
    ['end is later', 0, 7],
  ])('[S4] refuses a range whose %s', (_name, start, end) => {
    expectRefusal('surface-range', [said('a'), over(said('x'), start, end, [0])], /not earlier/)
  })
})

describe('the sources of an event', () => {
  it.each<[string, unknown, RegExp]>([
    ['not an array', { 0: 0 }, /not an array/],
    ['null', null, /not an array/],
    ['text', '0', /not an array/],
    ['an empty list', [], /empty/],
    ['a seq twice', [0, 0], /cites 0 twice/],
    ['a hole', new Array(1), /sourceEventSeqs\[0\] .*not a seq/],
    ['a seq as text', ['0'], /not a seq/],
    ['a fraction', [0.5], /not a seq/],
    ['a negative seq', [0, -1], /sourceEventSeqs\[1\] .*not a seq/],
    ['−0', [-0], /not a seq/],
    ['itself', [1], /cites 1, .*not earlier/],
    ['a later event', [5], /cites 5, .*not earlier/],
  ])('[S3, case 11] refuses %s', (_name, sources, message) => {
    expectRefusal('surface-sources', [said('a'), citing(said('b'), sources)], message)
    expectRefusal('surface-sources', [said('a'), citing(returned('c'), sources)], message)
    expectRefusal('surface-sources', [said('a'), citing(prompted('b'), sources)], message)
  })

  it('[S3] takes any earlier events in any order, log-only ones too', () => {
    expect(nodesOf(turnStart(1), said('a'), citing(said('b'), [1, 0]))).toEqual([1, 2])
  })

  it.each([[[]], [[0]]])('[S3, case 13] refuses the sources %j on an assistant/message', sources => {
    expectRefusal('surface-sources', [said('a'), citing(answered('b'), sources)], /embeds its stream/)
  })

  it('[S2, S3] names the op before the sources when both are wrong', () => {
    const wrong = { ...said('b'), surfaceOp: { op: 'replace', startSeq: 9, endSeq: 9 }, sourceEventSeqs: [] }
    expectRefusal('surface-range', [said('a'), wrong])
    expectRefusal('surface-op', [said('a'), { ...wrong, surfaceOp: null }])
  })
})

describe('replacing a range', () => {
  it('[S5, case 2] puts the replacement where the range was', () => {
    const chat = [turnStart(1), said('hi'), answered('hello'), turnEnd(1)]
    expect(nodesOf(...chat, over(said('summary'), 1, 2, [1, 2]))).toEqual([4])
  })

  it('[S5, case 3] keeps the order of positions, not of numbers', () => {
    expect(nodesOf(said('a'), said('b'), said('c'), over(said('x'), 0, 1, [0, 1]))).toEqual([3, 2])
  })

  it('[S5, case 5] replaces one node in the middle', () => {
    expect(nodesOf(said('a'), said('b'), said('c'), over(said('x'), 1, 1, [1]))).toEqual([0, 3, 2])
  })

  it('[S5, case 6] takes a range whose start is numerically after its end, and reports what it shadowed', () => {
    const events = log(said('a'), said('b'), over(said('x'), 0, 0, [0]), over(said('y'), 2, 1, [2, 1]))
    const { nodes, replacements } = foldSurface(events)
    expect(nodes).toEqual([3])
    expect(replacements).toEqual([
      { seq: 2, startSeq: 0, endSeq: 0, shadowedSeqs: [0] },
      { seq: 3, startSeq: 2, endSeq: 1, shadowedSeqs: [2, 1] },
    ])
  })

  it('[S5, case 7] refuses a start that is not on the surface', () => {
    expectRefusal(
      'surface-range',
      [said('a'), turnStart(1), over(said('x'), 1, 0, [0, 1])],
      /from 1, .*not on the surface/,
    )
  })

  it('[S5] refuses an end that is not on the surface', () => {
    expectRefusal(
      'surface-range',
      [said('a'), turnStart(1), over(said('x'), 0, 1, [0, 1])],
      /to 1, .*not on the surface/,
    )
  })

  it('[S5] names the start when neither end is on the surface', () => {
    expectRefusal('surface-range', [turnStart(1), turnStart(2), over(said('x'), 0, 1, [0, 1])], /from 0/)
  })

  it('[S5] refuses an end that was replaced before', () => {
    const twice = [said('a'), said('b'), over(said('x'), 0, 1, [0, 1]), over(said('y'), 2, 1, [2, 1])]
    expectRefusal('surface-range', twice, /to 1, .*not on the surface/)
  })

  it('[S5, case 9] refuses a start after the end', () => {
    expectRefusal('surface-range', [said('a'), said('b'), over(said('x'), 1, 0, [0, 1])], /start comes after its end/)
  })

  it('[S5] judges the order of the ends by position', () => {
    const moved = [said('a'), said('b'), over(said('x'), 0, 0, [0]), over(said('y'), 1, 2, [1, 2])]
    expectRefusal('surface-range', moved, /start comes after its end/)
  })

  it('[S6, case 10] refuses a range that is not cited whole, and names what is missing', () => {
    expectRefusal('surface-coverage', [said('a'), said('b'), over(said('x'), 0, 1, [0])], /shadows 1 without/)
    const three = [said('a'), said('b'), said('c'), over(said('x'), 0, 2, [1])]
    expectRefusal('surface-coverage', three, /shadows 0, 2 without/)
  })

  it('[S6] counts what is missing, and names no more than fits in a line', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 60 }), missing => {
        const texts = Array.from({ length: missing + 1 }, (_, index) => said(String(index)))
        const events = log(...texts, over(said('x'), 0, missing, [missing]))
        const message = messageOf(() => foldSurface(events))
        const [, named = '', more = '0'] = /shadows ([\d, ]+?)(?: and (\d+) more)? without/.exec(message) ?? []
        const seqs = named.split(', ').map(Number)
        expect(seqs).toEqual(seqs.map((_, index) => index))
        expect(seqs.length + Number(more)).toBe(missing)
        expect(message).not.toMatch(/and 0 more/)
        expect(message.length).toBeLessThan(140)
      }),
    )
  })

  it('[S6] refuses a range without sources', () => {
    const { sourceEventSeqs: _, ...bare } = over(said('x'), 0, 0, [])
    expectRefusal('surface-coverage', [said('a'), bare])
  })

  it('[S6] takes more sources than are shadowed', () => {
    expect(nodesOf(turnStart(1), said('a'), said('b'), over(said('x'), 2, 2, [0, 1, 2]))).toEqual([1, 3])
  })

  it('[S6, case 14] refuses an assistant/message as a replacement', () => {
    expectRefusal(
      'surface-coverage',
      [said('a'), { ...over(answered('x'), 0, 0, []), sourceEventSeqs: undefined }],
      /0/,
    )
  })

  it('[S5, S6] names the range before the coverage, and the coverage before the head', () => {
    expectRefusal('surface-range', [said('a'), said('b'), over(said('x'), 1, 0, [0])])
    expectRefusal('surface-coverage', [prompted('p'), said('b'), over(said('x'), 0, 1, [0])])
    expectRefusal('surface-coverage', [said('a'), said('b'), over(returned('c'), 0, 1, [0])])
    expectRefusal('tool-result-rewrite', [prompted('p'), over(returned('c'), 0, 0, [0])])
  })

  it('[S5] replaces replacements, and the log keeps them all', () => {
    const events = log(
      said('a'),
      said('b'),
      over(said('x'), 0, 1, [0, 1]),
      said('c'),
      over(said('y'), 2, 3, [2, 3]),
      over(said('z'), 4, 4, [4]),
    )
    expect(foldSurface(events).nodes).toEqual([5])
    expect(foldSurface(events).replaceGeneration).toBe(3)
  })
})

describe('rewriting a tool result', () => {
  const meta = { tags: ['a', { n: 1 }] }
  const original = returned('c', 'long', { meta })
  const rewrite = (change: object = {}, content = 'short'): Draft => {
    const { data } = returned('c', content, { meta }) as { data: object }
    return over({ type: 'tool/result', data: { ...data, ...change } }, 0, 0, [0])
  }
  const message = toolResult('c', 'short')

  it('[S7] may change the content of the result', () => {
    expect(nodesOf(original, rewrite())).toEqual([1])
    const empty = { message: { ...message, content: [{ ...message.content[0], content: [] }] } }
    expect(nodesOf(original, rewrite(empty))).toEqual([1])
  })

  it('[S7, case 21] refuses a tool result over a user message', () => {
    expectRefusal('tool-result-rewrite', [said('a'), rewrite()], /exactly one tool\/result, not 0/)
  })

  it('[S7] refuses a tool result over two results', () => {
    expectRefusal('tool-result-rewrite', [original, returned('d'), over(returned('c'), 0, 1, [0, 1])], /not 0, 1/)
  })

  it.each<[string, object]>([
    ['the message id', { message: { ...message, id: 'other' } }],
    ['the source', { message: { ...message, source: { kind: 'tool', callId: 'd' } } }],
    ['an extra member of the message', { message: { ...message, extra: 1 } }],
    ['the call id of the block', { message: { ...message, content: [{ ...message.content[0], toolCallId: 'd' }] } }],
    ['isError', { message: { ...message, content: [{ ...message.content[0], isError: true }] } }],
    ['isError from absent to false', { message: { ...message, content: [{ ...message.content[0], isError: false }] } }],
    ['an extra member of the block', { message: { ...message, content: [{ ...message.content[0], x: 1 }] } }],
    ['the turn', { turn: 2 }],
    ['the step', { step: 2 }],
    ['the error', { error: { name: 'E', code: 'E' } }],
    ['an extra member', { extra: 1 }],
  ])('[S7, case 22] refuses to change %s', (_name, change) => {
    expectRefusal('tool-result-rewrite', [returned('c', 'long', { meta }), rewrite(change)], /only the content of 0/)
  })

  it('[S7, case 23] compares meta by value, whatever the order of its keys', () => {
    const rebuilt = JSON.parse('{"tags":["a",{"n":1}]}') as object
    expect(nodesOf(original, rewrite({ meta: rebuilt }))).toEqual([1])
    const two = returned('c', 'long', { meta: { a: 1, b: 2 } })
    expect(nodesOf(two, rewrite({ meta: { b: 2, a: 1 } }))).toEqual([1])
  })

  it.each([
    { tags: ['b', { n: 1 }] },
    { tags: 'a' },
    { tag: ['a', { n: 1 }] },
    { ...meta, extra: null },
    { tags: ['a', { n: 2 }] },
    { tags: [{ n: 1 }, 'a'] },
    null,
  ])('[S7, case 23] refuses to change meta to %j', changed => {
    expectRefusal('tool-result-rewrite', [original, rewrite({ meta: changed })])
  })

  it('[S7] lets another event replace a tool result without its rules', () => {
    expect(nodesOf(original, over(said('x'), 0, 0, [0]))).toEqual([1])
  })

  it('[S7] rewrites a rewrite', () => {
    const again = {
      ...rewrite({}, 'shorter'),
      surfaceOp: { op: 'replace', startSeq: 1, endSeq: 1 },
      sourceEventSeqs: [1],
    }
    expect(nodesOf(original, rewrite(), again)).toEqual([2])
  })
})

describe('the system head', () => {
  it('[S8, case 26] is replaced by a system message over exactly it', () => {
    expect(nodesOf(prompted('p'), said('a'), over(prompted('q'), 0, 0, [0]))).toEqual([2, 1])
  })

  it.each<[string, Draft]>([
    ['a user message over it and its neighbour', over(said('x'), 0, 1, [0, 1])],
    ['a system message over it and its neighbour', over(prompted('q'), 0, 1, [0, 1])],
    ['a user message over exactly it', over(said('x'), 0, 0, [0])],
  ])('[S8, case 27] refuses %s', (_name, draft) => {
    expectRefusal('system-head', [prompted('p'), said('a'), draft], /system head 0/)
  })

  it('[S8] stays protected after it was replaced', () => {
    const again = [prompted('p'), said('a'), over(prompted('q'), 0, 0, [0]), over(said('x'), 2, 1, [2, 1])]
    expectRefusal('system-head', again, /system head 2/)
  })

  it('[S8, case 29] does not protect a first node that is no system message', () => {
    expect(nodesOf(said('a'), said('b'), over(said('x'), 0, 1, [0, 1]))).toEqual([2])
  })

  it('[S8] does not protect system messages elsewhere, nor what comes after the head', () => {
    expect(nodesOf(said('a'), prompted('p'), over(said('x'), 1, 1, [1]))).toEqual([0, 2])
    expect(nodesOf(said('a'), prompted('p'), over(said('x'), 0, 1, [0, 1]))).toEqual([2])
    expect(nodesOf(prompted('p'), said('a'), said('b'), over(said('x'), 1, 2, [1, 2]))).toEqual([0, 3])
  })

  it('[S8, case 30] keeps its place when it is emptied', () => {
    expect(nodesOf(prompted('text'), said('a'), over(prompted(''), 0, 0, [0]))).toEqual([2, 1])
    expectRefusal('system-head', [prompted(''), said('a'), over(said('x'), 0, 1, [0, 1])])
  })
})

describe('generations', () => {
  it('[S9] count replacements; appends and log-only events change neither', () => {
    const chat = [turnStart(1), said('a'), answered('b'), prompted('p')]
    expect(foldSurface(log(...chat))).toMatchObject({ replaceGeneration: 0, contentGeneration: 0 })
    const one = foldSurface(log(...chat, over(said('x'), 1, 2, [1, 2])))
    expect(one).toMatchObject({ replaceGeneration: 1, contentGeneration: 1 })
    const two = foldSurface(log(...chat, over(said('x'), 1, 2, [1, 2]), said('c'), over(said('y'), 5, 5, [5])))
    expect(two).toMatchObject({ replaceGeneration: 2, contentGeneration: 2 })
  })
})

describe('helpers', () => {
  const [append, replace, logOnly, bare, unknown] = log(
    said('a'),
    over(said('x'), 0, 0, [0]),
    turnStart(1),
    { type: 'user/message', data: {} },
    { type: 'other/thing', data: 1, ignorable: true, surfaceOp: 'append' },
  ) as [SessionEvent, SessionEvent, SessionEvent, SessionEvent, SessionEvent]

  it('[S1, case 31] tell what was said from what was rewritten', () => {
    expect([append, replace].map(isAppendSurfaceEvent)).toEqual([true, false])
    expect([append, replace].map(isReplaceSurfaceEvent)).toEqual([false, true])
    expect([append, replace].map(isSurfaceEvent)).toEqual([true, true])
  })

  it('[S1, case 31] are false for events without a marker and for other types', () => {
    for (const event of [logOnly, bare, unknown]) {
      expect([isSurfaceEvent(event), isAppendSurfaceEvent(event), isReplaceSurfaceEvent(event)]).toEqual([
        false,
        false,
        false,
      ])
    }
  })
})

describe('folding a part of a log', () => {
  it('[S5, case 25] refuses a replacement that starts before the part', () => {
    const part = logFrom(10, said('a'), over(said('x'), 9, 10, [9, 10]))
    expect(() => foldSurface(part)).toThrow(refusal('surface-range', 11))
    expect(() => foldSurface(part)).toThrow(/from 9/)
  })

  it('[S5] works with any first seq', () => {
    expect(foldSurface(logFrom(10, said('a'), turnStart(1), over(said('x'), 10, 10, [10]))).nodes).toEqual([12])
  })

  it.each([1, -1, 5])('[L1] refuses a gap of %i', gap => {
    const events = log(said('a'), said('b'), said('c'))
    const broken = events.map((event, index) => (index === 2 ? { ...event, seq: SessionSeq(2 + gap) } : event))
    expect(() => foldSurface(broken)).toThrow(refusal('seq', 2 + gap))
  })

  it('[L1] names the seq that should stand there', () => {
    const part = logFrom(10, said('a'), said('b'), said('c'))
    const broken = [...part.slice(0, 2), { ...(part[2] as SessionEvent), seq: SessionSeq(99) }]
    expect(() => foldSurface(broken)).toThrow(/\b99\b.*\b12\b/)
  })

  it('[S8] finds the head it started with through the lookup it was given', () => {
    const events = log(prompted('p'), said('a'), over(said('x'), 0, 1, [0, 1]))
    const start = foldSurface(events.slice(0, 2))
    expect(() => foldSurface(events.slice(2), { start, eventAt: seq => events[seq] })).toThrow(
      refusal('system-head', 2),
    )
  })
})

describe('folding without a session', () => {
  const redact = defineEvent('acme/redact', { projects: true })

  it('[M2] refuses a type of an extension that changes messages and has no interpreter', () => {
    const events = log(said('a'), { type: 'acme/redact', data: {} })
    expect(() => foldSurface(events, { eventTypes: [redact] })).toThrow(refusal('interpreter-missing', 1))
    const projection = { type: redact.type, version: 1, project: () => [] }
    expect(foldSurface(events, { eventTypes: [redact], projections: [projection] }).contentGeneration).toBe(1)
    expect(() => foldSurface(events, { projections: [projection] })).toThrow(refusal('registration'))
  })
})

describe('laws', () => {
  it('[S1–S9] a fold finds the surface that was written, with a generation for each replacement', () => {
    fc.assert(
      fc.property(choices, numbers => {
        const { drafts, nodes, replacements } = surfaceLog(numbers)
        const folded = foldSurface(log(...drafts))
        expect(folded.nodes).toEqual(nodes)
        expect(folded.replacements).toHaveLength(replacements)
        expect([folded.replaceGeneration, folded.contentGeneration]).toEqual([replacements, replacements])
      }),
      { numRuns: 300 },
    )
  })

  it('[L15] the fold advanced event by event is the fold from scratch, also through JSON at every point', () => {
    fc.assert(
      fc.property(choices, fc.nat(), (numbers, at) => {
        const events = log(...surfaceLog(numbers).drafts)
        let state: SurfaceState = surfaceFold.initial()
        events.forEach((event, index) => {
          const surfaceChange = planSurfaceChange(state, event, seq => events[seq])
          state = surfaceFold.evolve(state, { event, surfaceChange })
          if (index !== at % events.length) return
          const context = { nodes: state.nodes, projected: new Map(), eventAt: (seq: number) => events[seq] }
          state = surfaceFold.fromJSON(JSON.parse(JSON.stringify(surfaceFold.toJSON(state))) as never, context)
        })
        const { replacements: _, ...scratch } = foldSurface(events)
        expect(state).toEqual(scratch)
      }),
    )
  })

  it('[L15] folded in two parts is folded whole, and the start is left alone', () => {
    fc.assert(
      fc.property(choices, fc.nat(), (numbers, at) => {
        const events = log(...surfaceLog(numbers).drafts)
        const cut = at % (events.length + 1)
        const head = foldSurface(events.slice(0, cut))
        Object.freeze(head.nodes)
        const tail = foldSurface(events.slice(cut), { start: Object.freeze(head), eventAt: seq => events[seq] })
        const whole = foldSurface(events)
        expect({ ...tail, replacements: [...head.replacements, ...tail.replacements] }).toEqual(whole)
      }),
    )
  })

  it('[S1–S8, L17] a plan changes nothing, neither when it is made nor when it is refused', () => {
    fc.assert(
      fc.property(choices, fc.nat(), fc.nat(), fc.boolean(), (numbers, start, end, cited) => {
        const { drafts, nodes } = surfaceLog(numbers)
        const events = log(...drafts)
        const range = [start % (events.length + 2), end % (events.length + 2)] as const
        const sources = cited ? nodes : [0]
        const [event] = logFrom(events.length, over(said('x'), range[0], range[1], sources.length > 0 ? sources : [0]))
        const surface = foldSurface(events)
        const before = structuredClone(surface)
        Object.freeze(surface.nodes)
        Object.freeze(surface)
        let planned = true
        try {
          planSurfaceChange(surface, event as SessionEvent, seq => events[seq])
        } catch (error) {
          planned = false
          expect(error).toEqual(expect.objectContaining({ name: 'SessionError', seq: events.length }))
        }
        expect(surface).toEqual(before)
        // What is allowed, found by hand.
        const [from, to] = range.map(seq => nodes.indexOf(seq)) as [number, number]
        const shadowed = nodes.slice(from, to + 1)
        const headed = from === 0 && drafts[nodes[0] as number]?.type === 'system/message'
        const covered = shadowed.every(seq => sources.includes(seq))
        expect(planned).toBe(from >= 0 && to >= from && covered && !headed)
      }),
      { numRuns: 300 },
    )
  })

  it('[S5] applying a plan cuts out the range and nothing else', () => {
    const state: SurfaceState = {
      nodes: [1, 2, 3, 4].map(SessionSeq),
      projected: new Map(),
      replaceGeneration: 0,
      contentGeneration: 4,
    }
    applySurfaceChange(state, { kind: 'replace', seq: SessionSeq(9), from: 1, to: 2 })
    expect(state).toEqual({ nodes: [1, 9, 4], projected: new Map(), replaceGeneration: 1, contentGeneration: 5 })
    applySurfaceChange(state, { kind: 'append', seq: SessionSeq(10) })
    applySurfaceChange(state, { kind: 'none' })
    expect(state).toEqual({ nodes: [1, 9, 4, 10], projected: new Map(), replaceGeneration: 1, contentGeneration: 5 })
  })
})
