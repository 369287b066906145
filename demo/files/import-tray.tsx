/** What becomes of the files that were given: a row for each, and a dialog for each refusal. Loaded with the first file. */
import type { ImportResult } from 'palimpsest'
import { type ReactElement, useEffect, useSyncExternalStore } from 'react'
import { counted } from '../app/format.ts'
import { Visible } from '../text/visible-text.tsx'
import { titleFromFile } from './file-name.ts'
import { type FileTask, ImportQueue, type ImportQueueOptions, type Outcome, type TaskState } from './import-queue.ts'
import { RefusalDialog } from './refusal-dialog.tsx'
import { refusalWords } from './refusal-words.ts'
import { Repairs } from './repairs.tsx'
import { outcomeWords, repairsWords, sizeInWords, versionWords } from './result-words.ts'
import './files.css'

export type TrayProps = {
  /** The session on the page. */
  readonly current: string
  readonly show: (id: string) => void
}

export type LoadedTray = {
  readonly queue: ImportQueue
  readonly Tray: (props: TrayProps) => ReactElement
}

export type TrayOptions = Pick<ImportQueueOptions, 'sessions'> & {
  /** Told what is to be read out. */
  readonly say: (words: string) => void
  readonly onImported: (result: ImportResult, title: string | null, shows: boolean) => void
}

export function loadTray({ sessions, say, onImported }: TrayOptions): LoadedTray {
  const queue = new ImportQueue({
    sessions,
    onEnd: (task, outcome, shows) => {
      say(spokenWords(task, outcome))
      if (outcome.kind === 'done') onImported(outcome.result, titleFromFile(task.file.name), shows)
    },
  })
  return { queue, Tray: props => <ImportTray queue={queue} {...props} /> }
}

function spokenWords({ file, mode }: FileTask, outcome: Outcome): string {
  if (outcome.kind === 'cancelled') return `Reading ${file.name} was cancelled. Nothing was stored.`
  if (outcome.kind === 'refused') return `${file.name} was not opened. ${refusalWords(outcome.error, mode).what}`
  const { result } = outcome
  const repaired = result.repairs.length === 0 ? '' : ` ${repairsWords(result)}.`
  return `${file.name} ${outcomeWords(result)} ${versionWords(result)}${repaired}`
}

function ImportTray({ queue, current, show }: TrayProps & { readonly queue: ImportQueue }): ReactElement | null {
  const tasks = useSyncExternalStore(queue.subscribe, () => queue.tasks)
  useEffect(() => {
    const onInput = ({ target }: Event) => {
      if (target instanceof HTMLElement && target.matches('textarea, input:not([type="file"])')) queue.noteWriting()
    }
    document.addEventListener('input', onInput)
    return () => document.removeEventListener('input', onInput)
  }, [queue])
  const refused = tasks.find(({ state }) => state.kind === 'refused' && state.isOpen)
  const rows = tasks.filter(({ state }) => state.kind !== 'refused' || !state.isOpen)
  return (
    <>
      {rows.length > 0 && (
        <section id="files" className="files" aria-label="Files">
          <ul className="plain">
            {rows.map(task => (
              <li key={task.key} className="file">
                <FileRow task={task} queue={queue} current={current} show={show} />
              </li>
            ))}
          </ul>
        </section>
      )}
      {refused?.state.kind === 'refused' && (
        <RefusalDialog
          key={`${refused.key} ${refused.mode}`}
          task={refused}
          error={refused.state.error}
          retry={mode => queue.retry(refused.key, mode)}
          dismiss={() => queue.dismiss(refused.key)}
        />
      )}
    </>
  )
}

type RowProps = TrayProps & { readonly task: FileTask; readonly queue: ImportQueue }

function FileRow({ task, queue, current, show }: RowProps): ReactElement {
  const { key, file, state } = task
  const { name } = file
  const dismiss = (
    <button type="button" className="quiet" aria-label={`Dismiss ${name}`} onClick={() => queue.dismiss(key)}>
      Dismiss
    </button>
  )
  switch (state.kind) {
    case 'waiting':
    case 'reading':
      return <Reading task={task} state={state} cancel={() => queue.cancel(key)} />
    case 'refused':
      return (
        <div className="file-line">
          <p>
            <FileName name={name} /> was not opened.
          </p>
          <button type="button" onClick={() => queue.explain(key)}>
            Show why
          </button>
          {dismiss}
        </div>
      )
    case 'done':
      return (
        <>
          <div className="file-line">
            <p>
              <FileName name={name} /> {outcomeWords(state.result)}{' '}
              <span className="about">{versionWords(state.result)}</span>
            </p>
            {state.result.id !== current && (
              <button type="button" aria-label={`Show ${name}`} onClick={() => show(state.result.id)}>
                Show
              </button>
            )}
            {dismiss}
          </div>
          <Repairs result={state.result} />
        </>
      )
  }
}

type ReadingProps = {
  readonly task: FileTask
  readonly state: Extract<TaskState, { readonly kind: 'waiting' | 'reading' }>
  readonly cancel: () => void
}

function Reading({ task: { file, mode }, state, cancel }: ReadingProps): ReactElement {
  const { name, size } = file
  const isReading = state.kind === 'reading'
  const bytes = isReading ? state.bytes : 0
  const isCancelled = isReading && state.isCancelled
  return (
    <>
      <div className="file-line">
        <p>
          {isReading ? (mode === 'strict' ? 'Reading' : 'Reading, with repairs,') : 'Waiting:'} <FileName name={name} />
        </p>
        <button type="button" aria-label={`Cancel ${name}`} disabled={isCancelled} onClick={cancel}>
          {isCancelled ? 'Cancelling' : 'Cancel'}
        </button>
      </div>
      {isReading && (
        <p className="about file-progress">
          <progress
            aria-label={`Reading ${name}`}
            aria-valuetext={sizeInWords(bytes, size)}
            max={Math.max(size, 1)}
            value={bytes}
          />
          <span>
            {bytes < size ? sizeInWords(bytes, size) : 'checking and storing'} · {counted(state.events, 'event')}
          </span>
        </p>
      )}
    </>
  )
}

const FileName = ({ name }: { readonly name: string }): ReactElement => (
  <b className="file-name">
    <Visible text={name} />
  </b>
)
