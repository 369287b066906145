/** The views of a session as hooks. Components that look at the same session share one view of it (SPEC X6). */
import type { SessionSource } from '../views/source.ts'
import { deriveStatus, type StatusView } from '../views/status.ts'
import { statusView } from '../views/status-view.ts'
import type { ViewStore } from '../views/store.ts'
import { type SurfaceSnapshot, type SurfaceStore, surfaceView } from '../views/surface-view.ts'
import { emptySurface } from '../views/surface.ts'
import { emptyTranscript } from '../views/transcript.ts'
import { type TranscriptSnapshot, type TranscriptView, transcriptView } from '../views/transcript-view.ts'
import { type UsageState, usageFold } from '../views/usage.ts'
import { usageView } from '../views/usage-view.ts'
import { useView } from './use-view.ts'

/** One view of each session, made when it is first asked for, forgotten with the session. */
function shared<View>(make: (session: SessionSource) => View): (session: SessionSource) => View {
  const views = new WeakMap<SessionSource, View>()
  return session => {
    let view = views.get(session)
    if (view === undefined) {
      view = make(session)
      views.set(session, view)
    }
    return view
  }
}

/** The transcript view `useTranscript` reads from, for `loadEarlier()` and for use outside of components. */
export const transcriptOf: (session: SessionSource) => TranscriptView = shared(session => transcriptView(session))
/** The surface view `useSurface` reads from, for `retry()` and for use outside of components. */
export const surfaceOf: (session: SessionSource) => SurfaceStore = shared(surfaceView)
const usageOf = shared(usageView)
const statusOf = shared(statusView)

/** A store for "no session (yet)". */
function never<State>(state: State): ViewStore<State> {
  return { getSnapshot: () => state, getServerSnapshot: () => state, subscribe: () => () => {} }
}

const noTranscript = never<TranscriptSnapshot>(
  Object.freeze({
    transcript: emptyTranscript(),
    state: 'loading',
    error: null,
    loadingEarlier: false,
    hasEarlier: false,
  }),
)
const noSurface = never<SurfaceSnapshot>(Object.freeze({ surface: emptySurface, state: 'loading', error: null }))
const noUsage = never<UsageState>(usageFold.initial())
const noStatus = never<StatusView>(deriveStatus({ status: null, length: 0, ended: null }))

const whole = <State>(state: State): State => state

/**
 * What a person has seen of `session`, from its newest page on, with the answer that is arriving. `select` takes the part
 * that is needed: the component renders again only when that changes. Null for no session (yet): an empty one, `loading`.
 */
export function useTranscript(session: SessionSource | null): TranscriptSnapshot
export function useTranscript<Selected>(
  session: SessionSource | null,
  select: (snapshot: TranscriptSnapshot) => Selected,
  isEqual?: (left: Selected, right: Selected) => boolean,
): Selected
export function useTranscript<Selected>(
  session: SessionSource | null,
  select: (snapshot: TranscriptSnapshot) => Selected = whole as never,
  isEqual?: (left: Selected, right: Selected) => boolean,
): Selected {
  return useView(session === null ? noTranscript : transcriptOf(session), select, isEqual)
}

/** What the model reads of `session`: its nodes with their messages, origins and estimated tokens. */
export function useSurface(session: SessionSource | null): SurfaceSnapshot
export function useSurface<Selected>(
  session: SessionSource | null,
  select: (snapshot: SurfaceSnapshot) => Selected,
  isEqual?: (left: Selected, right: Selected) => boolean,
): Selected
export function useSurface<Selected>(
  session: SessionSource | null,
  select: (snapshot: SurfaceSnapshot) => Selected = whole as never,
  isEqual?: (left: Selected, right: Selected) => boolean,
): Selected {
  return useView(session === null ? noSurface : surfaceOf(session), select, isEqual)
}

/** Tokens counted by providers so far, the model, and the size of its window. */
export function useUsage(session: SessionSource | null): UsageState {
  return useView(session === null ? noUsage : usageOf(session))
}

/** How `session` is doing: what its agent does, and whether everything is stored. */
export function useStatus(session: SessionSource | null): StatusView {
  return useView(session === null ? noStatus : statusOf(session))
}
