/** What an open session keeps in memory follows its surface, and not its length. */
import type { BrowserRows } from '../bench.ts'

const MB = 1_000_000

export const heapRows: BrowserRows = async bench => {
  const rows = []
  for (const variant of ['small', 'real'] as const) {
    const { surface } = bench
    const long = await bench.log({ count: bench.size(100_000), variant, surface })
    const short = await bench.log({ count: bench.size(1000), variant, surface })
    const heaps = await bench.measure(
      { long: () => bench.heap('holdSession', long), short: () => bench.heap('holdSession', short) },
      { rounds: 3 },
    )
    const more = (heaps.long - heaps.short) / MB
    const name = `heap, ${variant}, ${long.nodes} nodes, at ${long.length} above ${short.length} events`
    rows.push(bench.row(`${name}, against 5 MB, MB`, more, 5, '≤ 1×'))
  }
  return rows
}
