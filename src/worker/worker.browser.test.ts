import { afterEach, describe, expect, it, vi } from 'vitest'
import type { EventData, SessionEvent } from '../core/events.ts'
import { MessageId, SessionSeq } from '../core/ids.ts'
import type { SessionUpdate } from '../views/source.ts'
import type { ClientSession } from './client-session.ts'
import { connect, type ConnectOptions, type Palimpsest } from './client.ts'
import { withFaults } from '../storage/faults.ts'
import { memoryStorage } from '../storage/memory.ts'
import { type AppendBatch, StorageError } from '../storage/storage.ts'
import { WorkerError } from './errors.ts'
import { serve } from './serve.ts'

let count = 0
const freshDatabase = () => `palimpsest-worker-test-${Date.now()}-${(count += 1)}`
const open: Palimpsest[] = []

function echoWorker(database: string): Worker {
  const url = new URL('./fixtures/echo.worker.ts', import.meta.url)
  url.searchParams.set('database', database)
  return new Worker(url, { type: 'module' })
}

function sharedWorker(database: string): SharedWorker {
  const url = new URL('./fixtures/echo.worker.ts', import.meta.url)
  url.searchParams.set('database', database)
  return new SharedWorker(url, { type: 'module', name: database })
}

function connected(database = freshDatabase(), options: ConnectOptions = {}): Palimpsest {
  const palimpsest = connect(echoWorker(database), options)
  open.push(palimpsest)
  return palimpsest
}

afterEach(async () => {
  await Promise.all(open.splice(0).map(each => each.close()))
})

const user = (text: string) => ({
  id: MessageId(`m-${text}`),
  role: 'user' as const,
  content: [{ type: 'text' as const, text }],
  source: { kind: 'user' },
})

async function eventsOf(session: ClientSession): Promise<SessionEvent[]> {
  const events: SessionEvent[] = []
  for await (const event of session.readEvents()) events.push(event)
  return events
}

