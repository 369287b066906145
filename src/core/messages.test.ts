import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import {
  answered,
  assistant,
  called,
  type Draft,
  idsOf,
  log,
  over,
  prompted,
  returned,
  said,
  surfaceLog,
  system,
  throughJson,
  toolResult,
  turnStart,
  user,
} from './builders.ts'
import type { EventOf, Message, SessionEvent } from './events.ts'
import { MessageSequence, messagesFold, projectMessage } from './messages.ts'
import { foldSurface, planSurfaceChange, surfaceFold } from './surface.ts'

describe('projectMessage', () => {
  const projected = (draft: Draft): Message | null => projectMessage(log(draft)[0] as SessionEvent)

  it('[S10] takes the message out of each surface event', () => {
    expect(projected(said('hi'))).toEqual(user('hi'))
    expect(projected(answered('yes'))).toEqual(assistant('yes'))
    expect(projected(prompted('p'))).toEqual(system('p'))
    expect(projected(returned('c'))).toEqual(toolResult('c'))
  })

  it('[S10] gives the very object of the log', () => {
    const [event] = log(answered('yes')) as [EventOf<'assistant/message'>]
    expect(projectMessage(event)).toBe(event.data.message)
  })

  it('[S10, case 30] gives nothing for empty system and assistant messages', () => {
    expect(projected(answered([]))).toBeNull()
    expect(projected(prompted(''))).toBeNull()
  })

  it('[S10] keeps empty user messages and empty results: only their writer knows what they mean', () => {
    expect(projected(said([]))).toEqual(user([]))
    expect(projected(returned('c', []))).toEqual(toolResult('c', []))
  })

  it('[S10] gives nothing for other events', () => {
    expect(projected(turnStart(1))).toBeNull()
    expect(projected(called('c'))).toBeNull()
    expect(projected({ type: 'other/thing', data: user('x'), ignorable: true, surfaceOp: 'append' })).toBeNull()
  })
})

/** Nodes by number; each third is null. */
const node = (n: number): Message | null => (n % 3 === 2 ? null : user(String(n)))
const messagesIn = (nodes: readonly (Message | null)[]): Message[] => nodes.filter(each => each !== null)

/** Everything a sequence can be asked, against a plain array. */
function expectSame(sequence: MessageSequence, nodes: readonly (Message | null)[], samples: readonly number[]): void {
  const messages = messagesIn(nodes)
  expect(sequence.length).toBe(messages.length)
  const array = sequence.toArray()
  expect(array.length === messages.length && array.every((each, index) => each === messages[index])).toBe(true)
  expect([...sequence].every((each, index) => each === messages[index])).toBe(true)
  expect([...sequence]).toHaveLength(messages.length)
  for (const sample of samples) {
    const index = sample % (messages.length + 2)
    expect(sequence.at(index)).toBe(messages.at(index))
    expect(sequence.at(-index)).toBe(messages.at(-index))
    const position = sample % (nodes.length + 2)
    expect(sequence.atNode(position)).toBe(nodes[position] ?? null)
    expect(idsOf(sequence.slice(index, index + 3))).toEqual(idsOf(messages.slice(index, index + 3)))
    expect(idsOf(sequence.slice(-index - 1, -1))).toEqual(idsOf(messages.slice(-index - 1, -1)))
  }
}

