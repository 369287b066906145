/** Appends as fast as calls can be made. */
import type { BrowserRows } from '../bench.ts'

export const floodRows: BrowserRows = async bench => {
  const rows = []
  bench.use('flood')
  const goals = {
    small: { awaited: '≥ 80×', grouped: '≥ 10×' },
    real: { awaited: '≥ 25×', grouped: '≥ 4×' },
  } as const
  for (const variant of ['small', 'real'] as const) {
    const count = bench.size(10_000)
    const fresh = (count: number) => ({ count, variant, database: bench.newName(), warmUp: true })
    const { ours, awaited, grouped, ack } = await bench.measure(
      {
        ours: () => bench.sample('flood', fresh(count)),
        awaited: () => bench.sample('awaitedRows', fresh(bench.size(2000))),
        grouped: () => bench.sample('groupedRows', fresh(count)),
        ack: () => bench.sample('floodAck', fresh(count)),
      },
      { rounds: 5, warmUp: 1 },
    )
    const name = `flood, ${variant}, ${count}`
    rows.push(
      bench.row(`${name}, against an awaited row each, µs/event`, ours, awaited, goals[variant].awaited),
      bench.row(`${name}, against grouped rows, µs/event`, ours, grouped, goals[variant].grouped),
      bench.row(`${name}, 5 in a task, median until stored, against 20 ms, ms`, ack, 20, '≤ 1×'),
    )
  }
  return rows
}
