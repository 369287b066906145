/** The hooks on a server: a page is rendered, and nothing is started. */
import { renderToString } from 'react-dom/server'
import type { ReactElement } from 'react'
import { expect, it } from 'vitest'
import type { SessionsClient } from './client.ts'
import { PalimpsestProvider } from './provider.tsx'
import { useAgent } from './use-agent.ts'
import { useDeletedSessions, useSession, useSessions, useUnsavedSessions } from './use-session.ts'
import { useStatus, useSurface, useTranscript, useUsage } from './use-views.ts'

it('[X4] every hook has a snapshot, and nothing is asked of the client', () => {
  const calls: string[] = []
  const note = (call: string) => () => {
    calls.push(call)
    return Promise.reject(new Error('There is no worker on a server'))
  }
  const client: SessionsClient = {
    sessions: {
      open: note('open'),
      page: note('page'),
      family: note('family'),
      rename: note('rename'),
      pin: note('pin'),
      delete: note('delete'),
      undelete: note('undelete'),
      subscribe: () => {
        calls.push('subscribe')
        return () => {}
      },
    },
  }
  function All(): ReactElement {
    const held = useSession('s')
    const { session } = held
    return (
      <p>
        {[
          held.state,
          useAgent(session).status.kind,
          useTranscript(session).state,
          useSurface(session).surface.nodes.length,
          useStatus(session).phase,
          useUsage(session).calls,
          useSessions().sessions === null,
          useDeletedSessions().sessions === null,
          useUnsavedSessions().length,
        ].join(' ')}
      </p>
    )
  }
  const html = renderToString(
    <PalimpsestProvider client={client}>
      <All />
    </PalimpsestProvider>,
  )
  expect(html).toBe('<p>opening idle loading 0 opening 0 true true 0</p>')
  expect(calls).toEqual([])
})
