/** Items that wait: calls for a person, model calls for another try. */
import { describe, expect, it } from 'vitest'
import { approvalsFold, evolveApprovals, isPendingApproval } from '../core/approvals.ts'
import { called, type Draft, log, logFrom, returned, said, toolCall, turnStart } from '../core/builders.ts'
import type { SessionEvent } from '../core/events.ts'
import { emptyTranscript, evolveTranscript, foldTranscript, type Transcript } from './transcript.ts'
import { prependHistory } from './transcript-history.ts'
import type { RetryItem, ToolItem } from './turn-items.ts'
import {
  answer,
  attempted,
  decided,
  ended,
  itemsOf,
  plain,
  questioned,
  retryPlanned,
  retryStarted,
  streamed,
} from './view-kit.ts'

const shown = (...drafts: readonly Draft[]): Transcript => foldTranscript(log(...drafts))

describe('approvals', () => {
  const asked = [turnStart(1), answer([toolCall('a'), toolCall('b')])]
  const failed = (callId: string): Draft => {
    const { message } = returned(callId).data as { message: { content: readonly [object] } }
    const content = [{ ...message.content[0], isError: true }]
    return { ...returned(callId), data: { turn: 1, step: 1, message: { ...message, content } } }
  }
  /** State of a call and of its approval after each of `drafts`. */
  const states = (...drafts: readonly Draft[]): string[] => {
    const events = log(...asked, ...drafts)
    return drafts.map((_, count) => {
      const tool = itemsOf(foldTranscript(events.slice(0, count + 3)))[1] as ToolItem
      return `${tool.state} ${tool.approval?.state ?? '–'}`
    })
  }

  it('[V4, A23] belong to their call: what was asked and why, and what was decided', () => {
    const transcript = shown(...asked, called('a'), questioned('q', 'a', { reason: 'it writes' }), decided('q'))
    expect(itemsOf(transcript).slice(1)).toMatchObject([
      {
        callId: 'a',
        state: 'running',
        approval: { id: 'q', state: 'allowed-once', reason: 'it writes', askedSeq: 3, decidedSeq: 4 },
      },
      { callId: 'b', state: 'asked', approval: null },
    ])
    const open = itemsOf(shown(...asked, called('a'), questioned('q', 'a')))[1] as ToolItem
    expect(open.approval).toEqual({ id: 'q', state: 'asked', reason: null, askedSeq: 3, decidedSeq: null })
  })

  it('[V4, A23] have the call wait, and run once it is allowed', () => {
    expect(states(called('a'), questioned('q', 'a'), decided('q'), returned('a'))).toEqual([
      'running –',
      'waiting asked',
      'running allowed-once',
      'done allowed-once',
    ])
    expect(states(questioned('q', 'a'), called('a'), decided('q'))).toEqual([
      'waiting asked',
      'waiting asked',
      'running allowed-once',
    ])
    expect(states(questioned('q', 'a'), decided('q'), called('a'))).toEqual([
      'waiting asked',
      'running allowed-once',
      'running allowed-once',
    ])
  })

  it.each(['rejected', 'cancelled', 'unavailable'])(
    '[V4, A23] %s, leave the call as it was until its result',
    outcome => {
      expect(states(called('a'), questioned('q', 'a'), decided('q', outcome), failed('a'))).toEqual([
        'running –',
        'waiting asked',
        `running ${outcome}`,
        `failed ${outcome}`,
      ])
      expect(states(questioned('q', 'a'), decided('q', outcome))).toEqual(['waiting asked', `asked ${outcome}`])
    },
  )

  it('[V4, A23] are cancelled by a result nobody decided about', () => {
    expect(states(called('a'), questioned('q', 'a'), failed('a'), decided('q'))).toEqual([
      'running –',
      'waiting asked',
      'failed cancelled',
      'failed cancelled',
    ])
    expect(itemsOf(shown(...asked, questioned('q', 'a'), returned('a')))[1]).toMatchObject({
      approval: { state: 'cancelled', decidedSeq: null },
    })
  })

  it('[V4, A23] the latest question counts, and the first decision about it', () => {
    expect(
      states(questioned('q', 'a'), questioned('r', 'a'), decided('q'), decided('r', 'rejected'), decided('r')),
    ).toEqual(['waiting asked', 'waiting asked', 'waiting asked', 'asked rejected', 'asked rejected'])
    expect(states(questioned('q', 'a'), decided('q'), questioned('q', 'a'))).toEqual([
      'waiting asked',
      'running allowed-once',
      'running allowed-once',
    ])
    expect(states(questioned('q', 'a'), decided('q', 'rejected'), questioned('r', 'a')).at(-1)).toBe('waiting asked')
  })

  it('[V4] an id that comes again is asked for anew', () => {
    const again = [returned('a'), answer([toolCall('a')], { id: 'n' }), questioned('r', 'a')]
    const tools = itemsOf(shown(...asked, questioned('q', 'a'), decided('q'), ...again)).filter(
      item => item.kind === 'tool',
    )
    expect(tools.map(({ key, state, approval }) => [key, state, approval?.id])).toEqual([
      ['1:a', 'done', 'q'],
      ['1:b', 'asked', undefined],
      ['2:a', 'waiting', 'r'],
    ])
  })

  it.each<[string, Draft]>([
    ['a question about no call', questioned('q')],
    ['a question about a call of nobody', questioned('q', 'other')],
    ['a question about a call that is none', questioned('q', 7)],
    ['a question without a name', questioned('', 'a')],
    ['a question of no shape', { type: 'approval/asked', data: null }],
    ['a question about a call that is over', questioned('q', 'b')],
    ['a decision about nothing', decided('q')],
    ['a decision about a member of objects', decided('__proto__')],
    ['a decision of no shape', { type: 'approval/decided', data: 'q' }],
    ['a decision that is none', decided('w', 'allowed-always')],
  ])('[V14] %s shows nothing', (_, draft) => {
    const before = [...asked, returned('b'), questioned('w', 'a')]
    const events = log(...before, draft)
    const state = foldTranscript(events.slice(0, -1))
    expect(evolveTranscript(state, events.at(-1) as SessionEvent).turns).toBe(state.turns)
  })

  it('[V4, A23] wait in the transcript as long as the agent waits for them', () => {
    const events = log(
      ...[...asked, called('a'), questioned('q', 'a'), called('b'), questioned('r', 'b'), decided('r', 'rejected')],
      ...[failed('b'), decided('q'), returned('a'), ended(1)],
    )
    let approvals = approvalsFold.initial()
    let transcript = foldTranscript([])
    for (const event of events) {
      approvals = evolveApprovals(approvals, event)
      transcript = evolveTranscript(transcript, event)
      const waiting = itemsOf(transcript).flatMap(item =>
        item.kind === 'tool' && item.state === 'waiting' ? item.callId : [],
      )
      expect(waiting).toEqual(['a', 'b'].filter(callId => isPendingApproval(approvals, callId)))
    }
  })

  it('[V7] are the same where a page ends between question and decision', () => {
    const events = log(
      ...asked,
      called('a'),
      questioned('q', 'a', { reason: 'it writes' }),
      decided('q'),
      returned('a'),
    )
    const straight = foldTranscript(events)
    for (let from = 1; from < events.length; from += 1) {
      const later = foldTranscript(events.slice(from), emptyTranscript(from))
      const whole = prependHistory(later, events.slice(0, from))
      expect(plain(whole)).toEqual(plain(straight))
      // Loaded from where it is whole, a call stays the object it was.
      if (from === 1) expect(itemsOf(whole)[1]).toBe(itemsOf(later)[1])
    }
  })

  it('[V6] a state can be gone on from more than once, in the middle of a question', () => {
    const events = log(...asked, questioned('q', 'a'), decided('q'))
    const base = foldTranscript(events.slice(0, 3))
    const aside = log(...asked, questioned('q', 'a'), questioned('r', 'b'), said('x'))
    for (let round = 0; round < 2; round += 1) {
      expect(itemsOf(foldTranscript(aside, base))[2]).toMatchObject({ callId: 'b', state: 'waiting' })
      expect(itemsOf(foldTranscript(events, base))[1]).toMatchObject({ state: 'running' })
    }
  })

  it('[V4] belong to calls of their turn only', () => {
    expect(itemsOf(shown(...asked, ended(1), turnStart(2), questioned('q', 'a')))[1]).toMatchObject({ approval: null })
    const events = log(...asked, questioned('q', 'a'), ended(1), turnStart(2), decided('q'))
    expect(itemsOf(foldTranscript(events))[1]).toMatchObject({ state: 'waiting', approval: { decidedSeq: null } })
  })
})

