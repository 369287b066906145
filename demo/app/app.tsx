/** The page: sessions on the left, the conversation, the inspector on the right. READ FIRST in this folder. */
import type { ClientSession, ImportResult, Palimpsest, SessionSummary } from 'palimpsest'
import { useDeletedSessions, useSession, useSessions } from 'palimpsest/react'
import { type ReactElement, type ReactNode, useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { flushSync } from 'react-dom'
import { onChange, tellChange } from './channel.ts'
import { newId } from '../sessions/new-id.ts'
import { shortenLongest } from '../conversation/shorten.ts'
import { exposeSession } from './test-hook.ts'
import { errorFacts, notDeletedWords } from './words.ts'
import { addressedSession, goTo, useAddressedSession } from '../sessions/address.ts'
import type { Blobs } from '../conversation/blobs.ts'
import type { ComposerHandle } from '../conversation/composer.tsx'
import { Conversation } from '../conversation/conversation.tsx'
import { Files, type FilesHandle } from '../files/files.tsx'
import { useExport } from '../files/use-export.tsx'
import { HelpDialog } from './help-dialog.tsx'
import { Inspector, type InspectorTab, inspectorTabs } from '../inspector/inspector.tsx'
import { NotesPanel } from '../notes/notes-panel.tsx'
import { type ProviderControl, ProviderDialog, type ProviderDialogHandle } from './provider-dialog.tsx'
import { clearSelection, getSelection } from './selection.ts'
import { Branches } from '../sessions/branches.tsx'
import { DeletedSessions } from '../sessions/deleted-sessions.tsx'
import { SessionsPanel } from '../sessions/sessions-panel.tsx'
import { StorageLine } from '../sessions/storage-line.tsx'
import { Sheet } from './sheet.tsx'
import { ThemeButton } from './theme-button.tsx'
import { isUnused, titleOf } from '../sessions/titles.ts'
import { Named, Unsaved } from './notices.tsx'
import { useKeepFocus } from './use-keep-focus.ts'
import { selectCurrentRow, useKeyboard } from './use-keyboard.ts'
import { Undo } from '../sessions/undo.tsx'
import { type Deletion, useDeletions } from '../sessions/use-deletions.ts'
import { useNames, useTellNames } from '../sessions/use-names.ts'
import { useOrigins } from '../sessions/use-origins.ts'
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
  const deleted = useDeletedSessions()
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
  const [heard, setHeard] = useState<ReactNode>(null)
  const composer = useRef<ComposerHandle>(null)
  const files = useRef<FilesHandle>(null)
  const help = useRef<HTMLDialogElement>(null)
  const providerDialog = useRef<ProviderDialogHandle>(null)

  // Another session is another matter.
  useEffect(() => {
    clearSelection()
    if (isWide && document.querySelector('.undo :focus, #branches :focus') === null) composer.current?.focus()
  }, [id, isWide])
  const { refresh: refreshDeleted } = deleted
  useEffect(
    () =>
      onChange('sessions', () => {
        void refresh()
        void refreshDeleted()
      }),
    [refresh, refreshDeleted],
  )

  // ── Sessions ──────────────────────────────────────────────────────────────────────────────────────────────────────

  const { remove: removeOne } = list
  const deleteForGood = useCallback(
    async ({ id: doomed, title }: Deletion) => {
      setSaid(null)
      try {
        await removeOne(doomed)
        tellChange('sessions')
        setHeard(<Named title={title}>is deleted for good.</Named>)
      } catch (error) {
        setSaid(<Named title={title}>{notDeletedWords(error)}</Named>)
      }
    },
    [removeOne],
  )
  const deletions = useDeletions(
    removeOne,
    refresh,
    useCallback(
      (deletion: Deletion, error: unknown) => {
        setSaid(
          <>
            <Named title={deletion.title}>{notDeletedWords(error)}</Named>{' '}
            {errorFacts(error).code === 'quota-exceeded' && (
              <button type="button" className="quiet" onClick={() => void deleteForGood(deletion)}>
                Delete it for good
              </button>
            )}
          </>,
        )
      },
      [deleteForGood],
    ),
  )
  const { session } = held
  const listedCurrent = list.sessions?.find(each => each.id === id)
  const { named, learn } = useNames(session, listedCurrent?.title === null)
  useTellNames(list.sessions)
  const originOf = useOrigins(list, deleted, named)
  const sessions = useMemo(() => {
    const shown = list.sessions?.filter(each => !deletions.leaving.has(each.id) && (each.id === id || !isUnused(each)))
    return shown?.map(named) ?? null
  }, [list.sessions, deletions.leaving, id, named])
  /** Whoever deletes a session is led to the way back. */
  const [removed, setRemoved] = useState<string | null>(null)
  const remove = (session: SessionSummary) => {
    setSaid(null)
    setRemoved(session.id)
    void deletions.start({ id: session.id, title: titleOf(session) })
    if (session.id === id) goTo(sessions?.find(each => each.id !== id)?.id ?? newId())
  }
  const bringBack = async ({ id: gone, title }: Deletion, shows: boolean) => {
    setSaid(null)
    try {
      await list.bringBack(gone)
      tellChange('sessions')
      deletions.settle(gone)
      setHeard(<Named title={title}>is back.</Named>)
      if (shows) goTo(gone)
    } catch (error) {
      const { code, message } = errorFacts(error)
      const why = code === 'not-found' ? 'it was deleted for good.' : message
      setSaid(<Named title={title}>cannot be brought back: {why}</Named>)
    }
  }
  const pin = async (session: SessionSummary, isPinned: boolean) => {
    setSaid(null)
    try {
      await list.pin(session.id, isPinned)
      tellChange('sessions')
      setHeard(<Named title={titleOf(session)}>{isPinned ? 'is listed first now.' : 'is not pinned any more.'}</Named>)
    } catch (error) {
      setSaid(`Not pinned: ${errorFacts(error).message}`)
    }
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
  const onSent = useCallback(
    (sent: string, text: string) => {
      learn(sent, text)
      tellChange('sessions')
    },
    [learn],
  )
  /** A branch is there; who went elsewhere meanwhile stays there. */
  const onBranched = useCallback(
    (branch: ClientSession) => {
      if (addressedSession() === id) {
        goTo(branch.id)
        setHeard('This is a new branch. The session it comes from stays as it is.')
      }
      tellChange('sessions')
    },
    [id],
  )
  const blobs = useMemo(
    (): Blobs => ({
      attach: file => palimpsest.sessions.attach(file),
      getBlob: attachmentId => palimpsest.sessions.getBlob(attachmentId),
    }),
    [palimpsest],
  )
  const exportAs = useExport(palimpsest.sessions, setSaid)
  /** A file is a session now: it has a name, and is shown. */
  const onImported = async ({ id: imported, outcome }: ImportResult, name: string | null, shows: boolean) => {
    if (shows) goTo(imported)
    if (outcome === 'created' && name !== null) await renameAndTell(imported, name)
    tellChange('sessions')
  }
  const current = listedCurrent === undefined ? undefined : named(listedCurrent)
  const gone = deleted.sessions?.find(each => each.id === id)
  const title = titleOf(current ?? (gone && named(gone)) ?? { title: null, eventCount: 0 })
  const isDeleted = gone !== undefined || (held.state === 'refused' && errorFacts(held.error).code === 'deleted')
  const isNew =
    (session === null ? held.state === 'opening' && !list.hasMore : session.length === 0) &&
    !isDeleted &&
    !deletions.leaving.has(id)
  // The session on the page is listed, however far down.
  const isMissing =
    current === undefined && !isDeleted && (session === null ? held.state === 'refused' : session.length > 0)
  const { hasMore, showMore } = list
  useEffect(() => {
    if (isMissing && hasMore) showMore()
  }, [isMissing, hasMore, showMore, list.sessions])
  // Brought back, or deleted for good, in another tab.
  const wasGone = useRef<string | null>(null)
  const { retry } = held
  useEffect(() => {
    if (gone === undefined && wasGone.current === id) retry()
    wasGone.current = gone === undefined ? null : id
  }, [gone, id, retry])
  useEffect(() => {
    document.title = `${title} · Palimpsest`
  }, [title])

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
  const openProvider = () => providerDialog.current?.open()
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
          hasMore={hasMore}
          showMore={showMore}
          current={id}
          isNew={isNew}
          rename={renameAndTell}
          pin={(session, isPinned) => void pin(session, isPinned)}
          remove={remove}
          importFiles={() => files.current?.choose()}
          exportAs={exportAs}
          originOf={originOf}
          said={said}
          heard={heard}
          deleted={
            <DeletedSessions
              sessions={deleted.sessions?.map(named) ?? []}
              hasMore={deleted.hasMore}
              showMore={deleted.showMore}
              bringBack={each => void bringBack({ id: each.id, title: titleOf(each) }, false)}
              deleteForGood={each => void deleteForGood({ id: each.id, title: titleOf(each) })}
            />
          }
        />
        <NotesPanel />
        <StorageLine palimpsest={palimpsest} changed={list.sessions} />
      </Sheet>

      <div className="middle" inert={isModal}>
        <Files
          ref={files}
          sessions={palimpsest.sessions}
          attach={given => composer.current?.attach(given)}
          current={id}
          onGiven={() => setSheet(null)}
          onImported={(...imported) => void onImported(...imported)}
          show={goTo}
        />
        <Branches id={id} named={named} />
        <Conversation
          held={held}
          title={title}
          lost={lost}
          composer={composer}
          above={<Unsaved titles={sessions} />}
          bringBack={() => void bringBack({ id, title }, true)}
          onSent={onSent}
          onBranched={onBranched}
          shorten={shorten}
          blobs={blobs}
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
            size={current?.size ?? null}
            isBranch={(current?.parent ?? null) !== null}
            tab={tab}
            show={setTab}
            isSplit={isSplit}
            split={setSplit}
            canSplit={isWide}
            reveal={reveal}
          />
        </Sheet>
      )}

      <Undo latest={deletions.latest} focused={removed} undo={each => void bringBack(each, true)} />
      <HelpDialog ref={help} />
      <ProviderDialog ref={providerDialog} control={provider} />
    </>
  )
}
