/** Files that become sessions: dropped on the page or chosen. What reads them is loaded when the first one comes. */
import type { ClientSessions, ImportResult } from 'palimpsest'
import { type ReactElement, type Ref, useCallback, useEffect, useImperativeHandle, useRef, useState } from 'react'
import { DropTarget } from './drop-target.tsx'
import type { LoadedTray } from './import-tray.tsx'
import { useFileDrop } from './use-file-drop.ts'

export type FilesHandle = {
  /** Has a person choose files. */
  readonly choose: () => void
}

export type FilesProps = {
  readonly ref: Ref<FilesHandle>
  readonly sessions: Pick<ClientSessions, 'import'>
  /** Takes what was dropped for the next message. */
  readonly attach: (files: readonly File[]) => void
  /** The session on the page. */
  readonly current: string
  /** Files were given. */
  readonly onGiven: () => void
  /** A file is a session now; `title` is what its name makes. `shows`: nobody writes, so that it may be shown. */
  readonly onImported: (result: ImportResult, title: string | null, shows: boolean) => void
  readonly show: (id: string) => void
}

const NOT_LOADED =
  'The part of this page that reads files could not be loaded. Check the network, or reload the page; the file is untouched.'

export function Files({ ref, sessions, attach, current, onGiven, onImported, show }: FilesProps): ReactElement {
  const [tray, setTray] = useState<LoadedTray | null>(null)
  const [said, setSaid] = useState({ key: 0, words: '' })
  const [isMissing, setMissing] = useState(false)
  const chooser = useRef<HTMLInputElement>(null)
  const loading = useRef<Promise<LoadedTray> | null>(null)
  const say = useCallback((words: string) => setSaid(before => ({ key: before.key + 1, words })), [])
  const importedLately = useRef(onImported)
  useEffect(() => {
    importedLately.current = onImported
  })

  const take = async (files: readonly File[]) => {
    onGiven()
    setMissing(false)
    try {
      loading.current ??= import('./import-tray.tsx').then(({ loadTray }) =>
        loadTray({ sessions, say, onImported: (...imported) => importedLately.current(...imported) }),
      )
      const loaded = await loading.current
      setTray(loaded)
      loaded.queue.add(files)
    } catch {
      loading.current = null
      setMissing(true)
    }
  }
  const over = useFileDrop((files, place) => {
    if (place === 'page') return void take(files)
    onGiven()
    attach(files)
  })
  useImperativeHandle(ref, () => ({ choose: () => chooser.current?.click() }), [])

  return (
    <>
      <input
        type="file"
        id="file-chooser"
        aria-label="Log files"
        accept=".jsonl,.zstd,.zst,.gz,*/*"
        multiple
        hidden
        ref={chooser}
        onChange={({ target }) => {
          const files = [...(target.files ?? [])]
          // The same file may be chosen again.
          target.value = ''
          if (files.length > 0) void take(files)
        }}
      />
      <div id="files-announcer" className="unseen" aria-live="polite">
        <p key={said.key}>{said.words}</p>
      </div>
      {isMissing && (
        <p role="alert" className="notice">
          {NOT_LOADED}
        </p>
      )}
      {tray !== null && <tray.Tray current={current} show={show} />}
      <DropTarget over={over} />
    </>
  )
}
