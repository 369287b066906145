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

/** A container that waits while the member at `next` is walked. */
type Frame = {
  readonly original: object
  readonly source: Members
  readonly target: Members
  /** Own keys of an object; null for an array, whose keys are its positions. */
  readonly keys: readonly string[] | null
  readonly length: number
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
 * A throwing getter's own error passes through.
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
  const stack: Frame[] = []
  let ancestors: Set<object> | null = null
  // The container now being copied. It becomes a frame only when a member of it is a container too.
  let frame: Frame | null = null
  let original: object = root
  let keys = keysOf(original, stack)
  let source = (keys === null ? sliceOf(original, stack) : original) as Members
  let target = keys === null ? source : {}
  let length = (keys ?? (source as unknown as unknown[])).length
  let next = 0

  for (;;) {
    let child: object | null = null
    for (; next < length; next += 1) {
      const key = keys === null ? next : (keys[next] as string)
      const value = source[key]
      if (typeof value === 'object' && value !== null && !(Object.isFrozen(value) && shared.has(value))) {
        child = value
        break
      }
      if (typeof value !== 'string') {
        const what = unfit(value)
        if (what !== null) refuse(what, pathOf(stack) + pathPart(keys, next))
      }
      if (keys !== null) put(target, key, value)
    }

    if (child !== null) {
      frame ??= { original, source, target, keys, length, next }
      frame.next = next
      stack.push(frame)
      if (ancestors === null && stack.length > SCANNED_DEPTH) ancestors = new Set(stack.map(each => each.original))
      else ancestors?.add(original)
      if (isAncestor(child, stack, ancestors)) refuse('a cycle', pathOf(stack))
      frame = null
      original = child
      keys = keysOf(original, stack)
      source = (keys === null ? sliceOf(original, stack) : original) as Members
      target = keys === null ? source : {}
      length = (keys ?? (source as unknown as unknown[])).length
      next = 0
      continue
    }

    const done = Object.freeze(target)
    const parent = stack.pop()
    if (parent === undefined) return done
    ancestors?.delete(parent.original)
    frame = parent
    ;({ original, source, target, keys, length, next } = parent)
    put(target, keys === null ? next : (keys[next] as string), done)
    next += 1
  }
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

/** Stores a finished member. `__proto__` is data like any other key, so it must not reach the setter. */
function put(target: Members, key: string | number, value: unknown): void {
  if (key === '__proto__') {
    Object.defineProperty(target, key, { value, enumerable: true, writable: true, configurable: true })
  } else {
    target[key] = value
  }
}

/** Checks what kind of container `value` is: own keys of a plain object, null for a plain dense array. */
function keysOf(value: object, stack: readonly Frame[]): readonly string[] | null {
  const prototype: unknown = Object.getPrototypeOf(value)
  if (Array.isArray(value)) {
    if (prototype !== Array.prototype && !isNativePrototype(prototype, 'Array')) {
      refuse('an array of a subclass', pathOf(stack))
    }
    checkArrayKeys(value, value.length, stack)
    return null
  }
  if (prototype !== Object.prototype && prototype !== null && !isNativePrototype(prototype, 'Object')) {
    refuse(`an instance of ${nameOf(prototype)}`, pathOf(stack))
  }
  return plainKeys(value) ?? refuseHiddenKey(value, stack)
}

/** The own keys of `value`; null when one of them is hidden or a symbol. */
export function plainKeys(value: object): readonly string[] | null {
  // Keys, names and symbols apart are several times cheaper in V8 than Reflect.ownKeys.
  const keys = Object.keys(value)
  const hidden = Object.getOwnPropertyNames(value).length !== keys.length
  return hidden || Object.getOwnPropertySymbols(value).length > 0 ? null : keys
}

/** The elements, each read once; those that are containers are replaced by their own copies. */
function sliceOf(value: object, stack: readonly Frame[]): object {
  const copy: unknown[] = Array.prototype.slice.call(value)
  if (Object.getPrototypeOf(copy) !== Array.prototype) refuse('an array of a subclass', pathOf(stack))
  return copy
}

/** A dense array's own keys are exactly its positions, in order, then `length`: anything else shows as a shift. */
function checkArrayKeys(source: readonly unknown[], length: number, stack: readonly Frame[]): void {
  const names = Object.getOwnPropertyNames(source)
  if (
    names.length === length + 1 &&
    names[length] === 'length' &&
    Object.getOwnPropertySymbols(source).length === 0 &&
    Object.keys(source).length === length
  ) {
    return
  }
  for (let position = 0; position < length; position += 1) {
    const path = () => `${pathOf(stack)}[${position}]`
    if (!Object.hasOwn(source, position)) refuse('a hole', path())
    if (!Object.prototype.propertyIsEnumerable.call(source, position)) refuse('a hidden element', path())
  }
  const extra = Reflect.ownKeys(source).find(
    key => typeof key === 'symbol' || (key !== 'length' && !/^(0|[1-9]\d*)$/.test(key)),
  )
  refuse(`an array with the extra property ${String(extra)}`, pathOf(stack))
}

function refuseHiddenKey(source: object, stack: readonly Frame[]): never {
  const hidden = Reflect.ownKeys(source).find(key => !Object.prototype.propertyIsEnumerable.call(source, key))
  const symbol = Object.getOwnPropertySymbols(source)[0]
  const key = hidden ?? symbol
  refuse(typeof key === 'symbol' ? `the symbol key ${String(key)}` : `the hidden key "${key}"`, pathOf(stack))
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

function isAncestor(value: object, stack: readonly Frame[], ancestors: Set<object> | null): boolean {
  if (ancestors !== null) return ancestors.has(value)
  for (const each of stack) if (each.original === value) return true
  return false
}

function refuse(what: string, path: string): never {
  throw new SessionError('not-json', `Expected a value JSON can carry exactly; found ${what} at ${path}`, { path })
}

/** Path of the member that the last frame waits for: `$`, then one part for each frame. */
function pathOf(stack: readonly Frame[]): string {
  let path = '$'
  for (const { keys, next } of stack) path += pathPart(keys, next)
  return path
}

function pathPart(keys: readonly string[] | null, next: number): string {
  if (keys === null) return `[${next}]`
  const key = keys[next] as string
  return /^[A-Za-z_$][\w$]*$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`
}

function nameOf(prototype: unknown): string {
  const descriptor = Object.getOwnPropertyDescriptor(prototype, 'constructor')
  const constructor: unknown = descriptor?.value
  return typeof constructor === 'function' && constructor.name !== '' ? constructor.name : 'a class'
}

/** Deep equality of two JSON values; the order of keys does not matter. Iterative. */
export function equalJson(left: unknown, right: unknown): boolean {
  const pending: [unknown, unknown][] = [[left, right]]
  for (let pair = pending.pop(); pair !== undefined; pair = pending.pop()) {
    const [a, b] = pair
    if (a === b) continue
    if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
    if (Array.isArray(a) !== Array.isArray(b)) return false
    const keys = Object.keys(a)
    if (keys.length !== Object.keys(b).length) return false
    for (const key of keys) {
      if (!Object.hasOwn(b, key)) return false
      pending.push([(a as Record<string, unknown>)[key], (b as Record<string, unknown>)[key]])
    }
  }
  return true
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
