/** Does one task, when it is told which. */
import { type TaskAnswer, type TaskMessage, tasks } from './tasks.ts'

const answer = (message: TaskAnswer): void => postMessage(message)

addEventListener('message', ({ data: { name, input } }: MessageEvent<TaskMessage>) => {
  const run = tasks[name] as (input: unknown) => Promise<unknown>
  run(input).then(
    output => answer({ kind: 'done', output }),
    (error: unknown) => answer({ kind: 'failed', message: error instanceof Error ? describe(error) : String(error) }),
  )
})

const describe = (error: Error): string => `${error.name}: ${error.message}\n${error.stack ?? ''}`

answer({ kind: 'ready' })
