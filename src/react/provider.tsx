/** The client for the components below it, and what is shared among them: held sessions and lists of them. */
import { createContext, createElement, type ReactElement, type ReactNode, useContext, useMemo } from 'react'
import type { SessionsClient } from './client.ts'
import { SessionHolds } from './session-holds.ts'
import { SessionList } from './session-list.ts'

export type ClientContext<Client extends SessionsClient = SessionsClient> = {
  readonly client: Client
  readonly holds: SessionHolds
  readonly list: SessionList
  readonly deleted: SessionList
}

const Context = createContext<ClientContext | null>(null)

/** One set of holds and of lists for each client, however often its provider is mounted. */
const contexts = new WeakMap<SessionsClient, ClientContext>()

function contextOf(client: SessionsClient): ClientContext {
  let context = contexts.get(client)
  if (context === undefined) {
    const [list, deleted] = [new SessionList(client, false), new SessionList(client, true)]
    context = { client, holds: new SessionHolds(client), list, deleted }
    contexts.set(client, context)
  }
  return context
}

export type PalimpsestProviderProps = {
  /** What `connect()` returned. Who connects also closes: unmounting the provider does not end the connection. */
  readonly client: SessionsClient
  readonly children?: ReactNode
}

/** Gives the hooks below it their client. */
export function PalimpsestProvider({ client, children }: PalimpsestProviderProps): ReactElement {
  const context = useMemo(() => contextOf(client), [client])
  // Not the context itself: before React 19 that is its consumer.
  return createElement(Context.Provider, { value: context }, children)
}

/** @internal */
export function useClientContext(): ClientContext {
  const context = useContext(Context)
  if (context === null)
    throw new TypeError('Hooks of palimpsest/react need a <PalimpsestProvider client={…}> above them')
  return context
}
