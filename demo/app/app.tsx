/** The page: sessions on the left, the conversation, the inspector on the right. READ FIRST in this folder. */
import type { ImportResult, Palimpsest, SessionSummary } from 'palimpsest'
import { useSession, useSessions, useUnsavedSessions } from 'palimpsest/react'
import { type ReactElement, type ReactNode, useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { flushSync } from 'react-dom'
import { onChange, tellChange } from './channel.ts'
import { newId } from '../sessions/new-id.ts'
import { shortenLongest } from '../conversation/shorten.ts'
import { exposeSession } from './test-hook.ts'
import { Visible } from '../text/visible-text.tsx'
import { errorFacts, unsavedWords } from './words.ts'
import { goTo, useAddressedSession } from '../sessions/address.ts'
import type { ComposerHandle } from '../conversation/composer.tsx'
import { Conversation } from '../conversation/conversation.tsx'
import { Files, type FilesHandle } from '../files/files.tsx'
import { useExport } from '../files/use-export.tsx'
import { HelpDialog } from './help-dialog.tsx'
import { Inspector, type InspectorTab, inspectorTabs } from '../inspector/inspector.tsx'
import { NotesPanel } from '../notes/notes-panel.tsx'
import { type ProviderControl, ProviderDialog } from './provider-dialog.tsx'
import { clearSelection, getSelection } from './selection.ts'
import { SessionsPanel } from '../sessions/sessions-panel.tsx'
import { Sheet } from './sheet.tsx'
import { ThemeButton } from './theme-button.tsx'
import { titleFrom, titleOf } from '../sessions/titles.ts'
import { useKeepFocus } from './use-keep-focus.ts'
import { selectCurrentRow, useKeyboard } from './use-keyboard.ts'
import { type Removal, UNDO_MS, useRemovals } from '../sessions/use-removals.ts'
import { useWide } from './use-wide.ts'

export type AppProps = {
  readonly palimpsest: Palimpsest
  /** Why the worker is gone; null while it is not. */
  readonly lost: unknown
  readonly provider: ProviderControl
}

type Side = 'sessions' | 'inspector'

export function App({ palimpsest, lost, provider }: AppProps): ReactElement {
  const id = useAddressedSession()
  const held = useSession(id)
  const list = useSessions()
  const { refresh, rename } = list
  const isWide = useWide()
  const [opened, setOpened] = useState<{ readonly side: Side; readonly id: string } | null>(null)
  // Another session closes what was opened over the one before, for good: who comes back finds the conversation.
  if (opened !== null && opened.id !== id) setOpened(null)
  const sheet = opened?.id === id ? opened.side : null
  const setSheet = (side: Side | null) => setOpened(side === null ? null : { side, id })
  const [isInspecting, setInspecting] = useState(true)
  const [tab, setTab] = useState<InspectorTab>('surface')
  const [isSplit, setSplit] = useState(true)
  const [reveal, setReveal] = useState(0)
  const [said, setSaid] = useState<ReactNode>(null)
  const composer = useRef<ComposerHandle>(null)
  const files = useRef<FilesHandle>(null)
  const help = useRef<HTMLDialogElement>(null)
  const providerDialog = useRef<HTMLDialogElement>(null)

  // Another session is another matter.
  useEffect(() => {
    clearSelection()
    if (isWide && document.querySelector('.undo :focus') === null) composer.current?.focus()
  }, [id, isWide])
  useEffect(() => onChange('sessions', refresh), [refresh])

  // ── Sessions ──────────────────────────────────────────────────────────────────────────────────────────────────────

  const destroy = useCallback(
    async (removed: string) => {
      await palimpsest.sessions.delete(removed)
      tellChange('sessions')
    },
    [palimpsest],
  )
  const removals = useRemovals(
    destroy,
    useCallback(({ title }: Removal, error: unknown) => {
      const { code, message } = errorFacts(error)
      setSaid(
        <>
          “<Visible text={title} />” was not deleted: {code === 'in-use' ? 'it is open in another tab.' : message}
        </>,
      )
    }, []),
  )
  const sessions = useMemo(() => {
    const waiting = new Set(removals.waiting.map(each => each.id))
    return list.sessions?.filter(each => !waiting.has(each.id)) ?? null
  }, [list.sessions, removals.waiting])
  /** Whoever deletes a session is led to the way back. */
  const [removed, setRemoved] = useState<string | null>(null)
  const remove = (session: SessionSummary) => {
    setSaid(null)
    setRemoved(session.id)
    removals.remove({ id: session.id, title: titleOf(session) })
    if (session.id === id) goTo(sessions?.find(each => each.id !== id)?.id ?? newId())
  }
  const renameAndTell = useCallback(
    async (renamed: string, title: string) => {
      try {
        await rename(renamed, title)
        tellChange('sessions')
      } catch (error) {
        setSaid(`Not renamed: ${errorFacts(error).message}`)
      }
    },
    [rename],
  )
  /** Names a session after its first prompt. */
  const onSent = useCallback(
    async (sent: string, text: string) => {
      try {
        const known = (await palimpsest.sessions.list()).find(each => each.id === sent)
        if (known?.title === null) await palimpsest.sessions.rename(sent, titleFrom(text))
      } catch {
        // Without a name it is listed as untitled; trouble with the storage is in the status line.
      }
      tellChange('sessions')
    },
    [palimpsest],
  )
  const exportAs = useExport(palimpsest.sessions, setSaid)
  /** A file is a session now: it is not to be deleted any more, has a name, and is shown. */
  const onImported = async ({ id: imported, outcome }: ImportResult, name: string | null, shows: boolean) => {
    removals.undo(imported)
    if (shows) goTo(imported)
    if (outcome === 'created' && name !== null) await renameAndTell(imported, name)
    tellChange('sessions')
  }
  const current = list.sessions?.find(each => each.id === id)
  const title = current === undefined ? 'New session' : titleOf(current)
  useEffect(() => {
    document.title = `${title} · Palimpsest`
  }, [title])

  const { session } = held
  useEffect(() => exposeSession(session), [session])
  const shorten = useCallback(() => {
    if (session === null) return
    shortenLongest(session).catch((error: unknown) => composer.current?.say(errorFacts(error).message))
  }, [session])

  // ── Keys ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  const showTab = (next: InspectorTab) => {
    setTab(next)
    if (isWide) setInspecting(true)
    else setSheet('inspector')
  }
  const isModal = !isWide && sheet !== null
  const openProvider = () => providerDialog.current?.showModal()
  useKeepFocus()
  useKeyboard({
    write: () => {
      // What is under a sheet takes no focus before the sheet is closed.
      flushSync(() => setSheet(null))
      composer.current?.focus()
    },
    back: () => {
      if (isModal) setSheet(null)
      else if (getSelection() !== null) clearSelection()
      else if (session?.status.agent.kind !== 'idle') void session?.cancel().catch(() => undefined)
    },
    toggleInspector: () => {
      if (isWide) setInspecting(!isInspecting)
      else setSheet(sheet === 'inspector' ? null : 'inspector')
    },
    toggleSessions: () => {
      if (isWide) document.querySelector<HTMLElement>('#sessions [aria-current]')?.focus()
      else setSheet(sheet === 'sessions' ? null : 'sessions')
    },
    showTab: index => {
      const next = inspectorTabs[index]
      if (next === undefined) return
      if (isInspecting) setSplit(false)
      showTab(next.key)
    },
    goToLog: () => {
      selectCurrentRow()
      if (getSelection() === null) return
      showTab('log')
      setReveal(reveal + 1)
    },
    goToEnd: () => document.querySelector<HTMLElement>('#jump:not([hidden])')?.click(),
    newSession: () => goTo(newId()),
    openProvider,
    help: () => help.current?.showModal(),
  })

  return (
    <>
      <header className="bar" inert={isModal}>
        <h1>Palimpsest</h1>
        {!isWide && (
          <div className="views">
            <button type="button" aria-expanded={sheet === 'sessions'} onClick={() => setSheet('sessions')}>
              Sessions
            </button>
            <button type="button" aria-expanded={sheet === 'inspector'} onClick={() => setSheet('inspector')}>
              Inspector
            </button>
          </div>
        )}
        <div className="bar-end">
          <button type="button" className="quiet" id="provider-button" onClick={openProvider} title="Provider (,)">
            {provider.label}
          </button>
          <ThemeButton />
          {isWide && (
            <button
              type="button"
              className="quiet"
              aria-pressed={isInspecting}
              onClick={() => setInspecting(!isInspecting)}
              title="Inspector (i)"
            >
              Inspector
            </button>
          )}
          <button
            type="button"
            className="quiet"
            onClick={() => help.current?.showModal()}
            aria-label="Keys"
            title="Keys (?)"
          >
            ?
          </button>
        </div>
      </header>

      <Sheet
        id="side"
        className="side"
        label="Sessions and notes"
        isWide={isWide}
        isOpen={sheet === 'sessions'}
        close={() => setSheet(null)}
      >
        <SessionsPanel
          sessions={sessions}
          current={id}
          rename={renameAndTell}
          remove={remove}
          importFiles={() => files.current?.choose()}
          exportAs={exportAs}
          said={said}
        />
        <NotesPanel />
      </Sheet>

      <div className="middle" inert={isModal}>
        <Files
          ref={files}
          sessions={palimpsest.sessions}
          current={id}
          onGiven={() => setSheet(null)}
          onImported={(...imported) => void onImported(...imported)}
          show={goTo}
        />
        <Conversation
          held={held}
          title={title}
          lost={lost}
          composer={composer}
          above={<Unsaved titles={list.sessions} />}
          onSent={(sent, text) => void onSent(sent, text)}
          shorten={shorten}
        />
      </div>

      {(isInspecting || !isWide) && (
        <Sheet
          id="inspector"
          className="inspector"
          label="Inspector"
          isWide={isWide}
          isOpen={sheet === 'inspector'}
          close={() => setSheet(null)}
        >
          <Inspector
            session={held.session}
            tab={tab}
            show={setTab}
            isSplit={isSplit}
            split={setSplit}
            canSplit={isWide}
            reveal={reveal}
          />
        </Sheet>
      )}

      <Undo removals={removals.waiting} removed={removed} undo={removals.undo} goTo={goTo} />
      <HelpDialog ref={help} />
      <ProviderDialog ref={providerDialog} control={provider} />
    </>
  )
}

