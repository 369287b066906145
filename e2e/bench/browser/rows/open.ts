/** A long log whose surface is short opens in a time that follows its surface, and not its length. */
import { LOGS, type BrowserRows } from '../bench.ts'

export const openRows: BrowserRows = async bench => {
  const rows = []
  for (const variant of ['small', 'real'] as const) {
    const { surface } = bench
    const long = await bench.log({ count: bench.size(100_000), variant, surface })
    const short = await bench.log({ count: bench.size(10_000), variant, surface })
    bench.use(LOGS)
    const times = await bench.measure(
      {
        long: () => bench.sample('openToMessages', long),
        short: () => bench.sample('openToMessages', short),
        parse: () => bench.sample('parseTexts', long),
      },
      { rounds: 5, warmUp: 1 },
    )
    const name = `open, ${variant}, ${long.nodes} nodes, at ${long.length}`
    rows.push(
      bench.row(`${name}, against JSON.parse of the log, ms`, times.long, times.parse, '≤ 0.02×'),
      bench.row(`${name} against ${short.length}, ms`, times.long, times.short, '≤ 1.5×'),
    )
  }
  return rows
}
