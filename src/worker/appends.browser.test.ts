/** Appends of a page: those of one job travel together, and each comes to its own end (SPEC B5). */
import fc from 'fast-check'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { Message, SessionEvent } from '../core/events.ts'
import { MessageId } from '../core/ids.ts'
import { withFaults } from '../storage/faults.ts'
import { memoryStorage } from '../storage/memory.ts'
import { scriptedModel } from '../testing/scripted-model.ts'
import type { ClientSession } from './client-session.ts'
import { connect, type Palimpsest } from './client.ts'
import { WorkerError } from './errors.ts'
import { serve } from './serve.ts'

let count = 0
// eslint-disable-next-line @typescript-eslint/unbound-method -- it is called with its port
const original = MessagePort.prototype.postMessage
const open: Palimpsest[] = []

/** A worker's side in this realm, and how many messages of commands a page sends it. */
function served() {
  const inner = memoryStorage()
  const stored: number[] = []
  const storage = withFaults(inner, ({ method, args }, proceed) => {
    if (method === 'append') stored.push((args[0] as { segment: { count: number } }).segment.count)
    return proceed()
  })
  const { port1, port2 } = new MessageChannel()
  serve({ agent: () => ({ model: scriptedModel([{ text: 'ok' }, { text: 'ok' }]) }), storage }, port1)
  const palimpsest = connect(port2)
  open.push(palimpsest)
  return { palimpsest, stored }
}

function dedicated(): { readonly palimpsest: Palimpsest; readonly worker: Worker } {
  const url = new URL('./fixtures/echo.worker.ts', import.meta.url)
  url.searchParams.set('database', `palimpsest-appends-test-${Date.now()}-${(count += 1)}`)
  const worker = new Worker(url, { type: 'module' })
  const palimpsest = connect(worker, { heartbeatMs: 200 })
  open.push(palimpsest)
  return { palimpsest, worker }
}

/** Names of the commands that are sent from now on. */
function sentCommands(): string[] {
  const sent: string[] = []
  const post = vi.spyOn(MessagePort.prototype, 'postMessage')
  post.mockImplementation(function (this: MessagePort, message: unknown, ...rest: []) {
    const { type, path } = message as { type?: unknown; path?: string[] }
    if (type === 'APPLY' && path !== undefined) sent.push(path.join('.'))
    original.call(this, message, ...rest)
  })
  return sent
}

afterEach(async () => {
  vi.restoreAllMocks()
  await Promise.all(open.splice(0).map(each => each.close()))
})

const say = (text: string) => ({
  id: MessageId(`m-${text.slice(0, 20)}`),
  role: 'user' as const,
  content: [{ type: 'text' as const, text }],
  source: { kind: 'user' },
})
const textsOf = ({ content }: Message) => content.map(block => (block.type === 'text' ? block.text : ''))
const append = (session: ClientSession, text: string) =>
  session.append('user/message', say(text), { surfaceOp: 'append' })
/** Refused: there is no such node to replace. */
const refused = (session: ClientSession, text: string) =>
  session.append('user/message', say(text), {
    surfaceOp: { op: 'replace', startSeq: 999_999, endSeq: 999_999 },
    sourceEventSeqs: [0],
  } as never)

async function eventsOf(session: ClientSession): Promise<SessionEvent[]> {
  const events: SessionEvent[] = []
  for await (const event of session.readEvents()) events.push(event)
  return events
}

