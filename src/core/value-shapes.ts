/** Shapes of plain values, to be put together. */
import { isSafeNonNegativeInteger } from './ids.ts'

/** Whether a value has a shape. */
export type Shape = (value: unknown) => boolean

export const isCount: Shape = isSafeNonNegativeInteger
export const isString: Shape = value => typeof value === 'string'
export const nullOr =
  (shape: Shape): Shape =>
  value =>
    value === null || shape(value)
export const listOf =
  (shape: Shape): Shape =>
  value =>
    Array.isArray(value) && value.every(shape)
/** Of an object: it may have other members too. */
export const membersOf =
  (members: { readonly [key: string]: Shape }): Shape =>
  value =>
    typeof value === 'object' &&
    value !== null &&
    Object.entries(members).every(([key, shape]) => shape((value as Record<string, unknown>)[key]))
