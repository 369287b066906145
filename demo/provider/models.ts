/** The models of the embedded provider and the size of their windows in tokens. */
export const models: ReadonlyMap<string, number> = new Map([
  ['embedded-small', 16_000],
  ['embedded-large', 128_000],
])
