/** Answers that a crash cut off: what had come of them is kept (SPEC W16, R9). */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { AssistantMessage, SessionEvent, StreamChunk } from '../core/events.ts'
import { SessionId } from '../core/ids.ts'
import { validateOpenAiChat } from '../core/provider-rules.ts'
import { expandStream } from '../core/stream-records.ts'
import { validateLog } from '../format/validate.ts'
import { withFaults } from '../storage/faults.ts'
import { memoryStorage } from '../storage/memory.ts'
import type { AppendBatch, SessionStorage } from '../storage/storage.ts'
import { agentKit, modelOf, storedEvents, tool, typesOf } from '../testing/agent-kit.ts'
import { chunksOf, requestTo } from '../testing/ai-sdk-kit.ts'
import { answerOf, openAiKit } from '../testing/openai-kit.ts'
import { scriptedModel } from '../testing/scripted-model.ts'
import { AnswerJournal, readJournal } from './answer-journal.ts'

/** A storage that is cut off at some moment, as by the death of the process: no call answers any more. */
function mortal(inner: SessionStorage = memoryStorage()) {
  const batches: AppendBatch[] = []
  let isDead = false
  const storage = withFaults(inner, async ({ method, args }, proceed) => {
    if (isDead) return new Promise(() => undefined)
    if (method === 'append') batches.push(args[0] as AppendBatch)
    return proceed()
  })
  return { storage, inner, batches, die: () => (isDead = true) }
}

/** A model that says `chunks` one after the other, as it is told to. */
function steered(chunks: readonly StreamChunk[]) {
  let wake = (): void => undefined
  let allowed = 0
  const model = modelOf(async function* () {
    for (let at = 0; ; at += 1) {
      while (at >= allowed) await new Promise<void>(resolve => (wake = resolve))
      const chunk = chunks[at]
      if (chunk === undefined) return
      yield chunk
    }
  })
  return {
    model,
    say: async (count: number) => {
      allowed += count
      wake()
      await vi.advanceTimersByTimeAsync(0)
    },
  }
}

const text = (...texts: readonly string[]): StreamChunk[] => [
  { type: 'block-start', index: 0, blockType: 'text' },
  ...texts.map(each => ({ type: 'text-delta', index: 0, text: each }) as const),
]
const textOf = (event: SessionEvent | undefined) =>
  event?.type === 'assistant/message'
    ? event.data.message.content.map(block => 'text' in block && block.text).join()
    : null

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
})
afterEach(() => {
  vi.useRealTimers()
})

/** Starts an answer, lets some of it come, and opens the session again after a crash. */
async function crashedIn(chunks: readonly StreamChunk[], said: number, waitMs = 0) {
  const first = mortal()
  const answering = steered(chunks)
  const kit = await agentKit({ model: answering.model, system: 'Be brief.' }, { storage: first.storage })
  void kit.agent.send({ text: 'hi' })
  await vi.advanceTimersByTimeAsync(10)
  for (let count = 0; count < said; count += 1) await answering.say(1)
  await vi.advanceTimersByTimeAsync(waitMs)
  first.die()
  const journaled = await first.inner.journal(SessionId('s'))
  const again = mortal(first.inner)
  const model = scriptedModel([{ text: 'Here again.' }])
  const reopened = await agentKit({ model }, { storage: again.storage })
  return { first, again, kit, reopened, journaled, model }
}

