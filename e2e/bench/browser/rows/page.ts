/** From a page to its worker and back: many small calls, and many deltas. */
import { median } from '../../harness.ts'
import type { BrowserRows } from '../bench.ts'

export const pageRows: BrowserRows = async bench => {
  bench.use('page')
  const count = bench.size(1000)
  const deltas = bench.size(10_000)
  const database = () => bench.newName()
  const times = await bench.measure(
    {
      single: () => bench.onPage('singleAppends', { database: database(), count }),
      batched: () => bench.onPage('batchedAppends', { database: database(), count }),
      deltas: async () => (await bench.onPage('modelDeltas', { database: database(), deltas, pauseEach: null })).time,
      each: () => bench.onPage('deltasByHand', { database: database(), deltas, post: 'each' }),
      unwatched: () => bench.onPage('deltasByHand', { database: database(), deltas, post: 'last' }),
    },
    { rounds: 7, warmUp: 1 },
  )
  const paced = []
  for (let round = 0; round < (bench.quick ? 1 : 3); round += 1) {
    paced.push(await bench.onPage('modelDeltas', { database: database(), deltas, pauseEach: 20 }))
  }
  const messages = median(paced.map(outcome => outcome.messages))
  const frames = median(paced.map(outcome => outcome.frames))
  return [
    bench.row(
      `${count} single appends of a page, against one comlink call by hand that appends all, ms`,
      times.single,
      times.batched,
      '≤ 2.5×',
    ),
    // All three run the same agent, from `go` to the last delta: on the page, applied (ours) or in a handler (the other), or
    // in the worker when no page hears of them. The last is no cost of the way to the page, so both are told without it.
    bench.row(
      `${deltas} deltas from an agent to a page, against a postMessage of each frame, without the agent's own time, ms`,
      times.deltas - times.unwatched,
      times.each - times.unwatched,
      '≥ 7×',
    ),
    bench.row(`${deltas} deltas, 20 each ms, to a page, messages against animation frames`, messages, frames, '≤ 1×'),
  ]
}
