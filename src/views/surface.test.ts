import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  answered,
  append,
  counter,
  newSession,
  over,
  prompted,
  returned,
  said,
  surfaceLog,
  textBlock,
  toolCall,
  toolResult,
  user,
} from '../core/builders.ts'
import { toolResultTrim, toolResultTrimming } from '../core/interpreters/tool-result-trim.ts'
import { Session } from '../core/session.ts'
import type { Committed } from '../core/fold.ts'
import type { Message } from '../core/events.ts'
import { SessionSeq } from '../core/ids.ts'
import { localSource } from './local-source.ts'
import { surfaceNodes } from './surface-nodes.ts'
import { emptySurface, evolveSurface, surfaceFrom, type SurfaceView } from './surface.ts'
import { estimateTokens } from './tokens.ts'
import { talk } from './view-kit.ts'

/** A session whose tool results can be trimmed. */
const trimmable = (): Session =>
  Session.create({ id: 'test', now: counter(), eventTypes: [toolResultTrim], projections: [toolResultTrimming] })
const trim = (session: Session, seq: SessionSeq): unknown =>
  session.append(toolResultTrim, { targets: [{ seq, headChars: 0, tailChars: 0 }] })
const plain = ({ nodes, ...rest }: SurfaceView): object => ({ ...rest, nodes: [...nodes] })

describe('the surface view', () => {
  it('[V9] says of each node where it comes from, what it contributes and what it takes', () => {
    const session = newSession()
    let view = emptySurface
    session.subscribe(entry => void (view = evolveSurface(view, entry)))
    for (const draft of [prompted(''), said('a'), said('b'), over(said('sum'), 1, 2, [1, 2])]) append(session, draft)
    expect(plain(view)).toEqual({
      length: 4,
      messages: 1,
      tokens: estimateTokens(user('sum')),
      nodes: [
        { seq: 0, message: null, origin: { kind: 'appended' }, tokens: 0 },
        {
          seq: 3,
          message: user('sum'),
          origin: { kind: 'replaces', seqs: [1, 2] },
          tokens: estimateTokens(user('sum')),
        },
      ],
    })
  })

  it('[V9, S10] what has no content contributes as the core says', () => {
    const session = newSession()
    let view = emptySurface
    session.subscribe(entry => void (view = evolveSurface(view, entry)))
    for (const draft of [prompted(''), said([]), answered([]), returned('c', [])]) append(session, draft)
    expect([...view.nodes].map(({ message }) => message?.role ?? null)).toEqual([null, 'user', null, 'user'])
    expect(plain(view)).toEqual(plain(surfaceFrom(surfaceNodes(session), 4)))
  })

  it('[V9] tells a projected node', () => {
    const nodes = [{ seq: SessionSeq(0), message: null, replaces: null, projected: true }]
    expect(surfaceFrom(nodes, 1).nodes.at(0)?.origin).toEqual({ kind: 'projected' })
  })

  it('[V9, M1] shows what a projection made of a node, in its place', () => {
    const session = trimmable()
    let view = emptySurface
    for (const draft of [said('a'), returned('c', 'x'.repeat(400)), said('b')]) append(session, draft)
    view = surfaceFrom(surfaceNodes(session), 3)
    session.subscribe(entry => void (view = evolveSurface(view, entry)))
    trim(session, SessionSeq(1))
    const [first, trimmed, last] = [...view.nodes]
    expect([first?.origin.kind, trimmed?.origin.kind, last?.origin.kind]).toEqual(['appended', 'projected', 'appended'])
    expect(trimmed?.message).toBe(session.messages.at(1))
    expect(trimmed?.tokens).toBeLessThan(40)
    expect(view.messages).toBe(3)
    // A node that replaces it is its own again.
    append(session, over(said('sum'), 0, 1, [0, 1]))
    expect([...view.nodes].map(({ origin }) => origin.kind)).toEqual(['replaces', 'appended'])
    expect(plain(view)).toEqual(plain(surfaceFrom(surfaceNodes(session), session.length)))
  })

  it('[V9] passes over events it has', () => {
    const [entry] = talk([1, 2, 3, 4]).entries as [Committed]
    const view = evolveSurface(emptySurface, entry)
    expect(evolveSurface(view, entry)).toBe(view)
  })

  it('[V9, V6] after every event it is the one read anew, and untouched nodes keep their reference', async () => {
    const choices = fc.array(fc.nat({ max: 1 << 16 }), { maxLength: 80, size: 'max' })
    const sessions = fc.oneof(
      choices.map(each => talk(each)),
      choices.map(each => {
        const session = trimmable()
        const entries: Committed[] = []
        session.subscribe(entry => entries.push(entry))
        for (const draft of surfaceLog(each).drafts) append(session, draft)
        const results = session.surface.nodes.filter(seq => session.eventAt(seq)?.type === 'tool/result')
        for (const seq of results.slice(0, 3)) trim(session, seq)
        return { session, entries }
      }),
    )
    await fc.assert(
      fc.asyncProperty(sessions, fc.nat(), async ({ session, entries }, at) => {
        const { nodes, length } = await localSource(session).readSurface()
        const anew = plain(surfaceFrom(nodes, length))
        const replica = trimmable()
        let view = emptySurface
        for (const entry of entries) {
          const before = view
          view = evolveSurface(view, entry)
          const known = new Map([...before.nodes].map(node => [node.seq, node]))
          const { surfaceChange: change } = entry
          const touched = change.kind === 'project' ? change.projected.map(({ seq }) => seq) : []
          for (const node of view.nodes) {
            if (!touched.includes(node.seq)) expect(known.get(node.seq) ?? node).toBe(node)
          }
          const { type, data, seq: _, time: __, ...intent } = entry.event
          if ((type as string) === toolResultTrim.type) replica.append(toolResultTrim, data as never)
          else append(replica, { type, data, ...intent })
          if (entry.event.seq === at % entries.length) {
            const read = await localSource(replica).readSurface()
            const later = entries.slice(read.length).reduce(evolveSurface, surfaceFrom(read.nodes, read.length))
            expect(plain(later)).toEqual(anew)
            expect(plain(view)).toEqual(plain(surfaceFrom(read.nodes, read.length)))
          }
        }
        expect(plain(view)).toEqual(anew)
        expect(view.tokens).toBe([...session.messages].reduce((sum, message) => sum + estimateTokens(message), 0))
        expect(view.messages).toBe(session.messages.length)
      }),
    )
  })
})

