/** The transcript of a session as a store: the newest page at first, earlier ones on demand (SPEC V10–V12). */
import { SessionError } from '../core/errors.ts'
import type { SessionEvent } from '../core/events.ts'
import { Follower, type ReadState } from './follow.ts'
import { Listeners } from './listeners.ts'
import type { SessionSource, SessionUpdate } from './source.ts'
import type { ViewStore } from './store.ts'
import { emptyTranscript, evolveTranscript, streamTranscript, type Transcript } from './transcript.ts'
import { prependHistory } from './transcript-history.ts'

export type TranscriptSnapshot = {
  readonly transcript: Transcript
  readonly state: ReadState
  /** Why it failed or ended; null otherwise. What `transcript` holds stays shown. */
  readonly error: unknown
  readonly loadingEarlier: boolean
  /** True when there are earlier events to load. */
  readonly hasEarlier: boolean
}

export type TranscriptView = ViewStore<TranscriptSnapshot> & {
  /**
   * Loads the page before the first event shown; after a failure, what could not be read. Resolves with true when that
   * is here now, with false when there was nothing to load, it failed (the snapshot says why) or nobody listens any more.
   * Called again while it loads, it is the same load.
   */
  loadEarlier(): Promise<boolean>
}

export type TranscriptViewOptions = {
  /** Number of events read at a time. Default 256. */
  readonly pageSize?: number
}

const NOTHING: TranscriptSnapshot = Object.freeze({
  transcript: emptyTranscript(),
  state: 'loading',
  error: null,
  loadingEarlier: false,
  hasEarlier: false,
})

/** The transcript of `source`, read from its end while anybody listens. */
export function transcriptView(source: SessionSource, { pageSize = 256 }: TranscriptViewOptions = {}): TranscriptView {
  let snapshot = NOTHING
  /** The load of an earlier page that is under way. */
  let loading: { readonly done: Promise<boolean> } | null = null

  const follower = new Follower(source, NOTHING.transcript, { read, apply: applyUpdate }, changed)
  const listeners = new Listeners(() => {
    const stop = follower.start()
    show()
    return () => {
      stop()
      loading = null
      show()
    }
  })

  function show(): boolean {
    const { value: transcript, state, error } = follower
    const next: TranscriptSnapshot = {
      transcript,
      state,
      error,
      loadingEarlier: loading !== null,
      hasEarlier: transcript.from > 0,
    }
    const isSame = (Object.keys(next) as (keyof TranscriptSnapshot)[]).every(key => next[key] === snapshot[key])
    if (!isSame) snapshot = next
    return !isSame
  }

  function changed(): void {
    if (show()) listeners.tell()
  }

  /** Goes on from what is known when no more than a page is missing; otherwise begins anew from the end. */
  async function read(known: Transcript | null, isWanted: () => boolean): Promise<Transcript> {
    const { length } = source
    const isNear = known !== null && known.to <= length && length - known.to <= pageSize
    let transcript = isNear ? { ...known, live: null } : emptyTranscript(Math.max(0, length - pageSize))
    for (const event of await readPage(transcript.to, length, isWanted)) {
      transcript = evolveTranscript(transcript, event)
    }
    return transcript
  }

  /** Events `from` to `to`, all of them unless nobody wants them any more. */
  async function readPage(from: number, to: number, isWanted: () => boolean): Promise<SessionEvent[]> {
    const events: SessionEvent[] = []
    if (from >= to) return events
    for await (const event of source.readEvents({ from, to })) {
      if (!isWanted()) return events
      events.push(event)
    }
    if (events.length === to - from || !isWanted()) return events
    const message = `Session ${source.id}: expected events ${from} to ${to}; found ${events.length} of them`
    throw new SessionError('seq', message, { sessionId: source.id, expected: to - from, actual: events.length })
  }

  async function loadPage(run: object): Promise<boolean> {
    const { from } = follower.value
    const isWanted = () => follower.run === run && follower.isRead
    let isLoaded = false
    try {
      const page = await readPage(Math.max(0, from - pageSize), from, isWanted)
      if (isWanted()) {
        follower.update(transcript => prependHistory(transcript, page))
        follower.settle()
        isLoaded = true
      }
    } catch (error) {
      if (isWanted()) follower.settle(error)
    }
    if (follower.run !== run) return false
    loading = null
    changed()
    return isLoaded
  }

  async function loadEarlier(): Promise<boolean> {
    if (loading !== null) return loading.done
    const { run, isRead, state, value } = follower
    if (!isRead) return follower.retry()
    if (run === null || state === 'ended' || value.from === 0) return false
    follower.settle()
    loading = { done: loadPage(run) }
    const { done } = loading
    changed()
    return done
  }

  return {
    getSnapshot: () => snapshot,
    getServerSnapshot: () => NOTHING,
    subscribe: listeners.add,
    loadEarlier,
  }
}

function applyUpdate(transcript: Transcript, update: SessionUpdate): Transcript {
  switch (update.kind) {
    case 'committed':
      return update.entries.reduce<Transcript>(evolveTranscript, transcript)
    case 'frames':
      return streamTranscript(transcript, update.frames)
    case 'ended':
      return transcript.live === null ? transcript : { ...transcript, live: null }
    case 'status':
      return transcript
  }
}