describe('a session through a worker', () => {
  it('[B5] runs a turn with a tool call and shows it event by event', async () => {
    const palimpsest = connected()
    const session = await palimpsest.sessions.open('s')
    const updates: SessionUpdate[] = []
    session.subscribe(update => updates.push(update))
    const turn = session.send({ text: 'call add {"a":2,"b":3}' })
    expect(await turn.accepted).toBe(1)
    expect(await turn.done).toEqual({ kind: 'completed' })
    const events = await eventsOf(session)
    expect(events.map(event => event.type)).toEqual([
      'turn/start',
      'step/start',
      'system/message',
      'user/message',
      'request/header',
      'request/context',
      'assistant/message',
      'tool/call',
      'tool/result',
      'step/end',
      'step/start',
      'assistant/message',
      'step/end',
      'turn/end',
    ])
    const seen = updates.flatMap(update =>
      update.kind === 'committed' ? update.entries.map(({ event }) => event) : [],
    )
    expect(seen).toEqual(events)
    const { length, nodes: surface } = await session.readSurface()
    expect(length).toBe(events.length)
    expect(surface.map(node => node.seq)).toEqual(session.surface.nodes)
    expect(surface.map(node => node.message).filter(message => message !== null)).toEqual(
      await session.deriveMessages(),
    )
  })

  it('[B5] has applied an append when it resolves, and refuses what the session refuses', async () => {
    const session = await connected().sessions.open('s')
    const event = await session.append('user/message', user('hi'), { surfaceOp: 'append' })
    expect(event).toMatchObject({ seq: 0, type: 'user/message' })
    expect(session.length).toBe(1)
    expect(session.surface.nodes).toEqual([0])
    const replace = { op: 'replace', startSeq: SessionSeq(7), endSeq: SessionSeq(7) } as const
    await expect(
      session.append('user/message', user('again'), { surfaceOp: replace, sourceEventSeqs: [SessionSeq(0)] }),
    ).rejects.toMatchObject({ name: 'SessionError', code: 'surface-range', seq: 1 })
    expect(session.length).toBe(1)
    await expect(
      session.append('user/message', { ...user('x'), source: new Date() as never }, { surfaceOp: 'append' }),
    ).rejects.toMatchObject({ name: 'SessionError', code: 'not-json', path: '$.source' })
  })

  it('[B5, I4, REP-10] a page cannot answer a call twice, or write into a turn that is over', async () => {
    const session = await connected().sessions.open('s')
    await session.send({ text: 'call add {"a":2,"b":3}' }).done
    const result = (await eventsOf(session)).find(event => event.type === 'tool/result')
    const again = async (turn: number) => {
      const { message } = result?.data as EventData['tool/result']
      return session.append('tool/result', { turn, step: 1, message }, { surfaceOp: 'append' })
    }
    const { length } = session
    await expect(again(1)).rejects.toMatchObject({ name: 'SessionError', code: 'invariant', seq: length })
    await session.append('turn/start', { turn: 2 })
    await session.append('step/start', { turn: 2, step: 1 })
    await expect(again(2)).rejects.toMatchObject({ name: 'SessionError', code: 'invariant', seq: length + 2 })
    await expect(session.append('turn/start', { turn: 3 })).rejects.toMatchObject({ code: 'invariant' })
    await session.append('step/end', { turn: 2, step: 1 })
    await session.append('turn/end', { turn: 2, reason: { kind: 'completed' } })
    expect(await session.send({ text: 'hi' }).done).toEqual({ kind: 'completed' })
  })

  it('[B5] streams frames while a turn runs, and keeps what was visible when it is stopped', async () => {
    const session = await connected().sessions.open('s')
    const turn = session.send({ text: 'slow' })
    await expect.poll(() => session.frames.length).toBeGreaterThan(3)
    await turn.cancel()
    expect(await turn.done).toEqual({ kind: 'aborted', reason: { kind: 'user' } })
    const message = (await eventsOf(session)).find(event => event.type === 'assistant/message')
    expect(message?.data).toMatchObject({ interrupted: true })
    expect(session.frames).toEqual([])
  })

  it('[B5] restores a session in a new worker, and the next request carries the history', async () => {
    const database = freshDatabase()
    const first = connected(database)
    const session = await first.sessions.open('s')
    await session.send({ text: 'hello' }).done
    const before = await eventsOf(session)
    await first.close()

    const again = await connected(database).sessions.open('s')
    const restored = await eventsOf(again)
    expect(restored.slice(0, before.length)).toEqual(before)
    expect(restored.slice(before.length).map(event => event.type)).toEqual(['session/end-seed'])
    await again.send({ text: 'more' }).done
    const answer = (await eventsOf(again)).findLast(event => event.type === 'assistant/message')
    expect(answer?.data).toMatchObject({ usage: { inputTokens: 4 } })
  })

  it('[B5] runs a tool on the page that registered it', async () => {
    const calls: unknown[] = []
    const palimpsest = connected(freshDatabase(), {
      tools: [
        {
          name: 'title',
          description: 'Title of the page',
          inputSchema: { type: 'object', properties: { upper: { type: 'boolean' } } },
          execute: (input: { upper?: boolean }) => {
            calls.push(input)
            return input.upper === true ? 'LOUD' : document.title
          },
        },
      ],
    })
    const session = await palimpsest.sessions.open('s')
    await session.send({ text: 'call title {"upper":true}' }).done
    expect(calls).toEqual([{ upper: true }])
    const result = (await eventsOf(session)).find(event => event.type === 'tool/result')
    expect(result?.data.message.content[0].content).toEqual([{ type: 'text', text: 'LOUD' }])
  })

  it('[B5] aborts a page tool when the turn is stopped', async () => {
    let aborted = false
    let started = false
    const palimpsest = connected(freshDatabase(), {
      tools: [
        {
          name: 'wait',
          description: 'Waits for ever',
          inputSchema: { type: 'object' },
          execute: (_input, { signal }) => {
            started = true
            return new Promise<never>(() => {
              signal.addEventListener('abort', () => {
                aborted = true
              })
            })
          },
        },
      ],
    })
    const session = await palimpsest.sessions.open('s')
    const turn = session.send({ text: 'call wait' })
    await expect.poll(() => started).toBe(true)
    await turn.cancel()
    expect(await turn.done).toEqual({ kind: 'aborted', reason: { kind: 'user' } })
    await expect.poll(() => aborted).toBe(true)
  })

  it('[B1] keeps class and code of an agent error', async () => {
    const session = await connected().sessions.open('s')
    await expect(session.send({ text: '  \n' }).done).rejects.toMatchObject({
      name: 'AgentError',
      code: 'empty-prompt',
    })
    await expect(session.send({ text: '\ud800' }).accepted).rejects.toMatchObject({ code: 'malformed-prompt' })
    expect(session.length).toBe(0)
  })

  it('[B1] makes a WorkerError of anything else that is thrown', async () => {
    const session = await connected(freshDatabase(), { config: 'broken' }).sessions.open('s')
    const failure = await session.send({ text: 'hi' }).accepted.catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(WorkerError)
    expect(failure).toMatchObject({ code: 'internal', message: 'TypeError: this configuration is broken' })
  })
})

