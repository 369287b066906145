/** A fork shares what it inherits, so it costs what its surface costs. */
import type { BrowserRows } from '../bench.ts'

export const forkRows: BrowserRows = async bench => {
  const rows = []
  for (const variant of ['small', 'real'] as const) {
    const { surface } = bench
    const long = await bench.log({ count: bench.size(100_000), variant, surface })
    const short = await bench.log({ count: bench.size(1000), variant, surface })
    const times = await bench.measure(
      { long: () => bench.sample('fork', long), short: () => bench.sample('fork', short) },
      { rounds: 5, warmUp: 1 },
    )
    const name = `fork, ${variant}, ${long.nodes} nodes, at ${long.length} against ${short.length} events`
    rows.push(bench.row(`${name}, ms`, times.long, times.short, '≤ 2×'))
  }
  return rows
}
