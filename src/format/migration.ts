/**
 * A migration turns a log of one version into one of the next (SPEC F4, F5). They are joined: what one emits is what the next
 * takes, event by event, so that a log of any length passes through in one go.
 */
import type { StoredEvent, StoredHeader } from './stored.ts'

/**
 * Takes the next event of the newer log; its seq must be the next one. `from` is the seq in the older log of the event it
 * was made of, or, when `isGenerated`, of the one it was put beside.
 */
export type Emit = (event: StoredEvent, from: number, isGenerated?: true) => void

/** What was done to a log to make it open, listed for whoever asked for it (SPEC F10). */
export type RepairCode =
  /** The file ended in the middle of a line, or in rows that were never committed: they were left out. */
  | 'torn-tail'
  /** Everything from a damaged line, or from an event that is refused, on was left out. */
  | 'kept-prefix'
  /** The beginning or end of a step that was never recorded was put in. */
  | 'step-boundary'
  /** An event of a type or with members its version does not have was carried over as it is. */
  | 'kept-verbatim'
  /** A `context/message` became a `user/message` of a plugin. */
  | 'context-message'
  /** A member of the header that its version does not have was left out, or one that it has is missing. */
  | 'header-member'
  /** A rule between events is broken; they were carried over as they are. */
  | 'kept-relation'

export type Repair = {
  readonly code: RepairCode
  /** Seq in the file. */
  readonly seq?: number
  /** Line in the file; 1 is the header. */
  readonly line?: number
  /** For people. */
  readonly message: string
}

export type StageContext = {
  /** The header of the older log. */
  readonly header: StoredHeader
  readonly emit: Emit
  /** Lists a repair (`seq` as in the older log); null when nothing may be repaired. The same one twice is listed once. */
  readonly repair: ((repair: { code: RepairCode; seq: number; message: string }) => void) | null
  /** Hex SHA-256 of a text's UTF-8. */
  readonly sha256: (text: string) => string
}

/** A migration at work on one log. Throws `FormatError` with the seq in the older log; then it is not used again. */
export type Stage = {
  /** Takes the next event of the older log; seqs are dense from 0. */
  push(event: StoredEvent): void
  /**
   * The older log ended. Takes how many of its events are inherited as far as that is known (null: not known, or none),
   * answers the same of the newer log (null: none).
   */
  end(inherited: number | null): number | null
}

export type Migration = {
  readonly from: number
  readonly to: number
  /** The header of the newer log. */
  header(older: StoredHeader): StoredHeader
  open(context: StageContext): Stage
}
