import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  answered,
  append,
  counter,
  header,
  log,
  logFrom,
  over,
  prompted,
  returned,
  said,
  storedEvents,
  system,
  textBlock,
  throughJson,
  toolResult,
  turnStart,
  user,
} from './builders.ts'
import type { SessionErrorCode } from './errors.ts'
import type { EventOf, Message, SessionEvent } from './events.ts'
import { SessionSeq } from './ids.ts'
import { imageOffloading } from './interpreters/image-offload.ts'
import type { MessageProjection, ProjectionContext } from './message-projection.ts'
import {
  extensions,
  image,
  knowing,
  observed,
  openWith,
  projectedHistory,
  redact,
  redacting,
} from './projected-history.ts'
import { Session } from './session.ts'
import { foldSurface, newSurface, planSurfaceChange } from './surface.ts'

const refusal = (code: SessionErrorCode, facts: object = {}): unknown =>
  expect.objectContaining({ name: 'SessionError', code, ...facts })
const choices = fc.array(fc.nat({ max: 1 << 16 }), { maxLength: 120, size: 'max' })
const seq = SessionSeq
const offload = { targets: [{ seq: seq(0), imageIndexes: [0] }] }

/** A session that says `texts`, whose `test/redact` events do what `project` says. */
const withProject = (
  project: (event: SessionEvent, context: ProjectionContext) => unknown,
  ...texts: readonly string[]
): Session => {
  const projections = [{ ...redacting, project }]
  const session = openWith([], { projections })
  for (const text of texts) append(session, said(text))
  return session
}
const decide = (session: Session): SessionEvent => session.append(redact, { seq: 1, text: 'x' }) as SessionEvent
const texts = (session: Session): readonly string[] =>
  session.deriveMessages().map(({ content }) => content.map(block => (block.type === 'text' ? block.text : '')).join())

