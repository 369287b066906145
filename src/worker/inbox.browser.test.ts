/** What a page sees of messages that wait, of usage, progress and the surface, and of the list of sessions. */
import { afterEach, describe, expect, it } from 'vitest'
import type { SessionEvent } from '../core/events.ts'
import type { Message } from '../core/events.ts'
import { MessageId, SessionSeq } from '../core/ids.ts'
import type { SessionUpdate } from '../views/source.ts'
import { surfaceView } from '../views/surface-view.ts'
import { evolveUsage, usageFold } from '../views/usage.ts'
import type { ClientSession } from './client-session.ts'
import { connect, type ConnectOptions, type Palimpsest } from './client.ts'

let count = 0
const freshDatabase = () => `palimpsest-inbox-test-${Date.now()}-${(count += 1)}`
const open: Palimpsest[] = []

function fixture(database: string): URL {
  const url = new URL('./fixtures/echo.worker.ts', import.meta.url)
  url.searchParams.set('database', database)
  return url
}

function connected(database = freshDatabase(), options: ConnectOptions = {}): Palimpsest {
  const palimpsest = connect(new Worker(fixture(database), { type: 'module' }), options)
  open.push(palimpsest)
  return palimpsest
}

function shared(database: string): Palimpsest {
  const palimpsest = connect(new SharedWorker(fixture(database), { type: 'module', name: database }))
  open.push(palimpsest)
  return palimpsest
}

afterEach(async () => {
  await Promise.all(open.splice(0).map(each => each.close()))
})

const textOf = ({ content }: Message): string =>
  content.map(block => (block.type === 'text' ? block.text : '')).join('')
const inboxOf = ({ inbox }: ClientSession) => ({
  nextTurn: inbox.nextTurn.map(textOf),
  nextStep: inbox.nextStep.map(textOf),
})
const saidOf = async (session: ClientSession) =>
  (await session.deriveMessages()).filter(message => message.source.kind === 'user').map(textOf)

async function eventsOf(session: ClientSession): Promise<SessionEvent[]> {
  const events: SessionEvent[] = []
  for await (const event of session.readEvents()) events.push(event)
  return events
}

