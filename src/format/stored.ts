/** A log as it is stored, of any version: only what all versions share is known of it. */

/** One event of a stored log. Its `seq` is dense; of the rest only what the reader of its version checks is certain. */
export type StoredEvent = {
  readonly type: string
  readonly seq: number
  /** Epoch ms. */
  readonly time: number
  readonly data: unknown
  readonly ignorable?: true
  readonly surfaceOp?: unknown
  readonly sourceEventSeqs?: unknown
}

/** The first line of a stored log, without its `type`; its other members are those of its version. */
export type StoredHeader = {
  readonly version: number
  readonly id: string
  /** Epoch ms. */
  readonly createdAt: number
  readonly [member: string]: unknown
}