describe('retries', () => {
  const retries = (...drafts: readonly Draft[]): RetryItem[] =>
    itemsOf(shown(turnStart(1), ...drafts)).filter(item => item.kind === 'retry')

  it('[V2, A21] are shown from the wait on, with why and how long', () => {
    const failure = { message: 'Too many requests', code: 'RATE_LIMIT', status: 429, providerRetryAfterMs: 900 }
    const planned = retryPlanned('r', 1, { delayMs: 900, failure })
    const waiting: Partial<RetryItem> = { retryId: 'r', retry: 1, maxRetries: 5, delayMs: 900, failure }
    expect(retries(planned)).toEqual([{ kind: 'retry', key: '1', seq: 1, time: 1001, state: 'waiting', ...waiting }])
    expect(retries(planned, retryStarted('r'))).toMatchObject([{ ...waiting, state: 'started' }])
    expect(retries(retryPlanned('r', 7, { limit: null }))).toMatchObject([{ retry: 7, maxRetries: null }])
  })

  it('[V2, A21] of a chain follow one another, each after the attempt before it', () => {
    const transcript = shown(
      turnStart(1),
      attempted([streamed('ha')]),
      retryPlanned('r', 1),
      retryStarted('r', 1),
      attempted([streamed('half')]),
      retryPlanned('r', 2, { delayMs: 1000.5 }),
      retryStarted('r', 2),
      answer('whole'),
    )
    expect(itemsOf(transcript).map(item => item.kind)).toEqual(['attempt', 'retry', 'attempt', 'retry', 'answer'])
    expect(itemsOf(transcript).flatMap(item => (item.kind === 'retry' ? [[item.retry, item.state]] : []))).toEqual([
      [1, 'started'],
      [2, 'started'],
    ])
  })

  it('[V6] are found whatever the state before was gone on with, and are started once', () => {
    const base = foldTranscript(log(turnStart(1)))
    const [, ...first] = log(turnStart(1), retryPlanned('r', 1), retryStarted('r', 1))
    const [, ...second] = log(turnStart(1), retryPlanned('s', 1), retryStarted('r', 1), retryStarted('s', 1))
    foldTranscript(first, base)
    const waiting = foldTranscript(second.slice(0, 2), base)
    expect(itemsOf(waiting)).toMatchObject([{ retryId: 's', state: 'waiting' }])
    const started = foldTranscript(second, waiting)
    expect(itemsOf(started)).toMatchObject([{ retryId: 's', state: 'started' }])
    const [again] = logFrom(started.to, retryStarted('s', 1)) as [SessionEvent]
    expect(evolveTranscript(started, again).turns).toBe(started.turns)
  })

  it('[V2] a wait that was cut off has not started', () => {
    expect(retries(retryPlanned('r', 1), ended(1, { kind: 'interrupted' }))).toMatchObject([{ state: 'waiting' }])
  })

  it.each<[string, Draft]>([
    ['nothing', { type: 'llm/retry', data: null }],
    ['only its place', { type: 'llm/retry', data: { turn: 1, step: 1 } }],
    ['no name', retryPlanned('')],
    ['a name that is none', retryPlanned(7)],
    ['number 0', retryPlanned('r', 0)],
    ['a number that is none', retryPlanned('r', '1')],
    ['a limit that is none', retryPlanned('r', 1, { maxRetries: -1 })],
    ['no wait', retryPlanned('r', 1, { delayMs: undefined })],
    ['a wait before now', retryPlanned('r', 1, { delayMs: -1 })],
    ['a wait without end', retryPlanned('r', 1, { delayMs: Infinity })],
    ['no failure', retryPlanned('r', 1, { failure: null })],
    ['a failure without a code', retryPlanned('r', 1, { failure: { message: 'x' } })],
    ['a failure without words', retryPlanned('r', 1, { failure: { code: 'X' } })],
    ['a failure whose status is none', retryPlanned('r', 1, { failure: { message: 'x', code: 'X', status: {} } })],
    ['a failure whose request is none', retryPlanned('r', 1, { failure: { message: 'x', code: 'X', requestId: {} } })],
  ])('[V14] with %s are not shown', (_, draft) => {
    expect(retries(draft)).toEqual([])
    expect(retries(draft, retryStarted('r'))).toEqual([])
  })

  it.each([
    retryStarted('other'),
    retryStarted('r', 2),
    retryStarted('r', '1'),
    retryStarted(null),
    retryStarted('__proto__'),
  ])('[V14] a start that fits no wait starts none: $data', draft => {
    const events = log(turnStart(1), retryPlanned('r', 1), draft, { type: 'llm/retry-started', data: 'r' })
    const state = foldTranscript(events.slice(0, 2))
    expect(foldTranscript(events, state).turns).toBe(state.turns)
  })
})
