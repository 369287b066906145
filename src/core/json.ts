/**
 * The lossless-JSON snapshot: one iterative walk that checks, copies and freezes (SPEC L3, L4).
 *
 * What JSON cannot carry exactly is refused with the path of the value. Every property is read exactly once, so a
 * getter cannot show one value to the check and another to the log. The walk keeps its own stack: any depth works.
 */
import { SessionError } from './errors.ts'

export type JsonValue = null | boolean | number | string | readonly JsonValue[] | { readonly [key: string]: JsonValue }

/**
 * Values made by `shareJson`: deep-frozen and lossless, so they are recognised instead of walked again. Not every
 * snapshot is listed: a weak set is dear to the collector, and payloads are rarely handed in twice.
 */
const shared = new WeakSet()

/** A container whose member at `next` is being walked. */
type Frame = {
  readonly parent: Frame | null
  readonly depth: number
  readonly original: object
  /** Its own shallow copy: members that are containers are replaced one by one. */
  readonly copy: Members
  /** Own keys of an object; null for an array, whose keys are its positions. */
  readonly keys: readonly string[] | null
  next: number
}

type Members = Record<string | number, unknown>

/** Up to this depth ancestors are compared one by one; below it a set is kept. */
const SCANNED_DEPTH = 24

/**
 * A deep-frozen copy of `value`. Parts that `shareJson` made are shared, not copied.
 *
 * @throws {SessionError} `not-json` with the `path` of the first value JSON cannot carry exactly: undefined, functions,
 * symbols, bigints, NaN, infinities, −0, holes, extra array properties, hidden or symbol keys, cycles, class instances.
 * A container's own scalars are looked at before what is inside it. A throwing getter's own error passes through.
 */
export function snapshotJson<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null) {
    const what = unfit(value)
    return what === null ? value : refuse(what, '$')
  }
  if (Object.isFrozen(value) && shared.has(value)) return value
  return copyTree(value) as Value
}

/**
 * `snapshotJson` for a value that will be part of other payloads: later snapshots recognise it and do not walk it again.
 * A stream's chunks are shared once, on arrival.
 *
 * @throws {SessionError} `not-json`, as `snapshotJson` does.
 */
export function shareJson<Value>(value: Value): Value {
  const copy = snapshotJson(value)
  if (typeof copy === 'object' && copy !== null) shared.add(copy)
  return copy
}

function copyTree(root: object): object {
  let parent: Frame | null = null
  let ancestors: Set<object> | null = null
  let original: object | null = root

  for (;;) {
    let done: object | null = null
    if (original !== null) {
      // Down: a container nobody has looked at yet.
      const copy = copyOf(original, parent)
      const first = checkMembers(original, copy, parent)
      if (first !== -1) {
        const keys = Array.isArray(copy) ? null : Object.keys(copy)
        const depth: number = parent === null ? 1 : parent.depth + 1
        parent = { parent, depth, original, copy, keys, next: first - 1 }
        if (ancestors === null && depth > SCANNED_DEPTH) ancestors = new Set(originalsOf(parent))
        else ancestors?.add(original)
      } else {
        done = Object.freeze(copy)
      }
    }

    // Up: finished containers go into the ones that wait for them, until one has another member to walk.
    for (;;) {
      if (done !== null) {
        if (parent === null) return done
        // Also for `__proto__`: the copy has it as a member of its own, and that is what is set.
        parent.copy[keyAt(parent)] = done
      }
      // After the first round there is a parent: a container without one was finished above.
      const waiting: Frame = parent as Frame
      original = nextContainer(waiting)
      if (original !== null) {
        if (ancestors === null ? isAncestor(original, waiting) : ancestors.has(original))
          refuse('a cycle', pathOf(waiting))
        break
      }
      done = Object.freeze(waiting.copy)
      ancestors?.delete(waiting.original)
      parent = waiting.parent
    }
  }
}

/** Moves on to the next member that has to be walked, and returns it; null when there is none. */
function nextContainer(frame: Frame): object | null {
  const { copy, keys } = frame
  const length = keys === null ? (copy['length'] as number) : keys.length
  for (let next = frame.next + 1; next < length; next += 1) {
    const value = copy[keys === null ? next : (keys[next] as string)]
    if (isContainer(value)) {
      frame.next = next
      return value
    }
  }
  return null
}

const keyAt = ({ keys, next }: Frame): string | number => (keys === null ? next : (keys[next] as string))

/** A value that has to be walked: an object that `shareJson` did not make. */
const isContainer = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !(Object.isFrozen(value) && shared.has(value))

/**
 * Checks the scalar members of a copy and the keys of its original. Returns the position of the first member that has
 * to be walked, −1 when none has.
 */