describe('ways to connect', () => {
  it('[B5] serves two pages from one shared worker: both follow, the last one to leave closes', async () => {
    const database = freshDatabase()
    const [first, second] = [connect(sharedWorker(database)), connect(sharedWorker(database))]
    open.push(first, second)
    const [a, b] = await Promise.all([first.sessions.open('s'), second.sessions.open('s')])
    await a.send({ text: 'hello' }).done
    await expect.poll(() => b.length).toBe(a.length)
    expect(b.surface.nodes).toEqual(a.surface.nodes)
    await first.close()
    await b.send({ text: 'still here' }).done
    expect(JSON.stringify(await b.deriveMessages())).toContain('still here')
  })

  it('[B6] gives a page that attaches in the middle of an answer the frames so far', async () => {
    const database = freshDatabase()
    const [first, second] = [connect(sharedWorker(database)), connect(sharedWorker(database))]
    open.push(first, second)
    const a = await first.sessions.open('s')
    const turn = a.send({ text: 'slow' })
    await expect.poll(() => a.frames.length).toBeGreaterThan(5)
    const b = await second.sessions.open('s')
    expect(b.frames[0]?.kind).toBe('start')
    const indexes = () => b.frames.flatMap(frame => (frame.kind === 'chunk' ? [frame.index] : []))
    await expect.poll(() => indexes().length).toBeGreaterThan(12)
    expect(indexes()).toEqual(indexes().map((_, position) => position))
    await turn.cancel()
    await turn.done
  })

  it('[B5] serves a page in its own realm over a port', async () => {
    const { port1, port2 } = new MessageChannel()
    const model = {
      config: { provider: 'p', model: 'm' },
      async *stream() {
        yield { type: 'text-delta' as const, index: 0, text: 'hi' }
        yield { type: 'finish' as const, reason: { kind: 'stop' as const } }
      },
    }
    serve({ agent: () => ({ model }), storage: memoryStorage() }, port1)
    const palimpsest = connect(port2)
    open.push(palimpsest)
    const session = await palimpsest.sessions.open('s')
    expect(await session.send({ text: 'hello' }).done).toEqual({ kind: 'completed' })
    expect(session.status.storage.kind).toBe('memory')
  })

  it('[A6] makes a result of whatever a page tool throws or returns', async () => {
    const outcomes: Record<string, () => unknown> = {
      string: () => {
        throw 'text' // eslint-disable-line @typescript-eslint/only-throw-error
      },
      nothing: () => {
        throw null // eslint-disable-line @typescript-eslint/only-throw-error
      },
      rich: () => {
        throw Object.assign(new TypeError('rich'), { node: document.body, retry: () => 1 })
      },
      date: () => new Date(),
      void: () => undefined,
    }
    const palimpsest = connected(freshDatabase(), {
      tools: Object.entries(outcomes).map(([name, execute]) => ({
        name,
        description: name,
        inputSchema: { type: 'object' },
        execute: execute as () => string,
      })),
    })
    const session = await palimpsest.sessions.open('s')
    for (const name of Object.keys(outcomes)) {
      expect(await session.send({ text: `call ${name}` }).done).toEqual({ kind: 'completed' })
    }
    const results = (await eventsOf(session)).filter(event => event.type === 'tool/result')
    const texts = results.map(({ data }) => [data.error?.code, JSON.stringify(data.message.content[0].content)])
    expect(texts).toEqual([
      ['TOOL_FAILED', expect.stringContaining('text')],
      ['TOOL_FAILED', expect.stringContaining('null')],
      ['TOOL_FAILED', expect.stringContaining('rich')],
      ['TOOL_FAILED', expect.stringContaining('Date')],
      [undefined, '[]'],
    ])
  })
})

