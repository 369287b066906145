/** What a session has cost in money, by the prices its reader knows (SPEC V8). */
import type { ModelUsage, UsageState } from './usage.ts'

/** What a model costs, per million tokens. */
export type Prices = {
  /** Of input that was neither read from a cache nor written to one. */
  readonly input: number
  /** Of output, reasoning included. */
  readonly output: number
  /** Of input read from a cache; default: as `input`. */
  readonly cacheRead?: number
  /** Of input written to a cache; default: as `input`. */
  readonly cacheWrite?: number
  /** Such as `USD`. Prices that do not say are in the currency of the others. */
  readonly currency?: string
}

/** The prices of a model; null when they are not known. */
export type PriceTable = (provider: string, model: string) => Prices | null

export type Cost = {
  /** Sum over all models with a price, in `currency`. */
  readonly amount: number
  /** Null when no price says one. */
  readonly currency: string | null
  /** Models that are not in `amount`: without a price, or priced in another currency than those before them. */
  readonly unpriced: readonly Pick<ModelUsage, 'provider' | 'model'>[]
}

/** What `usage` cost by `prices`. Tokens a provider did not report cost nothing. */
export function costOf({ byModel }: UsageState, prices: PriceTable): Cost {
  let amount = 0
  let currency: string | null = null
  const unpriced: Pick<ModelUsage, 'provider' | 'model'>[] = []
  for (const { provider, model, total } of byModel) {
    const price = prices(provider, model)
    const own: string | null = price?.currency ?? currency
    const cost = price === null ? NaN : priced(total, price)
    if (Number.isFinite(cost) && (currency === null || currency === own)) {
      amount += cost
      currency = own
    } else unpriced.push({ provider, model })
  }
  return { amount, currency, unpriced }
}

function priced(total: ModelUsage['total'], { input, output, cacheRead = input, cacheWrite = input }: Prices): number {
  const { inputTokens, outputTokens, cacheReadTokens = 0, cacheWriteTokens = 0 } = total
  const millionths =
    inputTokens * input + outputTokens * output + cacheReadTokens * cacheRead + cacheWriteTokens * cacheWrite
  return millionths / 1e6
}
