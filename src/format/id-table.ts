/** What is known by id over a whole log, as the state of a fold. */
import type { JsonValue } from '../core/json.ts'

/**
 * Values by id, each put in once. A table never changes: `added` makes another one that shares what both know, so that
 * nothing is copied as long as each is made from the latest.
 */
export type IdTable<Value> = {
  readonly size: number
  /** In the order they came. What later tables put in is there as well: a table knows the first `size` of them. */
  readonly shared: Map<string, { readonly at: number; readonly value: Value }>
}

export function idTable<Value>(entries: Iterable<readonly [id: string, value: Value]> = []): IdTable<Value> {
  const shared = new Map<string, { readonly at: number; readonly value: Value }>()
  for (const [id, value] of entries) shared.set(id, { at: shared.size, value })
  return { size: shared.size, shared }
}

export function valueOf<Value>({ size, shared }: IdTable<Value>, id: string): Value | undefined {
  const entry = shared.get(id)
  return entry !== undefined && entry.at < size ? entry.value : undefined
}

/** The same table when it knows the id. */
export function added<Value>(table: IdTable<Value>, id: string, value: Value): IdTable<Value> {
  if (valueOf(table, id) !== undefined) return table
  // Somebody went on from here another way.
  const { size, shared } = table.shared.size > table.size ? idTable(entriesOf(table)) : table
  shared.set(id, { at: size, value })
  return { size: size + 1, shared }
}

/** What a table knows, in the order it came. */
export const entriesOf = <Value>({ size, shared }: IdTable<Value>): readonly (readonly [id: string, value: Value])[] =>
  [...shared].slice(0, size).map(([id, { value }]) => [id, value] as const)

/** A table from its entries, as `entriesOf` gave them. */
export function tableFromJson<Value>(json: JsonValue | undefined): IdTable<Value> {
  if (!Array.isArray(json)) throw new TypeError('no table of ids')
  return idTable(json as unknown as readonly (readonly [string, Value])[])
}
