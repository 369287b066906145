/** Whatever is sent, steered, taken back and stopped, and wherever it is cut off: no message is lost, none runs twice. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { SessionEvent } from '../core/events.ts'
import { Session } from '../core/session.ts'
import { agentKit, type AgentKit, leftWith, modelOf, settled, storedEvents, tool } from '../testing/agent-kit.ts'
import { answerChunks, gate, scriptedModel } from '../testing/scripted-model.ts'
import { evolveInbox, type Inbox, inboxFold, isEmptyInbox } from '../core/inbox.ts'

const failed = { kind: 'error', failure: { code: 'SERVER', message: 'no' } } as const
const endings = {
  answer: answerChunks({ text: 'ok' }),
  tools: answerChunks({ toolCalls: [{ id: 'c', name: 'look' }] }),
  truncated: answerChunks({ text: 'lo', finish: { kind: 'max-tokens' } }),
  failure: answerChunks({ finish: failed }),
}

/** A model that waits for a test to say how each request ends. */
function heldModel() {
  let next: ((ending: keyof typeof endings) => void) | null = null
  const model = modelOf(async function* ({ signal }) {
    const ending = await new Promise<keyof typeof endings | null>(resolve => {
      next = resolve
      signal.addEventListener('abort', () => resolve(null), { once: true })
    })
    if (ending === null) next = null
    else yield* endings[ending]
  })
  const end = (ending: keyof typeof endings) => {
    const resolve = next
    next = null
    resolve?.(ending)
  }
  return { model, isAsked: () => next !== null, end }
}

/** What should be so, worked out with plain arrays. */
class Expected {
  nextTurn: string[] = []
  nextStep: string[] = []
  said: string[] = []
  isRunning = false

  start(): void {
    this.isRunning = true
    this.said.push(...this.nextStep.splice(0), ...this.nextTurn.splice(0, 1))
  }

  send(text: string, isSteering: boolean): void {
    if (this.isRunning && isSteering) this.nextStep.push(text)
    else this.nextTurn.push(text)
    if (!this.isRunning) this.start()
  }

  resume(): void {
    if (!this.isRunning && this.nextStep.length + this.nextTurn.length > 0) this.start()
  }

  end(ending: keyof typeof endings): void {
    if (!this.isRunning) return
    if (ending === 'failure') this.isRunning = false
    else if (ending === 'tools' || this.nextStep.length > 0) this.said.push(...this.nextStep.splice(0))
    else if (this.nextTurn.length > 0) this.start()
    else this.isRunning = false
  }

  at(index: number): string | undefined {
    return [...this.nextStep, ...this.nextTurn][index]
  }

  replace(text: string, by: readonly string[]): void {
    for (const list of [this.nextStep, this.nextTurn]) {
      const index = list.indexOf(text)
      if (index !== -1) list.splice(index, 1, ...by)
    }
  }
}

const command = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom('send' as const, 'steer' as const).map(kind => ({ kind, at: 0 })) },
  { weight: 5, arbitrary: fc.constantFrom('answer' as const, 'tools' as const).map(kind => ({ kind, at: 0 })) },
  {
    weight: 3,
    arbitrary: fc
      .constantFrom('truncated' as const, 'failure' as const, 'stop' as const, 'resume' as const)
      .map(kind => ({ kind, at: 0 })),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom('remove' as const, 'edit' as const), at: fc.nat(4) }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'reopen' as const, at: 0 }) },
)

const textOf = (message: { readonly content: readonly object[] }) =>
  message.content.map(block => ('text' in block ? String(block.text) : '')).join('')

describe('any interleaving', () => {
  it('[A11, A12, A13, A14, A15] keeps the lists, says each message once, and leaves a log that can be restored', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(command, { maxLength: 30 }), async commands => {
        const held = heldModel()
        let kit = await agentKit({ model: held.model, tools: [tool('look', () => 'seen')] })
        const expected = new Expected()
        const removed: string[] = []
        const sent: string[] = []
        for (const { kind, at } of commands) {
          const target = expected.at(at)
          const id = idOf(kit.agent.inbox, target)
          switch (kind) {
            case 'send':
            case 'steer': {
              const text = `m${sent.length}`
              sent.push(text)
              kit.agent[kind]({ text })
              expected.send(text, kind === 'steer')
              break
            }
            case 'remove':
              expect(kit.agent.removeQueued(id)).toBe(target !== undefined)
              if (target !== undefined) removed.push(target)
              if (target !== undefined) expected.replace(target, [])
              break
            case 'edit': {
              const text = `${target ?? ''}'`
              expect(kit.agent.editQueued(id, { text })).toBe(target !== undefined)
              if (target !== undefined) expected.replace(target, [text])
              break
            }
            case 'resume':
              kit.agent.resume()
              expected.resume()
              break
            case 'stop':
              kit.agent.cancel()
              expected.isRunning = false
              break
            case 'reopen':
              kit = await kit.reopen()
              expected.isRunning = false
              break
            default:
              held.end(kind)
              expected.end(kind)
          }
          await until(() => (expected.isRunning ? held.isAsked() : kit.agent.running === null))
          expect(read(kit)).toEqual([expected.nextStep, expected.nextTurn, expected.said])
        }
        const plain = (text: string) => text.replaceAll("'", '')
        const all = [...expected.said, ...expected.nextStep, ...expected.nextTurn, ...removed].map(plain)
        expect(all.toSorted()).toEqual(sent.toSorted())

        kit.agent.cancel()
        await until(() => kit.agent.running === null)
        const { session } = kit.live
        const events = JSON.parse(JSON.stringify(session.snapshotEvents())) as SessionEvent[]
        const restored = Session.fromRestore({ header: session.header, events, now: () => 1 })
        expect(restored.fold(inboxFold)).toEqual(kit.agent.inbox)
        expect(events.reduce(evolveInbox, inboxFold.initial())).toEqual(kit.agent.inbox)
      }),
      { numRuns: 150 },
    )
  }, 60_000)
})

