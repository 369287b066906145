/** The inbox as a fold: what its events mean, and which are passed over. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { SessionEvent, UserMessage } from './events.ts'
import { MessageId } from './ids.ts'
import type { InboxSplice } from './plugin-events.ts'
import { Session } from './session.ts'
import {
  evolveInbox,
  goneMessages,
  type Inbox,
  inboxFold,
  isPending,
  pendingMessages,
  planClaim,
  planInsertion,
  planRemoval,
  planReturn,
} from './inbox.ts'

const message = (id: string, text = id): UserMessage => ({
  id: MessageId(id),
  role: 'user',
  content: [{ type: 'text', text }],
  source: { kind: 'user' },
})
const spliced = (data: unknown): SessionEvent =>
  ({ type: 'agent/inbox/spliced', seq: 0, time: 0, data }) as unknown as SessionEvent
const event = (type: string, data: unknown): SessionEvent => ({ type, seq: 0, time: 0, data }) as never
const after = (...splices: readonly unknown[]): Inbox =>
  splices.reduce<Inbox>((inbox, splice) => evolveInbox(inbox, spliced(splice)), inboxFold.initial())
const insert = (target: string, start: number, ...ids: readonly string[]) => ({
  target,
  start,
  inserted: ids.map(id => message(id)),
})
const idsOf = ({ nextStep, nextTurn, claimed }: Inbox) => ({
  nextStep: nextStep.map(each => each.id),
  nextTurn: nextTurn.map(each => each.id),
  claimed: claimed.map(each => each.message.id),
})

describe('the inbox fold', () => {
  it('[A12] keeps two lists, spliced as arrays are', () => {
    const inbox = after(insert('next-turn', 0, 'a', 'b'), insert('next-step', 0, 's'), insert('next-turn', 1, 'c'), {
      target: 'next-turn',
      start: 0,
      removedCount: 2,
      inserted: [message('d')],
      outcome: 'canceled',
    })
    expect(idsOf(inbox)).toEqual({ nextStep: ['s'], nextTurn: ['d', 'b'], claimed: [] })
    expect(pendingMessages(inbox).map(({ id }) => id)).toEqual(['s', 'd', 'b'])
    expect([isPending(inbox, 'b'), isPending(inbox, 'a')]).toEqual([true, false])
  })

  it.each<[string, unknown]>([
    ['starts beyond the end', insert('next-turn', 3, 'x')],
    ['removes beyond the end', { target: 'next-turn', start: 1, removedCount: 2, inserted: [] }],
    ['inserts what is pending', insert('next-turn', 0, 'b')],
    ['inserts what is pending in the other list', insert('next-step', 0, 'b')],
    ['inserts one message twice', insert('next-step', 0, 'x', 'x')],
    ['changes nothing', insert('next-turn', 0)],
    ['has an unknown list', insert('next-week', 0, 'x')],
    ['has a start that is none', insert('next-turn', -1, 'x')],
    ['has a start that is no number', { ...insert('next-turn', 0, 'x'), start: '0' }],
    ['removes half a message', { target: 'next-turn', start: 0, removedCount: 0.5, inserted: [] }],
    ['inserts no list', { target: 'next-turn', start: 0, inserted: message('x') }],
    ['inserts what is no message', { target: 'next-turn', start: 0, inserted: [{ id: 'x' }] }],
    ['inserts a message without an id', { target: 'next-turn', start: 0, inserted: [message('')] }],
    ['inserts a message of nobody', { ...insert('next-turn', 0), inserted: [{ ...message('x'), source: null }] }],
    ['inserts a message of no kind', { ...insert('next-turn', 0), inserted: [{ ...message('x'), source: {} }] }],
    [
      'inserts a message with a block that is none',
      { ...insert('next-turn', 0), inserted: [{ ...message('x'), content: [null] }] },
    ],
    ['inserts null', { target: 'next-turn', start: 0, inserted: [null] }],
    ['is text', 'next-turn'],
    ['is null', null],
    ['is a list', []],
  ])('[A12] passes a splice over that %s', (_what, splice) => {
    const inbox = after(insert('next-turn', 0, 'a', 'b'))
    expect(evolveInbox(inbox, spliced(splice))).toBe(inbox)
  })

  it('[A12] puts a message in the place of itself', () => {
    const inbox = after(insert('next-turn', 0, 'a', 'b'), {
      target: 'next-turn',
      start: 0,
      removedCount: 1,
      inserted: [message('a', 'new')],
      outcome: 'canceled',
    })
    expect(idsOf(inbox)).toEqual({ nextStep: [], nextTurn: ['a', 'b'], claimed: [] })
    expect(inbox.nextTurn[0]).toEqual(message('a', 'new'))
  })

  it('[A14] remembers what was claimed until it is said, returned or passed over', () => {
    const pending = after(insert('next-turn', 0, 'a'), insert('next-step', 0, 's', 't'))
    const claimed = planClaim(pending, true).reduce((inbox, splice) => evolveInbox(inbox, spliced(splice)), pending)
    expect(idsOf(claimed)).toEqual({ nextStep: [], nextTurn: [], claimed: ['s', 't', 'a'] })
    const said = evolveInbox(claimed, event('user/message', message('s')))
    expect(idsOf(said).claimed).toEqual(['t', 'a'])
    expect(evolveInbox(said, event('turn/end', { turn: 1, reason: { kind: 'interrupted' } }))).toBe(said)
    expect(idsOf(evolveInbox(said, event('turn/end', { turn: 1, reason: { kind: 'blocked' } }))).claimed).toEqual([])
    expect(idsOf(evolveInbox(said, event('assistant/message', {}))).claimed).toEqual([])
    const back = planReturn(said).reduce((inbox, splice) => evolveInbox(inbox, spliced(splice)), said)
    expect(idsOf(back)).toEqual({ nextStep: ['t'], nextTurn: ['a'], claimed: [] })
    expect(planReturn(back)).toEqual([])
    expect(goneMessages(pending, said)).toEqual(['s'])
    expect(goneMessages(pending, back)).toEqual(['s'])
  })

  it('[A12] is the same object for events that are not about it, and keeps the list that did not change', () => {
    const inbox = after(insert('next-turn', 0, 'a'))
    for (const other of [
      event('turn/start', { turn: 1 }),
      event('user/message', message('x')),
      event('assistant/message', {}),
      event('turn/end', { turn: 1, reason: { kind: 'completed' } }),
    ]) {
      expect(evolveInbox(inbox, other)).toBe(inbox)
    }
    expect(evolveInbox(inbox, spliced(insert('next-step', 0, 's'))).nextTurn).toBe(inbox.nextTurn)
  })

  it('[A12] survives JSON', () => {
    const inbox = after(insert('next-turn', 0, 'a', 'b'), {
      target: 'next-turn',
      start: 0,
      removedCount: 1,
      inserted: [],
    })
    const again = inboxFold.fromJSON(JSON.parse(JSON.stringify(inboxFold.toJSON(inbox))) as never, {} as never)
    expect(again).toEqual(inbox)
  })
})

describe('laws', () => {
  const plans = fc.array(
    fc.oneof(
      fc.record({ kind: fc.constantFrom('next-turn' as const, 'next-step' as const) }),
      fc.record({ kind: fc.constantFrom('remove' as const, 'edit' as const), at: fc.nat(6) }),
      fc.record({ kind: fc.constantFrom('claim' as const, 'claim-steps' as const, 'return' as const) }),
    ),
    { maxLength: 40 },
  )

  const log = (session: Session, splices: readonly InboxSplice[]): void => {
    for (const splice of splices) session.append('agent/inbox/spliced', splice)
  }

  it('[A12, A14] what is planned always fits, and folds to what arrays would hold', () => {
    fc.assert(
      fc.property(plans, commands => {
        const session = Session.create({ id: 's', now: () => 1 })
        const lists = { 'next-turn': [] as string[], 'next-step': [] as string[] }
        let claimed: [keyof typeof lists, string][] = []
        const current = () => session.fold(inboxFold)
        let count = 0
        for (const command of commands) {
          if (command.kind === 'next-turn' || command.kind === 'next-step') {
            const id = `m${(count += 1)}`
            log(session, [planInsertion(current(), command.kind, message(id))])
            lists[command.kind].push(id)
          } else if (command.kind === 'remove' || command.kind === 'edit') {
            const { at } = command as { at: number }
            const id = [...lists['next-step'], ...lists['next-turn']][at] ?? 'none'
            const plan = planRemoval(current(), id, command.kind === 'edit' ? [message(id, 'edited')] : [])
            expect(plan === null).toBe(id === 'none')
            if (plan !== null) log(session, [plan])
            if (command.kind === 'remove') {
              for (const target of ['next-turn', 'next-step'] as const) {
                lists[target] = lists[target].filter(each => each !== id)
              }
            }
          } else if (command.kind === 'return') {
            log(session, planReturn(current()))
            for (const target of ['next-turn', 'next-step'] as const) {
              lists[target].unshift(...claimed.flatMap(([from, id]) => (from === target ? [id] : [])))
            }
            claimed = []
          } else {
            const startsTurn = command.kind === 'claim'
            log(session, planClaim(current(), startsTurn))
            claimed.push(...lists['next-step'].splice(0).map(id => ['next-step', id] as [keyof typeof lists, string]))
            if (startsTurn) {
              claimed.push(
                ...lists['next-turn'].splice(0, 1).map(id => ['next-turn', id] as [keyof typeof lists, string]),
              )
            }
          }
          expect(idsOf(current())).toEqual({
            nextStep: lists['next-step'],
            nextTurn: lists['next-turn'],
            claimed: claimed.map(([, id]) => id),
          })
        }
        const restored = Session.fromRestore({
          header: session.header,
          events: JSON.parse(JSON.stringify(session.snapshotEvents())) as SessionEvent[],
          now: () => 1,
        })
        expect(restored.fold(inboxFold)).toEqual(current())
      }),
    )
  })

  it('[A12] what is pending is a message that a log takes', () => {
    const part = <Value>(good: Value) =>
      fc.oneof(fc.constant(good), fc.constant(good), fc.constant(good), fc.jsonValue())
    const block = fc.oneof(
      fc.constant({ type: 'text', text: 'hi' }),
      fc.record({ type: fc.constantFrom('text', 'reasoning', 'tool-call', 'image', ''), text: fc.jsonValue() }),
      fc.jsonValue(),
    )
    const messages = fc.record({
      id: part('m'),
      role: part('user'),
      content: fc.oneof(fc.array(block, { maxLength: 2 }), fc.jsonValue()),
      source: fc.oneof(part({ kind: 'user' }), fc.record({ kind: fc.jsonValue() })),
    })
    fc.assert(
      fc.property(messages, said => {
        const [pending] = after({
          target: 'next-turn',
          start: 0,
          inserted: [JSON.parse(JSON.stringify(said))],
        }).nextTurn
        if (pending === undefined) return
        const session = Session.create({ id: 's', now: () => 1 })
        session.append('user/message', pending, { surfaceOp: 'append' })
      }),
      { numRuns: 1_000 },
    )
  })

  it('[A12] never fails, whatever the payloads are, and no message is pending twice', () => {
    const id = fc.constantFrom('a', 'b', 'c')
    const likely = fc.record({
      target: fc.constantFrom('next-turn', 'next-step'),
      start: fc.nat(3),
      removedCount: fc.option(fc.nat(2), { nil: undefined }),
      inserted: fc.array(
        id.map(each => message(each)),
        { maxLength: 2 },
      ),
      outcome: fc.constantFrom(undefined, 'canceled'),
    })
    fc.assert(
      fc.property(fc.array(fc.oneof(likely, likely, fc.jsonValue()), { maxLength: 30 }), payloads => {
        const { nextStep, nextTurn, claimed } = idsOf(after(...payloads))
        const pending = [...nextStep, ...nextTurn]
        expect(new Set(pending).size).toBe(pending.length)
        expect(claimed.filter(each => pending.includes(each))).toEqual([])
      }),
    )
  })
})
