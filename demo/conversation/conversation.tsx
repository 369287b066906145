/** The middle of the page: what was said, the answer that is arriving, and where to write. */
import type { ApprovalAnswer, ClientSession, Prompt } from 'palimpsest'
import type { SessionState } from 'palimpsest/react'
import { transcriptOf, useAgent, useStatus, useTranscript } from 'palimpsest/react'
import type { AgentStatus, Transcript, TranscriptSnapshot } from 'palimpsest/views'
import {
  type ReactElement,
  type ReactNode,
  type RefObject,
  useCallback,
  useEffect,
  useMemo,
  useRef,
  useState,
} from 'react'
import { loadMarkdown, useMarkdownSettled } from '../markdown/load-markdown.ts'
import { Visible } from '../text/visible-text.tsx'
import { branchRefusalWords, errorFacts, openFailureWords } from '../app/words.ts'
import { Announcer } from './announcer.tsx'
import { type Blobs, BlobsContext } from './blobs.ts'
import { Composer, type ComposerHandle } from './composer.tsx'
import { attachmentName, textBeside } from './content.ts'
import { EmptyState } from './empty-state.tsx'
import { Queue } from './queue.tsx'
import { StatusLine } from './status-line.tsx'
import { Turn } from './turn.tsx'
import type { TurnActions } from './turn-actions.ts'
import { useFollow, useKeepPlace } from '../app/use-follow.ts'

export type ConversationProps = {
  readonly held: SessionState & { readonly retry: () => void }
  readonly title: string
  /** Why the worker is gone; null while it is not. */
  readonly lost: unknown
  readonly composer: RefObject<ComposerHandle | null>
  /** Stands above the field: what could not be saved. */
  readonly above: ReactNode
  /** The session was deleted: undoes that. */
  readonly bringBack: () => void
  /** A prompt was taken. */
  readonly onSent: (sessionId: string, text: string) => void
  /** A branch of this session is there: it is to be shown. */
  readonly onBranched: (branch: ClientSession) => void
  readonly shorten: () => void
  readonly blobs: Blobs
}