function checkMembers(original: object, copy: Members, parent: Frame | null): number {
  let first = -1
  if (Array.isArray(copy)) {
    for (let position = 0; position < copy.length; position += 1) {
      const value: unknown = copy[position]
      if (typeof value === 'string') continue
      if (!isContainer(value)) checkScalar(value, position, parent)
      else if (first === -1) first = position
    }
    return first
  }
  let count = 0
  let last = ''
  // Nothing is cheaper in V8 than `for…in`; what a prototype adds to it comes last and is told apart below.
  for (const key in copy) {
    const value = copy[key]
    count += 1
    last = key
    if (typeof value === 'string') continue
    if (isContainer(value)) {
      if (first === -1) first = count - 1
    } else if (unfit(value) !== null && Object.hasOwn(copy, key)) {
      checkScalar(value, key, parent)
    }
  }
  const names = Object.getOwnPropertyNames(original)
  if (count !== names.length || (count > 0 && !Object.hasOwn(copy, last))) {
    if (plainKeys(original) === null) refuseHiddenKey(original, parent)
  }
  return first
}

function checkScalar(value: unknown, key: string | number, parent: Frame | null): void {
  const what = unfit(value)
  if (what !== null) refuse(what, pathOf(parent) + pathPart(key))
}

/** What a scalar is that JSON cannot carry; null when it can. */
function unfit(value: unknown): string | null {
  switch (typeof value) {
    case 'number':
      return Number.isFinite(value) ? (Object.is(value, -0) ? '−0' : null) : String(value)
    case 'string':
    case 'boolean':
    case 'object':
      return null
    default:
      return value === undefined ? 'undefined' : `a ${typeof value}`
  }
}

/** The own keys of `value`; null when one of them is hidden or a symbol. */
export function plainKeys(value: object): readonly string[] | null {
  // Keys, names and symbols apart are several times cheaper in V8 than Reflect.ownKeys.
  const keys = Object.keys(value)
  const hidden = Object.getOwnPropertyNames(value).length !== keys.length
  return hidden || Object.getOwnPropertySymbols(value).length > 0 ? null : keys
}

/**
 * A shallow copy of a plain object or array that has read each member once; `__proto__` is data in it like any other
 * key. Hidden keys of objects are found by `checkMembers`.
 */
function copyOf(value: object, parent: Frame | null): Members {
  const prototype: unknown = Object.getPrototypeOf(value)
  if (Array.isArray(value)) {
    if (prototype !== Array.prototype && !isNativePrototype(prototype, 'Array')) {
      refuse('an array of a subclass', pathOf(parent))
    }
    checkArrayKeys(value, value.length, parent)
    const copy: unknown = Array.prototype.slice.call(value)
    if (Object.getPrototypeOf(copy) !== Array.prototype) refuse('an array of a subclass', pathOf(parent))
    return copy as Members
  }
  if (prototype !== Object.prototype && prototype !== null && !isNativePrototype(prototype, 'Object')) {
    refuse(`an instance of ${nameOf(prototype)}`, pathOf(parent))
  }
  if (Object.getOwnPropertySymbols(value).length > 0) refuseHiddenKey(value, parent)
  return { ...value }
}

/** A dense array's own keys are exactly its positions, in order, then `length`: anything else shows as a shift. */
function checkArrayKeys(source: readonly unknown[], length: number, parent: Frame | null): void {
  const all = Reflect.ownKeys(source)
  if (all.length === length + 1 && all[length] === 'length' && areEnumerable(source, length)) return
  for (let position = 0; position < length; position += 1) {
    const path = () => `${pathOf(parent)}[${position}]`
    if (!Object.hasOwn(source, position)) refuse('a hole', path())
    if (!Object.prototype.propertyIsEnumerable.call(source, position)) refuse('a hidden element', path())
  }
  const extra = all.find(key => typeof key === 'symbol' || (key !== 'length' && !/^(0|[1-9]\d*)$/.test(key)))
  refuse(`an array with the extra property ${String(extra)}`, pathOf(parent))
}

/** Whether all elements of a dense array are; asked one by one while that is cheaper than a list of keys. */
function areEnumerable(source: readonly unknown[], length: number): boolean {
  if (length > 2) return Object.keys(source).length === length
  for (let position = 0; position < length; position += 1) {
    if (!Object.prototype.propertyIsEnumerable.call(source, position)) return false
  }
  return true
}

function refuseHiddenKey(source: object, parent: Frame | null): never {
  const hidden = Reflect.ownKeys(source).find(key => !Object.prototype.propertyIsEnumerable.call(source, key))
  const symbol = Object.getOwnPropertySymbols(source)[0]
  const key = hidden ?? symbol
  refuse(typeof key === 'symbol' ? `the symbol key ${String(key)}` : `the hidden key "${key}"`, pathOf(parent))
}