describe('pages that share a worker', () => {
  const named = (answer: () => string | Promise<string>): ConnectOptions => ({
    tools: [{ name: 'who', description: 'Who answers', inputSchema: { type: 'object' }, execute: answer }],
  })
  const lastResult = async (session: ClientSession) =>
    (await eventsOf(session)).findLast(event => event.type === 'tool/result')?.data

  it('[B5] may have tools of the same name: those of a page that watches the session answer', async () => {
    const database = freshDatabase()
    const first = connect(
      sharedWorker(database),
      named(() => 'first'),
    )
    const second = connect(
      sharedWorker(database),
      named(() => 'second'),
    )
    open.push(first, second)
    const [a] = await Promise.all([first.sessions.open('a'), second.sessions.open('b')])
    expect(await a.send({ text: 'call who' }).done).toEqual({ kind: 'completed' })
    expect((await lastResult(a))?.message.content[0].content).toEqual([{ type: 'text', text: 'first' }])
  })

  it('[O3] a page that is gone without a word leaves: its calls fail, its sessions can be opened elsewhere', async () => {
    const database = freshDatabase()
    const pageLocks = async () =>
      ((await navigator.locks.query()).held ?? []).flatMap(({ name = '' }) =>
        /^palimpsest:page:/.test(name) ? [name] : [],
      )
    const before = await pageLocks()
    let asked = false
    const gone = connect(sharedWorker(database), {
      ...named(() => {
        asked = true
        return new Promise<never>(() => {})
      }),
    })
    await gone.sessions.list()
    const fresh = async () => (await pageLocks()).filter(name => !before.includes(name))
    await expect.poll(fresh).toHaveLength(1)
    const [mine = ''] = await fresh()
    const stays = connect(sharedWorker(database))
    open.push(stays)
    const [alone, both] = [await gone.sessions.open('alone'), await gone.sessions.open('both')]
    const watched = await stays.sessions.open('both')
    await alone.append('user/message', user('kept'), { surfaceOp: 'append' })
    const turn = both.send({ text: 'call who' })
    turn.done.catch(() => undefined)
    await expect.poll(() => asked).toBe(true)
    // The lock a page holds while it lives, taken away as the browser would.
    await navigator.locks.request(mine, { steal: true }, () => undefined)
    await expect.poll(async () => (await lastResult(watched))?.error?.code).toBe('TOOL_FAILED')
    const other = connected(database)
    const reopened = await other.sessions.open('alone')
    expect(reopened.length).toBe(2)
  })

  it('[B4] a session that one page deletes ends for the others', async () => {
    const database = freshDatabase()
    const [first, second] = [connect(sharedWorker(database)), connect(sharedWorker(database))]
    open.push(first, second)
    const [, b] = await Promise.all([first.sessions.open('s'), second.sessions.open('s')])
    const ended: string[] = []
    b.subscribe(update => {
      if (update.kind === 'ended') ended.push(update.error.code)
    })
    await first.sessions.delete('s')
    await expect.poll(() => ended).toEqual(['closed'])
    expect((await second.sessions.open('s')).length).toBe(0)
  })

  it('[B5] keeps its configuration when a page connects without one', async () => {
    const database = freshDatabase()
    const first = connect(sharedWorker(database), { config: 'broken' })
    const second = connect(sharedWorker(database))
    open.push(first, second)
    await second.sessions.list()
    const session = await first.sessions.open('s')
    await expect(session.send({ text: 'hi' }).accepted).rejects.toMatchObject({ code: 'internal' })
  })
})

describe('a page that is left', () => {
  it('[B11] has its worker store what it has, for good, and nothing of a session nothing was said in', async () => {
    const inner = memoryStorage()
    const batches: AppendBatch[] = []
    const storage = withFaults(inner, ({ method, args }, proceed) => {
      if (method === 'append') batches.push(args[0] as AppendBatch)
      return proceed()
    })
    const { port1, port2 } = new MessageChannel()
    serve({ agent: () => expect.fail('no turn is asked for'), storage }, port1)
    const palimpsest = connect(port2)
    open.push(palimpsest)
    await palimpsest.sessions.open('empty')
    const session = await palimpsest.sessions.open('said')
    for (const [index, event] of ['pagehide', 'freeze', 'visibilitychange'].entries()) {
      await session.append('user/message', user(`m${index}`), { surfaceOp: 'append' })
      await expect.poll(() => session.status.storage.unsaved).toBe(0)
      expect(batches.at(-1)?.durability).toBe('relaxed')
      const hidden = vi.spyOn(document, 'visibilityState', 'get').mockReturnValue('hidden')
      ;(event === 'pagehide' ? window : document).dispatchEvent(new Event(event))
      hidden.mockRestore()
      await expect.poll(() => batches.at(-1)?.durability).toBe('strict')
    }
    expect((await inner.list()).map(({ header }) => header.id)).toEqual(['said'])
    await palimpsest.close()
    window.dispatchEvent(new Event('pagehide'))
  })
})

