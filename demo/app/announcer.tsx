/** For those who listen: an answer sentence by sentence as it arrives, and nothing twice. */
import type { TranscriptSnapshot } from 'palimpsest/views'
import { type ReactElement, useEffect, useRef, useState } from 'react'
import { spokenText } from './content.ts'

/** Longest piece that is read out at once. */
const SPOKEN = 2_000
/** Least time between two pieces, ms: a screen reader is not interrupted by each short sentence. */
const PAUSE = 1_500

export type AnnouncerProps = { readonly sessionId: string; readonly snapshot: TranscriptSnapshot }

export function Announcer({ sessionId, snapshot }: AnnouncerProps): ReactElement {
  const [said, setSaid] = useState('')
  const spoken = useRef({ sessionId: '', messageId: '', upTo: 0, at: 0 })
  const { transcript } = snapshot
  const { live } = transcript

  useEffect(() => {
    const state = spoken.current
    const last = transcript.turns.at(-1)
    if (state.sessionId !== sessionId) {
      // What was there before is history: it is read by reading it.
      spoken.current = { sessionId, messageId: answerOf(last)?.id ?? '', upTo: Infinity, at: 0 }
      return
    }
    if (snapshot.state !== 'ready') return
    const answer = live === null ? answerOf(last) : { id: live.messageId, text: liveText(live.blocks), isDone: false }
    if (answer === null) return
    const upTo = state.messageId === answer.id ? state.upTo : 0
    const end = answer.isDone ? answer.text.length : sentenceEnd(answer.text)
    if (end <= upTo || (!answer.isDone && Date.now() - state.at < PAUSE)) {
      if (state.messageId !== answer.id) spoken.current = { ...state, messageId: answer.id, upTo: 0 }
      return
    }
    spoken.current = { sessionId, messageId: answer.id, upTo: end, at: Date.now() }
    const piece = answer.text.slice(upTo, end).trim()
    if (piece !== '') setSaid(piece.length > SPOKEN ? `${piece.slice(0, SPOKEN)}…` : piece)
  }, [sessionId, snapshot.state, transcript, live])

  return (
    <div id="announcer" className="unseen" aria-live="polite">
      {said}
    </div>
  )
}

type Spoken = { readonly id: string; readonly text: string; readonly isDone: true }

function answerOf(
  turn: TranscriptSnapshot['transcript']['turns'] extends { at(i: number): infer T } ? T : never,
): Spoken | null {
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