describe('a projection', () => {
  it('[M1, case 58] is refused, or changes what a message says and nothing else', () => {
    const session = withProject(
      ({ data }, context) => {
        const { text } = data as unknown as { text: string }
        if (text !== 'projected') throw new RangeError('not this text')
        return new Map([[seq(1), { ...context.messageAt(seq(1)), content: [textBlock(text)] }]])
      },
      'a',
      'b',
    )
    const before = observed(session)
    expect(() => session.append(redact, { seq: 1, text: 'rejected' })).toThrow(
      refusal('projection', {
        seq: 3,
        eventType: redact.type,
        sessionId: 'test',
        cause: new RangeError('not this text'),
      }),
    )
    expect(observed(session)).toEqual(before)
    const [first, second] = session.deriveMessages()
    session.append(redact, { seq: 1, text: 'projected' })
    expect(session.surface.nodes).toEqual([1, 2])
    expect([session.surface.replaceGeneration, session.surface.contentGeneration]).toEqual([0, 1])
    expect(session.deriveMessages()).toEqual([{ ...first, content: [textBlock('projected')] }, second])
    expect(session.messages.at(1)).toBe(second)
    expect(session.eventAt(1)).toMatchObject({ data: user('a') })
  })

  it('[M1] may change nothing: the content generation moves all the same', () => {
    const session = withProject(() => [], 'a')
    decide(session)
    expect(session.surface.contentGeneration).toBe(1)
    expect(texts(session)).toEqual(['a'])
  })

  it('[M1, S10] may empty an answer, which then holds its place and says nothing, and fill it again', () => {
    const session = openWith(log(said('a'), answered('b'), said('c')))
    session.append(redact, { seq: 1, text: '' })
    expect(texts(session)).toEqual(['a', 'c'])
    expect(session.surface.nodes).toEqual([0, 1, 2])
    expect(session.messages.atNode(1)).toBeNull()
    session.append(redact, { seq: 1, text: 'again' })
    expect(texts(session)).toEqual(['a', 'again', 'c'])
  })

  it('[M1] of a node that is replaced is gone with it', () => {
    const session = openWith(log(said('a'), said('b')))
    session.append(redact, { seq: 0, text: 'x' })
    append(session, over(said('c'), 0, 0, [0]))
    expect(texts(session)).toEqual(['c', 'b'])
    expect(session.keyframe().folds['surface']?.state).toMatchObject({ projected: [] })
    expect(() => session.append(redact, { seq: 0, text: 'y' })).toThrow(refusal('projection'))
  })

  it('[M1, S7] a rewritten result is compared with what was logged, not with what was projected', () => {
    const session = openWith(log(turnStart(1), returned('a', [image('i')]), returned('b')))
    session.append('image/offload', { targets: [{ seq: seq(1), imageIndexes: [0] }] })
    const { data } = session.eventAt(1) as { data: { message: Message } }
    const [block] = toolResult('a').content
    const rewritten = { ...data, message: { ...data.message, content: [{ ...block, content: [textBlock('short')] }] } }
    append(session, over({ type: 'tool/result', data: rewritten }, 1, 1, [1]))
    expect(session.deriveMessages()[0]?.content).toEqual([{ ...block, content: [textBlock('short')] }])
  })

  it('[M2, case 57] without its interpreter is refused by append, seed, restore, fold, follow and plan', () => {
    const events = log(said([image('a')]), { type: 'image/offload', data: offload })
    const missing = refusal('interpreter-missing', { seq: 1, eventType: 'image/offload' })
    const session = Session.create({ id: 'test', now: counter() })
    append(session, said([image('a')]))
    expect(() => session.append('image/offload', offload)).toThrow(missing)
    expect([session.length, session.surface.contentGeneration]).toEqual([1, 0])
    expect(() => Session.create({ id: 'test', now: counter(), seed: events })).toThrow(missing)
    expect(() => Session.fromRestore({ header: header(), now: counter(), events })).toThrow(missing)
    expect(() => foldSurface(events)).toThrow(missing)
    const follower = openWith(events.slice(0, 1), { readOnly: true, projections: [] })
    expect(() => follower.follow(events[1] as SessionEvent)).toThrow(missing)
    expect(() => planSurfaceChange(newSurface(), events[1] as SessionEvent, () => undefined)).toThrow(missing)
    // Not even when it says it may be ignored: the type is known.
    const ignorable = [events[0], { ...events[1], ignorable: true }] as SessionEvent[]
    expect(() => Session.fromRestore({ header: header(), now: counter(), events: ignorable })).toThrow(missing)
    expect(() => openWith(log({ type: redact.type, data: {} }), { projections: [] })).toThrow(
      refusal('interpreter-missing', { eventType: redact.type }),
    )
  })

  it('[M1, case 62] in a fold of a window is found by absolute seq', () => {
    const events = logFrom(1, said([image('a')]), {
      type: 'image/offload',
      data: { targets: [{ seq: 1, imageIndexes: [0] }] },
    })
    const folded = foldSurface(events, { projections: [imageOffloading] })
    expect(folded.nodes).toEqual([1])
    expect(folded.projected.get(seq(1))?.content).toEqual([image('a', { offloaded: true })])
    expect([folded.replaceGeneration, folded.contentGeneration]).toEqual([0, 1])
    // And in a window after what it is about.
    const start = foldSurface(events.slice(0, 1))
    const eventAt = (at: number) => events[at - 1]
    const later = foldSurface(events.slice(1), { start, eventAt, projections: [imageOffloading] })
    expect([...later.projected]).toEqual([...folded.projected])
    expect(start.projected.size).toBe(0)
  })

  it('[case 59] has one interpreter', () => {
    const session = openWith([])
    const again = refusal('registration')
    expect(() => session.registerMessageProjection(imageOffloading)).toThrow(again)
    expect(() => session.registerMessageProjection({ ...redacting, version: 9 })).toThrow(again)
    expect(() => openWith([], { projections: [imageOffloading, imageOffloading] })).toThrow(again)
  })

  it.each(['test/note', 'turn/start', 'user/message', 'session/title', 'never/defined', '__proto__', 'toString'])(
    '[L18] %s is no type that projects',
    type => {
      const { projections } = { projections: [{ ...imageOffloading, type }] }
      expect(() => openWith([]).registerMessageProjection(projections[0] as MessageProjection)).toThrow(
        refusal('registration'),
      )
    },
  )

  it.each([NaN, Infinity, 1.5, -1, -0, undefined, '1', null])(
    '[K1] an interpreter of version %s is refused',
    version => {
      const projection = { ...imageOffloading, version } as MessageProjection
      expect(() => openWith([], { projections: [projection] })).toThrow(refusal('registration'))
    },
  )
})