describe('estimateTokens', () => {
  const of = (content: unknown): number => estimateTokens({ content } as unknown as Message)

  it('[V9] counts a quarter of the text, and 4 for each block and the message', () => {
    expect(estimateTokens(user('12345678'))).toBe(4 + 4 + 2)
    expect(estimateTokens(user('123456789'))).toBe(4 + 4 + 3)
    expect(estimateTokens(user([]))).toBe(4)
    expect(estimateTokens(user([textBlock(''), textBlock('😀😀')]))).toBe(4 + 4 + 4 + 1)
    expect(of([{ type: 'reasoning', text: 'hmhm' }])).toBe(4 + 4 + 1)
  })

  it('[V9] counts name and arguments of a call, and the blocks of a result', () => {
    expect(of([toolCall('c', '{"a":1}', 'read')])).toBe(4 + 4 + Math.ceil(11 / 4))
    expect(estimateTokens(toolResult('c', [textBlock('1234'), textBlock('5')]))).toBe(4 + 4 + (4 + 1) + (4 + 1))
    expect(estimateTokens(toolResult('c', []))).toBe(4 + 4)
  })

  it('[V9] counts the JSON of any other block', () => {
    const image = { type: 'image', attachment: { attachmentId: 'x' } }
    expect(of([image])).toBe(4 + 4 + Math.ceil(JSON.stringify(image).length / 4))
  })

  it('[V14] takes blocks of any depth and shape', () => {
    let deep: unknown = textBlock('x')
    for (let depth = 0; depth < 20_000; depth += 1) deep = { type: 'tool-result', toolCallId: 'c', content: [deep] }
    expect(of([deep])).toBe(4 + 20_000 * 4 + 4 + 1)
    let odd: unknown = 1
    for (let depth = 0; depth < 20_000; depth += 1) odd = { type: 'odd', odd }
    expect(of([odd])).toBeGreaterThan(20_000)
    expect(
      of([
        { type: 'tool-result', content: 'x' },
        { type: 'tool-result', content: [null, 1] },
      ]),
    ).toBeGreaterThan(8)
  })
})
