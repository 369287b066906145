/** What models cost. The demo's own cost nothing: their prices are invented, to show what a price table is for. */
import type { Prices, PriceTable } from 'palimpsest/views'

/** Per million tokens. */
const examples: ReadonlyMap<string, Prices> = new Map([
  ['embedded-small', { input: 0.2, output: 0.8, cacheRead: 0.02, cacheWrite: 0.25, currency: 'USD' }],
  ['embedded-large', { input: 2, output: 8, cacheRead: 0.2, cacheWrite: 2.5, currency: 'USD' }],
])

export const priceOf: PriceTable = (provider, model) =>
  provider === 'demo.chat' ? (examples.get(model) ?? null) : null