describe('a session that cannot be stored', () => {
  const served = () => {
    const inner = memoryStorage()
    let failure: StorageError | null = null
    const storage = withFaults(inner, ({ method }, proceed) =>
      method === 'append' && failure !== null ? Promise.reject(failure) : proceed(),
    )
    const { port1, port2 } = new MessageChannel()
    serve({ agent: () => ({ model: { config: { provider: 'p', model: 'm' }, stream: never } }), storage }, port1)
    const palimpsest = connect(port2)
    open.push(palimpsest)
    return { palimpsest, fail: (error: StorageError | null) => (failure = error), inner }
  }
  async function* never(): AsyncGenerator<never> {
    await new Promise<never>(() => {})
  }
  const full = new StorageError('quota-exceeded', 'full')

  it('[W7] stays open and usable when closing fails, and closes once it can be stored', async () => {
    const { palimpsest, fail, inner } = served()
    const session = await palimpsest.sessions.open('s')
    fail(full)
    await session.append('user/message', user('precious'), { surfaceOp: 'append' })
    await expect(session.close()).rejects.toMatchObject({ code: 'quota-exceeded' })
    expect(await palimpsest.sessions.open('s')).toBe(session)
    await session.append('user/message', user('more'), { surfaceOp: 'append' })
    expect(session.length).toBe(2)
    fail(null)
    await session.close()
    expect((await inner.list())[0]?.nextSeq).toBe(2)
    expect(await palimpsest.sessions.open('s')).not.toBe(session)
  })

  it('[W7] can be deleted all the same', async () => {
    const { palimpsest, fail } = served()
    const session = await palimpsest.sessions.open('s')
    fail(full)
    await session.append('user/message', user('junk'), { surfaceOp: 'append' })
    await palimpsest.sessions.delete('s')
    expect((await palimpsest.sessions.open('s')).length).toBe(0)
  })

  it('[B5] opening waits for a close that is under way', async () => {
    const { palimpsest } = served()
    const session = await palimpsest.sessions.open('s')
    await session.append('user/message', user('one'), { surfaceOp: 'append' })
    const [, again] = await Promise.all([session.close(), palimpsest.sessions.open('s')])
    expect(again).not.toBe(session)
    await again.flush()
  })

  it('[B5] reads a log that is too large for one answer', async () => {
    const { palimpsest } = served()
    const session = await palimpsest.sessions.open('s')
    const text = 'x'.repeat(3_000_000)
    for (let count = 0; count < 5; count += 1) {
      await session.append('user/message', user(`${count}${text}`), { surfaceOp: 'append' })
    }
    expect((await eventsOf(session)).map(event => event.seq)).toEqual([0, 1, 2, 3, 4])
  })
})

describe('one writer', () => {
  it('[O1] refuses a session that another worker holds, and opens it once that one lets go', async () => {
    const database = freshDatabase()
    const [first, second] = [connected(database), connected(database)]
    const held = await first.sessions.open('s')
    await expect(second.sessions.open('s')).rejects.toMatchObject({
      name: 'StorageError',
      code: 'in-use',
      sessionId: 's',
    })
    await held.close()
    expect((await second.sessions.open('s')).id).toBe('s')
  })

  it('[O3] gives the lease up when the worker is replaced, even by force', async () => {
    const database = freshDatabase()
    const worker = echoWorker(database)
    const first = connect(worker)
    const session = await first.sessions.open('s')
    await session.append('user/message', user('kept'), { surfaceOp: 'append' })
    await session.flush()
    worker.terminate()
    const again = await connected(database).sessions.open('s')
    expect(again.length).toBe(2)
  })

  it('[B5] does not mix two sessions', async () => {
    const palimpsest = connected()
    const [a, b] = await Promise.all([palimpsest.sessions.open('a'), palimpsest.sessions.open('b')])
    await Promise.all([a.send({ text: 'to a' }).done, b.send({ text: 'to b' }).done])
    const texts = async (session: ClientSession) => JSON.stringify(await session.deriveMessages())
    expect(await texts(a)).not.toContain('to b')
    expect(await texts(b)).not.toContain('to a')
    expect((await palimpsest.sessions.list()).map(each => each.id).sort()).toEqual(['a', 'b'])
    await palimpsest.sessions.rename('a', 'First')
    expect((await palimpsest.sessions.list()).find(each => each.id === 'a')?.title).toBe('First')
    await palimpsest.sessions.delete('a')
    expect((await palimpsest.sessions.list()).map(each => each.id)).toEqual(['b'])
    await expect(a.flush()).rejects.toMatchObject({ code: 'closed' })
  })
})