describe('MessageSequence', () => {
  it('[S11] is empty at first', () => {
    expectSame(MessageSequence.empty, [], [0, 1])
    expect([MessageSequence.empty.at(0), MessageSequence.empty.at(-1)]).toEqual([undefined, undefined])
    expect(MessageSequence.empty.slice()).toEqual([])
    expect(MessageSequence.empty.slice(-2, 5)).toEqual([])
  })

  it('[S11] never changes: an append and a replacement are other sequences', () => {
    const one = MessageSequence.empty.append(user('a'))
    const two = one.append(user('b'))
    const replaced = two.replace(0, 0, user('x'))
    const other = one.append(user('c'))
    expect(idsOf(MessageSequence.empty)).toEqual([])
    expect(idsOf(one)).toEqual(['u:a'])
    expect(idsOf(two)).toEqual(['u:a', 'u:b'])
    expect(idsOf(replaced)).toEqual(['u:x', 'u:b'])
    expect(idsOf(other)).toEqual(['u:a', 'u:c'])
  })

  it('[S11] is not disturbed by appends to it while it is read', () => {
    let tip = MessageSequence.from([user('a'), user('b')])
    const seen: string[] = []
    for (const message of tip) {
      seen.push(message.id)
      tip = tip.append(user(`more ${seen.length}`))
    }
    expect(seen).toEqual(['u:a', 'u:b'])
    expect(tip.length).toBe(4)
  })

  it('[S11] hands out arrays that never grow', () => {
    const sequence = MessageSequence.from([user('a')])
    const [array, slice] = [sequence.toArray(), sequence.slice()]
    sequence.append(user('b'))
    expect([array, slice].map(idsOf)).toEqual([['u:a'], ['u:a']])
    array.pop()
    expect(sequence.length).toBe(1)
    expect(idsOf(sequence.toArray())).toEqual(['u:a'])
  })

  it('[S11] does not count nodes without a message', () => {
    const nodes = [null, user('a'), null, null, user('b'), null]
    const sequence = MessageSequence.from(nodes)
    expectSame(sequence, nodes, [0, 1, 2, 3, 4, 5, 6, 7])
    expect(sequence.length).toBe(2)
    expect([sequence.atNode(0), sequence.atNode(4)?.id, sequence.atNode(-1), sequence.atNode(6)]).toEqual([
      null,
      'u:b',
      null,
      null,
    ])
  })

  it.each([127, 128, 129, 255, 256, 257, 400])(
    '[S11] answers for every index of %i nodes, and after replacing any',
    n => {
      const nodes = Array.from({ length: n }, (_, index) => node(index))
      const sequence = MessageSequence.from(nodes)
      const all = Array.from({ length: n + 2 }, (_, index) => index)
      expectSame(sequence, nodes, all)
      for (const [from, to] of [
        [0, 0],
        [0, n - 1],
        [n - 1, n - 1],
        [126, Math.min(n - 1, 130)],
        [1, n - 2],
      ] as const) {
        const changed = nodes.toSpliced(from, to - from + 1, user('x'))
        const replaced = sequence.replace(from, to, changed[from] as Message)
        expectSame(replaced, changed, all)
        const more = user('more')
        expectSame(replaced.append(more), [...changed, more], all)
        expectSame(replaced, changed, [n])
      }
      expectSame(sequence, nodes, all)
    },
  )

  it('[S11] skips chunks of nothing but null', () => {
    const nodes = Array.from({ length: 600 }, (_, index) => (index >= 100 && index < 500 ? null : user(String(index))))
    expectSame(MessageSequence.from(nodes), nodes, [0, 99, 100, 101, 128, 150, 199, 200, 300, 499, 500, 599])
  })

  it('[S11] an append to the newest sequence copies nothing', () => {
    const copies = vi.spyOn(Array.prototype, 'slice')
    let sequence = MessageSequence.empty.append(user('first'))
    copies.mockClear()
    for (let n = 0; n < 1_000; n += 1) sequence = sequence.append(node(n))
    const count = copies.mock.calls.length
    copies.mockRestore()
    expect([count, sequence.length]).toEqual([0, 668])
  })

  it('[S11] shares structure: every state of a long conversation can be kept', () => {
    // Copies would be 450 million entries for the appends and 100 million for the replacements.
    const kept: MessageSequence[] = [MessageSequence.empty]
    for (let n = 0; n < 30_000; n += 1) kept.push((kept[n] as MessageSequence).append(user(String(n), 'm')))
    const long = kept.at(-1) as MessageSequence
    for (const length of [0, 1, 127, 128, 129, 15_000, 29_999, 30_000]) {
      expect(kept[length]?.length).toBe(length)
      expect(kept[length]?.at(-1)).toBe(length === 0 ? undefined : long.at(length - 1))
      expect(kept[length]?.at(length)).toBeUndefined()
    }
    let replaced = long
    const versions = [long]
    for (let n = 0; n < 3_000; n += 1) versions.push((replaced = replaced.replace(n * 9, n * 9, user('x', `x${n}`))))
    expect(versions[1_500]?.at(1_499 * 9)?.id).toBe('x1499')
    expect(versions[1_500]?.at(1_500 * 9)?.id).toBe('m')
    expect(versions.every(version => version.length === 30_000)).toBe(true)
  })
})