describe('appends of one job', () => {
  it('[B5] travel as one message, a thousand of them, and resolve with the committed events', async () => {
    const session = await served().palimpsest.sessions.open('s')
    let updates = 0
    session.subscribe(({ kind }) => (updates += kind === 'committed' ? 1 : 0))
    const sent = sentCommands()
    const appended = Array.from({ length: 1000 }, async (_, index) => {
      const event = await append(session, String(index))
      // Applied by then, though nothing was read back.
      expect(session.length).toBeGreaterThan(event.seq)
      return event
    })
    const events = await Promise.all(appended)
    expect(sent).toEqual(['append'])
    expect(updates).toBe(1)
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index))
    expect(events).toEqual(await eventsOf(session))
  })

  it('[B5] are split when they are large', async () => {
    const session = await served().palimpsest.sessions.open('s')
    const sent = sentCommands()
    const large = 'x'.repeat(600_000)
    const texts = ['a', `b${large}`, `c${large}`, 'd', `e${large}${large}`, 'f']
    const events = await Promise.all(texts.map(text => append(session, text)))
    expect(sent).toEqual(['append', 'append', 'append', 'append'])
    expect(events.map(({ data }) => data.content)).toEqual(texts.map(text => say(text).content))
  })

  it('[B5, B1] are refused one by one; the others are admitted', async () => {
    const session = await served().palimpsest.sessions.open('s')
    const sent = sentCommands()
    const outcomes = await Promise.allSettled([
      append(session, 'a'),
      refused(session, 'b'),
      append(session, 'c'),
      session.append('user/message', { ...say('d'), source: new Date() as never }, { surfaceOp: 'append' }),
      session.append('turn/start', { turn: 7 }),
      append(session, 'e'),
    ])
    expect(sent).toEqual(['append'])
    expect(outcomes).toMatchObject([
      { status: 'fulfilled', value: { seq: 0 } },
      { status: 'rejected', reason: { name: 'SessionError', code: 'surface-range', seq: 1 } },
      { status: 'fulfilled', value: { seq: 1 } },
      { status: 'rejected', reason: { name: 'SessionError', code: 'not-json', path: '$.source' } },
      { status: 'rejected', reason: { name: 'SessionError', code: 'invariant', seq: 2, eventType: 'turn/start' } },
      { status: 'fulfilled', value: { seq: 2 } },
    ])
    expect(session.length).toBe(3)
  })

  it('[B5] keep their place between other commands, of other sessions too', async () => {
    const { palimpsest, stored } = served()
    const [one, two] = [await palimpsest.sessions.open('one'), await palimpsest.sessions.open('two')]
    const sent = sentCommands()
    const first = [append(one, 'a'), append(one, 'b')]
    const flushed = one.flush()
    const second = [append(one, 'c'), append(two, 'd'), append(one, 'e')]
    const turn = one.send({ text: 'f' })
    const third = append(one, 'g')
    await flushed
    expect(stored.reduce((sum, each) => sum + each, 0)).toBeGreaterThanOrEqual(2)
    await Promise.all([...first, ...second, third, turn.done])
    expect(sent).toEqual(['append', 'flush', 'append', 'append', 'append', 'send', 'append'])
    const said = (await eventsOf(one)).flatMap(event =>
      event.type === 'user/message' ? textsOf(event.data) : event.type === 'turn/start' ? ['turn'] : [],
    )
    expect(said.slice(0, 5)).toEqual(['a', 'b', 'c', 'e', 'turn'])
    expect([...said.slice(5)].sort()).toEqual(['f', 'g'])
  })

  it('[B5] resolve with their own events when other pages append as well', async () => {
    const { palimpsest } = served()
    const session = await palimpsest.sessions.open('s')
    const turn = session.send({ text: 'hi' })
    const rounds: Promise<SessionEvent>[] = []
    for (let round = 0; round < 20; round += 1) {
      rounds.push(append(session, `${round}`), append(session, `${round}'`))
      await Promise.resolve()
    }
    const events = await Promise.all(rounds)
    await turn.done
    const log = await eventsOf(session)
    for (const event of events) expect(log[event.seq]).toEqual(event)
    expect(new Set(events.map(({ seq }) => seq)).size).toBe(40)
  })

  it('[B4, B5] reject when the worker dies with them under way', async () => {
    const { palimpsest, worker } = dedicated()
    const session = await palimpsest.sessions.open('s')
    await append(session, 'kept')
    const appended = Array.from({ length: 50 }, (_, index) => append(session, String(index)))
    const outcomes = Promise.allSettled(appended)
    worker.terminate()
    const reasons = (await outcomes).map((outcome): unknown => (outcome.status === 'rejected' ? outcome.reason : null))
    for (const reason of reasons) {
      expect(reason).toBeInstanceOf(WorkerError)
      expect(['lost', 'unresponsive']).toContain((reason as WorkerError).code)
    }
    await expect(append(session, 'late')).rejects.toBeInstanceOf(WorkerError)
  })

  it('[B4, B5, B10] of a page that closes at once are committed first; what comes later is refused', async () => {
    const { palimpsest, stored } = served()
    const session = await palimpsest.sessions.open('s')
    const before = [append(session, 'a'), append(session, 'b')]
    const closed = session.close()
    const after = append(session, 'c')
    await expect(Promise.all(before)).resolves.toMatchObject([{ seq: 0 }, { seq: 1 }])
    await closed
    await Promise.allSettled([after])
    expect(stored.reduce((sum, each) => sum + each, 0)).toBeGreaterThanOrEqual(2)
    await expect(append(session, 'd')).rejects.toMatchObject({ name: 'WorkerError', code: 'closed' })
    await palimpsest.close()
    await expect(append(session, 'e')).rejects.toMatchObject({ name: 'WorkerError', code: 'closed' })
  })

  it('[B4, B5] all settle when the session is deleted under them', async () => {
    const { palimpsest } = served()
    const session = await palimpsest.sessions.open('s')
    const appended = [append(session, 'a'), append(session, 'b')]
    await palimpsest.sessions.delete('s')
    await Promise.allSettled(appended)
    await expect(append(session, 'c')).rejects.toMatchObject({ code: 'closed' })
  })

  it('[B5] come to what they come to one after the other, whatever they are and whenever they are made', async () => {
    const { palimpsest } = served()
    let id = 0
    const step = fc.constantFrom('append', 'refused', 'start', 'end', 'await', 'tick', 'flush')
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 24 }), async steps => {
        const run = async (waits: boolean) => {
          const session = await palimpsest.sessions.open(`p${(id += 1)}`)
          const outcomes: Promise<unknown>[] = []
          for (const [index, what] of steps.entries()) {
            if (what === 'tick') await Promise.resolve()
            else if (what === 'await') await Promise.allSettled(outcomes)
            else if (what === 'flush') outcomes.push(session.flush().then(() => 'flushed'))
            else {
              const made: Promise<SessionEvent> =
                what === 'append'
                  ? append(session, String(index))
                  : what === 'refused'
                    ? refused(session, String(index))
                    : what === 'start'
                      ? session.append('turn/start', { turn: 1 })
                      : session.append('turn/end', { turn: 1, reason: { kind: 'completed' } })
              outcomes.push(
                made.then(
                  ({ time: _time, ...event }) => {
                    expect(session.length).toBeGreaterThan(event.seq)
                    return event
                  },
                  (error: { code: string; seq?: number }) => ({ code: error.code, seq: error.seq }),
                ),
              )
            }
            if (waits) await Promise.allSettled(outcomes)
          }
          const all = await Promise.all(outcomes)
          const length = session.length
          await session.close()
          return { all, length }
        }
        expect(await run(false)).toEqual(await run(true))
      }),
      { numRuns: 60 },
    )
  })
})
