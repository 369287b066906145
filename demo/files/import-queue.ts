/** Files on their way to being sessions, one after the other. It knows nothing of how they look. */
import type { ClientSessions, ImportResult } from 'palimpsest'

export type ImportMode = 'strict' | 'recoverable'

export type FileTask = {
  readonly key: number
  readonly file: File
  readonly mode: ImportMode
  readonly state: TaskState
}

export type TaskState =
  | { readonly kind: 'waiting' }
  | { readonly kind: 'reading'; readonly bytes: number; readonly events: number; readonly isCancelled: boolean }
  | { readonly kind: 'done'; readonly result: ImportResult }
  /** `isOpen`: why is shown at once; otherwise when it is asked for. */
  | { readonly kind: 'refused'; readonly error: unknown; readonly isOpen: boolean }

export type Outcome = { readonly kind: 'cancelled' } | Extract<TaskState, { readonly kind: 'done' | 'refused' }>

export type ImportQueueOptions = {
  readonly sessions: Pick<ClientSessions, 'import'>
  /** `shows`: nobody has gone on writing meanwhile, so that the page may turn to it. */
  readonly onEnd: (task: FileTask, outcome: Outcome, shows: boolean) => void
}

export class ImportQueue {
  readonly #options: ImportQueueOptions
  readonly #listeners = new Set<() => void>()
  readonly #controllers = new Map<number, AbortController>()
  #tasks: readonly FileTask[] = []
  #nextKey = 1
  #isRunning = false
  /** How often a person wrote something. */
  #written = 0

  constructor(options: ImportQueueOptions) {
    this.#options = options
  }

  get tasks(): readonly FileTask[] {
    return this.#tasks
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => {
      this.#listeners.delete(listener)
    }
  }

  add(files: readonly File[]): void {
    const added = files.map(
      (file): FileTask => ({ key: this.#nextKey++, file, mode: 'strict', state: { kind: 'waiting' } }),
    )
    this.#set([...this.#tasks, ...added])
    void this.#run()
  }

  /** Reads a refused file again. */
  retry(key: number, mode: ImportMode): void {
    this.#change(key, task => ({ ...task, mode, state: { kind: 'waiting' } }))
    void this.#run()
  }

  /** Gives up what is read or waits. */
  cancel(key: number): void {
    const state = this.#tasks.find(task => task.key === key)?.state
    if (state?.kind === 'waiting') return this.dismiss(key)
    if (state?.kind !== 'reading') return
    this.#change(key, task => ({ ...task, state: { ...state, isCancelled: true } }))
    this.#controllers.get(key)?.abort()
  }

  dismiss(key: number): void {
    this.#set(this.#tasks.filter(task => task.key !== key))
  }

  /** Shows why a file was refused, or leaves it. */
  explain(key: number): void {
    this.#change(key, task =>
      task.state.kind === 'refused' ? { ...task, state: { ...task.state, isOpen: true } } : task,
    )
  }

  /** Somebody writes: what comes to its end now does not take the page from them. */
  noteWriting(): void {
    this.#written += 1
  }

  async #run(): Promise<void> {
    if (this.#isRunning) return
    this.#isRunning = true
    const next = () => this.#tasks.find(({ state }) => state.kind === 'waiting')
    for (let task = next(); task !== undefined; task = next()) await this.#read(task)
    this.#isRunning = false
  }

  async #read(task: FileTask): Promise<void> {
    const { key, file, mode } = task
    const controller = new AbortController()
    this.#controllers.set(key, controller)
    const written = this.#written
    this.#change(key, before => ({
      ...before,
      state: { kind: 'reading', bytes: 0, events: 0, isCancelled: false },
    }))
    const onProgress = ({ bytes, events }: { readonly bytes: number; readonly events: number }) =>
      this.#change(key, before =>
        before.state.kind === 'reading' ? { ...before, state: { ...before.state, bytes, events } } : before,
      )
    const read = this.#options.sessions.import(file, { mode, signal: controller.signal, onProgress })
    const outcome = await read.then(
      (result): Outcome => ({ kind: 'done', result }),
      (error: unknown): Outcome =>
        controller.signal.aborted
          ? { kind: 'cancelled' }
          : { kind: 'refused', error, isOpen: this.#written === written },
    )
    this.#controllers.delete(key)
    if (outcome.kind === 'cancelled') this.dismiss(key)
    else this.#change(key, before => ({ ...before, state: outcome }))
    this.#options.onEnd(task, outcome, this.#written === written)
  }

  #change(key: number, change: (task: FileTask) => FileTask): void {
    this.#set(this.#tasks.map(task => (task.key === key ? change(task) : task)))
  }

  #set(tasks: readonly FileTask[]): void {
    this.#tasks = tasks
    for (const listener of [...this.#listeners]) listener()
  }
}
