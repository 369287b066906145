/** Reading every event of a log costs little more than parsing it. */
import type { BrowserRows } from '../bench.ts'

export const restoreRows: BrowserRows = async bench => {
  const rows = []
  for (const count of [bench.size(10_000), bench.size(100_000)]) {
    const log = await bench.log({ count, variant: 'real', surface: null, rows: true })
    const times = await bench.measure(
      {
        ours: () => bench.sample('readAll', log),
        parse: () => bench.sample('parseTexts', log),
        rows: () => bench.sample('getAllRows', log),
      },
      { rounds: 5 },
    )
    const name = `read all, real, ${log.length}`
    rows.push(
      bench.row(`${name}, against JSON.parse of the log, ms`, times.ours, times.parse, '≤ 1.3×'),
      bench.row(`${name}, against rows and getAll, ms`, times.ours, times.rows, '≥ 2×'),
    )
  }
  return rows
}
