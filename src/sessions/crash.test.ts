/** A crash after any event: what is stored opens again, is closed as the rules say, and goes on. */
import { describe, expect, it } from 'vitest'
import type { SessionEvent } from '../core/events.ts'
import { SessionId } from '../core/ids.ts'
import { validateOpenAiChat } from '../core/provider-rules.ts'
import { repairLog } from '../core/repair.ts'
import { requestMessages } from '../core/request-messages.ts'
import { agentKit, handClock, leftWith, settled, storedEvents, tool, typesOf } from '../testing/agent-kit.ts'
import { chunksOf, requestTo } from '../testing/ai-sdk-kit.ts'
import { answerOf, openAiKit } from '../testing/openai-kit.ts'
import { scriptedModel } from '../testing/scripted-model.ts'

const tools = [tool('read', () => 'read it'), tool('write', () => 'wrote it')]

/** The stored log of two turns, the second with two calls in one step. */
async function completeLog(): Promise<readonly SessionEvent[]> {
  const model = scriptedModel([
    { text: 'Hello.' },
    { text: 'Both.', toolCalls: [{ id: 'c1', name: 'read' }, { id: 'c2', name: 'write' }] }, // biome-ignore format: one line
    { text: 'Done.' },
  ])
  const kit = await agentKit({ model, system: 'Be brief.', tools })
  await kit.agent.send({ text: 'hi' }).done
  await kit.agent.send({ text: 'read and write' }).done
  return kit.stored()
}

const isTurnOpen = (events: readonly SessionEvent[]): boolean =>
  events.findLastIndex(event => event.type === 'turn/start') > events.findLastIndex(event => event.type === 'turn/end')

/** What a repair must add, worked out by hand from the events of the open turn. */
function expectedClosers(events: readonly SessionEvent[]): readonly (readonly [string, string?])[] {
  if (!isTurnOpen(events)) return []
  const open = events.slice(events.findLastIndex(event => event.type === 'turn/start'))
  const has = (type: string, callId: string) =>
    open.some(event => event.type === type && JSON.stringify(event).includes(`"${callId}"`))
  const isStepOpen =
    open.findLastIndex(event => event.type === 'step/start') > open.findLastIndex(event => event.type === 'step/end')
  const closers: (readonly [string, string?])[] = []
  for (const callId of ['c1', 'c2']) {
    if (!has('assistant/message', callId) || has('tool/result', callId)) continue
    closers.push(['tool/result', has('tool/call', callId) ? 'TOOL_OUTCOME_UNKNOWN' : 'TOOL_NOT_STARTED'])
  }
  if (isStepOpen) closers.push(['step/end'])
  return [...closers, ['turn/end']]
}