describe('a worker that fails', () => {
  const fixture = (name: string) => {
    switch (name) {
      case 'throws':
        return new Worker(new URL('./fixtures/throws.worker.ts', import.meta.url), { type: 'module' })
      case 'silent':
        return new Worker(new URL('./fixtures/silent.worker.ts', import.meta.url), { type: 'module' })
      case 'hangs':
        return new Worker(new URL('./fixtures/hangs.worker.ts', import.meta.url), { type: 'module' })
      default:
        return new Worker('/there-is-no-such-worker.js', { type: 'module' })
    }
  }

  it.each(['throws', 'missing'])('[B3] rejects calls when the script %s', async name => {
    const lost: WorkerError[] = []
    const palimpsest = connect(fixture(name), { onLost: error => lost.push(error) })
    await expect(palimpsest.sessions.open('s')).rejects.toMatchObject({ name: 'WorkerError', code: 'start-failed' })
    await expect(palimpsest.sessions.list()).rejects.toMatchObject({ code: 'start-failed' })
    expect(lost.map(error => error.code)).toEqual(['start-failed'])
  })

  it('[B3] rejects calls when serve() is never called', async () => {
    const palimpsest = connect(fixture('silent'), { readyTimeoutMs: 300 })
    await expect(palimpsest.sessions.open('s')).rejects.toMatchObject({ code: 'start-timeout' })
  })

  it('[B4] rejects pending calls at once when the worker is terminated', async () => {
    const worker = echoWorker(freshDatabase())
    const palimpsest = connect(worker)
    const session = await palimpsest.sessions.open('s')
    const ended: string[] = []
    session.subscribe(update => {
      if (update.kind === 'ended') ended.push(update.error.code)
    })
    const turn = session.send({ text: 'slow' })
    await turn.accepted
    worker.terminate()
    await expect(turn.done).rejects.toMatchObject({ name: 'WorkerError', code: 'lost' })
    await expect(session.flush()).rejects.toMatchObject({ code: 'lost' })
    expect(ended).toEqual(['lost'])
  })

  it('[B4] gives a hanging worker up, also when only the end of a turn is waited for', async () => {
    const palimpsest = connect(fixture('hangs'), { heartbeatMs: 60 })
    const session = await palimpsest.sessions.open('s')
    const turn = session.send({ text: 'hi' })
    await turn.accepted
    await expect(turn.done).rejects.toMatchObject({ code: 'unresponsive' })
  })

  it('[B4] does not claim a clean close when the worker confirms nothing', async () => {
    const palimpsest = connect(fixture('hangs'), { heartbeatMs: 60_000, closeTimeoutMs: 200 })
    const session = await palimpsest.sessions.open('s')
    await session.send({ text: 'hi' }).accepted
    await expect.poll(() => session.frames.length).toBeGreaterThan(1)
    await new Promise(resolve => setTimeout(resolve, 60))
    await expect(palimpsest.close()).rejects.toMatchObject({ name: 'WorkerError', code: 'unresponsive' })
  })

  it('[B4] refuses calls after close', async () => {
    const palimpsest = connected()
    const session = await palimpsest.sessions.open('s')
    await palimpsest.close()
    await expect(session.flush()).rejects.toMatchObject({ name: 'WorkerError', code: 'closed' })
    await palimpsest.close()
  })

  it('[B4] says when the configuration cannot be sent', async () => {
    const palimpsest = connected(freshDatabase(), { config: { onKey: () => 'secret' } })
    await expect(palimpsest.sessions.list()).rejects.toMatchObject({ name: 'WorkerError', code: 'argument' })
  })
})
