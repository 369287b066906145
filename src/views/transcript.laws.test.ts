import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { log, loopLog, said, surfaceLog, turnStart } from '../core/builders.ts'
import type { SessionEvent } from '../core/events.ts'
import type { AssistantStreamFrame } from '../core/live.ts'
import { isReplaceSurfaceEvent, isSurfaceEvent } from '../core/surface.ts'
import { Sequence } from './sequence.ts'
import { streamDuration, streamUsage, visibleParts } from './stream-facts.ts'
import { emptyTranscript, evolveTranscript, foldTranscript, streamTranscript, type Transcript } from './transcript.ts'
import { prependHistory } from './transcript-history.ts'
import type { RetryItem, ToolApproval, ToolItem, TranscriptItem } from './turn-items.ts'
import { ended, eventsOf, plain, type PlainTurn, plainTurns, startFrame, talk, textFrame } from './view-kit.ts'

const choices = fc.array(fc.nat({ max: 1 << 16 }), { maxLength: 80, size: 'max' })
/** Logs of agents, logs with everything a transcript shows, and whatever admission accepts. */
const written = fc.oneof(
  { weight: 4, arbitrary: choices.map(each => eventsOf(talk(each).entries)) },
  choices.map(each => log(...loopLog(each).drafts)),
)
const admitted = choices.map(each => log(...surfaceLog(each).drafts))
const logs = fc.oneof({ weight: 5, arbitrary: written }, admitted)

type Mutable<Value> = { -readonly [Key in keyof Value]: Value[Key] }
type Group = { events: SessionEvent[]; start: number; turn: number | null; end: SessionEvent | null }

/** The transcript of a whole log, worked out from nothing: groups first, then items, then replacements. */
function scratch(events: readonly SessionEvent[]): Omit<PlainTurn, 'key'>[] {
  const groups: Group[] = [{ events: [], start: 0, turn: null, end: null }]
  for (const event of events) {
    const open = groups.at(-1) as Group
    if (event.type === 'turn/start')
      groups.push({ events: [event], start: event.seq, turn: event.data.turn, end: null })
    else if (event.type === 'turn/end' && open.turn !== null) {
      open.end = event
      groups.push({ events: [], start: event.seq + 1, turn: null, end: null })
    } else open.events.push(event)
  }
  const replacedBy = (seq: number | null) =>
    events.findLast(event => isReplaceSurfaceEvent(event) && event.sourceEventSeqs?.some(each => each === seq))?.seq ??
    null
  return groups
    .map(({ events: own, start, turn, end }) => {
      const items = scratchItems(own, start).map(item => {
        if (item.kind === 'attempt' || item.kind === 'retry') return item
        return { ...item, replacedBy: replacedBy(item.kind === 'tool' ? item.resultSeq : item.seq) }
      })
      const [first] = own
      return {
        turn,
        startSeq: start,
        startedAt: turn === null ? null : (first?.time ?? null),
        endedAt: end?.time ?? null,
        reason: end?.type === 'turn/end' ? end.data.reason : null,
        endSeq: end?.seq ?? null,
        items,
        isCut: false,
      } as unknown as Omit<PlainTurn, 'key'>
    })
    .filter(group => group.turn !== null || group.items.length > 0)
}

