/**
 * For those who listen: an answer sentence by sentence as it arrives, what went wrong, what waits for them, and nothing
 * twice.
 */
import type { TranscriptSnapshot, TranscriptTurn } from 'palimpsest/views'
import { type ReactElement, useEffect, useMemo, useRef, useState } from 'react'
import { approvalWords, endingWords, failureWords } from '../app/words.ts'
import { spokenMarkdown } from '../markdown/load-markdown.ts'
import { spokenText } from './content.ts'

/** Longest piece that is read out at once. */
const SPOKEN = 2_000
/** Least time between two pieces, ms: a screen reader is not interrupted by each short sentence. */
const PAUSE = 1_500

export type AnnouncerProps = { readonly sessionId: string; readonly snapshot: TranscriptSnapshot }

/** Words to read out. The same words again are a new piece: they have another key. */
type Piece = { readonly key: number; readonly words: string }
const SILENCE: Piece = { key: 0, words: '' }
const next = (words: string) => (before: Piece) => ({ key: before.key + 1, words })

export function Announcer({ sessionId, snapshot }: AnnouncerProps): ReactElement {
  const [said, setSaid] = useState(SILENCE)
  const [happened, setHappened] = useState(SILENCE)
  const spoken = useRef({ sessionId: '', messageId: '', upTo: 0, at: 0 })
  const told = useRef<{ readonly sessionId: string; readonly keys: ReadonlySet<string> }>({
    sessionId: '',
    keys: new Set(),
  })
  const { transcript } = snapshot
  const { live } = transcript
  const isReady = snapshot.state === 'ready'
  const last = transcript.turns.at(-1)
  const beforeLast = transcript.turns.at(-2)
  // A turn that has failed may have the next one after it at once.
  const news = useMemo(() => [...newsOf(beforeLast), ...newsOf(last)], [beforeLast, last])

  useEffect(() => {
    if (!isReady) return
    const state = spoken.current
    const answer = live === null ? answerOf(last) : { id: live.messageId, text: liveText(live.blocks), isDone: false }
    if (state.sessionId !== sessionId) {
      // What was there before is history: it is read by reading it.
      spoken.current = { sessionId, messageId: answer?.id ?? '', upTo: answer?.text.length ?? 0, at: 0 }
      return
    }
    if (answer === null) return
    const upTo = state.messageId === answer.id ? state.upTo : 0
    const end = answer.isDone ? answer.text.length : sentenceEnd(answer.text)
    if (end <= upTo || (!answer.isDone && Date.now() - state.at < PAUSE)) {
      if (state.messageId !== answer.id) spoken.current = { ...state, messageId: answer.id, upTo: 0 }
      return
    }
    spoken.current = { sessionId, messageId: answer.id, upTo: end, at: Date.now() }
    const piece = spokenMarkdown(answer.text.slice(upTo, end))
    if (piece !== '') setSaid(next(piece.length > SPOKEN ? `${piece.slice(0, SPOKEN)}…` : piece))
  }, [sessionId, isReady, last, live])

  useEffect(() => {
    if (!isReady) return
    const { sessionId: knownId, keys } = told.current
    told.current = { sessionId, keys: new Set(news.map(({ key }) => key)) }
    // What was there before is history, but for what waits.
    const unheard = news.filter(({ key, waits }) => (knownId === sessionId ? !keys.has(key) : waits))
    if (unheard.length > 0) setHappened(next(unheard.map(({ words }) => words).join(' ')))
  }, [sessionId, isReady, news])

  return (
    <div className="unseen">
      <div id="announcer" aria-live="polite">
        <p key={said.key}>{said.words}</p>
      </div>
      <div id="announcer-trouble" aria-live="polite">
        <p key={happened.key}>{happened.words}</p>
      </div>
    </div>
  )
}

type News = { readonly key: string; readonly words: string; readonly waits: boolean }

/** Calls that wait for a person or failed, model calls that are tried again, and an ending that was not good. */
function newsOf(turn: TranscriptTurn | undefined): readonly News[] {
  if (turn === undefined) return []
  const news: News[] = []
  const tell = (what: string, words: string, waits = false) => news.push({ key: `${turn.key} ${what}`, words, waits })
  for (const item of turn.items) {
    if (item.kind === 'tool') {
      const { key, name, state, approval } = item
      if (state === 'waiting') tell(`${key} ${approval?.id}`, waitingWords(name, approval?.reason ?? null), true)
      const decision = approval === null ? '' : approvalWords(approval.state)
      const isRun = approval === null || approval.state === 'allowed-once'
      if (state === 'failed')
        tell(key, isRun ? `The tool ${name} failed.` : `The tool ${name} did not run. ${decision}.`)
    } else if (item.kind === 'retry') {
      // Once for all tries of a step: the line in the conversation counts them.
      tell(item.retryId, `${failureWords(item.failure).what} Trying again.`)
    }
  }
  const words = turn.reason === null ? null : endingWords(turn.reason)
  if (words !== null) tell('ending', `${words.what} ${words.hint}`)
  return news
}

const waitingWords = (name: string, reason: string | null): string =>
  `The agent waits for you: may ${name} run? ${reason ?? ''}`.trim()

type Spoken = { readonly id: string; readonly text: string; readonly isDone: boolean }

function answerOf(turn: TranscriptTurn | undefined): Spoken | null {
  if (turn === undefined) return null
  for (let index = turn.items.length - 1; index >= 0; index -= 1) {
    const item = turn.items.at(index)
    if (item?.kind !== 'answer') continue
    return { id: item.message.id, text: spokenText(item.message.content), isDone: true }
  }
  return null
}

const liveText = (blocks: readonly { readonly kind: string; readonly text: string }[]): string =>
  blocks.map(block => (block.kind === 'text' ? block.text : '')).join(' ')

/** Where the last finished sentence ends; 0 when none is. */
function sentenceEnd(text: string): number {
  let end = 0
  for (const { index, 0: mark } of text.matchAll(/[.!?…。！？]["”’)]?(?=\s)|\n/gu)) end = index + mark.length
  return end
}
