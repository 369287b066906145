/** The agent of a session as a hook: what it does, what waits for it, and what can be asked of it. */
import { useMemo } from 'react'
import type { AgentStatus } from '../views/source.ts'
import type { ClientSession } from './client.ts'
import { type ReadableStore, useView } from './use-view.ts'

export type AgentState = {
  /** What the running turn does now, or why none runs. */
  readonly status: AgentStatus
  /** A turn runs. */
  readonly isRunning: boolean
  /** Messages that wait for a turn, or for the next step of the running one. */
  readonly inbox: ClientSession['inbox']
}

/** The commands of a `ClientSession`; without a session they throw a `TypeError`. */
export type AgentActions = Pick<
  ClientSession,
  'send' | 'steer' | 'inject' | 'resume' | 'approve' | 'removeQueued' | 'clearQueued' | 'editQueued' | 'cancel'
>

/** What `useAgent` returns. */
export type Agent = AgentState & AgentActions

type AgentStore = ReadableStore<AgentState> & { readonly actions: AgentActions }

const stores = new WeakMap<ClientSession, AgentStore>()

const NOTHING: AgentState = Object.freeze({
  status: Object.freeze({ kind: 'idle' }),
  isRunning: false,
  inbox: Object.freeze({ nextTurn: Object.freeze([]), nextStep: Object.freeze([]), claimed: Object.freeze([]) }),
} as const)

function agentStore(session: ClientSession): AgentStore {
  let store = stores.get(session)
  if (store === undefined) {
    let state = NOTHING
    store = {
      getSnapshot: () => {
        const { inbox } = session
        const status = session.status.agent
        if (state.status !== status || state.inbox !== inbox) state = { status, isRunning: isRunning(status), inbox }
        return state
      },
      getServerSnapshot: () => NOTHING,
      subscribe: listener => session.subscribe(listener),
      actions: {
        send: message => session.send(message),
        steer: message => session.steer(message),
        inject: note => session.inject(note),
        resume: () => session.resume(),
        approve: (callId, answer) => session.approve(callId, answer),
        clearQueued: () => session.clearQueued(),
        removeQueued: id => session.removeQueued(id),
        editQueued: (id, message) => session.editQueued(id, message),
        cancel: () => session.cancel(),
      },
    }
    stores.set(session, store)
  }
  return store
}

/** A turn runs: not while only what is queued waits for the network. */
const isRunning = (status: AgentStatus): boolean => 'turn' in status && status.turn !== null

/** The agent of `session`; null for no session (yet): then it is idle and its commands throw a `TypeError`. */
export function useAgent(session: ClientSession | null): Agent {
  const store = session === null ? ABSENT : agentStore(session)
  const state = useView(store)
  return useMemo(() => ({ ...state, ...store.actions }), [state, store])
}

function absent(): never {
  throw new TypeError('There is no open session to ask this of')
}

const ABSENT: AgentStore = {
  getSnapshot: () => NOTHING,
  getServerSnapshot: () => NOTHING,
  subscribe: () => () => {},
  actions: {
    send: absent,
    steer: absent,
    inject: absent,
    resume: absent,
    approve: absent,
    clearQueued: absent,
    removeQueued: absent,
    editQueued: absent,
    cancel: absent,
  },
}
