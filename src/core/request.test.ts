import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  answered,
  append,
  called,
  counter,
  headed,
  idsOf,
  log,
  loopLog,
  over,
  prompted,
  returned,
  said,
  stepEnd,
  stepStart,
  storedEvents,
  toolCall,
  turnEnd,
  turnStart,
  user,
} from './builders.ts'
import type { Message } from './events.ts'
import { image, observed, openWith, projectedHistory, redact } from './projected-history.ts'
import { type LoggedRequest, requestOf } from './request.ts'
import { requestMessages } from './request-messages.ts'
import { Session } from './session.ts'

const choices = fc.array(fc.nat({ max: 1 << 16 }), { maxLength: 120, size: 'max' })
const config = { provider: 'demo', model: 'demo-chat' }

describe('requestAt', () => {
  it('[H5] is the request that was sent before the event that answers it', () => {
    const session = openWith(
      log(
        turnStart(1),
        said('q'),
        stepStart(1, 1),
        prompted('p'),
        headed(),
        { type: 'request/context', data: { ...config, contextWindow: 9 } },
        answered([toolCall('c')]),
        called('c'),
        returned('c'),
        stepEnd(1, 1),
        stepStart(1, 2),
        { type: 'request/header', data: { header: { config: { ...config, temperature: 1 } }, reason: 'change' } },
        answered('done', 1, 2),
        stepEnd(1, 2),
        turnEnd(1),
        over(said('summary'), 1, 1, [1]),
      ),
    )
    const at = (seq: number) => session.requestAt(seq) as LoggedRequest
    expect(at(6)).toEqual({
      header: { config },
      context: { ...config, contextWindow: 9 },
      messages: [user('q'), expect.objectContaining({ role: 'system' })],
      changes: [],
    })
    expect(at(12).header).toEqual({ config: { ...config, temperature: 1 } })
    expect(at(12).messages.map(({ role }) => role)).toEqual(['user', 'system', 'assistant', 'user'])
    expect(at(12).changes).toEqual([])
    expect(idsOf(at(session.length).messages)[0]).toBe('u:summary')
    expect(requestOf(session)).toEqual(at(session.length))
  })

  it('[H5, L12] is for a place in the log and nothing else', () => {
    const session = openWith(log(turnStart(1), headed()), { readOnly: true })
    for (const seq of [-1, 1.5, NaN, 3, 999]) {
      expect(() => session.requestAt(seq)).toThrow(expect.objectContaining({ code: 'not-resident' }))
    }
    expect(session.requestAt(2)).not.toBeNull()
  })

  it('[H5] is none before the first header, and none at all in an empty log', () => {
    const session = openWith(log(said('a'), headed()), { readOnly: true })
    expect([session.requestAt(0), session.requestAt(1)]).toEqual([null, null])
    expect(session.requestAt(2)).toMatchObject({ context: null })
    expect(Session.create({ id: 'a', now: counter() }).requestAt(0)).toBeNull()
    expect(requestOf(Session.create({ id: 'a', now: counter() }))).toBeNull()
  })

  it('[H5, M1] says what projections left at that time', () => {
    const session = openWith(log(said([image('a')], 'm'), headed()))
    const before = session.length
    session.append('image/offload', { targets: [{ seq: 0 as never, imageIndexes: [0] }] })
    session.append(redact, { seq: 0, text: 'gone' })
    const contents = [0, 1, 2].map(more => session.requestAt(before + more)?.messages[0]?.content)
    expect(contents).toEqual([[image('a')], [image('a', { offloaded: true })], [{ type: 'text', text: 'gone' }]])
  })

  it('[H5, A3] heals what others wrote and says how', () => {
    const session = openWith(log(headed(), said('q'), answered([toolCall('c')]), said(' ')), { readOnly: true })
    const request = session.requestAt(4)
    expect(request?.changes.map(({ kind }) => kind)).toEqual(['missing-result', 'empty-text', 'empty-message'])
    expect(request?.messages).toHaveLength(3)
  })

  it('[H5, R7] answers in a fork for what it inherits', () => {
    const parent = openWith(log(headed(), turnStart(1), said('a'), answered('b'), turnEnd(1)))
    const grandchild = parent.fork({ id: 'child' }).fork({ id: 'grandchild' })
    expect(grandchild.requestAt(grandchild.length)).toEqual(parent.requestAt(parent.length))
    for (let seq = 0; seq < parent.length; seq += 1) {
      expect(() => grandchild.requestAt(seq)).toThrow(expect.objectContaining({ code: 'not-resident' }))
      const then = grandchild.replay(storedEvents(parent).slice(0, seq))
      expect(then.requestAt(seq)).toEqual(parent.requestAt(seq))
    }
  })

  it('[H5] changes nothing, and is for every cut what a session there would send', () => {
    fc.assert(
      fc.property(choices, fc.nat(), (numbers, at) => {
        const session = projectedHistory(numbers)
        const before = observed(session)
        const seq = at % (session.length + 1)
        const then = openWith(storedEvents(session).slice(0, seq), { readOnly: true })
        const request = session.requestAt(seq)
        expect(request).toEqual(requestOf(then))
        if (request !== null) expect(request.messages).toEqual(requestMessages(then.messages).messages)
        expect(observed(session)).toEqual(before)
      }),
      { numRuns: 80 },
    )
  })

  it('[H5, A3] for the history of a loop is what was derived, unchanged', () => {
    fc.assert(
      fc.property(choices, numbers => {
        const session = openWith([])
        const sent = new Map<number, readonly Message[]>()
        for (const draft of loopLog(numbers).drafts.map(shifted)) {
          if (draft.type === 'assistant/message') sent.set(session.length, session.deriveMessages())
          append(session, draft)
        }
        for (const [seq, messages] of sent) {
          const request = session.requestAt(seq)
          expect(request?.changes).toEqual([])
          expect(request?.messages).toEqual(messages)
        }
      }),
      { numRuns: 15 },
    )
  })
})

/** The same draft in a log that starts with a mark. */
function shifted<Draft extends { readonly surfaceOp?: unknown; readonly sourceEventSeqs?: unknown }>(
  draft: Draft,
): Draft {
  const { surfaceOp, sourceEventSeqs } = draft
  const op = surfaceOp as { startSeq: number; endSeq: number } | string | undefined
  return {
    ...draft,
    ...(typeof op === 'object' ? { surfaceOp: { ...op, startSeq: op.startSeq + 1, endSeq: op.endSeq + 1 } } : {}),
    ...(sourceEventSeqs === undefined ? {} : { sourceEventSeqs: (sourceEventSeqs as number[]).map(seq => seq + 1) }),
  }
}