describe('messages that wait', () => {
  it('[B8] a prompt that comes while a turn runs is queued, shown, and followed to the end of its own turn', async () => {
    const session = await connected().sessions.open('s')
    const seen: string[][] = []
    session.subscribe(update => {
      if (update.kind === 'committed') seen.push(inboxOf(session).nextTurn)
    })
    const one = session.send({ text: 'slow 10' })
    expect(await one.taken).toMatchObject({ kind: 'started' })
    const two = session.send({ text: 'two' })
    const { kind, messageId } = await two.taken
    expect(kind).toBe('queued')
    expect(session.inbox.nextTurn.map(({ id }) => id)).toEqual([messageId])
    const { inbox } = session
    expect(await one.done).toEqual({ kind: 'completed' })
    expect(await two.accepted).toBe(2)
    expect(session.inbox).not.toBe(inbox)
    expect(await two.done).toEqual({ kind: 'completed' })
    expect(inboxOf(session)).toEqual({ nextTurn: [], nextStep: [] })
    expect(await saidOf(session)).toEqual(['slow 10', 'two'])
    expect(seen).toContainEqual(['two'])
  })

  it('[B8] the inbox is the same object until it changes', async () => {
    const session = await connected().sessions.open('s')
    const { inbox } = session
    await session.send({ text: 'hello' }).done
    expect(session.inbox).toBe(inbox)
  })

  it('[B8] is followed through any order of answers, also of messages that are gone at once', async () => {
    const session = await connected().sessions.open('s')
    const running = session.send({ text: 'slow' })
    const turns = Array.from({ length: 40 }, (_, index) => session.send({ text: `m${index}` }))
    const outcomes = Promise.allSettled(turns.map(turn => turn.done))
    await Promise.all(turns.slice(2).map(turn => turn.cancel()))
    await running.cancel()
    await session.resume()
    const [first, second, ...rest] = await outcomes
    expect([first, second]).toMatchObject([{ value: { kind: 'completed' } }, { value: { kind: 'completed' } }])
    for (const each of rest) expect(each).toMatchObject({ reason: { name: 'AgentError', code: 'canceled' } })
    expect(await saidOf(session)).toEqual(['slow', 'm0', 'm1'])
  })

  it('[B8] can be removed and rewritten; whoever follows a removed one is told', async () => {
    const session = await connected().sessions.open('s')
    const running = session.send({ text: 'slow' })
    const [two, three] = [session.send({ text: 'two' }), session.send({ text: 'three' })]
    const [{ messageId }, { messageId: other }] = await Promise.all([two.taken, three.taken])
    expect(await session.editQueued(messageId, { text: 'deux' })).toBe(true)
    expect(inboxOf(session).nextTurn).toEqual(['deux', 'three'])
    await expect(session.editQueued(messageId, { text: ' ' })).rejects.toMatchObject({ code: 'empty-prompt' })
    expect(await session.removeQueued(other)).toBe(true)
    expect(inboxOf(session).nextTurn).toEqual(['deux'])
    await expect(three.accepted).rejects.toMatchObject({ name: 'AgentError', code: 'canceled' })
    await expect(three.done).rejects.toMatchObject({ name: 'AgentError', code: 'canceled' })
    expect(await session.removeQueued(other)).toBe(false)
    expect(await session.removeQueued('unknown')).toBe(false)
    await running.cancel()
    await running.done
    await expect.poll(() => session.status.agent.kind).toBe('idle')
    expect(await session.resume()).toBe(2)
    expect(await two.done).toEqual({ kind: 'completed' })
    expect(await saidOf(session)).toEqual(['slow', 'deux'])
    expect(await session.resume()).toBeNull()
  })

  it('[B8] cancelling a turn that has ended stops no other one', async () => {
    const session = await connected().sessions.open('s')
    const one = session.send({ text: 'one' })
    await one.done
    const two = session.send({ text: 'slow 10' })
    await two.taken
    await one.cancel()
    expect(await two.done).toEqual({ kind: 'completed' })
    const refused = session.send({ text: ' ' })
    await refused.cancel()
    await expect(refused.done).rejects.toMatchObject({ code: 'empty-prompt' })
  })

  it('[A13, B8] steering reaches the running turn, and ends with it', async () => {
    const session = await connected().sessions.open('s')
    const turn = session.send({ text: 'call work' })
    await expect.poll(() => session.status.agent.kind).toBe('tool')
    const steered = session.steer({ text: 'and then stop' })
    expect(await steered.taken).toMatchObject({ kind: 'queued' })
    expect(inboxOf(session)).toEqual({ nextTurn: [], nextStep: ['and then stop'] })
    expect(await steered.accepted).toBe(1)
    expect(await Promise.all([turn.done, steered.done])).toEqual([{ kind: 'completed' }, { kind: 'completed' }])
    expect(await saidOf(session)).toEqual(['call work', 'and then stop'])
  })

  it('[A11, B7] survive the page and its worker, are shown again, and run when asked to', async () => {
    const database = freshDatabase()
    const first = connected(database)
    const session = await first.sessions.open('s')
    const running = session.send({ text: 'slow' })
    const waiting = session.send({ text: 'later' })
    const { messageId } = await waiting.taken
    running.done.catch(() => undefined)
    await first.close()
    await expect(waiting.accepted).rejects.toMatchObject({ code: 'closed' })

    const again = await connected(database).sessions.open('s')
    expect(again.inbox.nextTurn.map(({ id }) => id)).toEqual([messageId])
    expect(again.status.agent.kind).toBe('idle')
    const ended = new Promise<void>(resolve => {
      again.subscribe(update => {
        if (update.kind === 'committed' && update.entries.some(({ event }) => event.type === 'turn/end')) resolve()
      })
    })
    expect(await again.resume()).toBe(2)
    await ended
    expect(await saidOf(again)).toEqual(['slow', 'later'])
  })

  it('[B7, B8] are the same for two pages, and one may take back what the other sent', async () => {
    const database = freshDatabase()
    const a = await shared(database).sessions.open('s')
    const running = a.send({ text: 'slow' })
    const waiting = a.send({ text: 'wait' })
    const { messageId } = await waiting.taken
    const b = await shared(database).sessions.open('s')
    expect(b.inbox).toEqual(a.inbox)
    expect(await b.removeQueued(messageId)).toBe(true)
    await expect(waiting.done).rejects.toMatchObject({ code: 'canceled' })
    const late = b.steer({ text: 'shorter' })
    const { kind } = await late.taken
    expect(kind).toBe('queued')
    await running.cancel()
    await running.done
    expect(await b.resume()).toBe(2)
    expect(await late.accepted).toBe(2)
  })
})

