/** Making a foreign error text fit for a log: no key, no credentials in addresses, bounded (SPEC A10). */
import { wellFormedText } from '../core/well-formed.ts'
import { bounded } from './failure.ts'

const MASK = '•••'
/** Longest text kept of what a provider said. */
const MAX_TEXT = 1_000

const addresses = /\b(?:https?|wss?):\/\/[^\s"'`<>()[\]{}]+/gi
const bearers = /\b(bearer)\s+[^\s"'`,;]+/gi
/** Keys as the large providers shape them, also cut short or starred out by the provider. */
const keyShapes = /\b(?:sk-|gsk_|AIza)[\w*.…-]{4,}/g

/** `text` without secrets, readable and bounded. */
export function maskedText(text: string, secrets: readonly string[]): string {
  const forms = secrets
    .filter(secret => secret.trim())
    .flatMap(secret => [secret, encodeURIComponent(wellFormedText(secret))])
  // Longest first: one secret may be part of another.
  forms.sort((left, right) => right.length - left.length)
  const plain = text.replace(addresses, plainAddress)
  const masked = forms.reduce((rest, form) => rest.replaceAll(form, MASK), plain)
  return bounded(masked.replace(bearers, `$1 ${MASK}`).replace(keyShapes, MASK).trim(), MAX_TEXT)
}

/** The origin of an address, or '' when it has none. */
export function originOf(address: unknown): string {
  const origin = typeof address === 'string' && URL.canParse(address) ? new URL(address).origin : 'null'
  return origin === 'null' ? '' : origin
}

/** An address without credentials, query and fragment. */
function plainAddress(address: string): string {
  const origin = originOf(address)
  return origin ? (origin + new URL(address).pathname).replace(/\/$/, '') : '[address]'
}
