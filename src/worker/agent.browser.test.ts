/** What a page can ask of an agent besides sending: approvals, attachments, injected text, going on after a crash. */
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { SessionEvent } from '../core/events.ts'
import type { ClientSession } from './client-session.ts'
import { connect, type ConnectOptions, type Palimpsest } from './client.ts'

let count = 0
const freshDatabase = () => `palimpsest-agent-test-${Date.now()}-${(count += 1)}`
const open: Palimpsest[] = []

type Fixture = { readonly resume?: string; readonly network?: string }

function started(database: string, fixture: Fixture = {}, options: ConnectOptions = {}) {
  const url = new URL('./fixtures/echo.worker.ts', import.meta.url)
  for (const [key, value] of Object.entries({ database, ...fixture })) url.searchParams.set(key, value)
  const worker = new Worker(url, { type: 'module' })
  const palimpsest = connect(worker, options)
  open.push(palimpsest)
  return { worker, palimpsest }
}

afterEach(async () => {
  vi.unstubAllGlobals()
  await Promise.all(open.splice(0).map(each => each.close().catch(() => undefined)))
})

async function eventsOf(session: ClientSession): Promise<SessionEvent[]> {
  const events: SessionEvent[] = []
  for await (const event of session.readEvents()) events.push(event)
  return events
}
const answersOf = async (session: ClientSession) =>
  (await session.deriveMessages()).flatMap(({ role, content }) => {
    return role === 'assistant' ? content.map(block => (block.type === 'text' ? block.text : block.type)) : []
  })
const resultsOf = async (session: ClientSession) =>
  (await eventsOf(session)).flatMap(event => {
    if (event.type !== 'tool/result') return []
    const [text] = event.data.message.content[0].content
    return [[event.data.error?.code ?? 'ok', text?.type === 'text' ? text.text : '']]
  })
const until = (session: ClientSession, kind: string) =>
  vi.waitFor(() => expect(session.status.agent).toMatchObject({ kind }), { timeout: 5_000, interval: 10 })

describe('approvals', () => {
  it('[A23, B12] a page is asked, and the call runs once it has allowed it', async () => {
    const session = await started(freshDatabase()).palimpsest.sessions.open('s')
    const turn = session.send({ text: 'call mail' })
    await until(session, 'approval')
    const { agent } = session.status
    const callId = agent.kind === 'approval' ? agent.callId : ''
    expect(await session.approve('nothing', 'allowed-once')).toBe(false)
    expect(await session.approve(callId, 'allowed-once')).toBe(true)
    expect((await eventsOf(session)).map(({ type }) => type)).toContain('approval/decided')
    expect(await turn.done).toEqual({ kind: 'completed' })
    expect(await session.approve(callId, 'allowed-once')).toBe(false)
    expect(await resultsOf(session)).toEqual([['ok', expect.stringContaining('sent s/')]])
  })

  it('[A23, B12] what is no answer is refused, and the question stays', async () => {
    const session = await started(freshDatabase()).palimpsest.sessions.open('s')
    const turn = session.send({ text: 'call mail' })
    await until(session, 'approval')
    const { agent } = session.status
    const callId = agent.kind === 'approval' ? agent.callId : ''
    await expect(session.approve(callId, 'sure' as never)).rejects.toMatchObject({ code: 'argument' })
    await session.approve(callId, 'rejected')
    await turn.done
    expect(await resultsOf(session)).toEqual([['REJECTED', expect.stringContaining('did not allow')]])
  })

  it.each(['terminated', 'closed'])('[A25, A23] a question survives that its worker is %s', async how => {
    const database = freshDatabase()
    const { worker, palimpsest } = started(database)
    const session = await palimpsest.sessions.open('s')
    session.send({ text: 'call mail' }).done.catch(() => undefined)
    await until(session, 'approval')
    await session.flush()
    if (how === 'terminated') worker.terminate()
    else await palimpsest.close()

    const again = await started(database).palimpsest.sessions.open('s')
    await until(again, 'approval')
    const { agent } = again.status
    const callId = agent.kind === 'approval' ? agent.callId : ''
    expect(await again.approve(callId, 'allowed-once')).toBe(true)
    await until(again, 'idle')
    expect(await resultsOf(again)).toEqual([['ok', expect.stringContaining('sent s/')]])
    const types = (await eventsOf(again)).map(({ type }) => type)
    expect(types.filter(type => /^(turn|approval)/.test(type))).toEqual(['turn/start', 'approval/asked', 'approval/decided', 'turn/end']) // biome-ignore format: one line
  })
})

