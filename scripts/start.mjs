/** `npm start`: installs what is missing, then serves the demo with the embedded provider. `--port N` prefers a port. */
import { parseArgs } from 'node:util'
import { ensureDependencies, main, onStop, root } from './setup.mjs'

await main(async () => {
  const { values } = parseArgs({ options: { port: { type: 'string' } } })
  await ensureDependencies()

  const { createServer } = await import('vite')
  const server = await createServer({
    root,
    server: { host: '127.0.0.1', strictPort: false, ...(values.port ? { port: Number(values.port) } : {}) },
  })

  let closing = false
  onStop(async () => {
    if (closing) process.exit(1) // asked twice: do not wait for open connections
    closing = true
    await server.close()
    process.exit(0)
  })

  await server.listen()
  console.log(`
  Palimpsest demo:  ${server.resolvedUrls?.local[0] ?? `http://127.0.0.1:${server.config.server.port}/`}

  An agent whose loop, history and tools live in this page; an embedded model answers, so no key and no network is needed.
  Ctrl+C stops it.
`)
})