describe('an answer that a crash cut off', () => {
  it('[W16, R9] is kept as far as it was journaled, as an interrupted answer, and the turn is closed', async () => {
    const { reopened, again, journaled } = await crashedIn(text('One ', 'two ', 'three'), 4, 300)
    const events = await reopened.stored()
    const at = typesOf(events).indexOf('assistant/message')
    expect(textOf(events[at])).toBe('One two three')
    expect(events[at]).toMatchObject({ data: { interrupted: true, message: { source: { provider: 'scripted' } } } })
    expect(typesOf(events).slice(at)).toEqual(['assistant/message', 'step/end', 'turn/end', 'session/end-seed'])
    expect(readJournal(journaled)?.call.messageId).toBe((events[at]?.data as { message: AssistantMessage }).message.id)
    // Settled and forgotten in one transaction.
    expect(await again.inner.journal(SessionId('s'))).toEqual([])
    expect(again.batches.filter(({ journal }) => journal !== undefined)).toMatchObject([
      { journal: 'settled', segment: { firstSeq: at } },
    ])
    expect(await reopened.live.verify()).toBeNull()
  })

  it('[W16, R9, I9, F9] that was cut inside a surrogate pair leaves a lawful log', async () => {
    const { reopened } = await crashedIn(text('net \ud83c'), 2, 300)
    const events = await reopened.stored()
    const answer = events.find(event => event.type === 'assistant/message')
    expect(textOf(answer)).toBe('net ')
    expect(expandStream(answer?.data.stream).at(-1)?.chunk).toMatchObject({ text: 'net \ud83c' })
    expect(validateLog({ header: reopened.live.session.header, events })).toEqual([])
  })

  it('[W16] is written at once, then four times a second at most, in pieces that add up', async () => {
    const first = mortal()
    const { model, say } = steered(text(...Array.from({ length: 40 }, (_, index) => `${index} `)))
    const kit = await agentKit({ model }, { storage: first.storage })
    void kit.agent.send({ text: 'hi' })
    await vi.advanceTimersByTimeAsync(10)
    const written = () => first.batches.filter(({ journal }) => typeof journal === 'object')
    await say(1)
    expect(written()).toHaveLength(1)
    for (let count = 0; count < 40; count += 1) {
      await say(1)
      await vi.advanceTimersByTimeAsync(25)
    }
    expect(written().length).toBeGreaterThanOrEqual(4)
    expect(written().length).toBeLessThanOrEqual(6)
    expect(written().map(({ journal }) => (journal as { part: number }).part)).toEqual(written().map((_, part) => part))
    await vi.advanceTimersByTimeAsync(300)
    expect(readJournal(await first.inner.journal(SessionId('s')))?.chunks).toHaveLength(41)
    expect(new Set(written().map(({ durability }) => durability))).toEqual(new Set(['relaxed']))
    // No event is written with it, and none is claimed to be.
    expect(new Set(written().map(({ segment }) => segment.count))).toEqual(new Set([0]))
  })

  it('[W16, B11] is written to its last word by a flush', async () => {
    const first = mortal()
    const { model, say } = steered(text('One ', 'two ', 'three'))
    const kit = await agentKit({ model }, { storage: first.storage })
    void kit.agent.send({ text: 'hi' })
    await vi.advanceTimersByTimeAsync(10)
    for (let count = 0; count < 4; count += 1) await say(1)
    expect(readJournal(await first.inner.journal(SessionId('s')))?.chunks).toHaveLength(1)
    await kit.live.flush()
    expect(readJournal(await first.inner.journal(SessionId('s')))?.chunks).toHaveLength(4)
  })

  it('[W16, R9] becomes an attempt when nothing of it was visible', async () => {
    const { reopened } = await crashedIn([{ type: 'block-start', index: 0, blockType: 'text' }], 1, 300)
    const events = await reopened.stored()
    expect(typesOf(events).filter(type => type.startsWith('assistant/'))).toEqual(['assistant/attempt'])
    expect(typesOf(events).slice(-3)).toEqual(['step/end', 'turn/end', 'session/end-seed'])
  })

  it('[W16] leaves nothing in the log when no chunk had come', async () => {
    const { reopened, journaled } = await crashedIn(text('One'), 0, 300)
    expect(journaled).toEqual([])
    expect(typesOf(await reopened.stored()).filter(type => type.startsWith('assistant/'))).toEqual([])
  })

  it('[W16, A3] is sent on as part of the conversation, which strict providers accept', async () => {
    const { reopened, model } = await crashedIn(text('One ', 'two'), 3, 300)
    expect(await reopened.agent.send({ text: 'go on' }).done).toEqual({ kind: 'completed' })
    expect(reopened.live.session.deriveMessages().map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'user',
      'assistant',
    ])
    const wire = openAiKit(() => answerOf('ok'))
    await chunksOf(wire.model, requestTo(wire.model, model.requests[0]?.messages ?? expect.fail('no request')))
    expect(wire.bodies.map(validateOpenAiChat)).toEqual([[]])
  })

  it('[W16] is never doubled: whatever moment the process dies in, one answer or none is in the log', async () => {
    const chunks = [
      ...text('One ', 'two ', 'three'),
      { type: 'block-end', index: 0, block: { type: 'text', text: 'One two three' } },
      { type: 'finish', reason: { kind: 'stop' } },
    ] as const
    // Dies before or after the n-th write, whichever that is.
    for (let writes = 1; writes <= 12; writes += 1) {
      for (const moment of ['before', 'after'] as const) {
        const inner = memoryStorage()
        let left = writes
        const storage = withFaults(inner, async ({ method }, proceed) => {
          if (method === 'append') left -= 1
          if (left < 0 || (left === 0 && moment === 'before')) return new Promise(() => undefined)
          const answer = await proceed()
          return left === 0 ? new Promise(() => undefined) : answer
        })
        const answering = steered(chunks)
        const kit = await agentKit({ model: answering.model }, { storage })
        void kit.agent.send({ text: 'hi' })
        for (let count = 0; count <= chunks.length; count += 1) {
          await answering.say(1)
          await vi.advanceTimersByTimeAsync(100)
        }
        const journal = readJournal(await inner.journal(SessionId('s')))
        const reopened = await agentKit({ model: scriptedModel([{ text: 'again' }]) }, { storage: inner })
        const events = reopened.live.session.length === 0 ? [] : await reopened.stored()
        const answers = events.filter(({ type }) => type === 'assistant/message' || type === 'assistant/attempt')
        expect(answers.length, `${writes} ${moment}`).toBeLessThanOrEqual(1)
        if (journal !== null) expect(answers).toHaveLength(1)
        const said = answers.map(textOf)[0] ?? ''
        expect('One two three'.startsWith(said)).toBe(true)
        expect(await inner.journal(SessionId('s'))).toEqual([])
        await reopened.agent.send({ text: 'go on' }).done
        expect(await reopened.live.verify()).toBeNull()
        expect(await inner.journal(SessionId('s'))).toEqual([])
      }
    }
  })

  it('[W16] is not taken for another call: a journal of a step that is over is forgotten', async () => {
    const inner = memoryStorage()
    const kit = await agentKit({ model: scriptedModel([{ text: 'Hello.' }]) }, { storage: inner })
    await kit.agent.send({ text: 'hi' }).done
    const events = await kit.stored()
    const record = (await inner.get(SessionId('s'))) ?? expect.fail('not stored')
    const call = { attemptId: 'x', messageId: 'x', turn: 1, step: 1, provider: 'p', model: 'm' }
    await inner.append({
      ...{ id: SessionId('s'), logId: record.logId, epoch: record.epoch, durability: 'strict', time: null },
      segment: { firstSeq: record.nextSeq, count: 0, text: '[]' },
      journal: { part: 0, text: JSON.stringify([{ call }, ...text('stale').map(chunk => ({ time: 1, chunk }))]) },
    })
    const reopened = await agentKit({ model: scriptedModel([{ text: 'again' }]) }, { storage: inner })
    expect((await reopened.stored()).slice(0, events.length)).toEqual(events)
    expect(typesOf(await storedEvents(inner)).filter(type => type === 'assistant/message')).toHaveLength(1)
    expect(await inner.journal(SessionId('s'))).toEqual([])
  })

  it('[W16] with tools: a call that was running keeps its answer, and the next answer its journal', async () => {
    const first = mortal()
    const answering = steered(text('Looking ', 'it up'))
    const calling = scriptedModel([{ text: 'Let me see.', toolCalls: [{ id: 'c', name: 'look' }] }])
    let calls = 0
    const model = modelOf(request => ((calls += 1) === 1 ? calling : answering.model).stream(request))
    const tools = [tool('look', () => 'seen')]
    const kit = await agentKit({ model, tools }, { storage: first.storage })
    void kit.agent.send({ text: 'hi' })
    await vi.advanceTimersByTimeAsync(50)
    for (let count = 0; count < 3; count += 1) await answering.say(1)
    await vi.advanceTimersByTimeAsync(300)
    first.die()
    const reopened = await agentKit({ model: scriptedModel([{ text: 'again' }]), tools }, { storage: first.inner })
    const answers = (await reopened.stored()).filter(({ type }) => type === 'assistant/message')
    expect(answers.map(textOf).map(each => each?.replace(/,false$/, ''))).toEqual(['Let me see.', 'Looking it up'])
  })
})

