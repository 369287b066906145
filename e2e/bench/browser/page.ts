/** What the runner calls in a page: a task in a worker that is started for it alone, or one of the page's own. */
import * as pageTasks from './page-tasks.ts'
import type { TaskAnswer, TaskMessage } from './tasks.ts'

export type PageTasks = typeof pageTasks
export type PageTaskName = keyof PageTasks
export type PageTaskInput<Name extends PageTaskName> = Parameters<PageTasks[Name]>[0]
export type PageTaskOutput<Name extends PageTaskName> = Awaited<ReturnType<PageTasks[Name]>>

export type BenchPage = {
  /** In a fresh worker that has loaded its code, and is ended afterwards. */
  sample(message: TaskMessage): Promise<unknown>
  /** The same, but the worker stays until `release`. */
  hold(message: TaskMessage): Promise<unknown>
  release(): void
  onPage(message: { readonly name: PageTaskName; readonly input: unknown }): Promise<unknown>
}

declare global {
  var benchPage: BenchPage
}

let heldWorker: Worker | null = null

async function startWorker(): Promise<Worker> {
  const worker = new Worker(new URL('./contestant.worker.ts', import.meta.url), { type: 'module' })
  await answerOf(worker)
  return worker
}

async function ask(worker: Worker, message: TaskMessage): Promise<unknown> {
  const answered = answerOf(worker)
  worker.postMessage(message)
  const answer = await answered
  if (answer.kind === 'failed') throw new Error(answer.message)
  return answer.kind === 'done' ? answer.output : undefined
}

function answerOf(worker: Worker): Promise<TaskAnswer> {
  return new Promise((resolve, reject) => {
    worker.onmessage = ({ data }: MessageEvent<TaskAnswer>) => resolve(data)
    worker.onerror = ({ message }) => reject(new Error(`The worker failed: ${message}`))
  })
}

globalThis.benchPage = {
  async sample(message) {
    const worker = await startWorker()
    try {
      return await ask(worker, message)
    } finally {
      worker.terminate()
    }
  },
  async hold(message) {
    heldWorker = await startWorker()
    return ask(heldWorker, message)
  },
  release() {
    heldWorker?.terminate()
    heldWorker = null
  },
  onPage({ name, input }) {
    const run = pageTasks[name] as (input: unknown) => Promise<unknown>
    return run(input)
  },
}