/** Which sessions that were left could not be saved, for as long as that is so. */
function Unsaved({ titles }: { readonly titles: readonly SessionSummary[] | null }): ReactElement {
  const unsaved = useUnsavedSessions()
  return (
    <div role="status" id="unsaved">
      {unsaved.map(({ id, error, isKept }) => {
        const known = titles?.find(each => each.id === id)
        return (
          <div key={id} className="notice">
            {unsavedWords(known === undefined ? 'Untitled' : titleOf(known), error, isKept)}{' '}
            <button type="button" onClick={() => goTo(id)}>
              Open it
            </button>
          </div>
        )
      })}
    </div>
  )
}

type UndoProps = {
  readonly removals: readonly Removal[]
  /** What was removed here last: its button takes the focus. */
  readonly removed: string | null
  readonly undo: (id: string) => void
  readonly goTo: (id: string) => void
}

/** The way back from a deletion, while there is one. */
function Undo({ removals, removed, undo, goTo: open }: UndoProps): ReactElement {
  const last = removals.at(-1)
  return (
    <div className="undo" role="status">
      {last !== undefined && (
        <p>
          <span>
            “<Visible text={last.title} />” is deleted in {UNDO_MS / 1_000} s.
          </span>{' '}
          <button
            key={last.id}
            type="button"
            autoFocus={last.id === removed}
            onClick={() => {
              undo(last.id)
              open(last.id)
            }}
          >
            Undo
          </button>
        </p>
      )}
    </div>
  )
}
