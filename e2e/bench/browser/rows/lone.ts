/** One event, appended and flushed, then the next: nothing can be grouped. */
import type { BrowserRows } from '../bench.ts'

export const loneRows: BrowserRows = async bench => {
  bench.use('lone')
  const rows = []
  for (const variant of ['small', 'real'] as const) {
    const input = () => ({ count: bench.size(500), variant, database: bench.newName(), warmUp: true })
    const times = await bench.measure(
      {
        ours: () => bench.sample('lone', input()),
        batch: () => bench.sample('loneBatch', input()),
        bare: () => bench.sample('bareTransactions', input()),
      },
      { rounds: 9, warmUp: 1 },
    )
    const name = `lone append, ${variant}, flushed, against a bare strict get and two puts`
    // The same with and without what a session does for each event besides storing it.
    rows.push(
      bench.row(`${name}, µs`, times.ours, times.bare, '≤ 1.1×'),
      bench.row(`lone batch, ${variant}, strict, against the same, µs`, times.batch, times.bare, '≤ 1.1×'),
    )
  }
  return rows
}
