/** Says whether a provider can be used from this page, and if not, why and what to do. Sends as little as it can. */
import {
  type AnthropicConfig,
  anthropicBaseURL,
  anthropicPageHeaders,
  isLoopback,
  type OpenAiCompatibleConfig,
  type ProviderConfig,
} from './config.ts'
import { type AskOptions, ask, fieldOf, masked, type PlainFetch, type Reply } from './reply.ts'
import { failureOf, type Target, unreachable, type Verdict } from './verdicts.ts'

export type { ConnectionFailureCode, Verdict } from './verdicts.ts'

export type TestContext = {
  readonly fetch?: PlainFetch
  /** Cancels the test, which then rejects with the signal's reason. */
  readonly signal?: AbortSignal
  /** The page that will use the provider. */
  readonly page?: { readonly origin: string; readonly protocol: string }
  readonly isOnline?: () => boolean
  /** How long each request may take, ms. */
  readonly timeoutMs?: number
}

type Test = { readonly target: Target; readonly options: AskOptions; readonly isOnline: () => boolean }

/** Tests a configuration. Its key is sent to its address alone, and is in nothing that this returns. */
export async function testConnection(config: ProviderConfig, context: TestContext = {}): Promise<Verdict> {
  const {
    fetch = (url, init) => globalThis.fetch(url, init),
    signal,
    page = globalThis.location,
    isOnline = () => navigator.onLine,
    timeoutMs = 15_000,
  } = context
  signal?.throwIfAborted()
  const test = (address: string, key: string): Test => ({
    target: { address, origin: new URL(address).origin, page, model: config.model, hasKey: key !== '' },
    options: { fetch, signal, timeoutMs, key },
    isOnline,
  })
  switch (config.kind) {
    case 'embedded': {
      if (config.via === 'http') return testOpenAi({ ...config, apiKey: '' }, test(`${page.origin}/v1`, ''))
      return { ok: true, message: 'The embedded provider is part of this page: it needs no connection and no key.' }
    }
    case 'openai-compatible':
      return testOpenAi(config, test(config.baseURL, config.apiKey))
    case 'anthropic':
      return testAnthropic(config, test(config.baseURL ?? anthropicBaseURL, config.apiKey))
  }
}

async function testOpenAi({ model, apiKey }: Pick<OpenAiCompatibleConfig, 'model' | 'apiKey'>, test: Test) {
  const { target, options } = test
  const { address, origin } = target
  const mixed = mixedContent(target)
  if (mixed !== null) return mixed
  const headers: HeadersInit = apiKey === '' ? {} : { authorization: `Bearer ${apiKey}` }
  const listing = await ask(`${address}/models`, { headers }, options)
  if (isDecisive(listing)) return failureOf(listing, target)

  const models = modelsIn(listing, apiKey)
  const isListed = models?.includes(model) ?? false
  // A list that everybody may read says nothing of the key.
  const isKeyChecked = isListed && (apiKey === '' || !isFine(await ask(`${address}/models`, {}, options)))
  const offer = models === null ? {} : { models }
  if (isKeyChecked) return { ok: true, message: `${origin} answers and offers ${model}.`, ...offer } as const

  const tried = await ask(`${address}/chat/completions`, post(headers, smallestRequest(model)), options)
  if (isFine(tried) && Array.isArray(fieldOf(tried.json, 'choices'))) return triedOut(target, offer)
  // Some models take no limit under this name, or none this low; they have read key and model by then.
  if (tried.kind === 'answer' && tried.status === 400 && /max_(?:completion_)?tokens|output limit/i.test(tried.said)) {
    return { ok: true, message: `${origin} answers, takes the request and knows ${model}.`, ...offer } as const
  }
  if (tried.kind === 'timeout' && isListed) {
    const message = `${origin} answers and offers ${model}, but takes long to answer: the key could not be checked.`
    return { ok: true, message, ...offer } as const
  }
  return explain(tried, test, models ?? [])
}

