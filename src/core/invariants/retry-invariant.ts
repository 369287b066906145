/** Chains of retries: how a failed model call is tried again (SPEC I8). */
import type { Fold } from '../fold.ts'
import { isSafeNonNegativeInteger, SessionSeq } from '../ids.ts'
import type { Invariant, LogView } from '../invariant.ts'
import { requestFold } from '../request-header.ts'
import { turnsFold } from '../turns.ts'
import { expected, type Fields, fieldsOf, isText } from './payload.ts'
import { openStepProblem } from './place.ts'

/** Retries of one step with one provider and policy. */
export type RetryChain = {
  readonly retryId: string
  readonly step: number
  readonly provider: string
  readonly policyKey: string
  /** Number of the latest retry. */
  readonly retry: number
  /** It has been planned and not been started. */
  readonly isWaiting: boolean
}

/**
 * The chains of the open turn. Those of earlier turns are let go of, so that this stays small in a long log.
 */
export type RetryState = { readonly chains: readonly RetryChain[] }

const NO_CHAINS: RetryState = Object.freeze({ chains: Object.freeze([]) })

const isNumber = (value: unknown): value is number => typeof value === 'number'

const chainOf = ({ chains }: RetryState, { step, provider, policyKey }: Fields): RetryChain | undefined =>
  chains.find(each => each.step === step && each.provider === provider && each.policyKey === policyKey)

const chainNamed = ({ chains }: RetryState, { step, retryId }: Fields): RetryChain | undefined =>
  chains.find(each => each.step === step && each.retryId === retryId)

const withChain = ({ chains }: RetryState, old: RetryChain | undefined, chain: RetryChain): RetryState => ({
  chains: old === undefined ? [...chains, chain] : chains.with(chains.indexOf(old), chain),
})

/** A malformed payload changes nothing. */
export const retryFold: Fold<RetryState> = {
  key: 'retry',
  version: 1,
  initial: () => NO_CHAINS,
  evolve(state, { event }) {
    switch (event.type) {
      case 'turn/start':
      case 'turn/end':
        return state.chains.length === 0 ? state : NO_CHAINS
      case 'llm/retry': {
        const data = fieldsOf(event.data)
        const { retryId, step, provider, policyKey, retry } = data
        if (!isText(retryId) || !isText(provider) || !isText(policyKey)) return state
        if (!isNumber(step) || !isNumber(retry)) return state
        return withChain(state, chainOf(state, data), { retryId, step, provider, policyKey, retry, isWaiting: true })
      }
      case 'llm/retry-started': {
        const data = fieldsOf(event.data)
        const chain = chainNamed(state, data)
        if (chain === undefined || chain.retry !== data['retry']) return state
        return withChain(state, chain, { ...chain, isWaiting: false })
      }
      default:
        return state
    }
  },
  toJSON: state => state,
  fromJSON(json) {
    const state = json as unknown as RetryState
    if (!state.chains.every(chain => isText(chain.retryId))) throw new TypeError('no chains of retries')
    return state
  },
}

export const retryInvariant: Invariant = {
  key: 'retry',
  folds: [retryFold],
  problem({ event }, log) {
    const isPlan = event.type === 'llm/retry'
    if (!isPlan && event.type !== 'llm/retry-started') return null
    const data = fieldsOf(event.data)
    const problem = openStepProblem(log.fold(turnsFold), data)
    return problem ?? (isPlan ? planProblem : startProblem)(data, log)
  },
}

function planProblem(data: Fields, log: LogView): string | null {
  const { retryId, provider, policyKey, retry, mode, maxRetries, delayMs } = data
  const state = log.fold(retryFold)
  if (!isText(retryId)) return expected('a retryId', retryId)
  if (!isText(policyKey)) return expected('a policyKey', policyKey)
  const logged = log.fold(requestFold).header?.data.header.config.provider
  if (provider !== logged) return expected(`the provider of the latest header, ${logged ?? 'which is none'}`, provider)
  const chain = chainOf(state, data)
  if (chain === undefined && isUsed(retryId, log)) return expected('a retryId no other chain has', retryId)
  if (chain !== undefined && retryId !== chain.retryId) return expected(`retryId ${chain.retryId}`, retryId)
  const next = (chain?.retry ?? 0) + 1
  if (retry !== next) return expected(`retry ${next}`, retry)
  if (mode !== 'normal' && mode !== 'always') return expected('mode normal or always', mode)
  if (mode === 'normal' ? !isSafeNonNegativeInteger(maxRetries) : maxRetries !== undefined) {
    return expected(mode === 'normal' ? 'maxRetries in mode normal' : 'no maxRetries in mode always', maxRetries)
  }
  // Jitter may leave a fraction.
  return Number.isFinite(delayMs) && (delayMs as number) >= 0 ? null : expected('delayMs of at least 0', delayMs)
}

/** Whether an earlier chain has this id, as far as the log is resident: all of it in `verify`. */
function isUsed(retryId: string, { length, eventAt }: LogView): boolean {
  for (let seq = length - 1; seq >= 0; seq -= 1) {
    const event = eventAt(SessionSeq(seq))
    if (event === undefined) return false
    if (event.type === 'llm/retry' && fieldsOf(event.data)['retryId'] === retryId) return true
  }
  return false
}

function startProblem(data: Fields, log: LogView): string | null {
  const { retryId, retry } = data
  const chain = chainNamed(log.fold(retryFold), data)
  if (chain === undefined) return expected('the retryId of a chain of this step', retryId)
  if (retry !== chain.retry) return expected(`retry ${chain.retry}`, retry)
  return chain.isWaiting ? null : `expected a retry that waits, found ${chain.retry} started`
}
