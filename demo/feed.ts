/** Everything of one session in order: its history first, then each change as it comes. */
import type { AssistantStreamFrame, ClientSession, SessionStatus, SessionUpdate } from 'palimpsest'
import type { SessionEvent } from 'palimpsest/core'

export type FeedSink = {
  readonly committed: (events: readonly SessionEvent[], isHistory: boolean) => void
  readonly frames: (frames: readonly AssistantStreamFrame[]) => void
  readonly status: (status: SessionStatus) => void
}

const PAGE = 256

/** Feeds `sink` until the returned function is called. Failures of reading the history go to `onError`. */
export function follow(session: ClientSession, sink: FeedSink, onError: (error: unknown) => void): () => void {
  let stopped = false
  let waiting: SessionUpdate[] | null = []
  const apply = (update: SessionUpdate) => {
    if (update.kind === 'committed')
      sink.committed(
        update.entries.map(entry => entry.event),
        false,
      )
    else if (update.kind === 'frames') sink.frames(update.frames)
  }
  const { length, frames } = { length: session.length, frames: [...session.frames] }
  const unsubscribe = session.subscribe(update => {
    // The state is not part of the order: what was true before the history was read is not said after it.
    if (update.kind === 'status') sink.status(update.status)
    else if (waiting === null) apply(update)
    else waiting.push(update)
  })

  const readHistory = async () => {
    let page: SessionEvent[] = []
    const hand = () => {
      if (!stopped && page.length > 0) sink.committed(page, true)
      page = []
    }
    for await (const event of session.readEvents({ to: length })) {
      if (stopped) return
      if (page.push(event) === PAGE) hand()
    }
    hand()
    if (stopped) return
    sink.frames(frames)
    const late = waiting ?? []
    waiting = null
    late.forEach(apply)
  }
  sink.status(session.status)
  readHistory().catch((error: unknown) => {
    if (!stopped) onError(error)
  })
  return () => {
    stopped = true
    unsubscribe()
  }
}
