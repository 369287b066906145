/** What a session has spent, in words. */
import { costOf, type ModelUsage, type UsageState } from 'palimpsest/views'
import { counted, grouped, tokens } from '../app/format.ts'
import { priceOf } from './prices.ts'

/** An amount of money: `$1.25`, `$0.0042`; without a currency the number alone. */
export function money(amount: number, currency: string | null): string {
  const sign = currency === null ? '' : (signs.get(currency) ?? `${currency} `)
  // Two digits that say something, however small it is.
  const digits = amount > 0 && amount < 0.1 ? 1 - Math.floor(Math.log10(amount)) : 2
  const [whole = '', part = ''] = amount.toFixed(Math.min(digits, 12)).split('.')
  return `${sign}${grouped(Number(whole))}.${part.replace(/(?<=..)0+$/, '')}`
}

const signs: ReadonlyMap<string, string> = new Map([
  ['USD', '$'],
  ['EUR', '€'],
  ['GBP', '£'],
])

/** All of it in a line. */
export function spentWords(usage: UsageState): string {
  const { inputTokens, outputTokens, cacheReadTokens = 0, cacheWriteTokens = 0 } = usage.total
  const read = inputTokens + cacheReadTokens + cacheWriteTokens
  return [
    counted(usage.calls, 'call'),
    `${tokens(read)} tokens read, ${tokens(outputTokens)} written`,
    costWords(usage),
  ].join(' · ')
}

/** The cost of all models together, and of how many it is not known. */
function costWords(usage: UsageState): string {
  const { amount, currency, unpriced } = costOf(usage, priceOf)
  if (unpriced.length === usage.byModel.length) return 'no price known'
  const cost = `${money(amount, currency)} at example prices`
  return unpriced.length === 0 ? cost : `${cost}, ${counted(unpriced.length, 'model')} without a price`
}

/** The cost of one model. */
export function modelCostWords(usage: UsageState, own: ModelUsage): string {
  const { amount, currency, unpriced } = costOf({ ...usage, byModel: [own] }, priceOf)
  return unpriced.length > 0 ? 'no price known' : money(amount, currency)
}

/** A model and whose it is. */
export const modelName = ({ provider, model }: Pick<ModelUsage, 'provider' | 'model'>): string =>
  model === '' ? 'not known' : provider === '' ? model : `${model}, ${provider}`