export function Conversation(props: ConversationProps): ReactElement {
  const { held, title, lost, composer, above, bringBack, onSent, onBranched, shorten, blobs } = props
  const { id, session } = held
  const agent = useAgent(session)
  // The commands stay the same while the agent's state changes: what is given them need not be drawn again.
  const { send: sendMessage, steer: steerMessage, cancel, approve, resume } = agent
  const status = useStatus(session)
  const snapshot = useTranscript(session)
  const { transcript } = snapshot
  const isEmpty =
    held.state === 'open' && snapshot.state === 'ready' && transcript.to <= 1 && countItems(transcript) === 0
  const isWaiting = held.state === 'refused' || isEmpty
  const isDeleted = held.state === 'refused' && errorFacts(held.error).code === 'deleted'
  const { view, content, isAtEnd, toEnd } = useFollow(id, isWaiting)
  const isOpen = held.state === 'open' && lost === null
  useEffect(loadMarkdown, [id])
  const canShow = useMarkdownSettled()

  const send = useCallback(
    async (prompt: Prompt) => {
      const { kind } = await sendMessage(prompt).taken
      if (kind === 'started') toEnd()
      onSent(id, nameFor(prompt))
    },
    [sendMessage, id, onSent, toEnd],
  )
  const steer = useCallback((prompt: Prompt) => steerMessage(prompt).taken.then(() => undefined), [steerMessage])
  const sendOrSay = useCallback(
    (text: string) => {
      send({ text }).catch((error: unknown) => composer.current?.refuse(text, error))
    },
    [send, composer],
  )
  const branch = useBranching(session, onBranched)
  const actions = useMemo((): TurnActions => {
    const say = (error: unknown) => composer.current?.say(branchRefusalWords(error))
    return {
      approve: async (callId: string, answer: ApprovalAnswer) => {
        await approve(callId, answer)
      },
      edit: (seq, text) => branch(parent => parent.edit(seq, { text })),
      again: () => void branch(parent => parent.regenerate()).catch(say),
      fork: after => void branch(parent => parent.fork({ after })).catch(say),
      goOn: () => {
        toEnd()
        resume().catch((error: unknown) => composer.current?.refuse('', error))
      },
      shorten,
    }
  }, [approve, resume, branch, shorten, toEnd, composer])
  const stop = useCallback(() => void cancel().catch(() => undefined), [cancel])
  const lastPrompt = useCallback(() => lastPromptOf(transcript), [transcript])
  const canGoOn =
    agent.status.kind === 'idle' &&
    agent.status.interrupted === true &&
    agent.inbox.nextStep.length + agent.inbox.nextTurn.length === 0

  return (
    <main className="conversation" id="conversation" aria-labelledby="conversation-title">
      <h2 id="conversation-title" className="panel-title" title={title}>
        <Visible text={title} />
      </h2>
      <div className="scroll-frame">
        <div id="transcript" className="scroll" role="region" aria-label="Transcript" tabIndex={0} ref={view}>
          <div className="rows" id="rows" ref={content}>
            {isDeleted ? (
              <Deleted error={held.error} bringBack={bringBack} />
            ) : held.state === 'refused' ? (
              <Refusal error={held.error} retry={held.retry} />
            ) : snapshot.state === 'failed' ? (
              <Refusal
                error={snapshot.error}
                retry={() => session !== null && void transcriptOf(session).loadEarlier()}
              />
            ) : isEmpty ? (
              <EmptyState run={sendOrSay} />
            ) : !canShow ? null : (
              <BlobsContext value={blobs}>
                <Rows
                  key={id}
                  snapshot={snapshot}
                  view={view}
                  isAtEnd={isAtEnd}
                  actions={actions}
                  agent={agent.status}
                  canGoOn={canGoOn}
                  loadEarlier={() => session !== null && void transcriptOf(session).loadEarlier()}
                />
              </BlobsContext>
            )}
          </div>
        </div>
        <button
          type="button"
          id="jump"
          className="jump"
          hidden={isAtEnd || isWaiting}
          onClick={() => {
            toEnd()
            view.current?.focus({ preventScroll: true })
          }}
        >
          Jump to latest
        </button>
      </div>
      <Composer
        key={id}
        ref={composer}
        sessionId={id}
        isOpen={isOpen}
        isEnded={held.state === 'ended'}
        isRunning={isOpen && agent.isRunning}
        send={send}
        steer={steer}
        attach={blobs.attach}
        stop={stop}
        lastPrompt={lastPrompt}
        above={
          <>
            {above}
            <Queue agent={agent} onError={error => composer.current?.refuse('', error)} />
          </>
        }
        beside={
          <>
            <StatusLine
              status={session === null ? null : status}
              situation={isDeleted ? 'deleted' : held.state}
              isEmpty={session === null || session.length === 0}
              queued={agent.inbox.nextStep.length + agent.inbox.nextTurn.length}
              lost={lost}
            />
            {lost !== null && (
              <button type="button" id="reload" onClick={() => location.reload()}>
                Reload
              </button>
            )}
          </>
        }
      />
      <Announcer sessionId={id} snapshot={snapshot} />
    </main>
  )
}

/** What a session is named after: what was said, or else what was attached. */
const nameFor = ({ text, attachments = [] }: Prompt): string =>
  text.trim() === '' ? attachments.map(attachmentName).join(', ') : text

/** Makes branches, one at a time: a button pressed twice makes one. */
function useBranching(
  session: ClientSession | null,
  onBranched: ConversationProps['onBranched'],
): (make: (parent: ClientSession) => Promise<ClientSession>) => Promise<void> {
  const isBusy = useRef(false)
  return useCallback(
    async make => {
      if (session === null || isBusy.current) return
      isBusy.current = true
      try {
        onBranched(await make(session))
      } finally {
        isBusy.current = false
      }
    },
    [session, onBranched],
  )
}

/** Rows that are there from the start, and rows each step back adds. */
const PAGE = 200
/** More rows than this are cut back to a page while the reader is at the end. */
const MOST = 800

type RowsProps = {
  readonly snapshot: TranscriptSnapshot
  readonly view: RefObject<HTMLDivElement | null>
  readonly isAtEnd: boolean
  readonly actions: TurnActions
  readonly agent: AgentStatus
  readonly canGoOn: boolean
  readonly loadEarlier: () => void
}

