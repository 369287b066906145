/** Failures as data: what goes into a log when a model call or a turn fails. */
import { PalimpsestError } from '../core/errors.ts'
import type { LlmFailure } from '../core/events.ts'
import { wellFormedText } from '../core/well-formed.ts'

/** Longest text of a failure that is logged, UTF-16 units. */
const MAX_MESSAGE = 2_000

/** The text of an error and of what caused it, outermost first, bounded. Works for anything that can be thrown. */
export function errorText(error: unknown): string {
  const parts: string[] = []
  let current: unknown = error
  for (let depth = 0; depth < 5 && current !== undefined && current !== null; depth += 1) {
    const text = ownText(current)
    if (text.trim() !== '' && !parts.includes(text)) parts.push(text)
    current = causeOf(current)
  }
  return bounded(parts.join(': ') || 'Unknown error')
}

/** `text`, well-formed and at most `max` long. */
export function bounded(text: string, max: number = MAX_MESSAGE): string {
  return wellFormedText(text.length <= max ? text : `${text.slice(0, max - 1)}…`)
}

/** A value that cannot even be looked at has no text. */
function ownText(error: unknown): string {
  try {
    return textOf(error)
  } catch {
    return ''
  }
}

function causeOf(error: unknown): unknown {
  try {
    return typeof error === 'object' && error !== null && 'cause' in error ? error.cause : undefined
  } catch {
    return undefined
  }
}

function textOf(error: unknown): string {
  if (typeof error === 'string') return error
  if (typeof error !== 'object' || error === null) return String(error)
  if ('message' in error && typeof error.message === 'string' && error.message !== '') return error.message
  return 'name' in error && typeof error.name === 'string' ? error.name : ''
}

/** Any error as the failure a turn ends with: our own keep their code, others are `UNKNOWN`. */
export function failureOf(error: unknown): LlmFailure {
  if (error instanceof ModelFailure) return error.failure
  const code = error instanceof PalimpsestError ? String(error.code).toUpperCase().replaceAll('-', '_') : 'UNKNOWN'
  return { message: errorText(error), code }
}

/** Thrown by a model adapter whose call failed with known facts. */
export class ModelFailure extends PalimpsestError<'model'> {
  override readonly name = 'ModelFailure'
  readonly failure: LlmFailure

  constructor(failure: LlmFailure, options?: ErrorOptions) {
    super('model', failure.message, {}, options)
    this.failure = failure
  }
}
