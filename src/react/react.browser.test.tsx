/** The hooks in a real browser, over a real worker: Strict Mode, unmounting in mid-answer, what is opened and closed. */
import { Component, createElement, type ReactElement, type ReactNode, StrictMode, useState } from 'react'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { cleanup, render } from 'vitest-browser-react'
import { MessageId } from '../core/ids.ts'
import { memoryLease } from '../sessions/lease.ts'
import { StorageError } from '../storage/storage.ts'
import { memoryStorage } from '../storage/memory.ts'
import { connect, type Palimpsest } from '../worker/client.ts'
import { serve } from '../worker/serve.ts'
import { scriptedModel, gate } from '../testing/scripted-model.ts'
import type { ClientSession, SessionsClient } from './client.ts'
import { PalimpsestProvider } from './provider.tsx'
import { useAgent } from './use-agent.ts'
import { useDeletedSessions, useSession, useSessions, useUnsavedSessions } from './use-session.ts'
import { transcriptOf, useStatus, useSurface, useTranscript, useUsage } from './use-views.ts'
import { useView } from './use-view.ts'

let count = 0
const connections: Palimpsest[] = []

function echoClient(): Palimpsest {
  const url = new URL('../worker/fixtures/echo.worker.ts', import.meta.url)
  url.searchParams.set('database', `palimpsest-react-test-${Date.now()}-${(count += 1)}`)
  const palimpsest = connect(new Worker(url, { type: 'module' }))
  connections.push(palimpsest)
  return palimpsest
}

/** A client that notes what is asked of it. */
function watched(
  palimpsest: Palimpsest,
): SessionsClient & { readonly calls: string[]; readonly opened: ClientSession[] } {
  const calls: string[] = []
  const opened: ClientSession[] = []
  const { sessions } = palimpsest
  return {
    calls,
    opened,
    sessions: {
      open: async id => {
        calls.push(`open ${id}`)
        const session = await sessions.open(id)
        if (!opened.includes(session)) {
          opened.push(session)
          const close = session.close.bind(session)
          session.close = () => {
            calls.push(`close ${id}`)
            return close()
          }
        }
        return session
      },
      page: options => {
        calls.push(`page${options?.deleted === true ? ' of deleted' : ''} ${options?.limit}`)
        return sessions.page(options)
      },
      rename: (id, title) => sessions.rename(id, title),
      pin: (id, isPinned) => sessions.pin(id, isPinned),
      delete: (id, how) => sessions.delete(id, how),
      undelete: id => sessions.undelete(id),
      family: id => sessions.family(id),
      subscribe: listener => sessions.subscribe(listener),
    },
  }
}

beforeEach(() => {
  count += 1
})
afterEach(async () => {
  await cleanup()
  await Promise.all(connections.splice(0).map(each => each.close().catch(() => undefined)))
})

const tick = () => new Promise(resolve => setTimeout(resolve, 20))

function Page({ client, children }: { readonly client: SessionsClient; readonly children: ReactNode }): ReactElement {
  return (
    <StrictMode>
      <PalimpsestProvider client={client}>{children}</PalimpsestProvider>
    </StrictMode>
  )
}

/** Adds a message without a turn. */
const say = (session: ClientSession | undefined, text: string) =>
  session?.append(
    'user/message',
    { id: MessageId(text), role: 'user', content: [{ type: 'text', text }], source: { kind: 'user' } },
    { surfaceOp: 'append' },
  )

/** Everything the hooks say of one session, as text. */
function Talk({ id, onRender }: { readonly id: string; readonly onRender?: () => void }): ReactElement {
  const held = useSession(id)
  const agent = useAgent(held.session)
  const { transcript, state } = useTranscript(held.session)
  const { surface } = useSurface(held.session)
  const status = useStatus(held.session)
  const usage = useUsage(held.session)
  onRender?.()
  const items = [...transcript.turns].flatMap(turn => [...turn.items])
  return (
    <div>
      <p id="state">{`${held.state} ${state} ${status.phase} ${agent.status.kind}`}</p>
      <p id="items">{items.map(item => item.kind).join(' ')}</p>
      <p id="live">{transcript.live?.blocks.map(block => block.text).join('')}</p>
      <p id="nodes">{surface.nodes.length}</p>
      <p id="calls">{usage.calls}</p>
      <p id="queued">{agent.inbox.nextTurn.length}</p>
    </div>
  )
}