describe('an interpreter that is removed', () => {
  const used = (): { session: Session; remove: () => void } => {
    const session = openWith([], { projections: [] })
    const remove = session.registerMessageProjection(redacting)
    append(session, said('a'))
    decideOn(session, 1)
    return { session, remove }
  }
  const decideOn = (session: Session, at: number) => session.append(redact, { seq: at, text: 'x' })
  const withdrawn = refusal('interpreter-withdrawn', { eventType: redact.type })

  it('[M3] after it was used leaves nothing that can be read or appended', () => {
    const { session, remove } = used()
    const { messages } = session
    const [nodes, derived] = [session.surface.nodes, session.deriveMessages()]
    const before = [[...nodes], throughJson(derived)]
    remove()
    const reads: readonly (() => unknown)[] = [
      () => session.surface.nodes,
      () => session.surface.length,
      () => session.surface.at(0),
      () => session.surface.replaceGeneration,
      () => session.surface.contentGeneration,
      () => session.messages,
      () => session.deriveMessages(),
      () => session.keyframe(),
      () => session.verify(storedEvents(session)),
      () => session.requestAt(1),
      () => session.replay(storedEvents(session)),
      () => append(session, said('b')),
      () => append(session, turnStart(1)),
    ]
    for (const read of reads) expect(read).toThrow(withdrawn)
    expect(session.length).toBe(3)
    // What was handed out stays.
    expect([nodes, derived]).toEqual(before)
    expect(messages.toArray()).toEqual(derived)
    // The log is still there, and opens anew.
    const again = openWith(storedEvents(session))
    expect(again.deriveMessages()).toEqual(derived)
  })

  it('[M3] cannot be put back, nor another in its place', () => {
    const { session, remove } = used()
    remove()
    session.registerMessageProjection(redacting)
    expect(() => session.messages).toThrow(withdrawn)
    expect(() => append(session, said('b'))).toThrow(withdrawn)
    remove()
    expect(() => session.surface.nodes).toThrow(withdrawn)
  })

  it('[M3, case 61] that was only asked about a refused event does not count', () => {
    const session = openWith(log(said('a')), { projections: [] })
    const remove = session.registerMessageProjection(redacting)
    expect(() => decideOn(session, 9)).toThrow(refusal('projection'))
    remove()
    expect(texts(session)).toEqual(['a'])
    append(session, said('b'))
    expect(texts(session)).toEqual(['a', 'b'])
    expect(() => decideOn(session, 0)).toThrow(refusal('interpreter-missing'))
    expect(session.keyframe().extensions.interpreters).toEqual({})
  })

  it('[M3] a remover removes its own registration, once', () => {
    const session = openWith(log(said('a')), { projections: [] })
    const first = session.registerMessageProjection(redacting)
    first()
    session.registerMessageProjection(redacting)
    first()
    decideOn(session, 0)
    expect(texts(session)).toEqual(['x'])
  })

  it('[M3] by a listener, while its event is being committed, counts', () => {
    const session = openWith(log(said('a')), { projections: [] })
    const remove = session.registerMessageProjection(redacting)
    session.subscribe(({ surfaceChange }) => {
      if (surfaceChange.kind === 'project') remove()
    })
    decideOn(session, 0)
    expect(session.length).toBe(3)
    expect(() => session.messages).toThrow(withdrawn)
  })

  it('[M3, M4] by itself, while it is asked, has not answered', () => {
    const session = openWith(log(said('a')), { projections: [] })
    const swap = (projection: MessageProjection): MessageProjection => ({
      ...redacting,
      project: (event, context) => {
        remove()
        session.registerMessageProjection({ ...projection, version: 8 })
        return redacting.project(event, context)
      },
    })
    const remove = session.registerMessageProjection(swap(redacting))
    expect(() => decideOn(session, 0)).toThrow(refusal('projection'))
    expect(texts(session)).toEqual(['a'])
    decideOn(session, 0)
    expect(session.keyframe().extensions.interpreters).toEqual({ [redact.type]: 8 })
  })

  it('[M3] by an invariant, between the answer and the commit, counts', () => {
    const session = openWith(log(said('a')), { projections: [] })
    const remove = session.registerMessageProjection(redacting)
    session.registerInvariant({
      key: 'removing',
      problem: ({ surfaceChange }) => {
        if (surfaceChange.kind === 'project') remove()
        return null
      },
    })
    decideOn(session, 0)
    expect(() => session.messages).toThrow(withdrawn)
    expect(() => session.keyframe()).toThrow(withdrawn)
  })

  it('[M3] by the clock of an append stops that append', () => {
    let tick: () => void = () => undefined
    const now = () => {
      tick()
      return 1
    }
    const session = openWith(log(said('a')), { projections: [], now })
    const remove = session.registerMessageProjection(redacting)
    decideOn(session, 0)
    tick = remove
    expect(() => append(session, said('b'))).toThrow(withdrawn)
    expect(session.length).toBe(3)
  })

  it('[M3, O4] stops a follower too', () => {
    const { session } = used()
    const follower = openWith([], { readOnly: true, projections: [] })
    const remove = follower.registerMessageProjection(redacting)
    for (const event of storedEvents(session)) follower.follow(event)
    remove()
    expect(() => follower.follow(logFrom(3, said('b'))[0] as SessionEvent)).toThrow(withdrawn)
    expect(follower.length).toBe(3)
  })
})