function Rows({ snapshot, view, isAtEnd, actions, agent, canGoOn, loadEarlier }: RowsProps): ReactElement {
  const { transcript, hasEarlier, loadingEarlier } = snapshot
  /** How many items at the end are left out, counted from the end of what was shown first: rows stay as more come. */
  const [wanted, setWanted] = useState(PAGE)
  const [seen, setSeen] = useState({ from: transcript.from, count: countItems(transcript) })
  const count = countItems(transcript)
  if (seen.count !== count || seen.from !== transcript.from) {
    // What was added at the end is shown besides what is shown; what was put in front is asked for.
    const added = seen.from === transcript.from ? Math.max(0, count - seen.count) : 0
    setSeen({ from: transcript.from, count })
    setWanted(isAtEnd && wanted + added > MOST ? PAGE : wanted + added)
  }
  const shown = lastItems(transcript, wanted)
  const first = shown[0]
  useKeepPlace(view, first === undefined ? null : `${first.turn.key} ${first.from} ${transcript.from}`)
  const hidden = count - shown.reduce((sum, { turn, from }) => sum + turn.items.length - from, 0)
  const earlier = () => {
    setWanted(wanted + PAGE)
    if (hidden < PAGE && hasEarlier) loadEarlier()
  }
  const last = transcript.turns.length - 1
  // What is said between turns, a replacement for one, does not make the latest turn an older one.
  const latest = latestTurn(transcript)
  return (
    <>
      {(hidden > 0 || hasEarlier) && (
        <button type="button" className="earlier" onClick={earlier} disabled={loadingEarlier}>
          {loadingEarlier ? 'Reading earlier messages…' : 'Show earlier'}
        </button>
      )}
      {shown.map(({ turn, from, index }) => (
        <Turn
          key={turn.key}
          turn={turn}
          from={from}
          isLast={index === latest}
          live={index === last ? transcript.live : null}
          agent={index === last ? agent : null}
          canGoOn={canGoOn && index === latest}
          actions={actions}
        />
      ))}
    </>
  )
}

const countItems = ({ turns }: Transcript): number => {
  let count = 0
  for (const turn of turns) count += turn.items.length
  return count
}

function latestTurn({ turns }: Transcript): number {
  let index = turns.length - 1
  while (index >= 0 && turns.at(index)?.turn === null) index -= 1
  return index
}

type ShownTurn = {
  readonly turn: Transcript['turns'] extends Iterable<infer T> ? T : never
  readonly from: number
  readonly index: number
}

/** The turns that hold the last `wanted` items; of the first one only what is needed. */
function lastItems({ turns }: Transcript, wanted: number): readonly ShownTurn[] {
  const shown: ShownTurn[] = []
  let left = wanted
  for (let index = turns.length - 1; index >= 0 && left > 0; index -= 1) {
    const turn = turns.at(index)
    if (turn === undefined) break
    shown.unshift({ turn, from: Math.max(0, turn.items.length - left), index })
    left -= turn.items.length
  }
  return shown
}

function lastPromptOf({ turns }: Transcript): string | null {
  for (let index = turns.length - 1; index >= 0; index -= 1) {
    const items = turns.at(index)?.items ?? []
    for (const item of items) {
      if (item.kind === 'user' && item.message.source.kind === 'user') return textBeside(item.message.content)
    }
  }
  return null
}

function Refusal({ error, retry }: { readonly error: unknown; readonly retry: () => void }): ReactElement {
  const { what, hint } = openFailureWords(error)
  return (
    <div className="ending error" role="alert">
      <p className="what">
        <strong>{what}</strong> {hint}
      </p>
      <div className="actions">
        <button type="button" onClick={retry}>
          Try again
        </button>
      </div>
    </div>
  )
}

/** Not a failure: it is where it was left, and one step away. */
function Deleted({ error, bringBack }: { readonly error: unknown; readonly bringBack: () => void }): ReactElement {
  const { what, hint } = openFailureWords(error)
  return (
    <div className="ending" role="alert">
      <p className="what">
        <strong>{what}</strong> {hint}
      </p>
      <div className="actions">
        <button type="button" onClick={bringBack}>
          Bring it back
        </button>
      </div>
    </div>
  )
}