describe('a journal', () => {
  it('[W16] ends at the first part that is missing or unreadable; one without a call is none', () => {
    const call = { attemptId: 'a', messageId: 'm', turn: 1, step: 1, provider: 'p', model: 'm' }
    const head = JSON.stringify([{ call }, { time: 1, chunk: 1 }])
    const chunks = (...parts: [number, string][]) =>
      readJournal(parts.map(([part, content]) => ({ part, text: content })))?.chunks.length ?? null
    expect(chunks([0, head], [1, '[2,3]'])).toBe(3)
    expect(chunks([0, head], [2, '[2,3]'])).toBe(1)
    expect(chunks([0, head], [1, '[2,'], [2, '[4]'])).toBe(1)
    expect(chunks([0, head], [1, '{}'])).toBe(1)
    expect(chunks([1, head])).toBeNull()
    expect(chunks([0, '[{}]'])).toBeNull()
    expect(chunks([0, '[]'])).toBeNull()
    expect(chunks([0, '[null]'])).toBeNull()
    expect(chunks()).toBeNull()
  })

  it('[W16] may hold any number of chunks in one part', () => {
    const call = { attemptId: 'a', messageId: 'm', turn: 1, step: 1, provider: 'p', model: 'm' }
    const content = `[${JSON.stringify({ call })}${',1'.repeat(300_000)}]`
    expect(readJournal([{ part: 0, text: content }])?.chunks).toHaveLength(300_000)
  })

  it('[W16] of a call that nothing settled gives way to that of the next', async () => {
    const { live, storage } = await agentKit({ model: scriptedModel([]) })
    const call = { attemptId: 'a', messageId: 'one', turn: 1, step: 1, provider: 'p', model: 'm' }
    const chunk = (index: number) => ({ time: 1, chunk: { type: 'text-delta', index, text: 'x' } }) as const
    live.session.append('turn/start', { turn: 1 })
    live.journal.begin(call)
    for (const index of [1, 2]) live.journal.push(chunk(index))
    await live.flush()
    live.journal.push(chunk(3))
    live.journal.end()
    live.journal.begin({ ...call, messageId: 'two' })
    for (const index of [4, 5]) live.journal.push(chunk(index))
    await live.flush()
    expect(readJournal(await storage.journal(live.session.id))).toEqual({
      call: { ...call, messageId: 'two' },
      chunks: [chunk(4), chunk(5)],
    })
  })

  it('[W16] holds nothing of a call that was settled, and starts again with the next', () => {
    const written: string[] = []
    const journal = new AnswerJournal(text => written.push(text))
    const call = (messageId: string) => ({ attemptId: 'a', messageId, turn: 1, step: 1, provider: 'p', model: 'm' })
    const chunk = { time: 1, chunk: { type: 'text-delta', index: 0, text: 'x' } } as const
    journal.push(chunk)
    expect(written).toEqual([])
    journal.begin(call('one'))
    journal.push(chunk)
    journal.push(chunk)
    journal.end()
    vi.advanceTimersByTime(1_000)
    expect(written).toHaveLength(1)
    journal.begin(call('two'))
    journal.push(chunk)
    expect(written.at(-1)).toContain('"messageId":"two"')
  })
})