describe('the answer of an interpreter', () => {
  const good = user('x', 'u:a')
  const cyclic: Record<string, unknown> = { ...good }
  cyclic['self'] = cyclic
  const bad = new TypeError('from inside')
  const throwing = {
    *[Symbol.iterator]() {
      yield [1, good]
      throw bad
    },
  }
  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['null', null],
    ['a number', 7],
    ['an object', {}],
    ['a promise', Promise.resolve([[1, good]])],
    ['a list of nothing', [null]],
    ['a list of numbers', [1]],
    ['a list of functions', [() => 1]],
    ['a pair without a message', [[1]]],
    ['a text', 'ab'],
    [
      'a node twice',
      [
        [1, good],
        [1, good],
      ],
    ],
    ['a node that is not on the surface', [[0, good]]],
    ['a node that is nowhere', [[99, good]]],
    ['a node that is a text', [['1', good]]],
    ['a node that is no number', [[NaN, good]]],
    ['a node that is a symbol', [[Symbol('x'), good]]],
    [
      'one good, one bad',
      [
        [2, user('y', 'u:b')],
        [1, null],
      ],
    ],
    ['another id', [[1, user('x', 'other')]]],
    ['another role', [[1, system('x', 'u:a')]]],
    ['another source', [[1, { ...good, source: { kind: 'user', more: 1 } }]]],
    ['no source', [[1, { ...good, source: undefined }]]],
    ['content that is a text', [[1, { ...good, content: 'x' }]]],
    ['content with a hole', [[1, { ...good, content: Array(1) }]]],
    ['a text block without text', [[1, { ...good, content: [{ type: 'text' }] }]]],
    ['what JSON cannot carry', [[1, { ...good, content: [textBlock('x'), { type: 'y', at: NaN }] }]]],
    ['undefined members', [[1, { ...good, more: undefined }]]],
    ['a class instance', [[1, Object.assign(Object.create({}) as object, good)]]],
    ['a cycle', [[1, cyclic]]],
    [
      'a throwing getter',
      [
        [
          1,
          Object.defineProperty({ ...good }, 'id', {
            enumerable: true,
            get: () => {
              throw bad
            },
          }),
        ],
      ],
    ],
    [
      'a proxy that throws',
      [
        [
          1,
          new Proxy(
            { ...good },
            {
              ownKeys: () => {
                throw bad
              },
            },
          ),
        ],
      ],
    ],
    ['a revoked proxy', [[1, revoked()]]],
    ['an iterator that throws at last', throwing],
    [
      'a generator that throws',
      (function* () {
        yield [1, good]
        throw Object.create(null)
      })(),
    ],
    [
      'pairs that throw',
      [
        {
          get [Symbol.iterator](): never {
            throw bad
          },
        },
      ],
    ],
  ])('[M4, L17] is refused when it is %s', (_name, answer) => {
    const session = withProject(() => answer, 'a', 'b')
    const before = observed(session)
    expect(() => decide(session)).toThrow(refusal('projection', { seq: 3, eventType: redact.type }))
    expect(observed(session)).toEqual(before)
    append(session, said('c'))
    expect(texts(session)).toEqual(['a', 'b', 'c'])
  })

  function revoked(): object {
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    return proxy
  }

  it.each<[string, unknown]>([
    ['null', null],
    ['nothing', undefined],
    ['an object without prototype', Object.create(null)],
    [
      'what has no words',
      {
        toString: () => {
          throw bad
        },
      },
    ],
    [
      'an error without words',
      Object.defineProperty(new Error('x'), 'message', {
        get: () => {
          throw bad
        },
      }),
    ],
    ['a symbol', Symbol('x')],
  ])('[M4] is a refusal when it throws %s', (_name, thrown) => {
    const session = withProject(() => {
      throw thrown
    }, 'a')
    expect(() => decide(session)).toThrow(refusal('projection'))
    expect(texts(session)).toEqual(['a'])
  })

  it('[M4] without end is refused at the first node that repeats', () => {
    let asked = 0
    let isClosed = false
    const session = withProject(function* () {
      try {
        for (;;) {
          asked += 1
          yield [seq(1), user('x', 'u:a')]
        }
      } finally {
        isClosed = true
      }
    }, 'a')
    expect(() => decide(session)).toThrow(refusal('projection'))
    expect([asked, isClosed]).toEqual([2, true])
  })

  it('[M4, L4] is copied and frozen: later changes to it are not seen, getters are read once', () => {
    let reads = 0
    const extra = { deep: [1] }
    const message = { ...throughJson(good), extra }
    Object.defineProperty(message, 'content', {
      enumerable: true,
      get: () => ((reads += 1) === 1 ? [textBlock('once')] : 'twice'),
    })
    const session = withProject(() => [[1, message]], 'a')
    decide(session)
    extra.deep.push(2)
    expect(reads).toBe(1)
    expect(session.deriveMessages()).toEqual([{ ...user('once', 'u:a'), extra: { deep: [1] } }])
    const [derived] = session.deriveMessages() as (Message & { extra: { deep: number[] } })[]
    expect([derived, derived?.content, derived?.extra.deep].map(Object.isFrozen)).toEqual([true, true, true])
  })

  it('[M4] may be as deep as it likes, and of the order of keys it likes', () => {
    let deep: unknown = 'end'
    for (let depth = 0; depth < 100_000; depth += 1) deep = { in: deep }
    const { id, role, content, source } = user('x', 'u:a')
    const session = withProject(() => [[1, { source, content: [...content, { type: 'deep', deep }], role, id }]], 'a')
    decide(session)
    expect(session.deriveMessages()[0]?.content).toHaveLength(2)
  })

  it('[M4, L1] a node is the seq itself, also when the answer says −0', () => {
    const projections = [{ ...redacting, project: () => [[-0, user('x', 'u:a')]] }] as unknown as MessageProjection[]
    const session = openWith(log(said('a')), { projections })
    const changes: unknown[] = []
    session.subscribe(({ surfaceChange }) => changes.push(surfaceChange))
    decide(session)
    expect(changes).toEqual([{ kind: 'project', seq: 2, projected: [{ at: 0, seq: 0, message: user('x', 'u:a') }] }])
    const [change] = changes as [{ projected: [{ seq: number }] }]
    expect(Object.is(change.projected[0].seq, 0)).toBe(true)
  })
})

