/** What the main thread of a page does and keeps, as the browser's own tools tell it. */
import type { CDPSession, Page } from 'playwright'

/** A task of the main thread: how long it took, and how much of that it worked, ms. */
export type Task = { readonly duration: number; readonly cpu: number }

type TraceEvent = {
  readonly name: string
  readonly ph: string
  readonly pid: number
  readonly tid: number
  readonly dur?: number
  readonly tdur?: number
  readonly args?: { readonly name?: string }
}

/** Everything that runs on the main thread of `page` while `work` does, as tasks between which others could run. */
export async function tasksDuring(page: Page, work: () => Promise<void>): Promise<readonly Task[]> {
  const cdp = await page.context().newCDPSession(page)
  try {
    const events: TraceEvent[] = []
    cdp.on('Tracing.dataCollected', ({ value }) => events.push(...(value as unknown as TraceEvent[])))
    const categories = ['disabled-by-default-devtools.timeline', '__metadata']
    await cdp.send('Tracing.start', {
      transferMode: 'ReportEvents',
      traceConfig: { recordMode: 'recordAsMuchAsPossible', includedCategories: categories, excludedCategories: ['*'] },
    })
    await work()
    const complete = new Promise(resolve => cdp.once('Tracing.tracingComplete', resolve))
    await cdp.send('Tracing.end')
    await complete
    return mainThreadTasks(events)
  } finally {
    await cdp.detach()
  }
}

function mainThreadTasks(events: readonly TraceEvent[]): readonly Task[] {
  const mains = events.filter(({ name, args }) => name === 'thread_name' && args?.name === 'CrRendererMain')
  const tasks = events.filter(({ name, ph }) => name === 'RunTask' && ph === 'X')
  // Of all renderers the one that works.
  const perThread = mains.map(({ pid, tid }) => tasks.filter(task => task.pid === pid && task.tid === tid))
  const [busiest = []] = perThread.sort((a, b) => total(b) - total(a))
  return busiest.map(({ dur = 0, tdur = 0 }) => ({ duration: dur / 1000, cpu: tdur / 1000 }))
}

const total = (tasks: readonly TraceEvent[]): number => tasks.reduce((sum, { dur = 0 }) => sum + dur, 0)

/** Bytes of the page's heap that are reachable. */
export async function reachableHeap(cdp: CDPSession): Promise<number> {
  // Twice: what the first one finds to be finalized is gone after the second.
  await cdp.send('HeapProfiler.collectGarbage')
  await cdp.send('HeapProfiler.collectGarbage')
  const usage = (await cdp.send('Runtime.getHeapUsage')) as unknown as Record<string, number | undefined>
  return (usage['usedSize'] ?? NaN) + (usage['embedderHeapUsedSize'] ?? 0) + (usage['backingStorageSize'] ?? 0)
}
