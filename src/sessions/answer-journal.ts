/**
 * The journal of an answer that is streaming: what came so far, kept outside the log until an event settles the call, so
 * that a crash costs a moment of it and not all (SPEC W16, R9).
 */
import { jsonText } from '../core/json.ts'
import type { RunningCall } from '../core/settlement.ts'
import type { TimedChunk } from '../core/stream-records.ts'
import type { JournalPart } from '../storage/storage.ts'

/** Time between two writes, ms. */
const WRITE_MS = 250

/** Collects chunks and hands them on a few times a second, the first at once. */
export class AnswerJournal {
  readonly #write: (text: string, isFirst: boolean) => void
  #call: RunningCall | null = null
  #waiting: (TimedChunk | { readonly call: RunningCall })[] = []
  /** Nothing of the call was written yet. */
  #isFirst = true
  #timer: ReturnType<typeof setTimeout> | null = null

  /** `write` takes the next pieces as JSON texts, separated by commas; `isFirst`: they are the first of their call. */
  constructor(write: (text: string, isFirst: boolean) => void) {
    this.#write = write
  }

  /** The call that is running, or null. */
  get call(): RunningCall | null {
    return this.#call
  }

  /** A call begins. Nothing is written before its first chunk. */
  begin(call: RunningCall): void {
    this.end()
    this.#call = call
    this.#isFirst = true
    this.#waiting.push({ call })
  }

  push(chunk: TimedChunk): void {
    if (this.#call === null) return
    this.#waiting.push(chunk)
    if (this.#timer === null) this.#writeNow()
  }

  /** Hands on what waits. */
  flush(): void {
    if (this.#timer !== null && this.#waiting.length > 0) this.#writeNow()
  }

  /** The call was settled, or nobody will: nothing more of it is written. */
  end(): void {
    this.#call = null
    this.#waiting = []
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
  }

  #writeNow(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    const text = jsonText(this.#waiting).slice(1, -1)
    this.#waiting = []
    this.#timer = setTimeout(() => {
      this.#timer = null
      if (this.#waiting.length > 0) this.#writeNow()
    }, WRITE_MS)
    const isFirst = this.#isFirst
    this.#isFirst = false
    this.#write(text, isFirst)
  }
}

/** A call that was cut off, with what came of its answer. */
export type CutOffCall = { readonly call: RunningCall; readonly chunks: readonly TimedChunk[] }

/**
 * What a journal holds; null when it holds nothing that can be read. A part that is missing or unreadable ends it: what
 * came before it is kept.
 */
export function readJournal(parts: readonly JournalPart[]): CutOffCall | null {
  const pieces: unknown[] = []
  for (const [index, { part, text }] of parts.entries()) {
    const read = part === index ? piecesOf(text) : null
    if (read === null) break
    // Not as arguments of one call: an answer that waited for its storage is one long part.
    for (const piece of read) pieces.push(piece)
  }
  const [first, ...chunks] = pieces
  const { call } = (first ?? {}) as { readonly call?: unknown }
  return isCall(call) ? { call, chunks: chunks as TimedChunk[] } : null
}

function piecesOf(text: string): readonly unknown[] | null {
  try {
    const pieces: unknown = JSON.parse(text)
    return Array.isArray(pieces) ? pieces : null
  } catch {
    // It was written whole or not at all: then it is no journal of ours.
    return null
  }
}

function isCall(value: unknown): value is RunningCall {
  if (typeof value !== 'object' || value === null) return false
  const { attemptId, messageId, turn, step, provider, model } = value as Record<string, unknown>
  const texts = [attemptId, messageId, provider, model]
  return texts.every(text => typeof text === 'string') && Number.isSafeInteger(turn) && Number.isSafeInteger(step)
}