function scratchItems(events: readonly SessionEvent[], start: number): TranscriptItem[] {
  const items: TranscriptItem[] = []
  const latest = (callId: string) =>
    items.findLast(item => item.kind === 'tool' && item.callId === callId) as Mutable<ToolItem> | undefined
  const addTool = (more: Partial<ToolItem> & Pick<ToolItem, 'callId' | 'name' | 'arguments'>): Mutable<ToolItem> => {
    const count = items.filter(item => item.kind === 'tool' && item.callId === more.callId).length
    const nothing = { askedSeq: null, callSeq: null, resultSeq: null, startedAt: null, durationMs: null, content: null }
    const item: ToolItem = {
      kind: 'tool',
      key: `${count + 1}:${more.callId}`,
      state: 'asked',
      approval: null,
      ...nothing,
      error: null,
      replacedBy: null,
      ...more,
    }
    items.push(item)
    return item
  }
  for (const event of events) {
    const { seq, time } = event
    const base = { key: String(seq), seq, time }
    if (event.type === 'tool/call') {
      const { callId, name, arguments: args } = event.data
      const known = latest(callId)
      const tool = known === undefined || known.resultSeq !== null ? addTool({ callId, name, arguments: args }) : known
      const isAsked = tool.approval?.state === 'asked'
      Object.assign(tool, { state: isAsked ? 'waiting' : 'running', callSeq: seq, startedAt: time })
    } else if (event.type === 'approval/asked') {
      const { id, callId, toolName, reason = null } = (event.data ?? {}) as Partial<typeof event.data>
      const tool = latest(callId ?? '')
      const isKnown = items.some(item => item.kind === 'tool' && item.approval?.id === id)
      if (!id || !toolName || tool?.resultSeq !== null || isKnown) continue
      tool.approval = { id, state: 'asked', reason, askedSeq: seq, decidedSeq: null }
      tool.state = 'waiting'
    } else if (event.type === 'approval/decided') {
      const { id, outcome } = (event.data ?? {}) as Partial<typeof event.data>
      const tool = items.find(item => item.kind === 'tool' && item.approval?.id === id) as Mutable<ToolItem> | undefined
      if (tool?.state !== 'waiting') continue
      tool.approval = { ...(tool.approval as ToolApproval), state: outcome ?? 'asked', decidedSeq: seq }
      tool.state = outcome === 'allowed-once' || tool.callSeq !== null ? 'running' : 'asked'
    } else if (event.type === 'llm/retry') {
      const data = (event.data ?? {}) as Partial<typeof event.data>
      const { retryId, retry, maxRetries = null, delayMs, failure } = data
      if (typeof retry !== 'number' || retry < 1 || typeof delayMs !== 'number' || failure?.code === undefined) continue
      items.push({
        ...{ kind: 'retry', ...base, retryId: String(retryId), retry, maxRetries, delayMs, failure },
        state: 'waiting',
      })
    } else if (event.type === 'llm/retry-started') {
      const { retryId, retry } = (event.data ?? {}) as Partial<typeof event.data>
      const last = items.findLast(item => item.kind === 'retry' && item.retryId === retryId) as
        | Mutable<RetryItem>
        | undefined
      if (last?.retry === retry && last !== undefined) last.state = 'started'
    } else if (event.type === 'assistant/attempt') {
      const parts = visibleParts(event.data.stream)
      if (parts.text + parts.reasoning !== '') items.push({ kind: 'attempt', ...base, ...parts })
    } else if (isReplaceSurfaceEvent(event)) {
      const isNode = (source: number) =>
        source < start || events.some(each => each.seq === source && isSurfaceEvent(each))
      const replaces = (event.sourceEventSeqs ?? []).filter(isNode)
      const message = event.type === 'user/message' ? event.data : event.data.message
      items.push({ kind: 'replacement', ...base, type: event.type, message, replaces, replacedBy: null })
    } else if (event.type === 'system/message') {
      items.push({ kind: 'system', ...base, message: event.data.message, replacedBy: null })
    } else if (event.type === 'user/message') {
      items.push({ kind: 'user', ...base, message: event.data, replacedBy: null })
    } else if (event.type === 'assistant/message') {
      const { message, stream, interrupted = false, usage = streamUsage(stream) } = event.data
      const durationMs = streamDuration(stream)
      items.push({ kind: 'answer', ...base, message, interrupted, usage, durationMs, replacedBy: null })
      for (const block of message.content) {
        if (block.type === 'tool-call')
          addTool({ callId: block.id, name: block.name, arguments: block.arguments, askedSeq: seq })
      }
    } else if (event.type === 'tool/result') {
      const { callId } = event.data.message.source
      const known = latest(callId)
      const tool =
        known === undefined || known.resultSeq !== null ? addTool({ callId, name: '', arguments: '' }) : known
      const [block] = event.data.message.content
      const { approval } = tool
      Object.assign(tool, {
        approval: approval?.state === 'asked' ? { ...approval, state: 'cancelled' } : approval,
        state: block.isError === true ? 'failed' : 'done',
        resultSeq: seq,
        durationMs: tool.startedAt === null ? null : Math.max(0, time - tool.startedAt),
        content: block.content,
        error: event.data.error ?? null,
      })
    }
  }
  return items
}

const unnamed = (turns: readonly PlainTurn[]): Omit<PlainTurn, 'key'>[] => turns.map(({ key: _, ...turn }) => turn)

/** What shows the same before and after is the same object. */
function expectShared(before: Transcript, after: Transcript): void {
  const known = new Map([...before.turns].map(turn => [turn.startSeq, turn]))
  for (const turn of after.turns) {
    const old = known.get(turn.startSeq)
    if (old === undefined) continue
    const items = new Map([...old.items].map(item => [item.key, item]))
    let changes = Math.abs(old.items.length - turn.items.length)
    for (const item of turn.items) {
      const same = items.get(item.key)
      if (same === item) continue
      changes += 1
      if (same !== undefined) expect(item).not.toEqual(same)
    }
    const [a, b] = [
      unnamed(plainTurns({ ...before, turns: Sequence.from([old]) })),
      unnamed(plainTurns({ ...after, turns: Sequence.from([turn]) })),
    ]
    if (changes === 0 && old.key === turn.key && JSON.stringify(a) === JSON.stringify(b)) expect(turn).toBe(old)
  }
}

function expectNamed(transcript: Transcript): void {
  const keys = [...transcript.turns].map(turn => turn.key)
  expect(new Set(keys).size).toBe(keys.length)
  for (const { items } of transcript.turns) {
    expect(new Set([...items].map(item => item.key)).size).toBe(items.length)
  }
}

