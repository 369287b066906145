/**
 * When a keyframe is worth its bytes: once the events after the last one outweigh it. So opening reads little more than
 * the surface, and all keyframes together weigh little beside their log (SPEC K7).
 */
import { SessionSeq } from '../core/ids.ts'
import { jsonText } from '../core/json.ts'
import type { Keyframe } from '../core/keyframe.ts'
import { type NewKeyframe, StorageError, type StoredKeyframe } from '../storage/storage.ts'

/** Text after the last keyframe, UTF-16 units, below which there is never another one. */
const LEAST_TAIL = 256_000
/** How many times its own length a keyframe must have behind it. */
const TAIL_FACTOR = 8
/** Inside a turn one waits longer: a turn mostly ends soon. */
const PATIENCE = 4
/** Text between two keyframes that both stay, and how many times the length of one that is at least. */
const LEAST_SPAN = 4_000_000
const SPAN_FACTOR = 64

/** Length of a log nobody has counted, UTF-16 units: enough for a keyframe. */
export const UNKNOWN_LENGTH = 1e12

/** The last keyframe, and how much came after it. */
export type LastKeyframe = {
  readonly seq: SessionSeq
  /** Its text, UTF-16 units. */
  readonly length: number
  /** Text between it and the last one before it that stays. */
  readonly span: number
  /** It belongs to another session, and stays whatever comes. */
  readonly isInherited: boolean
}

export class KeyframePace {
  #last: LastKeyframe | null
  #tail: number

  /** `tail`: text after `last`, or of the whole log, UTF-16 units. */
  constructor(last: LastKeyframe | null, tail: number) {
    this.#last = last
    this.#tail = tail
  }

  /** An event of this length was committed. */
  grow(length: number): void {
    this.#tail += length
  }

  isDue(isInsideTurn: boolean): boolean {
    const least = Math.max(LEAST_TAIL, TAIL_FACTOR * (this.#last?.length ?? 0))
    return this.#tail >= (isInsideTurn ? PATIENCE * least : least)
  }

  /** The next keyframe, as it is stored. */
  next(keyframe: Keyframe): NewKeyframe {
    const last = this.#last
    const least = Math.max(LEAST_SPAN, SPAN_FACTOR * (last?.length ?? 0))
    const isSpare = last !== null && !last.isInherited && last.span < least
    const seq = SessionSeq(keyframe.seq)
    const span = (isSpare ? last.span : 0) + this.#tail
    const text = jsonText({ span, keyframe })
    this.#last = { seq, length: text.length, span, isInherited: false }
    this.#tail = 0
    return { seq, text, ...(isSpare && last.seq !== seq ? { instead: last.seq } : {}) }
  }
}

/** The keyframe of a whole log, as it is stored: it stays. */
export const firstKeyframe = (keyframe: Keyframe): NewKeyframe => new KeyframePace(null, UNKNOWN_LENGTH).next(keyframe)

/** A stored keyframe. @throws {StorageError} `corrupt` when it is not one. */
export function parseKeyframe({ text, seq }: StoredKeyframe): { readonly span: number; readonly keyframe: Keyframe } {
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch (error) {
    throw new StorageError('corrupt', `The keyframe of ${seq} events is not JSON`, { seq }, { cause: error })
  }
  const { span, keyframe } = (parsed ?? {}) as { readonly span?: unknown; readonly keyframe?: Keyframe | null }
  if (typeof span === 'number' && typeof keyframe === 'object' && keyframe !== null && keyframe.seq === seq) {
    return { span, keyframe }
  }
  throw new StorageError('corrupt', `What is stored as the keyframe of ${seq} events is none`, { seq })
}