describe('a crash', async () => {
  const whole = await completeLog()

  it('is tried at every event of a log that has all kinds of them', () => {
    expect(whole.length).toBeGreaterThan(20)
    expect([...new Set(typesOf(whole))].sort()).toEqual([
      'assistant/message',
      'request/context',
      'request/header',
      'step/end',
      'step/start',
      'system/message',
      'tool/call',
      'tool/result',
      'turn/end',
      'turn/start',
      'user/message',
    ])
  })

  it.each(whole.map((event, index) => [index, event.type] as const))(
    '[R1, R2, R3, O2] after event %i (%s) the session opens repaired, stored so, and goes on',
    async (index, _type) => {
      const left = whole.slice(0, index + 1)
      const storage = await leftWith(left)
      const model = scriptedModel([{ text: 'Here again.' }])
      const kit = await agentKit({ model, system: 'Be brief.', tools }, { storage, clock: handClock(9_000) })

      // Repaired by the rules, the original untouched, the marker last.
      const opened = kit.live.session.snapshotEvents()
      expect(opened.slice(0, left.length)).toEqual(left)
      const closers = opened.slice(left.length, -1)
      expect(closers.map(event => [event.type, ...errorOf(event)])).toEqual(expectedClosers(left))
      expect(closers.every(event => event.time === left.at(-1)?.time)).toBe(true)
      expect(opened.at(-1)).toMatchObject({ type: 'session/end-seed', data: {}, time: 9_000 })

      // Stored without anybody asking for it.
      await settled()
      expect(await storedEvents(storage)).toEqual(opened)

      expect(await kit.agent.send({ text: 'again' }).done).toEqual({ kind: 'completed' })
      const messages = kit.live.session.deriveMessages()
      expect(requestMessages(messages).changes).toEqual([])
      const wire = openAiKit(() => answerOf('ok'))
      await chunksOf(wire.model, requestTo(wire.model, model.requests[0]?.messages ?? []))
      expect(wire.bodies.map(validateOpenAiChat)).toEqual([[]])

      // And again: nothing is left to repair.
      const again = await kit.reopen()
      expect(repairLog(again.live.session.snapshotEvents())).toEqual([])
      expect(again.live.session.deriveMessages()).toEqual(messages)
    },
  )

  it('R1 says what is known of each call: one answered, one started, one not', async () => {
    const started = whole.findLastIndex(event => event.type === 'tool/call')
    const storage = await leftWith(whole.slice(0, started + 1))
    const { live } = await agentKit({ model: scriptedModel([]) }, { storage })
    const last = live.session.deriveMessages().at(-1)
    expect(last).toMatchObject({
      id: `interrupted-tool-result-c2-${started + 1}`,
      content: [{ toolCallId: 'c2', isError: true, content: [{ type: 'text' }] }],
    })
    expect(live.session.eventAt(started + 1)).toMatchObject({ sourceEventSeqs: [started] })
  })

  it('R6 a log that ends in the marker gets no second one', async () => {
    const storage = await leftWith(whole)
    const first = await agentKit({ model: scriptedModel([]) }, { storage })
    const length = first.live.session.length
    expect(length).toBe(whole.length + 1)
    const second = await first.reopen()
    expect(second.live.session.length).toBe(length)
  })

  it('R5 a crash during the repair is repaired like any other', async () => {
    const cut = whole.findLastIndex(event => event.type === 'tool/call')
    const left = whole.slice(0, cut + 1)
    const closers = repairLog(left)
    for (let count = 0; count <= closers.length; count += 1) {
      const storage = await leftWith([...left, ...closers.slice(0, count)])
      const { live } = await agentKit({ model: scriptedModel([]) }, { storage })
      expect(live.session.snapshotEvents().slice(0, -1)).toEqual([...left, ...closers])
    }
  })
})

const errorOf = (event: SessionEvent): readonly string[] =>
  event.type === 'tool/result' ? [event.data.error?.code ?? ''] : []

describe('a log that is not one', () => {
  it.each<[string, (events: SessionEvent[]) => string, object]>([
    ['is not JSON', () => '[{"type":', { name: 'StorageError', code: 'corrupt', seq: 0, sessionId: 's' }],
    ['has fewer events than it says', events => JSON.stringify(events.slice(1)), { code: 'corrupt', seq: 0 }],
    ['is no list', () => '{}', { code: 'corrupt' }],
    [
      'leaves a seq out',
      events => JSON.stringify(events.map((event, index) => (index === 5 ? { ...event, seq: 6 } : event))),
      { name: 'SessionError', code: 'seq', seq: 6, index: 5 },
    ],
    [
      'holds a type this build must know',
      events => JSON.stringify(events.map((event, index) => (index === 4 ? { ...event, type: 'new/thing' } : event))),
      { name: 'SessionError', code: 'unknown-type', seq: 4, eventType: 'new/thing' },
    ],
    [
      'holds a message of no shape',
      events => JSON.stringify(events.map(event => (event.type === 'user/message' ? { ...event, data: {} } : event))),
      { name: 'SessionError', code: 'payload', seq: 3 },
    ],
  ])('O2 %s: it is refused, left as it is, and can be tried again', async (_what, damage, error) => {
    const events = [...(await completeLog())]
    const text = damage(events)
    const storage = await leftWith(events, text)
    const open = () => agentKit({ model: scriptedModel([]) }, { storage })
    await expect(open()).rejects.toMatchObject(error)
    await expect(open()).rejects.toMatchObject(error)
    expect((await storage.read(SessionId('s'))).map(segment => segment.text)).toEqual([text])
    expect((await storage.list()).map(record => record.nextSeq)).toEqual([events.length])
  })
})
