/** Bytes on disk once the browser is closed, each contestant in an origin of its own. */
import { median } from '../../harness.ts'
import type { BrowserRows } from '../bench.ts'

const MB = 1_000_000

export const diskRows: BrowserRows = async bench => {
  const range = { count: bench.size(10_000), variant: 'real', warmUp: false } as const
  const tasks = ['bulk', 'flood', 'bulkRows'] as const
  const found: Record<(typeof tasks)[number], number[]> = { bulk: [], flood: [], bulkRows: [] }
  let json = 0
  for (let round = 0; round < (bench.quick ? 1 : 3); round += 1) {
    const profile = `disk-${round}`
    for (const [origin, task] of tasks.entries()) {
      bench.use(profile, origin)
      json = await bench.sample('jsonBytesOf', range)
      await bench.sample(task, { ...range, database: 'disk' })
    }
    await bench.browser.close()
    for (const [origin, task] of tasks.entries()) {
      found[task].push(bench.browser.storedBytes(profile, bench.origins[origin] ?? ''))
    }
    bench.browser.forget(profile)
  }
  const [bulk, flood, rows] = tasks.map(task => median(found[task]) / MB) as [number, number, number]
  const name = `disk, real, ${range.count}`
  return [
    bench.row(`${name}, by storeLog, against its JSON, MB`, bulk, json / MB, '≤ 0.5×'),
    bench.row(`${name}, by a flood, against its JSON, MB`, flood, json / MB, '≤ 0.5×'),
    bench.row(`${name}, by storeLog, against rows, MB`, bulk, rows, '≤ 1×'),
  ]
}
