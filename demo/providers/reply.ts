/** One request of a connection test: with a time limit, without redirects, and read no further than is of use. */

export type PlainFetch = (url: string, init?: RequestInit) => Promise<Response>

/** What came back. A browser says no more of a failed request than that it failed: that is `unreachable`. */
export type Reply = Answer | { readonly kind: 'unreachable' | 'timeout' | 'redirect' }
export type Answer = {
  readonly kind: 'answer'
  readonly status: number
  /** The body as JSON; undefined when it is none. */
  readonly json: unknown
  /** What the answer says of an error, masked and on one line; '' when it says nothing that can be shown. */
  readonly said: string
  /** Its machine-readable code and type, if any. For telling errors apart, never shown. */
  readonly marks: string
  readonly retryAfter: string | null
}

export type AskOptions = {
  readonly fetch: PlainFetch
  readonly signal: AbortSignal | undefined
  readonly timeoutMs: number
  /** Never shown, whatever is. */
  readonly key: string
}

/** Lists of models are long; nothing else is. */
const sizeLimit = 8 * 1024 * 1024
const saidLimit = 240

/** Sends one request. Rejects only when `signal` aborts, with its reason. */
export async function ask(url: string, init: RequestInit, options: AskOptions): Promise<Reply> {
  const { fetch, signal, timeoutMs, key } = options
  const limit = new AbortController()
  const timer = setTimeout(() => limit.abort(), timeoutMs)
  try {
    signal?.throwIfAborted()
    const response = await fetch(url, {
      redirect: 'manual',
      credentials: 'omit',
      cache: 'no-store',
      referrerPolicy: 'no-referrer',
      ...init,
      signal: signal ? AbortSignal.any([signal, limit.signal]) : limit.signal,
    })
    const { status, type, headers } = response
    if (type === 'opaqueredirect' || (status >= 300 && status < 400)) return { kind: 'redirect' }
    const text = await readText(response)
    const json = parsed(text)
    const isText = /^text\/plain/.test(headers.get('content-type') ?? '')
    const said = masked(errorText(json) || (isText ? text : ''), key)
    return { kind: 'answer', status, json, said, marks: errorMarks(json), retryAfter: headers.get('retry-after') }
  } catch {
    signal?.throwIfAborted()
    return { kind: limit.signal.aborted ? 'timeout' : 'unreachable' }
  } finally {
    clearTimeout(timer)
  }
}

/** A foreign text that can be shown: without the key and what looks like one, on one line, bounded. */
export function masked(text: string, key: string): string {
  const forms = key === '' ? [] : [key, encodeURIComponent(key)]
  const bare = forms.reduce((rest, form) => rest.replaceAll(form, '•••'), text)
  const line = bare
    .replace(/\b(bearer)\s+[^\s"',;]+/gi, '$1 •••')
    .replace(/\b(?:sk-|gsk_|AIza)[\w*.…-]{4,}/g, '•••')
    .replace(/\s+/g, ' ')
    .trim()
  return line.length > saidLimit ? `${line.slice(0, saidLimit).replace(/[\ud800-\udbff]$/, '')}…` : line
}

export const fieldOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined

/** The body, or '' when it is larger than anything of use. */
async function readText(response: Response): Promise<string> {
  const decoder = new TextDecoder()
  const reader = response.body?.getReader()
  let text = ''
  for (let next = await reader?.read(); next && !next.done; next = await reader?.read()) {
    text += decoder.decode(next.value, { stream: true })
    if (text.length <= sizeLimit) continue
    await reader?.cancel()
    return ''
  }
  return text + decoder.decode()
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

/** Some providers wrap an error in a list. */
const errorBody = (json: unknown): unknown => (Array.isArray(json) ? json[0] : json)

/** Where providers put their words: `error.message`, `error`, `message` or `detail`. */
function errorText(json: unknown): string {
  const body = errorBody(json)
  const error = fieldOf(body, 'error')
  const texts = [fieldOf(error, 'message'), error, fieldOf(body, 'message'), fieldOf(body, 'detail')]
  return texts.find(each => typeof each === 'string') ?? ''
}

function errorMarks(json: unknown): string {
  const error = fieldOf(errorBody(json), 'error')
  return [fieldOf(error, 'code'), fieldOf(error, 'type')].filter(mark => typeof mark === 'string').join(' ')
}
