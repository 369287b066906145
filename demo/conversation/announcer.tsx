/** For those who listen: an answer sentence by sentence as it arrives, what went wrong, and nothing twice. */
import type { TranscriptSnapshot, TranscriptTurn } from 'palimpsest/views'
import { type ReactElement, useEffect, useMemo, useRef, useState } from 'react'
import { endingWords } from '../app/words.ts'
import { plainText } from '../markdown/plain.ts'
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
  const troubles = useMemo(() => [...troublesOf(beforeLast), ...troublesOf(last)], [beforeLast, last])

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
    const piece = plainText(answer.text.slice(upTo, end))
    if (piece !== '') setSaid(next(piece.length > SPOKEN ? `${piece.slice(0, SPOKEN)}…` : piece))
  }, [sessionId, isReady, last, live])

  useEffect(() => {
    if (!isReady) return
    const { sessionId: knownId, keys } = told.current
    const news = troubles.filter(({ key }) => !keys.has(key))
    told.current = { sessionId, keys: new Set(troubles.map(({ key }) => key)) }
    if (knownId === sessionId && news.length > 0) setHappened(next(news.map(({ words }) => words).join(' ')))
  }, [sessionId, isReady, troubles])

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

type Trouble = { readonly key: string; readonly words: string }

/** Tools that failed and an ending that was not good. */
function troublesOf(turn: TranscriptTurn | undefined): readonly Trouble[] {
  if (turn === undefined) return []
  const troubles: Trouble[] = []
  for (const item of turn.items) {
    if (item.kind === 'tool' && item.state === 'failed') {
      troubles.push({ key: `${turn.key} ${item.key}`, words: `The tool ${item.name} failed.` })
    }
  }
  const words = turn.reason === null ? null : endingWords(turn.reason)
  if (words !== null) troubles.push({ key: `${turn.key} ending`, words: `${words.what} ${words.hint}` })
  return troubles
}

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