/** Shows session `s` of `client`. */
const mount = (client: SessionsClient) =>
  render(
    <Page client={client}>
      <Talk id="s" />
    </Page>,
  )

const text = (id: string): string => document.getElementById(id)?.textContent ?? ''

describe('a session in components', () => {
  it('[X2] [X3] is opened once under Strict Mode, runs a turn, and is closed when nobody holds it', async () => {
    const client = watched(echoClient())
    const screen = await mount(client)
    await expect.poll(() => text('state')).toBe('open ready idle idle')
    expect(client.calls).toEqual(['open s'])
    await client.opened[0]?.send({ text: 'call add {"a":2,"b":3}' }).done
    await expect.poll(() => text('items')).toBe('system user answer tool answer')
    expect(text('nodes')).toBe(String(client.opened[0]?.surface.nodes.length))
    expect(text('calls')).toBe('2')
    await expect.poll(() => text('state')).toBe('open ready idle idle')
    await screen.unmount()
    await expect.poll(() => client.calls).toEqual(['open s', 'close s'])
  })

  it('[X3] unmounted in mid-answer it is closed after the answer, and remounted it shows all of it', async () => {
    const client = watched(echoClient())
    const screen = await mount(client)
    await expect.poll(() => text('state')).toBe('open ready idle idle')
    const turn = client.opened[0]?.send({ text: 'slow 30' })
    await expect.poll(() => text('live')).toContain('w3 ')
    await screen.unmount()
    await tick()
    expect(client.calls).toEqual(['open s'])
    expect(await turn?.done).toEqual({ kind: 'completed' })
    await expect.poll(() => client.calls).toEqual(['open s', 'close s'])
    await mount(client)
    await expect.poll(() => text('items')).toBe('system user answer')
    expect(text('live')).toBe('')
  })

  it('[X3] remounted in mid-answer it goes on with the same session and the frames so far', async () => {
    const client = watched(echoClient())
    const screen = await mount(client)
    await expect.poll(() => text('state')).toBe('open ready idle idle')
    const turn = client.opened[0]?.send({ text: 'slow 150' })
    await expect.poll(() => text('live')).toContain('w3 ')
    await screen.unmount()
    await tick()
    await mount(client)
    await expect.poll(() => text('live')).toContain('w0 w1 w2 ')
    await turn?.cancel()
    await turn?.done
    await expect.poll(() => text('items')).toBe('system user answer')
    expect(client.opened).toHaveLength(1)
    expect(client.calls.filter(call => call.startsWith('close'))).toEqual([])
  })

  it('[X2] going from one session to another closes the first, and two holders share one', async () => {
    const client = watched(echoClient())
    let go: (id: string) => void = () => {}
    function Both(): ReactElement {
      const [id, setId] = useState('a')
      go = setId
      return (
        <>
          <Talk id={id} />
          <Talk id={id} />
        </>
      )
    }
    await render(
      <Page client={client}>
        <Both />
      </Page>,
    )
    await expect.poll(() => text('state')).toBe('open ready idle idle')
    go('b')
    await expect.poll(() => client.calls).toEqual(['open a', 'open b', 'close a'])
    await expect.poll(() => text('state')).toBe('open ready idle idle')
    go('a')
    await expect.poll(() => client.calls.at(-1)).toBe('close b')
    await expect.poll(() => text('state')).toBe('open ready idle idle')
    expect(client.calls).toEqual(['open a', 'open b', 'close a', 'open a', 'close b'])
  })

  it('[X2] a session in use elsewhere is refused in state, and retry opens it once it is free', async () => {
    const database = `palimpsest-react-shared-${Date.now()}`
    const connected = () => {
      const url = new URL('../worker/fixtures/echo.worker.ts', import.meta.url)
      url.searchParams.set('database', database)
      const palimpsest = connect(new Worker(url, { type: 'module' }))
      connections.push(palimpsest)
      return palimpsest
    }
    const other = connected()
    const taken = await other.sessions.open('s')
    let retry = () => {}
    function State(): ReactElement {
      const held = useSession('s')
      retry = held.retry
      const { code } = (held.error ?? {}) as { code?: string }
      return <p id="state">{`${held.state} ${code ?? ''}`}</p>
    }
    await render(
      <Page client={connected()}>
        <State />
      </Page>,
    )
    await expect.poll(() => text('state'), { timeout: 5_000 }).toBe('refused in-use')
    await taken.close()
    retry()
    await expect.poll(() => text('state')).toBe('open ')
  })

  it('[X2] a deleted session has ended, and what was read of it stays', async () => {
    const palimpsest = echoClient()
    await render(
      <Page client={palimpsest}>
        <Talk id="s" />
      </Page>,
    )
    await expect.poll(() => text('state')).toBe('open ready idle idle')
    const session = await palimpsest.sessions.open('s')
    await session.send({ text: 'hello' }).done
    await expect.poll(() => text('items')).toBe('system user answer')
    await palimpsest.sessions.delete('s')
    await expect.poll(() => text('state')).toBe('ended ended ended idle')
    expect(text('items')).toBe('system user answer')
  })

  it('[X2] queued messages and their number are seen at once', async () => {
    const client = watched(echoClient())
    await mount(client)
    await expect.poll(() => text('state')).toBe('open ready idle idle')
    const turn = client.opened[0]?.send({ text: 'slow' })
    await expect.poll(() => text('live')).toContain('w1 ')
    await client.opened[0]?.send({ text: 'later' }).taken
    await expect.poll(() => text('queued')).toBe('1')
    await turn?.cancel()
    await turn?.done
    await expect.poll(() => text('state')).toBe('open ready idle idle')
    expect(text('queued')).toBe('1') // stop means stop
  })

  it('[X5] a session that cannot be stored when it is left is named, and tried again', async () => {
    const storage = memoryStorage()
    let isFull = false
    const append = storage.append.bind(storage)
    storage.append = async batch => {
      if (isFull) throw new StorageError('quota-exceeded', 'The disk is full')
      return append(batch)
    }
    const { port1, port2 } = new MessageChannel()
    serve({ storage, agent: () => ({ model: scriptedModel([{ text: 'hi' }]) }) }, port1)
    const palimpsest = connect(port2)
    connections.push(palimpsest)
    let go: (id: string) => void = () => {}
    function Unsaved(): ReactElement {
      const [id, setId] = useState('a')
      go = setId
      return (
        <>
          <Talk id={id} />
          <p id="unsaved">{useUnsavedSessions().map(each => `${each.id} ${String(each.isKept)}`)}</p>
        </>
      )
    }
    await render(
      <Page client={palimpsest}>
        <Unsaved />
      </Page>,
    )
    await expect.poll(() => text('state')).toBe('open ready idle idle')
    const session = await palimpsest.sessions.open('a')
    isFull = true
    await session.send({ text: 'precious' }).done
    go('b')
    await expect.poll(() => text('unsaved')).toBe('a true')
    isFull = false
    go('c')
    await expect.poll(() => text('unsaved')).toBe('')
    go('a')
    await expect.poll(() => text('items')).toContain('user')
  })
})