const idOf = ({ nextStep, nextTurn }: Inbox, text: string | undefined): string =>
  [...nextStep, ...nextTurn].find(message => textOf(message) === text)?.id ?? 'unknown'

const read = ({ agent: { inbox }, live }: AgentKit) => {
  const said = live.session.snapshotEvents().filter(event => event.type === 'user/message')
  return [inbox.nextStep.map(textOf), inbox.nextTurn.map(textOf), said.map(event => textOf(event.data))]
}

async function until(isSo: () => boolean): Promise<void> {
  for (let round = 0; !isSo(); round += 1) {
    if (round > 500) expect.fail('it never came to that')
    await new Promise(resolve => setImmediate(resolve))
  }
}

/** Ids of what was said in a log, in order. */
/** What people said; what the agent says when it goes on after an interruption is not theirs. */
const said = (events: readonly SessionEvent[]) =>
  events.flatMap(event => {
    return event.type === 'user/message' && event.data.source.kind === 'user' ? [event.data.id] : []
  })

describe('a crash', async () => {
  const whole = await fullLog()

  async function fullLog() {
    const pause = gate()
    const model = scriptedModel([
      [pause, ...answerChunks({ text: '1' })],
      { text: 'a', toolCalls: [{ id: 'c', name: 'look' }] },
      { text: 'b' },
      { text: 'c' },
      { text: 'd' },
    ])
    const kit = await agentKit({ model, tools: [tool('look', () => 'seen')] })
    kit.agent.send({ text: 'one' })
    const two = kit.agent.send({ text: 'two' })
    kit.agent.steer({ text: 'aside' })
    kit.agent.editQueued(two.messageId, { text: 'deux' })
    kit.agent.removeQueued(kit.agent.send({ text: 'nothing' }).messageId)
    kit.agent.send({ text: 'three' })
    pause.open()
    await two.done
    kit.agent.steer({ text: 'over there' })
    while (kit.agent.running !== null) await kit.agent.running.done
    return kit.stored()
  }

  /** What must be pending after `events`: what was put in and neither taken back nor said. */
  function expectedPending(events: readonly SessionEvent[]): Set<string> {
    const pending = new Set<string>()
    for (const event of events) {
      if (event.type === 'user/message') pending.delete(event.data.id)
      if (event.type !== 'agent/inbox/spliced') continue
      const splice = event.data
      for (const { id } of splice.inserted) pending.add(id)
      if (splice.outcome === 'canceled' && splice.inserted.length === 0) pending.delete(removedId(events, event.seq))
    }
    return pending
  }

  /** The only message this log takes back is the last one inserted before that. */
  const removedId = (events: readonly SessionEvent[], seq: number): string => {
    const before = events[seq - 1]?.data as { inserted: { id: string }[] }
    return before.inserted[0]?.id ?? ''
  }

  it.each(whole.map((event, index) => [index, event.type] as const))(
    '[A14, R5] after event %i (%s) everything said is said once, and everything else still waits',
    async (index, _type) => {
      const left = whole.slice(0, index + 1)
      const storage = await leftWith(left)
      const model = scriptedModel(Array.from({ length: 9 }, () => ({ text: 'ok' })))
      const kit = await agentKit(
        { model, tools: [tool('look', () => 'seen')] },
        { storage, newId: () => crypto.randomUUID() },
      )
      await settled()
      expect(model.requests).toEqual([])
      const pending = [...kit.agent.inbox.nextStep, ...kit.agent.inbox.nextTurn].map(({ id }) => id as string)
      expect(new Set(pending)).toEqual(expectedPending(left))
      expect(await storedEvents(storage)).toEqual(kit.live.session.snapshotEvents())

      kit.agent.resume()
      while (kit.agent.running !== null) await kit.agent.running.done
      expect(isEmptyInbox(kit.agent.inbox)).toBe(true)
      const ids = said(await kit.stored())
      expect(ids).toEqual([...said(left), ...pending])
      expect(new Set(ids).size).toBe(ids.length)
    },
  )
})
