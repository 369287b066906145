/** Reading payloads that nobody checked, and saying what is wrong with them (SPEC I1). */

export type Fields = Readonly<Record<string, unknown>>

/** The members of a payload; none when it is not an object. */
export const fieldsOf = (data: unknown): Fields => (typeof data === 'object' && data !== null ? (data as Fields) : {})

export const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''

/** What an invariant answers with. Of texts no more is shown than names them. */
export const expected = (what: string, found: unknown): string => `expected ${what}, found ${shown(found)}`

function shown(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (Array.isArray(value)) return `a list of ${value.length}`
  if (typeof value === 'object' && value !== null) return 'an object'
  return JSON.stringify(typeof value === 'string' ? value.slice(0, 40) : value)
}