describe('a session that goes on without its component', () => {
  /** A component that can be taken away, over the client it is given. */
  async function rendered(client: SessionsClient): Promise<{ readonly mount: (isMounted: boolean) => void }> {
    let mount: (isMounted: boolean) => void = () => {}
    function App(): ReactElement {
      const [isMounted, setMounted] = useState(true)
      mount = setMounted
      const unsaved = useUnsavedSessions()
      return (
        <>
          {isMounted ? <Talk id="s" /> : null}
          <p id="unsaved">{unsaved.map(each => `${each.id} ${String(each.isKept)}`)}</p>
        </>
      )
    }
    await render(
      <Page client={client}>
        <App />
      </Page>,
    )
    await expect.poll(() => text('state'), { timeout: 5_000 }).toBe('open ready idle idle')
    return { mount: isMounted => mount(isMounted) }
  }

  it('[X2] left right after a prompt was sent, it is closed after the answer', async () => {
    const client = watched(echoClient())
    const { mount } = await rendered(client)
    const turn = client.opened[0]?.send({ text: 'slow 10' })
    mount(false)
    expect(await turn?.done).toEqual({ kind: 'completed' })
    await expect.poll(() => client.calls).toEqual(['open s', 'close s'])
  })

  it('[X2] left right after a prompt that is refused, it is closed', async () => {
    const client = watched(echoClient())
    const { mount } = await rendered(client)
    const turn = client.opened[0]?.send({ text: ' ' })
    mount(false)
    await expect(turn?.done).rejects.toMatchObject({ code: 'empty-prompt' })
    await expect.poll(() => client.calls).toEqual(['open s', 'close s'])
  })

  it('[X5] [B10] taken over by another tab it is named, and mounted again it is opened anew', async () => {
    const storage = memoryStorage()
    const tab = () => {
      const { port1, port2 } = new MessageChannel()
      const model = scriptedModel([{ text: 'hi' }])
      serve({ storage, lease: memoryLease(), agent: () => ({ model }) }, port1)
      const palimpsest = connect(port2)
      connections.push(palimpsest)
      return palimpsest
    }
    const client = watched(tab())
    const { mount } = await rendered(client)
    await say(client.opened[0], 'mine')
    await client.opened[0]?.flush()
    const other = await tab().sessions.open('s')
    await say(other, 'theirs')
    await other.flush()
    await say(client.opened[0], 'too late')
    mount(false)
    await expect.poll(() => text('unsaved')).toBe('s false')
    mount(true)
    await expect.poll(() => text('state')).toBe('open ready idle idle')
    expect(client.opened).toHaveLength(2)
    const last = client.opened[1]
    expect(await say(last, 'again')).toMatchObject({ seq: (last?.length ?? 0) - 1 })
    expect(text('unsaved')).toBe('')
  })

  it('[X5] unsaved and deleted it is not named any more', async () => {
    const storage = memoryStorage()
    storage.append = async () => Promise.reject(new StorageError('quota-exceeded', 'The disk is full'))
    const { port1, port2 } = new MessageChannel()
    serve({ storage, agent: () => ({ model: scriptedModel([{ text: 'hi' }]) }) }, port1)
    const palimpsest = connect(port2)
    connections.push(palimpsest)
    const client = watched(palimpsest)
    const { mount } = await rendered(client)
    await client.opened[0]?.send({ text: 'precious' }).done
    mount(false)
    await expect.poll(() => text('unsaved')).toBe('s true')
    await palimpsest.sessions.delete('s')
    await expect.poll(() => text('unsaved')).toBe('')
  })

  it('[B10] when its worker dies in mid-answer, its agent is idle', async () => {
    const url = new URL('../worker/fixtures/echo.worker.ts', import.meta.url)
    url.searchParams.set('database', `palimpsest-react-dying-${Date.now()}`)
    const worker = new Worker(url, { type: 'module' })
    const client = watched(connect(worker))
    function Running(): ReactElement {
      const held = useSession('s')
      return <p id="running">{`${held.state} ${String(useAgent(held.session).isRunning)}`}</p>
    }
    await render(
      <Page client={client}>
        <Running />
      </Page>,
    )
    await expect.poll(() => text('running'), { timeout: 5_000 }).toBe('open false')
    const turn = client.opened[0]?.send({ text: 'slow 200' })
    await expect.poll(() => text('running')).toBe('open true')
    const lost = expect(turn?.done).rejects.toMatchObject({ code: 'lost' })
    worker.terminate()
    await expect.poll(() => text('running'), { timeout: 5_000 }).toBe('ended false')
    await lost
  })
})