describe('branches', () => {
  const promptsOf = async (session: ClientSession) =>
    (await eventsOf(session)).flatMap(event => (event.type === 'user/message' ? [event.seq] : []))

  it('[A28, R7] a prompt said otherwise is a new session that shares what came before', async () => {
    const { palimpsest } = started(freshDatabase())
    const session = await palimpsest.sessions.open('s')
    for (const text of ['one', 'two', 'three']) await session.send({ text }).done
    const [first, second] = await promptsOf(session)
    const before = await session.deriveMessages()
    const child = await session.edit(second as number, { text: 'zwei' })
    expect(child.id).not.toBe('s')
    await until(child, 'idle')
    expect(await answersOf(child)).toEqual(['one', 'zwei'])
    expect((await child.deriveMessages()).slice(0, 3)).toEqual(before.slice(0, 3))
    expect(await palimpsest.sessions.open(child.id)).toBe(child)
    expect(await session.deriveMessages()).toEqual(before)
    // The first prompt has nothing before it.
    const empty = await session.edit(first as number, { text: 'eins' })
    await until(empty, 'idle')
    expect(await answersOf(empty)).toEqual(['eins'])
    const family = await palimpsest.sessions.family(child.id)
    expect(family.map(({ id, depth }) => [id, depth])).toEqual([
      ['s', 0],
      [child.id, 1],
      [empty.id, 1],
    ])
  })

  it('[A28] a turn is had again with the same message, and a fork goes on from the end of a turn', async () => {
    const { palimpsest } = started(freshDatabase())
    const session = await palimpsest.sessions.open('s')
    for (const text of ['one', 'two']) await session.send({ text }).done
    const again = await session.regenerate()
    await until(again, 'idle')
    const ids = async (each: ClientSession) => (await each.deriveMessages()).map(({ id }) => id)
    const [prompts, had] = [await ids(again), await ids(session)]
    expect(prompts.slice(0, 4)).toEqual(had.slice(0, 4))
    expect(prompts[4]).not.toBe(had[4])
    const fork = await session.fork({ after: (await promptsOf(session))[0] as number, id: 'mine' })
    expect([fork.id, await answersOf(fork)]).toEqual(['mine', ['one']])
    expect(fork.status.agent).toEqual({ kind: 'idle' })
    expect(await answersOf(await fork.fork())).toEqual(['one'])
    await expect(session.fork({ id: 'mine' })).rejects.toMatchObject({ code: 'session-already-exists' })
  })

  it('[A28] what cannot be said makes no session', async () => {
    const { palimpsest } = started(freshDatabase())
    const session = await palimpsest.sessions.open('s')
    await session.send({ text: 'one' }).done
    const [prompt] = await promptsOf(session)
    const edits = [session.edit(prompt as number, { text: ' ' }), session.edit(0, { text: 'x' }), session.edit(9e9, { text: 'x' })] // biome-ignore format: one line
    const codes = await Promise.all(
      edits.map(each =>
        each.then(
          () => 'made',
          (error: { code: string }) => error.code,
        ),
      ),
    )
    expect(codes).toEqual(['empty-prompt', 'invalid-boundary', 'invalid-boundary'])
    await palimpsest.configure('broken')
    await expect(session.edit(prompt as number, { text: 'x' })).rejects.toThrow('this configuration is broken')
    expect((await palimpsest.sessions.list()).map(({ id }) => id)).toEqual(['s'])
    await palimpsest.configure(null)
    await expect((await palimpsest.sessions.open('new')).regenerate()).rejects.toMatchObject({
      code: 'invalid-boundary',
    })
  })

  it('[A28] while its turn runs a session cannot be forked as a whole, but before that turn', async () => {
    const { palimpsest } = started(freshDatabase())
    const session = await palimpsest.sessions.open('s')
    await session.send({ text: 'one' }).done
    const turn = session.send({ text: 'slow 50' })
    await until(session, 'answering')
    await expect(session.fork()).rejects.toMatchObject({ code: 'open-turn' })
    const [, prompt] = await promptsOf(session)
    const child = await session.edit(prompt as number, { text: 'two' })
    await until(child, 'idle')
    expect(await answersOf(child)).toEqual(['one', 'two'])
    await turn.cancel()
    expect(await turn.done).toMatchObject({ kind: 'aborted' })
  })
})

