import { fileURLToPath } from 'node:url'
import { type Connect, type Plugin, type ResolvedConfig, runnerImport } from 'vite'
import type * as http from './http.ts'

/** Serves the embedded provider beside the page, in `vite dev` and in `vite preview`. */
export function embeddedProvider(): Plugin {
  return {
    name: 'palimpsest-embedded-provider',
    configureServer(server) {
      server.middlewares.use(middleware(server.config))
    },
    configurePreviewServer(server) {
      server.middlewares.use(middleware(server.config))
    },
  }
}

function middleware(config: ResolvedConfig): Connect.NextHandleFunction {
  let handler: Promise<http.ProviderHandler> | undefined
  return (request, response, next) => {
    if (!/^\/(?:v1|__provider)\//.test(request.url ?? '')) return next()
    handler ??= loadHandler(config).catch((error: unknown) => {
      handler = undefined
      throw error
    })
    handler.then(handle => handle(request, response, next), next)
  }
}

/** Loaded through Vite on first use: this file is part of the configuration, which is read before the aliases exist. */
async function loadHandler({ resolve: { alias } }: ResolvedConfig): Promise<http.ProviderHandler> {
  const file = fileURLToPath(new URL('./http.ts', import.meta.url))
  const { module } = await runnerImport<typeof http>(file, { resolve: { alias }, logLevel: 'error' })
  return module.createProviderHandler()
}