/** True for `Object.prototype` and `Array.prototype` of another realm (a frame, a worker's structured clone). */
function isNativePrototype(prototype: unknown, name: 'Object' | 'Array'): boolean {
  if (typeof prototype !== 'object' || prototype === null) return false
  const parent: unknown = Object.getPrototypeOf(prototype)
  if (name === 'Object' ? parent !== null : !isNativePrototype(parent, 'Object')) return false
  const descriptor = Object.getOwnPropertyDescriptor(prototype, 'constructor')
  const constructor: unknown = descriptor?.value
  if (typeof constructor !== 'function' || constructor.prototype !== prototype) return false
  return /^function (Object|Array)\(\)\s*\{\s*\[native code\]\s*\}$/.test(Function.prototype.toString.call(constructor))
}

function isAncestor(value: object, frame: Frame): boolean {
  for (let each: Frame | null = frame; each !== null; each = each.parent) if (each.original === value) return true
  return false
}

function originalsOf(frame: Frame): object[] {
  const originals: object[] = []
  for (let each: Frame | null = frame; each !== null; each = each.parent) originals.push(each.original)
  return originals
}

function refuse(what: string, path: string): never {
  throw new SessionError('not-json', `Expected a value JSON can carry exactly; found ${what} at ${path}`, { path })
}

/** Path of the member that `frame` is at: `$`, then one part for each frame. */
function pathOf(frame: Frame | null): string {
  let path = ''
  for (let each = frame; each !== null; each = each.parent) path = pathPart(keyAt(each)) + path
  return `$${path}`
}

function pathPart(key: string | number): string {
  if (typeof key === 'number') return `[${key}]`
  return /^[A-Za-z_$][\w$]*$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`
}

function nameOf(prototype: unknown): string {
  const descriptor = Object.getOwnPropertyDescriptor(prototype, 'constructor')
  const constructor: unknown = descriptor?.value
  return typeof constructor === 'function' && constructor.name !== '' ? constructor.name : 'a class'
}

/** Deep equality of two JSON values; the order of keys does not matter. Iterative. */
export const equalJson = (left: unknown, right: unknown): boolean => jsonDifference(left, right) === null

/** One place where two JSON values differ: its path, and what is there on either side. */
export type JsonDifference = { readonly path: string; readonly expected: unknown; readonly actual: unknown }

/** A place where two JSON values differ; null when they are equal. The order of keys does not matter. Iterative. */
export function jsonDifference(expected: unknown, actual: unknown): JsonDifference | null {
  type Pair = {
    readonly left: unknown
    readonly right: unknown
    readonly key: string | number
    readonly parent: Pair | null
  }
  const pending: Pair[] = [{ left: expected, right: actual, key: '', parent: null }]
  for (let pair = pending.pop(); pair !== undefined; pair = pending.pop()) {
    const { left, right } = pair
    if (left === right) continue
    const keys = isObject(left) ? Object.keys(left) : []
    const comparable = isObject(left) && isObject(right) && Array.isArray(left) === Array.isArray(right)
    if (!comparable || keys.length !== Object.keys(right).length || !keys.every(key => Object.hasOwn(right, key))) {
      let path = ''
      for (let at: Pair = pair; at.parent !== null; at = at.parent) path = pathPart(at.key) + path
      return { path: `$${path}`, expected: left, actual: right }
    }
    // Last first, so that the first difference in reading order is found first.
    for (let index = keys.length - 1; index >= 0; index -= 1) {
      const name = keys[index] as string
      const key = Array.isArray(left) ? index : name
      pending.push({ left: left[name], right: right[name], key, parent: pair })
    }
  }
  return null
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

/** Freezes JSON that was made elsewhere, all the way down; what is frozen already is taken as it is. Iterative. */
export function deepFreeze(root: object): void {
  const pending: unknown[] = [root]
  for (let value = pending.pop(); value !== undefined; value = pending.pop()) {
    if (typeof value !== 'object' || value === null || Object.isFrozen(value)) continue
    Object.freeze(value)
    for (const member of Object.values(value) as unknown[]) pending.push(member)
  }
}

/** `JSON.stringify` for values of any depth: past the engine's stack the text is built without recursion. */
export function jsonText(value: unknown): string {
  try {
    return JSON.stringify(value)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    return deepJsonText(value)
  }
}

function deepJsonText(root: unknown): string {
  const parts: string[] = []
  /** Texts to emit and values to write, last first. */
  const pending: ({ readonly text: string } | { readonly value: unknown })[] = [{ value: root }]
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if ('text' in next) {
      parts.push(next.text)
      continue
    }
    const { value } = next
    if (typeof value !== 'object' || value === null) {
      parts.push(JSON.stringify(value))
      continue
    }
    const isArray = Array.isArray(value)
    const keys = Object.keys(value)
    parts.push(isArray ? '[' : '{')
    pending.push({ text: isArray ? ']' : '}' })
    for (let index = keys.length - 1; index >= 0; index -= 1) {
      const key = keys[index] as string
      pending.push({ value: (value as Record<string, unknown>)[key] })
      const label = isArray ? '' : `${JSON.stringify(key)}:`
      pending.push({ text: index === 0 ? label : `,${label}` })
    }
  }
  return parts.join('')
}
