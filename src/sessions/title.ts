/**
 * Names of sessions. One stands in the log, as an event, so that forks and files have it, and in the record, which lists
 * are made from and which has the last word (SPEC W23).
 */
import type { Fold } from '../core/fold.ts'
import type { SessionId, SessionSeq } from '../core/ids.ts'
import { fieldsOf } from '../core/invariants/payload.ts'
import type { SessionTitle } from '../core/plugin-events.ts'
import type { Session } from '../core/session.ts'
import { isCount, isString, membersOf, nullOr } from '../core/value-shapes.ts'
import { wellFormedText } from '../core/well-formed.ts'
import type { SessionRecord, SessionStorage } from '../storage/storage.ts'
import type { LiveSession } from './live-session.ts'

/** Longest title, code points. */
const MAX_TITLE = 200

/** What a log says its session is called. */
export type TitleState = {
  /** Null when nobody named it, or the name was taken away. */
  readonly title: string | null
  /** Who named it: `user` for a person; null when nobody did, or the event does not say. */
  readonly source: string | null
  /** Of the event that says so. */
  readonly seq: SessionSeq | null
}

const UNNAMED: TitleState = Object.freeze({ title: null, source: null, seq: null })

const isState = membersOf({ title: nullOr(isString), source: nullOr(isString), seq: nullOr(isCount) })

/** The last `session/title` of a log, inherited ones included; one without a title in words changes nothing. */
export const titleFold: Fold<TitleState> = {
  key: 'title',
  version: 1,
  on: ['session/title'],
  initial: () => UNNAMED,
  evolve(state, { event }) {
    const { title, source } = fieldsOf(event.data)
    if (event.type !== 'session/title' || typeof title !== 'string') return state
    const kind = typeof source === 'string' ? source : fieldsOf(source)['kind']
    return { title: titleText(title) || null, source: typeof kind === 'string' ? kind : null, seq: event.seq }
  },
  toJSON: state => state,
  fromJSON(json) {
    if (!isState(json)) throw new TypeError('no title of a session')
    return json as unknown as TitleState
  },
}

/** A title as it is kept: well-formed, no space around it, at most 200 code points; may be empty. */
export function titleText(title: string): string {
  // No more than can be left is looked at: it may come from any file.
  const text = wellFormedText(title.trimStart().slice(0, 2 * MAX_TITLE))
  return Array.from(text).slice(0, MAX_TITLE).join('').trimEnd()
}

/**
 * A person names a session; null takes the name away. An open one is told first, in its log, and then its record, which is
 * all that is told while it is not open: a log is written by who has it open. A log nothing was said in stays empty.
 */
export async function rename(
  storage: SessionStorage,
  id: SessionId,
  live: LiveSession | undefined,
  title: string | null,
): Promise<void> {
  const text = titleText(title ?? '')
  if (live !== undefined && live.session.length > 0 && !isNamed(live.session.fold(titleFold), text)) {
    live.session.append('session/title', { title: text, messageSeqs: [], source: { kind: 'user' } })
  }
  await live?.flush()
  // Empty, and not absent: what is absent is taken from the log.
  await storage.update(id, { title: text })
}

const isNamed = ({ title, source }: TitleState, text: string): boolean =>
  (title ?? '') === text && (text === '' || source === 'user')

/** Names an open session after messages of it, unless a person named it or the title is empty: then nothing happens. */
export async function setTitle(
  storage: SessionStorage,
  live: LiveSession,
  title: string,
  from: Pick<SessionTitle, 'messageSeqs' | 'source'>,
): Promise<void> {
  const { session } = live
  const text = titleText(title)
  await live.flush()
  const { title: listed = '' } = (await storage.get(session.id)) ?? {}
  const logged = session.fold(titleFold)
  // What the log does not say somebody said while the session was not open.
  const isPersons = listed !== '' && (logged.source === 'user' || logged.title !== listed)
  if (text === '' || isPersons) return
  session.append('session/title', { title: text, ...from })
  await live.flush()
  await storage.update(session.id, { title: text })
}

/** A session that nobody named in its record is listed as its log says. */
export async function listUnderLogged(storage: SessionStorage, record: SessionRecord, session: Session): Promise<void> {
  const { title } = session.fold(titleFold)
  if (record.title === undefined && title !== null) await storage.update(session.id, { title })
}

/** The title of a record, as it is shown. */
export const listedTitle = ({ title }: Pick<SessionRecord, 'title'>): string | null => title || null
