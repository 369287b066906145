/** What a connection test found, in a person's words. */
import { isLoopback } from './config.ts'
import type { Reply } from './reply.ts'

export type ConnectionFailureCode =
  | 'network-or-cors'
  | 'key'
  | 'model'
  | 'quota'
  | 'rate-limit'
  | 'server'
  | 'not-an-api'
  | 'mixed-content'
  | 'timeout'

export type Verdict =
  | { readonly ok: true; readonly message: string; readonly models?: readonly string[] }
  | { readonly ok: false; readonly code: ConnectionFailureCode; readonly message: string; readonly hint: string }

/** What is tested, and from where. */
export type Target = {
  readonly address: string
  readonly origin: string
  readonly page: { readonly origin: string; readonly protocol: string }
  readonly model: string
  readonly hasKey: boolean
}

const fail = (code: ConnectionFailureCode, message: string, hint: string): Verdict => ({
  ok: false,
  code,
  message,
  hint,
})

/** The verdict on a reply that is no success. `models`: what is offered, if known. */
export function failureOf(reply: Reply, target: Target, models: readonly string[] = []): Verdict {
  const { origin, model, hasKey } = target
  switch (reply.kind) {
    case 'unreachable':
      return unreachable(target, true, false)
    case 'timeout':
      return fail('timeout', `${origin} did not answer in time.`, 'Try again. If it stays so, check the address.')
    case 'redirect':
      return fail(
        'not-an-api',
        `${origin} sends requests on to another address.`,
        'A key is not sent after them. Use the address where it ends up.',
      )
    case 'answer':
  }
  const { status, said, marks, retryAfter } = reply
  const facts = `${marks} ${said}`
  const quote = said === '' ? '' : ` It said: “${said}”`
  if (status === 402 || (status >= 400 && status < 500 && isAboutQuota(said))) {
    return fail(
      'quota',
      `The account behind the key has no quota left.${quote}`,
      'Add credit there, or use another key.',
    )
  }
  if (status === 401 || status === 403) {
    if (!hasKey)
      return fail('key', `${origin} wants a key (status ${status}).${quote}`, 'Enter a key of this provider.')
    return fail(
      'key',
      `${origin} refused the key (status ${status}).${quote}`,
      'Check that the key is whole, belongs to this provider and may use this model.',
    )
  }
  if (status === 429) {
    const wait = /^\d+$/.test(retryAfter ?? '') ? `Wait ${retryAfter} s` : 'Wait a little'
    return fail('rate-limit', `${origin} asks for a pause: too many requests.${quote}`, `${wait}, then test again.`)
  }
  if (status >= 500) {
    return fail('server', `${origin} has trouble of its own (status ${status}).${quote}`, 'Try again later.')
  }
  if ((status === 404 && /\bmodel\b/i.test(facts)) || (status >= 400 && isAboutModel(facts))) {
    const some = models.slice(0, 5).join(', ')
    const more = models.length > 5 ? ' and more' : ''
    return fail(
      'model',
      `${origin} does not have the model ${model}.${quote}`,
      some === '' ? 'Check how the provider writes its name.' : `It offers ${some}${more}.`,
    )
  }
  const what =
    status >= 200 && status < 300 ? 'answers, but not as such a provider does' : `answers with status ${status}`
  return fail('not-an-api', `${origin} ${what}.${quote}`, addressHint(target))
}

/** Nothing came back. `isAnswering`: somebody is there, but does not let this page read the answer. */
export function unreachable({ address, origin, page }: Target, isOnline: boolean, isAnswering: boolean): Verdict {
  if (isAnswering) {
    return fail(
      'network-or-cors',
      `${origin} answers, but does not allow this page to read what it says (CORS).`,
      `Allow the origin ${page.origin} in the server's settings, or use an address that answers to browsers.`,
    )
  }
  const { protocol, hostname } = new URL(address)
  const here = isLoopback(hostname)
  if (!isOnline && !here) {
    return fail('network-or-cors', 'This device is offline.', 'Connect it, or use the embedded provider meanwhile.')
  }
  const hint = here
    ? 'Check that the server runs on this computer, under this port, and that the browser may reach the local network.'
    : protocol === 'http:' && origin !== page.origin
      ? 'Check the address. A published page may use plain http only for a server on this computer (localhost).'
      : 'Check the address and the network. The browser does not tell more.'
  return fail('network-or-cors', `${origin} could not be reached.`, hint)
}

function addressHint({ address }: Target): string {
  const { pathname } = new URL(address)
  if (/\/(?:chat\/completions|messages|models)$/.test(pathname)) {
    return 'Give the address without its last part: the page adds what it needs.'
  }
  return /\/v\d/.test(pathname)
    ? 'Check the base URL: it is the part before /chat/completions or /messages.'
    : `The base URL may lack its end: try ${address}/v1`
}

const isAboutQuota = (facts: string): boolean => /insufficient_quota|current quota|credit balance|billing/i.test(facts)

const isAboutModel = (facts: string): boolean =>
  /model_not_found|(?:invalid|unknown|unsupported|no such|not a valid) model|model\b.*\b(?:not (?:a valid|found|exist|available|supported)|invalid|unknown|n[o']t exist)/i.test(
    facts,
  )
