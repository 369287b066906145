/** What happened, in words a person can act on: failures, endings of turns, refusals. */
import type { StorageState } from 'palimpsest'
import type { LlmFailure, TurnEndReason } from 'palimpsest/core'
import type { ToolApproval } from 'palimpsest/views'
import { bytes } from './format.ts'

/** What happened, and what to do about it. */
export type Words = { readonly what: string; readonly hint: string }

const FAILED = 'This turn failed.'
const AGAIN = 'Try again, or send something else.'

/** Words for how a turn ended; null for a turn that ended well. */
export function endingWords(reason: TurnEndReason): Words | null {
  switch (reason.kind) {
    case 'completed':
      return null
    case 'aborted':
      if (reason.reason.kind === 'user') return { what: 'You stopped this turn.', hint: 'What had arrived is kept.' }
      return { what: 'This turn was stopped.', hint: 'The session was closed while it ran. Send something to go on.' }
    case 'interrupted':
      return {
        what: 'This turn was interrupted.',
        hint: 'The page was closed or its worker ended in the middle of it. What had arrived is kept.',
      }
    case 'blocked':
      return { what: 'This turn was blocked.', hint: AGAIN }
    case 'max-tokens':
      return { what: 'The answer reached its length limit.', hint: 'Ask for the rest, or for something shorter.' }
    case 'error':
      return failureWords(reason.error)
  }
}

export function failureWords({ code, providerRetryAfterMs }: LlmFailure): Words {
  const wait = providerRetryAfterMs === undefined ? 'Wait a little' : `Wait ${Math.ceil(providerRetryAfterMs / 1000)} s`
  switch (code) {
    case 'AUTH':
      return { what: 'The provider refused the key.', hint: 'Check the key under Provider, then try again.' }
    case 'RATE_LIMIT':
      return { what: 'The provider asks for a pause: too many requests.', hint: `${wait}, then try again.` }
    case 'INSUFFICIENT_QUOTA':
      return { what: 'The account behind the key has no quota left.', hint: 'Use another key under Provider.' }
    case 'OVERLOADED':
      return { what: 'The provider is overloaded.', hint: `${wait}, then try again.` }
    case 'SERVER':
      return { what: 'The provider had an internal error.', hint: 'It is not your prompt. Try again.' }
    case 'CONTEXT_WINDOW_EXCEEDED':
      return {
        what: 'The conversation is too long for the model.',
        hint: 'Use a model with a larger window under Provider, or start a new session.',
      }
    case 'TRANSPORT':
      return {
        what: 'The connection to the provider failed.',
        hint: 'Check the network and the base URL, then try again.',
      }
    case 'TIMEOUT':
      return { what: 'The provider took too long.', hint: AGAIN }
    case 'MODEL_NOT_FOUND':
      return { what: 'The provider does not have this model.', hint: 'Check the model under Provider, then try again.' }
    case 'INVALID_REQUEST':
      return { what: 'The provider refused the request.', hint: 'Check model and address under Provider.' }
    case 'EMPTY_RESPONSE':
      return { what: 'The provider answered with nothing.', hint: AGAIN }
    case 'STEP_LIMIT':
      return { what: 'The turn had too many steps.', hint: 'Ask for less at once.' }
    default:
      return { what: FAILED, hint: AGAIN }
  }
}

/** What went wrong, as a part of a sentence. */
export function failureInShort(failure: LlmFailure): string {
  const { what } = failureWords(failure)
  return what === FAILED ? failure.message : `${what.charAt(0).toLowerCase()}${what.slice(1)}`.replace(/\.$/, '')
}

/** What became of asking a person whether a call may run; empty while nobody has decided. */
export function approvalWords(state: ToolApproval['state']): string {
  switch (state) {
    case 'asked':
      return ''
    case 'allowed-once':
      return 'You allowed this once'
    case 'rejected':
      return 'You rejected this'
    case 'cancelled':
      return 'Cancelled before anybody decided'
    case 'unavailable':
      return 'Nobody could be asked'
  }
}

/** Name, code and message of anything that was thrown. */
export function errorFacts(error: unknown): { readonly code: string; readonly message: string } {
  const { code, message } = (typeof error === 'object' && error !== null ? error : {}) as Partial<
    Record<string, unknown>
  >
  return { code: typeof code === 'string' ? code : '', message: typeof message === 'string' ? message : String(error) }
}

