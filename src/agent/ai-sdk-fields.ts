/** Reading what others made: values whose shape nobody vouches for. */

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