async function testAnthropic({ model, apiKey }: AnthropicConfig, test: Test): Promise<Verdict> {
  const { target, options } = test
  const { address, origin } = target
  const mixed = mixedContent(target)
  if (mixed !== null) return mixed
  const headers = { 'x-api-key': apiKey, 'anthropic-version': '2023-06-01', ...anthropicPageHeaders }
  const found = await ask(`${address}/models/${encodeURIComponent(model)}`, { headers }, options)
  if (isFine(found) && typeof fieldOf(found.json, 'id') === 'string') {
    return { ok: true, message: `${origin} answers, takes the key and has ${model}.` }
  }
  if (isDecisive(found)) return failureOf(found, target)
  if (found.kind === 'answer' && found.status === 404 && /^model: /.test(found.said)) {
    return failureOf(
      found,
      target,
      modelsIn(await ask(`${address}/models?limit=100`, { headers }, options), apiKey) ?? [],
    )
  }
  // Proxies may have no such page.
  const tried = await ask(`${address}/messages`, post(headers, smallestRequest(model)), options)
  if (isFine(tried) && fieldOf(tried.json, 'type') === 'message') return triedOut(target)
  return explain(tried, test, [])
}

const post = (headers: HeadersInit, body: object): RequestInit => ({
  method: 'POST',
  headers: { ...headers, 'content-type': 'application/json' },
  body: JSON.stringify(body),
})

const smallestRequest = (model: string) => ({ model, max_tokens: 1, messages: [{ role: 'user', content: 'Hi' }] })

const triedOut = ({ origin, model }: Target, offer: { readonly models?: string[] } = {}): Verdict => ({
  ok: true,
  message: `${origin} answers, and so did ${model}: it was asked for a single token.`,
  ...offer,
})

const isFine = (reply: Reply): reply is Extract<Reply, { kind: 'answer' }> =>
  reply.kind === 'answer' && reply.status >= 200 && reply.status < 300

/** No further request would tell more. */
const isDecisive = (reply: Reply): boolean =>
  reply.kind === 'timeout' || (reply.kind === 'answer' && [401, 402, 429].includes(reply.status))

/** Ids in a list of models; null when it is none. */
function modelsIn(reply: Reply, key: string): string[] | null {
  if (!isFine(reply)) return null
  const list = [reply.json, fieldOf(reply.json, 'data'), fieldOf(reply.json, 'models')].find(Array.isArray)
  return (
    list
      ?.map((item: unknown) => fieldOf(item, 'id') ?? fieldOf(item, 'name'))
      .filter(id => typeof id === 'string')
      // A short key is a placeholder ("ollama"), which an id may well hold.
      .filter(id => /^[\w./:@+-]{1,200}$/.test(id) && (key.length < 12 || masked(id, key) === id)) ?? null
  )
}

async function explain(reply: Reply, { target, options, isOnline }: Test, models: readonly string[]): Promise<Verdict> {
  if (reply.kind !== 'unreachable') return failureOf(reply, target, models)
  const isNear = target.origin === target.page.origin
  return unreachable(target, isOnline(), !isNear && (await isAnswering(target.address, options)))
}

/** Whether anybody answers there at all: a request whose answer the page may not read. It carries no key. */
async function isAnswering(address: string, options: AskOptions): Promise<boolean> {
  const reply = await ask(address, { mode: 'no-cors', redirect: 'follow' }, options)
  return reply.kind === 'answer'
}

function mixedContent({ address, page }: Target): Verdict | null {
  const { protocol, hostname } = new URL(address)
  if (page.protocol !== 'https:' || protocol !== 'http:' || isLoopback(hostname)) return null
  return {
    ok: false,
    code: 'mixed-content',
    message: 'This page came over https, so the browser does not let it use a plain http address.',
    hint: 'Use an https address. Plain http works only for a server on this computer (localhost).',
  }
}
