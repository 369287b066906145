/**
 * Branded ids. A brand keeps a seq from being passed where a length or a position is meant; it costs nothing at run
 * time. They are made here and nowhere else.
 */
declare const brand: unique symbol

type Branded<Base, Name extends string> = Base & { readonly [brand]: Name }

/** Position of an event in its session's log: 0-based, dense. */
export type SessionSeq = Branded<number, 'SessionSeq'>
/** Name of a session; any non-empty string, unique in its storage. */
export type SessionId = Branded<string, 'SessionId'>
/** Name of one physical log. A fork has a log of its own and inherits ranges of others. */
export type LogId = Branded<string, 'LogId'>
/** Name a model gave to one tool call. Unique within its assistant message, not across the session. */
export type CallId = Branded<string, 'CallId'>
/** Name of a message, kept wherever the message goes: inbox, log, request. */
export type MessageId = Branded<string, 'MessageId'>

/** Name of the bytes of an attachment, made from what they are: `sha256:` and 64 hexadecimal digits. */
export type BlobId = Branded<string, 'BlobId'>

/** A safe integer that is at least 0 and is not −0 (SPEC L2). */
export function isSafeNonNegativeInteger(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0 && !Object.is(value, -0)
}

/** A number as a seq. Checks nothing: seqs from outside are checked where they are admitted. */
export const SessionSeq = (value: number): SessionSeq => value as SessionSeq
export const SessionId = (value: string): SessionId => value as SessionId
export const LogId = (value: string): LogId => value as LogId
export const CallId = (value: string): CallId => value as CallId
export const MessageId = (value: string): MessageId => value as MessageId
export const BlobId = (value: string): BlobId => value as BlobId