describe('what a page knows', () => {
  it('[B7] usage is current before listeners are told, and the same after opening again', async () => {
    const database = freshDatabase()
    const first = connected(database)
    const session = await first.sessions.open('s')
    expect(session.usage).toEqual(usageFold.initial())
    const wrong: unknown[] = []
    let usage = session.usage
    session.subscribe(update => {
      if (update.kind !== 'committed') return
      for (const { event } of update.entries) usage = evolveUsage(usage, event)
      if (JSON.stringify(usage) !== JSON.stringify(session.usage)) wrong.push(session.usage)
    })
    await session.send({ text: 'one two' }).done
    await session.send({ text: 'three' }).done
    expect(wrong).toEqual([])
    expect(session.usage).toMatchObject({ provider: 'echo', model: 'echo-1', calls: 2, total: { outputTokens: 3 } })
    const before = session.usage
    await first.close()
    expect((await connected(database).sessions.open('s')).usage).toEqual(before)
  })

  it('[B7] the surface says of which length it is, what stands for what, and what is projected', async () => {
    const session = await connected().sessions.open('s')
    const message = (text: string) => ({
      id: MessageId(text),
      role: 'user' as const,
      content: [{ type: 'text' as const, text }],
      source: { kind: 'user' },
    })
    await session.append('user/message', message('a'), { surfaceOp: 'append' })
    await session.append('user/message', message('b'), { surfaceOp: 'append' })
    const [zero, one] = [SessionSeq(0), SessionSeq(1)]
    await session.append('user/message', message('ab'), {
      surfaceOp: { op: 'replace', startSeq: zero, endSeq: one },
      sourceEventSeqs: [zero, one],
    })
    await session.send({ text: 'c' }).done
    const { length, nodes } = await session.readSurface()
    expect(length).toBe(session.length)
    expect(nodes.map(({ seq }) => seq)).toEqual(session.surface.nodes)
    expect(nodes.map(node => node.replaces)).toEqual([[0, 1], null, null, null])
    expect(nodes.map(node => node.projected)).toEqual([false, false, false, false])
    expect(nodes.flatMap(node => node.message ?? [])).toEqual(await session.deriveMessages())
  })

  it('[B5, M1, M6] a page offloads an image: its surface shows the projected message, the log and the next opening too', async () => {
    const database = freshDatabase()
    const first = connected(database)
    const session = await first.sessions.open('s')
    const surface = surfaceView(session)
    const stop = surface.subscribe(() => undefined)
    const attachment = { attachmentId: 'a', mediaType: 'image/png' as const, bytes: 9, width: 3, height: 3 }
    const { seq } = await session.append(
      'user/message',
      {
        id: MessageId('m'),
        role: 'user',
        content: [
          { type: 'text', text: 'Look' },
          { type: 'image', attachment },
        ],
        source: { kind: 'user' },
      },
      { surfaceOp: 'append' },
    )
    await session.append('image/offload', { targets: [{ seq, imageIndexes: [0] }] })
    const content = [
      { type: 'text', text: 'Look' },
      { type: 'image', attachment, offloaded: true },
    ]
    await expect.poll(() => surface.getSnapshot().surface.nodes.at(0)?.origin.kind).toBe('projected')
    expect(surface.getSnapshot().surface.nodes.at(0)?.message?.content).toEqual(content)
    expect((await session.readSurface()).nodes).toMatchObject([{ seq, projected: true, message: { content } }])
    expect((await session.deriveMessages())[0]?.content).toEqual(content)
    expect(session.surface.contentGeneration).toBe(1)
    await expect(session.append('image/offload', { targets: [{ seq, imageIndexes: [0] }] })).rejects.toMatchObject({
      name: 'SessionError',
      code: 'projection',
    })
    stop()
    await first.close()
    const again = await connected(database).sessions.open('s')
    expect((await again.readSurface()).nodes).toMatchObject([{ seq, projected: true, message: { content } }])
  })

  it('[A16] progress of a tool of the worker and of one of the page arrives with the status', async () => {
    const palimpsest = connected(freshDatabase(), {
      tools: [
        {
          name: 'draw',
          description: 'Draws',
          inputSchema: { type: 'object' },
          execute: async (_input, { report }) => {
            report('first line')
            await new Promise(resolve => setTimeout(resolve, 60))
            report('x'.repeat(500))
            await new Promise(resolve => setTimeout(resolve, 60))
            setTimeout(() => report('late'), 20)
            return 'drawn'
          },
        },
      ],
    })
    const session = await palimpsest.sessions.open('s')
    const seen: (string | undefined)[] = []
    session.subscribe((update: SessionUpdate) => {
      if (update.kind !== 'status' || update.status.agent.kind !== 'tool') return
      const { progress } = update.status.agent
      if (progress !== seen.at(-1)) seen.push(progress)
    })
    await session.send({ text: 'call work' }).done
    expect(seen).toEqual(['part 1 of 3', 'part 2 of 3', 'part 3 of 3'])
    seen.length = 0
    await session.send({ text: 'call draw' }).done
    await new Promise(resolve => setTimeout(resolve, 60))
    expect(seen.filter(each => each !== undefined)).toEqual(['first line', 'x'.repeat(200)])
    expect(JSON.stringify(await eventsOf(session))).not.toContain('first line')
  })
})