/** A sequence and the nodes it must hold. */
type Known = { readonly sequence: MessageSequence; readonly nodes: readonly (Message | null)[] }
type Model = { count: number }
type Real = { readonly known: Known[] }

/** Grows one of the sequences known so far, not only the newest: old ones are branched from. */
class Grow implements fc.Command<Model, Real> {
  constructor(
    readonly which: number,
    readonly from: number,
    readonly span: number | null,
    readonly count: number,
    readonly sample: number,
  ) {}
  check(): boolean {
    return true
  }
  run(model: Model, { known }: Real): void {
    const { sequence, nodes } = known[known.length - 1 - (this.which % known.length)] as Known
    let next: Known
    if (this.span === null || nodes.length === 0) {
      const added = Array.from({ length: this.count }, () => node((model.count += 1)))
      next = { sequence: added.reduce((grown, each) => grown.append(each), sequence), nodes: [...nodes, ...added] }
    } else {
      const from = this.from % nodes.length
      const to = from + (this.span % (nodes.length - from))
      const replacement = node((model.count += 1))
      next = {
        sequence: sequence.replace(from, to, replacement),
        nodes: nodes.toSpliced(from, to - from + 1, replacement),
      }
    }
    expectSame(next.sequence, next.nodes, [this.sample, this.from])
    expectSame(sequence, nodes, [this.sample, this.from])
    known.push(next)
  }
  toString(): string {
    return this.span === null
      ? `${this.which}: append ${this.count}`
      : `${this.which}: replace ${this.from} +${this.span}`
  }
}

describe('laws', () => {
  it('[S11] every sequence of a branching history is the array it should be, to the end', () => {
    const grow = fc
      .tuple(
        fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.nat({ max: 30 })),
        fc.nat({ max: 1000 }),
        fc.option(fc.oneof(fc.nat({ max: 3 }), fc.nat({ max: 600 }))),
        fc.oneof(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 100, max: 140 }), fc.constant(128)),
        fc.nat({ max: 1000 }),
      )
      .map(args => new Grow(...args))
    fc.assert(
      fc.property(fc.commands([grow], { maxCommands: 25 }), commands => {
        const real: Real = { known: [{ sequence: MessageSequence.empty, nodes: [] }] }
        fc.modelRun(() => ({ model: { count: 0 }, real }), commands)
        for (const { sequence, nodes } of real.known) expectSame(sequence, nodes, [0, 127, 128, 129, nodes.length])
      }),
    )
  })

  it('[S10, L15] the fold holds the projection of each surface node, also when it is rebuilt from JSON', () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 1 << 16 }), { maxLength: 120 }), choices => {
        const events = log(...surfaceLog(choices).drafts)
        const eventAt = (seq: number): SessionEvent | undefined => events[seq]
        let surface = surfaceFold.initial()
        let state = messagesFold.initial()
        for (const event of events) {
          const surfaceChange = planSurfaceChange(surface, event, eventAt)
          const before = state
          surface = surfaceFold.evolve(surface, { event, surfaceChange })
          state = messagesFold.evolve(state, { event, surfaceChange })
          expect(state === before).toBe(surfaceChange.kind === 'none')
        }
        const nodes = foldSurface(events).nodes.map(seq => projectMessage(events[seq] as SessionEvent))
        expectSame(state, nodes, [0, 1, 2, 3, 5, 8, 13])
        const json = throughJson(messagesFold.toJSON(state))
        expectSame(
          messagesFold.fromJSON(json, { nodes: surface.nodes, projected: new Map(), eventAt }),
          nodes,
          [0, 1, 2, 3, 5, 8, 13],
        )
      }),
    )
  })

  it('[S10, case 55] after a replacement the older sequence reads as before', () => {
    const events = log(said('a'), answered('b'), over(said('x'), 0, 1, [0, 1]))
    const eventAt = (seq: number): SessionEvent | undefined => events[seq]
    const states = [messagesFold.initial()]
    let surface = surfaceFold.initial()
    for (const event of events) {
      const surfaceChange = planSurfaceChange(surface, event, eventAt)
      surface = surfaceFold.evolve(surface, { event, surfaceChange })
      states.push(messagesFold.evolve(states.at(-1) as MessageSequence, { event, surfaceChange }))
    }
    expect(states.map(idsOf)).toEqual([[], ['u:a'], ['u:a', 'a:b'], ['u:x']])
  })
})