describe('views in components', () => {
  it('[X1] a selector made anew in each render leaves the view alone', async () => {
    const palimpsest = echoClient()
    const session = await palimpsest.sessions.open('s')
    for (let count = 0; count < 300; count += 1) await say(session, `${count}`)
    let subscriptions = 0
    const subscribe = session.subscribe.bind(session)
    session.subscribe = listener => {
      subscriptions += 1
      return subscribe(listener)
    }
    let renders = 0
    function From(): ReactElement {
      renders += 1
      if (renders > 100) throw new Error('It renders again and again')
      const transcript = useTranscript(session, snapshot => snapshot.transcript)
      const isLoading = useTranscript(session, snapshot => snapshot.loadingEarlier)
      return <p id="from">{`${transcript.from} ${transcript.to} ${String(isLoading)}`}</p>
    }
    await render(<From />)
    await expect.poll(() => text('from')).toBe('44 300 false')
    expect(await transcriptOf(session).loadEarlier()).toBe(true)
    await expect.poll(() => text('from')).toBe('0 300 false')
    expect(subscriptions).toBe(1)
    expect(renders).toBeLessThan(8)
  })

  it('[X1] renders again only when what is selected changed', async () => {
    const palimpsest = echoClient()
    const session = await palimpsest.sessions.open('s')
    let renders = 0
    function Turns(): ReactElement {
      const turns = useTranscript(session, snapshot => snapshot.transcript.turns.length)
      renders += 1
      return <p id="turns">{turns}</p>
    }
    await render(<Turns />)
    await expect.poll(() => text('turns')).toBe('0')
    await session.send({ text: 'slow 20' }).done
    await expect.poll(() => text('turns')).toBe('1')
    // Loading, ready, one turn; twenty words and a dozen events are none of its business.
    expect(renders).toBeLessThanOrEqual(4)
  })

  it('[X1] an equal selection keeps its reference, also with a selector made anew each time', async () => {
    let state = { list: [1, 2, 3], other: 0 }
    const listeners = new Set<() => void>()
    const store = {
      getSnapshot: () => state,
      getServerSnapshot: () => state,
      subscribe: (listener: () => void) => {
        listeners.add(listener)
        return () => listeners.delete(listener)
      },
    }
    const seen: unknown[] = []
    let again: () => void = () => {}
    function Small(): ReactElement {
      const [renders, setRenders] = useState(0)
      again = () => setRenders(renders + 1)
      const small = useView(
        store,
        each => each.list.filter(value => value < 3),
        (left, right) => left.join() === right.join(),
      )
      seen.push(small)
      return <p id="small">{`${small.join()} ${renders}`}</p>
    }
    await render(<Small />)
    state = { list: [1, 2, 4], other: 1 }
    for (const listener of listeners) listener()
    again()
    await expect.poll(() => text('small')).toBe('1,2 1')
    expect(new Set(seen).size).toBe(1)
  })

  it('[X1] no two components show different states of one view', async () => {
    const palimpsest = echoClient()
    const session = await palimpsest.sessions.open('s')
    const torn: string[] = []
    function Reading({ name }: { readonly name: string }): ReactElement {
      const to = useTranscript(session, snapshot => snapshot.transcript.to)
      // A slow render, in which the log goes on.
      for (const end = performance.now() + 3; performance.now() < end; );
      return <p className="reading">{`${name}=${to}`}</p>
    }
    function Many(): ReactElement {
      return <>{['a', 'b', 'c', 'd'].map(name => createElement(Reading, { key: name, name }))}</>
    }
    await render(<Many />)
    const observer = new MutationObserver(() => {
      const shown = [...document.querySelectorAll('.reading')].map(each => each.textContent.split('=')[1])
      if (new Set(shown).size > 1) torn.push(shown.join())
    })
    observer.observe(document.body, { subtree: true, childList: true, characterData: true })
    await session.send({ text: 'call add {"a":2,"b":3}' }).done
    await session.send({ text: 'slow 10' }).done
    await expect.poll(() => document.querySelector('.reading')?.textContent).toBe(`a=${session.length}`)
    observer.disconnect()
    expect(torn).toEqual([])
  })

  it('[X6] components share one view: the history is read once', async () => {
    const palimpsest = echoClient()
    const session = await palimpsest.sessions.open('s')
    await session.send({ text: 'hello' }).done
    let reads = 0
    const read = session.readEvents.bind(session)
    session.readEvents = range => {
      reads += 1
      return read(range)
    }
    function Count(): ReactElement {
      return <p>{useTranscript(session).transcript.to}</p>
    }
    const screen = await render(
      <StrictMode>
        <Count />
        <Count />
        <Count />
      </StrictMode>,
    )
    await expect.poll(() => screen.container.textContent).toBe(String(session.length).repeat(3))
    expect(reads).toBe(1)
  })

  it('[X1] an answer that is held up shows what has arrived, and an unmounted view takes nothing in', async () => {
    const hold = gate()
    const { port1, port2 } = new MessageChannel()
    const model = scriptedModel([
      [
        { type: 'text-delta', index: 0, text: 'half ' },
        hold,
        { type: 'text-delta', index: 0, text: 'whole' },
        { type: 'finish', reason: { kind: 'stop' } },
      ],
    ])
    serve({ storage: memoryStorage(), agent: () => ({ model }) }, port1)
    const palimpsest = connect(port2)
    connections.push(palimpsest)
    const session = await palimpsest.sessions.open('s')
    function Live(): ReactElement {
      return <p id="live">{useTranscript(session).transcript.live?.blocks[0]?.text ?? 'none'}</p>
    }
    const screen = await render(
      <StrictMode>
        <Live />
      </StrictMode>,
    )
    const turn = session.send({ text: 'go' })
    await expect.poll(() => text('live')).toBe('half ')
    await screen.unmount()
    hold.open()
    await turn.done
    await render(<Live />)
    await expect.poll(() => text('live')).toBe('none')
  })
})