/** Why a prompt was not taken. */
export function refusalWords(error: unknown): string {
  const { code, message } = errorFacts(error)
  switch (code) {
    case 'empty-prompt':
      return 'There is nothing to send: the message has no visible text. Your draft is kept.'
    case 'malformed-prompt':
      return 'The message holds broken characters that no provider can read. Nothing was sent; your draft is kept.'
    case 'lost':
    case 'unresponsive':
    case 'start-failed':
    case 'start-timeout':
      return 'The agent’s worker is gone. Reload to go on; your draft is kept.'
    case 'closed':
      return 'This session was closed or deleted, so nothing was sent. Reload or start a new session; your draft is kept.'
    default:
      return `The message was not sent: ${message} Your draft is kept.`
  }
}

/** Why a person's answer was not taken. */
export function answerRefusalWords(error: unknown): string {
  const { code, message } = errorFacts(error)
  if (code === 'lost' || code === 'unresponsive') {
    return 'The agent’s worker is gone. Reload: you are asked again, unless your answer was recorded before.'
  }
  return `Your answer was not taken, and nothing ran: ${message}`
}

/** Why there is no other branch. */
export function branchRefusalWords(error: unknown): string {
  const { code, message } = errorFacts(error)
  switch (code) {
    case 'empty-prompt':
      return 'There is nothing to send: the message has no visible text.'
    case 'malformed-prompt':
      return 'The message holds broken characters that no provider can read.'
    case 'invalid-boundary':
      return 'No turn began with this message, so there is nothing to have again.'
    case 'open-turn':
      return 'This turn has not ended yet. Stop it, or wait for its end.'
    case 'closed':
      return 'This session was closed or deleted. Reload to go on.'
    case 'lost':
    case 'unresponsive':
      return 'The agent’s worker is gone. Reload to go on.'
    default:
      return `That did not work: ${message}`
  }
}

/** Why a file was not attached; its name goes before. */
export function notAttachedWords(error: unknown): string {
  const { code, message } = errorFacts(error)
  if (code === 'too-large') return message
  if (code === 'quota-exceeded') return 'was not attached: the browser’s storage is full.'
  return `was not attached: ${message}`
}

/** What became of a session that was left and could not be saved. `isKept`: it is still open in the worker. */
export function unsavedWords(title: string, error: unknown, isKept: boolean): string {
  const { code, message } = errorFacts(error)
  if (!isKept) return `“${title}” is written by another tab now; what this tab had not saved is not in it.`
  const why = code === 'quota-exceeded' ? 'the browser’s storage is full.' : message.replace(/[^.!?…]$/, '$&.')
  return `“${title}” could not be saved: ${why} It is kept in memory; free some space, then open it again.`
}

/** Why a session was not deleted; its name goes before. */
export function notDeletedWords(error: unknown): string {
  const { code, message } = errorFacts(error)
  if (code === 'in-use') return 'was not deleted: it is open in another tab.'
  if (code === 'quota-exceeded') return 'was not deleted: the browser’s storage is too full to keep it for a while.'
  return `was not deleted: ${message}`
}

/** Of what the browser allows, what may be used before it is worth a word. */
const MUCH = 0.8

/** What this browser stores; null where it does not say. `warning`: there is not much room left. */
export function storageWords({ usage, quota, isPersisted }: StorageState): {
  readonly stored: string
  readonly warning: string
} | null {
  if (usage === null) return null
  if (usage === 0) return { stored: 'Nothing stored yet.', warning: '' }
  const promise = isPersisted ? 'The browser keeps it.' : 'The browser may clear it when space runs low.'
  const used = quota === null || quota <= 0 ? 0 : Math.min(1, usage / quota)
  const stored = `${bytes(usage)} stored. ${promise}`
  if (quota === null || used < MUCH) return { stored, warning: '' }
  const share = `${Math.floor(used * 100)} % of the ${bytes(quota)} this browser allows are used.`
  return { stored, warning: `${share} Delete sessions for good to make room; export first what you want to keep.` }
}

/** What the browser answered when it was asked to keep what is stored. */
export const promiseWords = (isPersisted: boolean): string =>
  isPersisted
    ? 'The browser promised to keep it.'
    : 'The browser did not promise it. It is more likely to once this page is bookmarked, installed, or used more often.'

/** Why a session cannot be shown. */
export function openFailureWords(error: unknown): Words {
  const { code, message } = errorFacts(error)
  switch (code) {
    case 'deleted':
      return {
        what: 'This session was deleted.',
        hint: 'It is kept for a week, as it was, and can be brought back until then.',
      }
    case 'in-use':
      return { what: 'This session is open in another tab.', hint: 'Close it there, then try again.' }
    case 'lost':
    case 'unresponsive':
    case 'start-failed':
    case 'start-timeout':
      return { what: 'The agent’s worker is gone.', hint: `Reload to go on. ${message}` }
    case 'unavailable':
    case 'blocked':
      return { what: 'The browser’s storage cannot be used now.', hint: message }
    default:
      return { what: 'This session cannot be opened.', hint: `${message} What is stored was not changed.` }
  }
}