describe('laws of the transcript', () => {
  it('[V2, V3, V4, V6] event by event it is what the whole log says, and keeps what an event does not touch', () => {
    fc.assert(
      fc.property(logs, events => {
        let state = emptyTranscript()
        const states = [state]
        const copies = [JSON.stringify(plain(state))]
        for (const event of events) {
          const next = evolveTranscript(state, event)
          expectShared(state, next)
          states.push((state = next))
          copies.push(JSON.stringify(plain(state)))
        }
        expect(unnamed(plainTurns(state))).toEqual(scratch(events))
        expectNamed(state)
        // No state was changed by what came after it.
        expect(states.map(each => JSON.stringify(plain(each)))).toEqual(copies)
      }),
    )
  })

  it('[V6] a state can be gone on from more than once', () => {
    fc.assert(
      fc.property(logs, fc.nat(), (events, at) => {
        const base = foldTranscript(events.slice(0, at % (events.length + 1)))
        foldTranscript(
          log(...Array.from({ length: base.to }, () => said('x')), turnStart(99), said('other'), ended(99)),
          base,
        )
        foldTranscript(events, base)
        expect(unnamed(plainTurns(foldTranscript(events, base)))).toEqual(scratch(events))
      }),
    )
  })

  it('[V7] pages in front and events behind, cut anywhere, give the transcript of all of them', () => {
    const cuts = fc.array(fc.record({ isPage: fc.boolean(), size: fc.integer({ min: 1, max: 20 }) }), { maxLength: 30 })
    const paged = fc.oneof(fc.tuple(written, fc.constant(true)), fc.tuple(admitted, fc.constant(false)))
    fc.assert(
      fc.property(paged, fc.nat(), cuts, ([events, isWritten], at, steps) => {
        let from = at % (events.length + 1)
        let to = from
        let state = emptyTranscript(from)
        const whole = [...steps, { isPage: true, size: events.length }, { isPage: false, size: events.length }]
        for (const { isPage, size } of whole) {
          const before = state
          if (isPage) {
            state = prependHistory(state, events.slice(Math.max(0, from - size), from))
            from = Math.max(0, from - size)
          } else {
            state = foldTranscript(events.slice(to, to + size), state)
            to = Math.min(events.length, to + size)
          }
          expectShared(before, state)
          expectNamed(state)
          const straight = foldTranscript(events.slice(from, to), emptyTranscript(from))
          expect([state.from, state.to]).toEqual([from, to])
          expect(unnamed(plainTurns(state))).toEqual(unnamed(plainTurns(straight)))
          // Where events lie about their turn, names depend on what was there first.
          if (isWritten) expect(plain(state)).toEqual(plain(straight))
        }
        expect(unnamed(plainTurns(state))).toEqual(scratch(events))
      }),
    )
  })

  it('[V7] the turns after the cut keep their references', () => {
    fc.assert(
      fc.property(choices, fc.nat(), fc.integer({ min: 1, max: 50 }), (each, at, size) => {
        const events = eventsOf(talk(each).entries)
        const from = at % (events.length + 1)
        const page = events.slice(Math.max(0, from - size), from)
        const before = foldTranscript(events.slice(from), emptyTranscript(from))
        const after = prependHistory(before, page)
        const whole = [...before.turns].filter(turn => turn.startSeq >= (before.memory.firstTurnSeq ?? Infinity))
        expect(whole.length === 0 ? [] : after.turns.slice(-whole.length)).toEqual(whole)
        whole.forEach((turn, index) => expect(after.turns.at(index - whole.length)).toBe(turn))
        // A turn whose beginning is loaded later is the same turn.
        const cut = before.turns.at(0)
        if (cut?.isCut === true && cut.turn !== null) expect([...after.turns].map(turn => turn.key)).toContain(cut.key)
      }),
    )
  })

  it('[V5, V7] frames change the live answer only, and it is never shown beside its message', () => {
    const ids = fc.constantFrom('m-1-1', 'm-1-2', 'm-2-1', 'other')
    const frames = fc.array(
      fc
        .tuple(ids, fc.boolean())
        .map(([id, isStart]): AssistantStreamFrame => (isStart ? startFrame(id) : textFrame(id, 'x'))),
      { maxLength: 4 },
    )
    fc.assert(
      fc.property(choices, fc.array(frames, { maxLength: 60 }), (each, arriving) => {
        const events = eventsOf(talk(each).entries)
        let state = emptyTranscript()
        events.forEach((event, index) => {
          state = evolveTranscript(state, event)
          const { turns } = state
          state = streamTranscript(state, arriving[index] ?? [])
          expect(state.turns).toBe(turns)
          const answers = [...(turns.at(-1)?.items ?? [])].flatMap(item =>
            item.kind === 'answer' ? [item.message.id] : [],
          )
          expect(answers).not.toContain(state.live?.messageId)
        })
        expect(unnamed(plainTurns(state))).toEqual(scratch(events))
      }),
    )
  })
})