describe('attachments', () => {
  it('[A17, B12] a file becomes a block, and the model gets its bytes', async () => {
    const { palimpsest } = started(freshDatabase())
    const canvas = new OffscreenCanvas(3, 2)
    canvas.getContext('2d')?.fillRect(0, 0, 3, 2)
    const png = await canvas.convertToBlob({ type: 'image/png' })
    const image = await palimpsest.sessions.attach(new File([png], 'dot.png'))
    const notes = await palimpsest.sessions.attach(new TextEncoder().encode('a,b'), 'notes.csv')
    const broken = await palimpsest.sessions.attach(new File([png.slice(0, 20)], 'half.png'))
    expect(image).toMatchObject({ type: 'image', attachment: { mediaType: 'image/png', width: 3, height: 2, name: 'dot.png', bytes: png.size } }) // biome-ignore format: one line
    expect(notes).toMatchObject({ type: 'file', attachment: { name: 'notes.csv', bytes: 3 } })
    expect(broken).toMatchObject({ type: 'file', attachment: { name: 'half.png', bytes: 20 } })
    const session = await palimpsest.sessions.open('s')
    await session.send({ text: 'look', attachments: [image, notes] }).done
    expect(await answersOf(session)).toEqual([`[image dot.png ${png.size}][file notes.csv 3]look`])
    expect(JSON.stringify(await eventsOf(session))).not.toContain('iVBOR')
  })
})

describe('injected text', () => {
  it('[A18, B12] is pending until a step takes it, and cleared with the rest', async () => {
    const session = await started(freshDatabase()).palimpsest.sessions.open('s')
    const id = await session.inject({ text: 'It rains.', summary: 'Weather' })
    await vi.waitFor(() => expect(session.inbox.nextStep.map(message => message.id)).toEqual([id]))
    expect(await session.clearQueued()).toBe(1)
    expect(session.inbox.nextStep).toEqual([])
    await session.inject({ text: 'It rains.' })
    await session.send({ text: 'hello' }).done
    expect((await session.deriveMessages()).map(({ source }) => source.kind)).toEqual([
      'plugin',
      'plugin',
      'user',
      'model',
    ])
  })
})

describe('the network', () => {
  it('[A22, B12] what a page says of it counts, and what waited runs when there is one', async () => {
    vi.stubGlobal('navigator', new Proxy(navigator, { get: (target, key): unknown => (key === 'onLine' ? isOnline : Reflect.get(target, key, target)) })) // biome-ignore format: one line
    let isOnline = false
    const session = await started(freshDatabase(), { network: 'needed' }).palimpsest.sessions.open('s')
    const turn = session.send({ text: 'hello' })
    expect((await turn.taken).kind).toBe('queued')
    await until(session, 'offline')
    isOnline = true
    dispatchEvent(new Event('online'))
    expect(await turn.done).toEqual({ kind: 'completed' })
    expect(await answersOf(session)).toEqual(['hello'])
  })
})

describe('going on', () => {
  it('[A25, B12] a turn that was cut off is offered, and goes on when the page asks for it', async () => {
    const database = freshDatabase()
    const { worker, palimpsest } = started(database)
    const session = await palimpsest.sessions.open('s')
    session.send({ text: 'slow 100' }).done.catch(() => undefined)
    await until(session, 'answering')
    await session.flush()
    worker.terminate()
    const again = await started(database).palimpsest.sessions.open('s')
    expect(again.status.agent).toEqual({ kind: 'idle', interrupted: true })
    expect(await again.resume()).toBe(2)
    await vi.waitFor(() => expect(again.status.agent).toEqual({ kind: 'idle' }), { timeout: 5_000 })
    const turns = (await eventsOf(again)).flatMap(({ type, data }) => (type === 'turn/end' ? [data.reason.kind] : []))
    expect(turns).toEqual(['interrupted', 'completed'])
  })

  it('[A25] a turn that was cut off goes on by itself where that is the policy', async () => {
    const database = freshDatabase()
    const { worker, palimpsest } = started(database, { resume: 'auto' })
    const session = await palimpsest.sessions.open('s')
    session.send({ text: 'slow 10' }).done.catch(() => undefined)
    await until(session, 'answering')
    await session.flush()
    worker.terminate()
    const again = await started(database, { resume: 'auto' }).palimpsest.sessions.open('s')
    await vi.waitFor(async () => expect((await eventsOf(again)).filter(({ type }) => type === 'turn/end')).toHaveLength(2), { timeout: 5_000 }) // biome-ignore format: one line
  })
})