describe('the list of sessions', () => {
  it('[X1] follows what is done here, and keeps entries that did not change', async () => {
    const palimpsest = echoClient()
    const lists: (readonly { readonly id: string }[] | null)[] = []
    let actions: ReturnType<typeof useSessions> | null = null
    function List(): ReactElement {
      const list = useSessions()
      actions = list
      lists.push(list.sessions)
      return <p id="list">{list.sessions?.map(({ id, title }) => `${id}:${title ?? ''}`).join(' ') ?? 'unread'}</p>
    }
    await render(
      <Page client={palimpsest}>
        <List />
      </Page>,
    )
    await expect.poll(() => text('list')).toBe('')
    const session = await palimpsest.sessions.open('a')
    await session.send({ text: 'hello' }).done
    await session.flush() // what the list says of it changes no more
    await expect.poll(() => text('list')).toBe('a:')
    const other = await palimpsest.sessions.open('b')
    await other.send({ text: 'hello' }).done
    await expect.poll(() => text('list')).toBe('b: a:')
    const before = lists.at(-1)?.find(each => each.id === 'a')
    await actions!.rename('b', 'Bee')
    await expect.poll(() => text('list')).toBe('b:Bee a:')
    expect(lists.at(-1)?.find(each => each.id === 'a')).toBe(before)
    await actions!.pin('a', true)
    await expect.poll(() => text('list')).toBe('a: b:Bee')
    await actions!.pin('a', false)
    await expect.poll(() => text('list')).toBe('b:Bee a:')
    await actions!.remove('b')
    await expect.poll(() => text('list')).toBe('a:')
  })

  it('[X7] what is removed as undoable is listed apart; brought back, who holds it has it open again', async () => {
    const palimpsest = echoClient()
    let actions: ReturnType<typeof useSessions> | null = null
    function Lists(): ReactElement {
      const list = useSessions()
      actions = list
      const { sessions } = useDeletedSessions()
      return (
        <>
          <p id="list">{list.sessions?.map(each => each.id).join(' ') ?? 'unread'}</p>
          <p id="deleted">{sessions?.map(each => `${each.id}:${typeof each.deletedAt}`).join(' ') ?? 'unread'}</p>
        </>
      )
    }
    await render(
      <Page client={palimpsest}>
        <Lists />
        <Talk id="s" />
      </Page>,
    )
    await expect.poll(() => text('state')).toBe('open ready idle idle')
    const session = await palimpsest.sessions.open('s')
    await session.send({ text: 'hello' }).done
    await expect.poll(() => text('list')).toBe('s')
    expect(text('deleted')).toBe('')

    await actions!.remove('s', { undoable: true })
    await expect.poll(() => text('deleted')).toBe('s:number')
    expect(text('list')).toBe('')
    expect(text('state')).toBe('ended ended ended idle')
    await actions!.bringBack('s')
    await expect.poll(() => text('state')).toBe('open ready idle idle')
    await expect.poll(() => text('list')).toBe('s')
    expect(text('deleted')).toBe('')
    expect(text('items')).toBe('system user answer')

    await actions!.remove('s', { undoable: true })
    await actions!.remove('s')
    await expect.poll(() => text('deleted')).toBe('')
    await expect(actions!.bringBack('s')).rejects.toMatchObject({ code: 'not-found' })
  })

  it('[X7] a held session that is deleted is refused in state, and opens when it is brought back', async () => {
    const palimpsest = echoClient()
    const session = await palimpsest.sessions.open('s')
    await session.send({ text: 'hello' }).done
    await palimpsest.sessions.delete('s', { undoable: true })
    let actions: ReturnType<typeof useSessions> | null = null
    function State(): ReactElement {
      actions = useSessions()
      const { state, error } = useSession('s')
      return <p id="state">{`${state} ${(error as { code?: string } | null)?.code ?? ''}`}</p>
    }
    await render(
      <Page client={palimpsest}>
        <State />
      </Page>,
    )
    await expect.poll(() => text('state')).toBe('refused deleted')
    await actions!.bringBack('s')
    await expect.poll(() => text('state')).toBe('open ')
  })

  it('[X1] shows the first fifty, and more when it is asked to', async () => {
    const storage = memoryStorage()
    const { port1, port2 } = new MessageChannel()
    serve({ storage, agent: () => ({ model: scriptedModel([]) }) }, port1)
    const palimpsest = connect(port2)
    connections.push(palimpsest)
    for (let n = 0; n < 120; n += 1) {
      const session = await palimpsest.sessions.open(`s${n}`)
      await say(session, 'hello')
      await session.close()
    }
    const client = watched(palimpsest)
    let list: ReturnType<typeof useSessions> | null = null
    function List(): ReactElement {
      list = useSessions()
      return <p id="list">{`${list.sessions?.length ?? 'unread'} ${String(list.hasMore)}`}</p>
    }
    await render(
      <Page client={client}>
        <List />
      </Page>,
    )
    await expect.poll(() => text('list')).toBe('50 true')
    expect(new Set(client.calls)).toEqual(new Set(['page 50']))
    const first = list!.sessions?.[0]
    list!.showMore()
    await expect.poll(() => text('list')).toBe('100 true')
    expect(list!.sessions?.[0]).toBe(first)
    list!.showMore()
    await expect.poll(() => text('list')).toBe('120 false')
    list!.showMore()
    const before = client.calls.length
    await Promise.all([list!.refresh(), list!.refresh(), list!.refresh()])
    expect(client.calls.length - before).toBeLessThanOrEqual(2)
    expect(text('list')).toBe('120 false')
  })
})

describe('around the hooks', () => {
  it('[X2] without a provider the hook says what is missing', async () => {
    class Boundary extends Component<{ readonly children: ReactNode }, { readonly message: string }> {
      override state = { message: '' }
      static getDerivedStateFromError(error: Error): { readonly message: string } {
        return { message: error.message }
      }
      override render(): ReactNode {
        return this.state.message === '' ? this.props.children : <p id="error">{this.state.message}</p>
      }
    }
    const onError = (event: ErrorEvent) => event.preventDefault()
    addEventListener('error', onError)
    await render(
      <Boundary>
        <Talk id="s" />
      </Boundary>,
    )
    removeEventListener('error', onError)
    expect(text('error')).toContain('<PalimpsestProvider client={…}>')
  })
})
