/** Reading what others made, whose shape nobody vouches for, and leaving out what is not there. */

/** The member `key` of an object; undefined for anything else, also when reading it fails. */
export function fieldOf(value: unknown, key: string): unknown {
  try {
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[key] : undefined
  } catch {
    return undefined
  }
}

/** The member `key` when it is text; '' otherwise. */
export function textField(value: unknown, key: string): string {
  const field = fieldOf(value, key)
  return typeof field === 'string' ? field : ''
}

/** The value as JSON; undefined when there is none of it. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The value as JSON text; '' when it has none. */
export function jsonTextOf(value: unknown): string {
  try {
    return JSON.stringify(value) ?? ''
  } catch {
    return ''
  }
}

/** A size in bytes for people: `12 kB`. */
export function sizeText(bytes: number): string {
  if (bytes < 1_000) return bytes === 1 ? '1 byte' : `${bytes} bytes`
  const [value, unit] = bytes < 1_000_000 ? [bytes / 1_000, 'kB'] : [bytes / 1_000_000, 'MB']
  return `${value < 9.95 ? Number(value.toFixed(1)) : Math.round(value)} ${unit}`
}

/** Members of `Fields`, those that may be undefined as optional ones. */
export type Defined<Fields> = {
  [Key in keyof Fields as undefined extends Fields[Key] ? never : Key]: Fields[Key]
} & { [Key in keyof Fields as undefined extends Fields[Key] ? Key : never]?: Exclude<Fields[Key], undefined> }

/** A copy of `fields` without members that are undefined. */
export function defined<Fields extends object>(fields: Fields): Defined<Fields> {
  return Object.fromEntries(Object.entries(fields).filter(entry => entry[1] !== undefined)) as Defined<Fields>
}