describe('the list of sessions', () => {
  it('[B9] tells when it may have changed: open, first event, end of a turn, rename, close, delete', async () => {
    const palimpsest = connected()
    let told = 0
    const remove = palimpsest.sessions.subscribe(() => (told += 1))
    const news = async (work: () => Promise<unknown>) => {
      const before = told
      await work()
      return told - before
    }
    let session = await palimpsest.sessions.open('s')
    expect(told).toBe(1)
    expect(await news(() => palimpsest.sessions.open('s'))).toBe(0)
    const say = (text: string) => ({
      id: MessageId(text),
      role: 'user' as const,
      content: [{ type: 'text' as const, text }],
      source: { kind: 'user' },
    })
    expect(await news(() => session.append('user/message', say('a'), { surfaceOp: 'append' }))).toBe(1)
    expect(await news(() => session.append('user/message', say('b'), { surfaceOp: 'append' }))).toBe(0)
    expect(await news(() => session.send({ text: 'hi' }).done.then(() => Promise.resolve()))).toBeGreaterThan(0)
    expect(await news(() => palimpsest.sessions.rename('s', 'Named'))).toBe(1)
    expect(await news(() => session.close())).toBe(1)
    session = await palimpsest.sessions.open('s')
    expect(await news(() => palimpsest.sessions.delete('s'))).toBe(1)
    expect(await news(() => palimpsest.sessions.delete('unknown'))).toBe(1)
    expect((await palimpsest.sessions.list()).length).toBe(0)
    remove()
    expect(await news(() => palimpsest.sessions.open('t'))).toBe(0)
  })

  it('[B9] a page learns of a session another page deleted under it', async () => {
    const database = freshDatabase()
    const [first, second] = [shared(database), shared(database)]
    await Promise.all([first.sessions.open('s'), second.sessions.open('s')])
    let told = 0
    second.sessions.subscribe(() => (told += 1))
    await first.sessions.delete('s')
    await expect.poll(() => told).toBe(1)
  })
})
