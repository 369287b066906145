/** What a session is made from, and what its methods take and answer. */
import type { EventDefinition } from './event-definition.ts'
import type {
  EventData,
  EventOf,
  KnownEventType,
  LogOnlyEvent,
  SessionEvent,
  SessionHeader,
  SurfaceEventType,
} from './events.ts'
import type { ExtensionOptions } from './extensions.ts'
import type { Committed, Fold } from './fold.ts'
import type { Invariant } from './invariant.ts'
import type { Keyframe, LastEvent } from './keyframe.ts'
import type { SurfaceIntent } from './log.ts'
import type { TurnsState } from './turns.ts'

/** Intent of `append` for one type; a union of types gets the union of their intents and is checked at run time. */
export type IntentArguments<Type extends KnownEventType> = Type extends 'assistant/message'
  ? [intent: { readonly surfaceOp: SurfaceIntent['surfaceOp']; readonly sourceEventSeqs?: never }]
  : Type extends SurfaceEventType
    ? [intent: SurfaceIntent]
    : [intent?: { readonly surfaceOp?: never; readonly sourceEventSeqs?: never }]

/** Types a caller may append; `session/end-seed` is the constructor's own. */
export type AppendableEventType = Exclude<KnownEventType, 'session/end-seed'>

/** What `append` takes: a type of the format, or a definition that is registered. */
export type Appendable = AppendableEventType | EventDefinition<never> | EventDefinition

/** The payload of a type or definition. */
export type DataOf<Type> = Type extends AppendableEventType
  ? EventData[Type]
  : Type extends EventDefinition<infer Data>
    ? Data
    : never

/** The third argument of `append` for a type or definition. */
export type IntentOf<Type> = Type extends AppendableEventType
  ? IntentArguments<Type>
  : [intent?: { readonly ignorable?: true | undefined }]

/** The event that `append` answers with. */
export type CommittedOf<Type> = Type extends AppendableEventType
  ? EventOf<Type>
  : Type extends EventDefinition<infer Data>
    ? LogOnlyEvent<string, Data>
    : never

export type SessionListener = (committed: Committed) => unknown

export type SessionOptions = ExtensionOptions & {
  /** The clock, epoch ms. Called once for each append. */
  readonly now: () => number
  /** Told when a listener throws or rejects; the append it was told about stands. */
  readonly onListenerError?: (error: unknown) => void
  /** Folds this session has besides its own, from its first event on; read with `fold`. Their keys must differ. */
  readonly folds?: readonly Fold<unknown>[]
  /** Rules every event must keep, stored ones too; asked in order, after admission. */
  readonly invariants?: readonly Invariant[]
  /** Rules events appended from now on must keep; what is stored opens as it is, and `verify` tells. */
  readonly liveInvariants?: readonly Invariant[]
}

export type CreateOptions = SessionOptions & {
  readonly id: string
  readonly header?: Partial<Omit<SessionHeader, 'id' | 'version'>>
  /** Events to start from; copied and frozen. Even an empty list counts as a seed. */
  readonly seed?: readonly SessionEvent[]
  /** For a seeded header: how many of the seed's events are inherited. Must equal the seed's length. */
  readonly inheritedEventCount?: number
}

type OpenOptions = SessionOptions & {
  readonly header: SessionHeader
  /** The inherited cut, when the caller knows it: then the log must say the same. */
  readonly inheritedEventCount?: number
  /** Closes a turn that was cut off before the end of the seed is marked (SPEC R1–R6). */
  readonly repair?: boolean
  /**
   * How a model call that was cut off is settled before `repair` closes its turn: the first of these events that the
   * session accepts, as one appended now, becomes its next; none when it accepts none (SPEC R9).
   */
  readonly settle?: (turns: TurnsState, last: LastEvent | null) => readonly SessionEvent[]
  /** Follows a log somebody else writes: nothing is marked or repaired, and `append` refuses (SPEC O4). */
  readonly readOnly?: boolean
  /**
   * With `readOnly`: the events may end before the log does, even before what it inherits. Then this is the session as
   * it was there (SPEC K6).
   */
  readonly isPrefix?: boolean
}

export type RestoreOptions = OpenOptions & {
  /** The whole log. Ownership passes to the session: events are neither copied nor frozen. */
  readonly events: readonly SessionEvent[]
}

export type KeyframeOptions = OpenOptions & {
  readonly keyframe: Keyframe
  /** The events on the surface of the keyframe, in any order. */
  readonly surfaceEvents: readonly SessionEvent[]
  /** The events after the keyframe. Ownership of all of them passes to the session. */
  readonly events: readonly SessionEvent[]
}
