/** Serving pages from a worker's script (SPEC B3–B6). */
import { Host } from './host.ts'
import type { ConnectMessage } from './protocol.ts'
import type { ServeOptions } from './serve-options.ts'

/** Where pages come from: a worker's own scope, or one port. */
type Endpoint = Pick<EventTarget, 'addEventListener'>

/**
 * Serves pages from a worker: call it once, at the top level of the worker's script. `endpoint` is the worker's scope by
 * default; a MessagePort serves one page in the same realm.
 */
export function serve<Config = unknown>(options: ServeOptions<Config>, endpoint: Endpoint = globalThis): void {
  const host = new Host(options as ServeOptions)
  const listen = (port: Endpoint) => {
    port.addEventListener('message', event => {
      const message = (event as MessageEvent<unknown>).data
      if (isConnectMessage(message)) host.connect(message)
    })
  }
  if ('onconnect' in endpoint) {
    endpoint.addEventListener('connect', event => {
      for (const port of (event as MessageEvent).ports) {
        listen(port)
        port.start()
      }
    })
  } else {
    listen(endpoint)
    if (endpoint instanceof MessagePort) endpoint.start()
  }
}

const isConnectMessage = (value: unknown): value is ConnectMessage =>
  typeof value === 'object' && value !== null && (value as { palimpsest?: unknown }).palimpsest === 'connect'