describe('what an interpreter sees', () => {
  it('[M5] is the surface before its event: only its nodes, as earlier projections left them', () => {
    const seen: unknown[] = []
    const project = (event: SessionEvent, context: ProjectionContext) => {
      seen.push(context.nodes)
      const all = [0, 1, 2, 3, 4, event.seq, event.seq + 1, -1, NaN].map(seq)
      seen.push(all.map(at => context.eventAt(at)?.seq))
      seen.push(all.map(at => context.messageAt(at)?.id))
      return redacting.project(event, context)
    }
    const projections = [{ ...redacting, project }] as readonly MessageProjection[]
    const session = openWith(log(prompted(''), turnStart(1), said('a'), over(said('b'), 2, 2, [2])), { projections })
    session.append(redact, { seq: 3, text: 'once' })
    const none = undefined
    expect(seen).toEqual([
      [0, 3],
      [0, none, none, 3, none, none, none, none, none],
      ['s:', none, none, 'u:b', none, none, none, none, none],
    ])
    expect(Object.isFrozen(seen[0])).toBe(true)
    const contents: unknown[] = []
    const chained = openWith(storedEvents(session).slice(0, 5), {
      projections: [
        {
          ...redacting,
          project(event: SessionEvent, context: ProjectionContext) {
            contents.push(context.messageAt(seq(3))?.content)
            return redacting.project(event, context)
          },
        },
      ],
    })
    chained.append(redact, { seq: 3, text: 'once' })
    chained.append(redact, { seq: 3, text: 'twice' })
    expect(contents).toEqual([[textBlock('b')], [textBlock('once')]])
    expect(chained.eventAt(3)).toMatchObject({ data: user('b') })
  })

  it('[M5, L10] it cannot append, and what it tried leaves no trace', () => {
    const errors: unknown[] = []
    const session: Session = withProject((event: SessionEvent, context: ProjectionContext) => {
      try {
        append(session, said('inner'))
      } catch (error) {
        errors.push(error)
      }
      return redacting.project(event, context)
    }, 'a')
    decide(session)
    expect(errors).toEqual([refusal('reentrant')])
    expect(texts(session)).toEqual(['x'])
    const loud: Session = withProject(() => append(loud, said('inner')), 'a')
    expect(() => decide(loud)).toThrow(refusal('projection'))
    expect(loud.length).toBe(2)
  })

  it('[M5] it cannot change what it sees', () => {
    type Harm = (context: ProjectionContext, event: SessionEvent) => unknown
    const harms: readonly Harm[] = [
      ({ nodes }) => (nodes as SessionSeq[]).push(seq(9)),
      context => Object.assign(context.messageAt(seq(1)) as Message, { content: [] }),
      context => ((context.eventAt(seq(1)) as EventOf<'user/message'>).data.content as unknown[]).pop(),
      (_context, event) => Object.assign(event.data as object, { text: 'other' }),
      context => Object.assign(context, { nodes: [9] }),
    ]
    for (const harm of harms) {
      const session = withProject((event, context) => {
        harm(context, event)
        return []
      }, 'a')
      expect(() => decide(session)).toThrow(refusal('projection'))
      expect(session.surface.nodes).toEqual([1])
      expect(texts(session)).toEqual(['a'])
    }
  })

  it('[M5] two sessions may share one interpreter; it may append to the other', () => {
    const other = openWith([])
    const projection: MessageProjection = {
      ...redacting,
      project(event, context) {
        append(other, said('told'))
        return redacting.project(event, context)
      },
    }
    const session = openWith(log(said('a')), { projections: [projection] })
    const third = openWith(log(said('b')), { projections: [projection] })
    session.append(redact, { seq: 0, text: 'x' })
    third.append(redact, { seq: 0, text: 'y' })
    expect([texts(session), texts(third), texts(other)]).toEqual([['x'], ['y'], ['told', 'told']])
  })
})

