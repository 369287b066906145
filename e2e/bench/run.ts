/** Runs one bundled bench file in this process and hands its rows to the parent: `node run.mjs FILE [--quick]`. */
import { pathToFileURL } from 'node:url'
import { type BenchModule, createBench } from './harness.ts'
import { loadPeer } from './peer.ts'
import { deepFreeze, makeEvents, makeV3Events } from './workload.mjs'

const [file = '', ...flags] = process.argv.slice(2)
const module = (await import(/* @vite-ignore */ pathToFileURL(file).href)) as BenchModule
const bench = createBench({
  quick: flags.includes('--quick'),
  workload: { v0: makeEvents, v3: makeV3Events, deepFreeze },
  peer: loadPeer,
})
const rows = await module.default(bench)
// Whatever a bench left open must not keep the process; the rows have arrived when the callback is called.
process.send?.(rows, () => process.exit(0))
