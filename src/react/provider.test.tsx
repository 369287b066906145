/** The provider where a context is no provider of itself, as before React 19. */
import { renderToString } from 'react-dom/server'
import type * as React from 'react'
import type { ReactElement } from 'react'
import { expect, it, vi } from 'vitest'
import type { SessionsClient } from './client.ts'
import { PalimpsestProvider } from './provider.tsx'
import { useSession } from './use-session.ts'

vi.mock('react', async importOriginal => {
  const react = await importOriginal<typeof React>()
  return {
    ...react,
    createContext: (value: unknown) => {
      const Provider = react.createContext(value)
      return { Provider }
    },
    useContext: ({ Provider }: { readonly Provider: never }) => react.useContext(Provider),
  }
})

it('[X4] gives the hooks their client', () => {
  const client = { sessions: {} } as SessionsClient
  const Held = (): ReactElement => <p>{useSession('s').state}</p>
  const html = renderToString(
    <PalimpsestProvider client={client}>
      <Held />
    </PalimpsestProvider>,
  )
  expect(html).toBe('<p>opening</p>')
})