describe('laws', () => {
  it('[M1, L15, L16] appended, restored, followed and folded, projections come to the same', () => {
    fc.assert(
      fc.property(choices, numbers => {
        const follower = projectedHistory(numbers)
        const events = storedEvents(follower)
        const restored = openWith(throughJson(events), { readOnly: true })
        expect(observed(restored)).toEqual({ ...(observed(follower) as object), firstLiveSeq: events.length })
        const { nodes, replaceGeneration, contentGeneration } = foldSurface(events, extensions)
        expect(nodes).toEqual(follower.surface.nodes)
        expect([replaceGeneration, contentGeneration]).toEqual([
          follower.surface.replaceGeneration,
          follower.surface.contentGeneration,
        ])
        // Live, without what only a stored log may hold.
        const known = storedEvents(projectedHistory(numbers, false))
        const session = Session.create({ ...knowing, now: counter(999), id: 'test', header: { createdAt: 1 } })
        for (const { seq: _seq, time: _time, ...draft } of known) append(session, draft)
        const prefix = openWith(known, { readOnly: true })
        expect(observed(session)).toEqual({ ...(observed(prefix) as object), firstLiveSeq: 0 })
      }),
      { numRuns: 100 },
    )
  })

  it('[M1] every node derives to its projected message, every other to its own', () => {
    let count = 0
    fc.assert(
      fc.property(choices, numbers => {
        const session = projectedHistory(numbers)
        const { projected } = foldSurface(storedEvents(session), extensions)
        count += projected.size
        session.surface.nodes.forEach((node, position) => {
          const { data } = session.eventAt(node) as unknown as { data: Message & { message?: Message } }
          const own = data.message ?? data
          const message = projected.get(node) ?? own
          expect([message.id, message.role, message.source]).toEqual([own.id, own.role, own.source])
          const isEmpty = message.content.length === 0 && message.role !== 'user'
          expect(session.messages.atNode(position)).toEqual(isEmpty ? null : message)
        })
      }),
      { numRuns: 80 },
    )
    expect(count).toBeGreaterThan(50)
  })
})
