import { runInNewContext, runInThisContext } from 'node:vm'
import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import table from '../../e2e/cases/sur-13-lossless-json.json'
import { append, newSession, restored, returned, storedEvents, turnStart } from './builders.ts'
import type { EventOf } from './events.ts'
import { equalJson, shareJson, snapshotJson } from './json.ts'

const notJson = (path?: string): unknown =>
  expect.objectContaining({ name: 'SessionError', code: 'not-json', ...(path === undefined ? {} : { path }) })

const cyclic = (): object => {
  const value: Record<string, unknown> = { name: 'cycle' }
  value['self'] = value
  return value
}
/** What another realm makes of an expression. */
const foreign = (expression: string): unknown => runInNewContext(expression)
/** `value` inside `depth` objects. */
const nested = (depth: number, value: unknown): unknown => {
  let result = value
  for (let level = 0; level < depth; level += 1) result = { in: result }
  return result
}
/** Every container reachable from `value`. */
const containers = (value: unknown): object[] => {
  const found: object[] = []
  const pending = [value]
  for (let next = pending.pop(); next !== undefined || pending.length > 0; next = pending.pop()) {
    if (typeof next !== 'object' || next === null) continue
    found.push(next)
    pending.push(...(Object.values(next) as unknown[]))
  }
  return found
}
const hasMinusZero = (value: unknown): boolean =>
  Object.is(value, -0) || (typeof value === 'object' && value !== null && Object.values(value).some(hasMinusZero))
const json = fc.jsonValue({ maxDepth: 4 }).filter(value => !hasMinusZero(value))

class Point {
  x = 1
}
class List extends Array<number> {}

describe('snapshotJson: what is refused', () => {
  it.each<[string, unknown, string]>([
    ['undefined in an object', { a: undefined }, '$.a'],
    ['undefined in an array', [undefined], '$[0]'],
    ['a function', { f: () => 1 }, '$.f'],
    ['a symbol', { s: Symbol('x') }, '$.s'],
    ['a bigint', { n: 10n }, '$.n'],
    ['NaN', { n: NaN }, '$.n'],
    ['infinity', [1, Infinity], '$[1]'],
    ['negative infinity', [-Infinity], '$[0]'],
    ['−0', { n: -0 }, '$.n'],
    ['−0 in an array', [[0, -0]], '$[0][1]'],
    ['a date', { at: new Date(0) }, '$.at'],
    ['a map', { map: new Map([[1, 2]]) }, '$.map'],
    ['a set', new Set([1]), '$'],
    ['a regular expression', { r: /x/ }, '$.r'],
    ['a boxed string', { s: Object('x') as unknown }, '$.s'],
    ['a typed array', { bytes: new Uint8Array(2) }, '$.bytes'],
    ['a promise', { p: Promise.resolve(1) }, '$.p'],
    ['a class instance', { p: new Point() }, '$.p'],
    ['an array of a subclass', { l: new List(1, 2) }, '$.l'],
    ['an array without prototype', { l: Object.setPrototypeOf([1], null) as unknown }, '$.l'],
    ['an object that pretends to be an array', Object.create(Array.prototype), '$'],
    ['an object with a plain object as prototype', Object.create({ a: 1 }), '$'],
    ['an object with a toJSON function', { toJSON: () => 1 }, '$.toJSON'],
    ['a symbol key', { [Symbol('k')]: 1 }, '$'],
    ['a hidden key', { in: Object.defineProperty({ a: 1 }, 'b', { value: 2 }) }, '$.in'],
    ['a hidden symbol key', Object.defineProperty({}, Symbol('k'), { value: 2 }), '$'],
    ['a hole', { list: [1, , 3] }, '$.list[1]'],
    ['nothing but holes', new Array(2), '$[0]'],
    ['an extra key on an array', Object.assign([1], { extra: 1 }), '$'],
    ['an extra key that looks like a position', Object.assign([1], { '4294967295': 1 }), '$'],
    ['an extra key that looks like a negative position', Object.assign([1], { '-1': 1 }), '$'],
    ['a symbol key on an array', { l: Object.assign([1], { [Symbol('k')]: 1 }) }, '$.l'],
    ['a hidden key on an array', Object.defineProperty([1], 'b', { value: 2 }), '$'],
    ['a hidden element', Object.defineProperty([1, 2], 1, { value: 2, enumerable: false }), '$[1]'],
    ['a cycle', cyclic(), '$.self'],
    ['a path with odd keys', { a: [{ 'b c': { d: NaN } }] }, '$.a[0]["b c"].d'],
  ])('[L3] refuses %s and says where', (_name, value, path) => {
    expect(() => snapshotJson(value)).toThrow(notJson(path))
  })

  it.each<[string, unknown]>([
    ['undefined', undefined],
    ['a function', () => 1],
    ['NaN', NaN],
    ['−0', -0],
    ['a bigint', 1n],
  ])('[L3] refuses %s as the whole value, at the root', (_name, value) => {
    expect(() => snapshotJson(value)).toThrow(notJson('$'))
  })

  it('[L3] refuses an array whose extra key makes up for a hole', () => {
    const compensated: unknown[] = Object.assign([1, 2, 3], { extra: 2 })
    Reflect.deleteProperty(compensated, 1)
    expect(Object.keys(compensated)).toHaveLength(3)
    expect(() => snapshotJson(compensated)).toThrow(notJson('$[1]'))
  })

  it.each([1, 3, 23, 24, 25, 26, 50, 200])('[L3] finds a cycle that closes %i levels up', depth => {
    const bottom: Record<string, unknown> = {}
    const top = nested(depth, bottom)
    bottom['up'] = top
    expect(() => snapshotJson({ top })).toThrow(notJson(`$.top${'.in'.repeat(depth)}.up`))
  })

  it.each([1, 30, 100])('[L3] finds a cycle through an array and a cycle to the parent, %i levels down', depth => {
    const list: unknown[] = []
    list.push(0, list)
    expect(() => snapshotJson(nested(depth, list))).toThrow(notJson())
    const parent: Record<string, unknown> = {}
    parent['child'] = { parent }
    expect(() => snapshotJson(nested(depth, parent))).toThrow(notJson())
  })

  it('[L3] refuses what another realm made, if it is not plain', () => {
    expect(() => snapshotJson(foreign('new Date(0)'))).toThrow(notJson('$'))
    expect(() => snapshotJson(foreign('new (class Object { x = 1 })()'))).toThrow(notJson('$'))
    expect(() => snapshotJson({ l: foreign('new (class Array extends globalThis.Array {})()') })).toThrow(
      notJson('$.l'),
    )
  })

  it('[L3] is not fooled by a forged prototype', () => {
    const forged: unknown = Object.create(Object.create(null, { constructor: { value: Object } }) as object)
    const named = Object.create(
      Object.create(null, { constructor: { value: function Object() {} } }) as object,
    ) as object
    expect(() => snapshotJson(forged)).toThrow(notJson('$'))
    expect(() => snapshotJson(named)).toThrow(notJson('$'))
  })

  it('[L4] lets the error of a throwing getter through', () => {
    const own = new RangeError('mine')
    const value = {
      a: {
        get b(): number {
          throw own
        },
      },
    }
    expect(() => snapshotJson(value)).toThrow(own)
    const list = Object.defineProperty([1], 0, {
      enumerable: true,
      get: () => {
        throw own
      },
    })
    expect(() => snapshotJson({ list })).toThrow(own)
  })
})

describe('snapshotJson: what is kept', () => {
  it('[L3] copies a plain value as it is', () => {
    const value = { a: [1, 'x', null, true, { b: [] }], c: {}, '': '', '\u0000': '\u0000', 7: 1e21 }
    const copy = snapshotJson(value)
    expect(copy).toEqual({ a: [1, 'x', null, true, { b: [] }], c: {}, '': '', '\u0000': '\u0000', 7: 1e21 })
    expect(JSON.stringify(copy)).toBe(JSON.stringify(value))
    expect(copy).not.toBe(value)
  })

  it('[L3] for any JSON value: the copy is equal, survives JSON and is frozen through and through', () => {
    fc.assert(
      fc.property(json, value => {
        const before = JSON.stringify(value)
        const copy = snapshotJson(value)
        expect(JSON.stringify(copy)).toBe(before)
        expect(JSON.parse(JSON.stringify(copy))).toEqual(copy)
        expect(copy).toEqual(value)
        expect(containers(copy).every(each => Object.isFrozen(each))).toBe(true)
        expect(JSON.stringify(value)).toBe(before)
      }),
    )
  })

  it('[L4] freezes every container and shares none of them with the caller', () => {
    const value = { a: [{ b: { c: [1] } }], d: {} }
    const copy = snapshotJson(value)
    const theirs = new Set(containers(value))
    expect(containers(copy)).toHaveLength(6)
    expect(containers(copy).every(Object.isFrozen)).toBe(true)
    expect(containers(copy).some(each => theirs.has(each))).toBe(false)
    expect(containers(value).some(Object.isFrozen)).toBe(false)
    value.a[0]?.b.c.push(2)
    expect(copy).toEqual({ a: [{ b: { c: [1] } }], d: {} })
  })

  it('[L4, case 33] reads each property exactly once and keeps its first value', () => {
    let reads = 0
    const changing = (first: unknown): PropertyDescriptor => ({
      enumerable: true,
      get: (): unknown => (reads++ === 0 ? first : 1n),
    })
    expect(snapshotJson(Object.defineProperty({}, 'x', changing('ok')))).toEqual({ x: 'ok' })
    expect(reads).toBe(1)
    reads = 0
    expect(snapshotJson({ list: Object.defineProperty([1, 2], 1, changing('ok')) })).toEqual({ list: [1, 'ok'] })
    expect(reads).toBe(1)
    reads = 0
    expect(snapshotJson([Object.defineProperty({}, 'x', changing({ deep: ['ok'] }))])).toEqual([
      { x: { deep: ['ok'] } },
    ])
    expect(reads).toBe(1)
  })

  it('[L4] is not misled by a getter that changes its array', () => {
    const list: unknown[] = [0, 1, 2]
    Object.defineProperty(list, 0, { enumerable: true, get: () => (list.length = 1) })
    expect(() => snapshotJson(list)).toThrow(notJson())
  })

  it('[L4] stores data properties, not getters', () => {
    const copy = snapshotJson({
      get x() {
        return 1
      },
    })
    expect(Object.getOwnPropertyDescriptor(copy, 'x')).toMatchObject({ value: 1, writable: false })
  })

  it.each(['{"a":1}', 'null', '"text"', '[1]', '{"__proto__":{"__proto__":2}}'])(
    '[L3] keeps the key __proto__ holding %s as data',
    inner => {
      const text = `{"__proto__":${inner},"b":[{"__proto__":${inner}}]}`
      const copy = snapshotJson(JSON.parse(text) as { b: object[] })
      expect(JSON.stringify(copy)).toBe(text)
      expect(Object.hasOwn(copy, '__proto__')).toBe(true)
      expect(Object.getPrototypeOf(copy)).toBe(Object.prototype)
      expect(Object.getPrototypeOf(copy.b[0])).toBe(Object.prototype)
      expect('a' in copy).toBe(false)
      expect(containers(copy).every(Object.isFrozen)).toBe(true)
    },
  )

  it('[L3] takes objects without prototype', () => {
    const copy = snapshotJson({ a: Object.assign(Object.create(null) as object, { b: 1 }) })
    expect(copy).toEqual({ a: { b: 1 } })
  })

  it('[L3] takes plain objects and arrays of another realm and gives back its own', () => {
    const copy = snapshotJson(foreign('({ a: [1, { b: [] }], c: Object.create(null) })')) as { a: unknown[] }
    expect(JSON.stringify(copy)).toBe('{"a":[1,{"b":[]}],"c":{}}')
    expect(copy.a).toBeInstanceOf(Array)
    expect(copy).toBeInstanceOf(Object)
    expect(containers(copy).every(Object.isFrozen)).toBe(true)
  })

  it('[L4] copies what a proxy shows, once', () => {
    let reads = 0
    const proxy = new Proxy(
      { a: 1, b: [2] },
      { get: (target, key): unknown => ((reads += 1), Reflect.get(target, key)) },
    )
    const copy = snapshotJson({ proxy, list: new Proxy([1, 2], {}) })
    expect(copy).toEqual({ proxy: { a: 1, b: [2] }, list: [1, 2] })
    expect(reads).toBe(2)
  })

  it('[L3] copies a value that is referred to twice twice, at any depth', () => {
    const shared = { list: [{ x: 1 }] }
    for (const depth of [0, 10, 24, 25, 60]) {
      let copy = snapshotJson(nested(depth, { a: shared, b: [shared, shared], c: { shared } })) as Record<
        string,
        unknown
      >
      for (let level = 0; level < depth; level += 1) copy = copy['in'] as Record<string, unknown>
      expect(copy).toEqual({ a: shared, b: [shared, shared], c: { shared } })
      expect(copy['a']).not.toBe((copy['b'] as unknown[])[0])
    }
  })

  it('[L3] has no limit of depth', () => {
    let value: unknown = 'bottom'
    for (let level = 0; level < 50_000; level += 1) value = [{ in: value }]
    let copy = snapshotJson(value)
    let levels = 0
    for (; typeof copy === 'object' && copy !== null && Object.isFrozen(copy); levels += 1)
      copy = Object.values(copy)[0]
    expect([levels, copy]).toEqual([100_000, 'bottom'])
  })

  it('[L3] refuses at any depth without running out of stack', () => {
    expect(() => snapshotJson(nested(100_000, NaN))).toThrow(notJson())
  })
})

describe('shareJson', () => {
  it('[L4] copies, checks and freezes like a snapshot, and gives back scalars', () => {
    const value = { a: [1] }
    const made = shareJson(value)
    expect(made).toEqual({ a: [1] })
    expect(made).not.toBe(value)
    expect(containers(made).every(Object.isFrozen)).toBe(true)
    expect(shareJson('x')).toBe('x')
    expect(() => shareJson({ n: NaN })).toThrow(notJson('$.n'))
  })

  it('[L4] makes a value that snapshots give back as it is', () => {
    const made = shareJson({ a: [1] })
    expect(snapshotJson(made)).toBe(made)
    expect(shareJson(made)).toBe(made)
  })

  it('[L4] makes a value that is shared inside a new one and not walked again', () => {
    const made = shareJson({ a: Array.from({ length: 100 }, () => ({ b: [1] })) })
    const walks = vi.spyOn(Object, 'freeze')
    const copy = snapshotJson({ made, list: [made] })
    const count = walks.mock.calls.length
    walks.mockRestore()
    expect(copy.made).toBe(made)
    expect(copy.list[0]).toBe(made)
    expect(copy.list).toHaveLength(1)
    expect(count).toBe(2)
  })

  it('[L4] does not make the parts of a value, or a snapshot, known', () => {
    const made = shareJson({ part: { b: 1 } })
    expect(snapshotJson({ part: made.part }).part).not.toBe(made.part)
    const copy = snapshotJson({ a: 1 })
    expect(snapshotJson({ copy })).toEqual({ copy: { a: 1 } })
  })

  it('[L4] knows nothing of a frozen value it did not make: its insides may still change', () => {
    const inner = { n: 1 }
    const frozen = Object.freeze({ inner })
    const copy = snapshotJson({ frozen })
    const whole = snapshotJson(frozen)
    inner.n = 2
    expect(whole).toEqual({ inner: { n: 1 } })
    expect(copy.frozen).not.toBe(frozen)
    expect(copy).toEqual({ frozen: { inner: { n: 1 } } })
    expect(() => snapshotJson({ frozen: Object.freeze({ bad: undefined }) })).toThrow(notJson('$.frozen.bad'))
  })

  it('[L4] does not take a proxy of a value it made for that value', () => {
    const made = shareJson({ a: 1 })
    const proxy = new Proxy(made, {})
    const copy = snapshotJson({ proxy })
    expect(copy.proxy).not.toBe(proxy)
    expect(copy).toEqual({ proxy: { a: 1 } })
  })
})

describe('the table of case SUR-13', () => {
  const valueOf = (expression: string): unknown => {
    if (expression === 'cyclic') return cyclic()
    const levels = /^nested (\d+) levels deep$/.exec(expression)?.[1]
    return levels === undefined ? runInThisContext(`(${expression})`) : nested(Number(levels), 1)
  }

  it.each(table.refuse)(
    '[L3, L17, SUR-13] append refuses meta %s with its path, and nothing is recorded',
    expression => {
      const session = newSession(turnStart(1))
      const meta = valueOf(expression)
      expect(() => append(session, returned('c1', 'ok', { meta }))).toThrow(notJson())
      expect(() => append(session, returned('c1', 'ok', { meta }))).toThrow(/ at \$\.meta/)
      expect([session.length, session.surface.length]).toEqual([1, 0])
      expect(append(session, returned('c1', 'ok')).seq).toBe(1)
    },
  )

  it.each(table.accept)(
    '[L3, SUR-13] append accepts meta %s, and it comes back identical after a reload',
    expression => {
      const session = newSession()
      const event = append(session, returned('c1', 'ok', { meta: valueOf(expression) })) as EventOf<'tool/result'>
      const reloaded = restored(storedEvents(session)).eventAt(0)
      expect(JSON.stringify(event.data.meta)).toBe(JSON.stringify(valueOf(expression)))
      expect(JSON.stringify(reloaded)).toBe(JSON.stringify(event))
      expect(equalJson(reloaded, event)).toBe(true)
    },
  )
})

describe('equalJson', () => {
  /** Text with sorted keys: equal exactly when the values are. */
  const canonical = (value: unknown): string => {
    if (typeof value !== 'object' || value === null) return JSON.stringify(value)
    if (Array.isArray(value)) return `[${value.map(canonical).join()}]`
    const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
    return `{${entries.map(([key, each]) => `${JSON.stringify(key)}:${canonical(each)}`).join()}}`
  }
  /** Few values, so that two of them are often equal. */
  const small = fc.letrec<{ value: unknown }>(tie => ({
    value: fc.oneof(
      { maxDepth: 3 },
      fc.constantFrom<unknown>(null, 0, 1, '', '0', false, true),
      fc.array(tie('value'), { maxLength: 2 }),
      fc.dictionary(fc.constantFrom('a', 'b', '0', '__proto__'), tie('value'), { maxKeys: 2 }),
    ),
  })).value
  const reversed = (value: unknown): unknown => {
    if (typeof value !== 'object' || value === null) return value
    if (Array.isArray(value)) return value.map(reversed)
    const copy = {}
    for (const [key, each] of Object.entries(value).reverse()) {
      Object.defineProperty(copy, key, { value: reversed(each), enumerable: true, configurable: true })
    }
    return copy
  }

  it.each<[unknown, unknown, boolean]>([
    [{ a: 1, b: 2 }, { b: 2, a: 1 }, true],
    [[1, 2], [2, 1], false],
    [[], {}, false],
    [{ a: 1 }, { b: 1 }, false],
    [{ a: 1 }, { a: 1, b: 1 }, false],
    [{ a: { c: [1] } }, { a: { c: [1] } }, true],
    [null, {}, false],
    [0, false, false],
    ['1', 1, false],
    [[null], [undefined], false],
    [JSON.parse('{"__proto__":1}'), {}, false],
    [{ toString: 1 }, { valueOf: 1 }, false],
    [JSON.parse('{"__proto__":{}}'), { a: {} }, false],
  ])('[S7] compares %j with %j: %s', (left, right, equal) => {
    expect(equalJson(left, right)).toBe(equal)
    expect(equalJson(right, left)).toBe(equal)
  })

  it('[S7] agrees with comparing canonical texts', () => {
    fc.assert(
      fc.property(small, small, (a, b) => equalJson(a, b) === (canonical(a) === canonical(b))),
      { numRuns: 1000 },
    )
    fc.assert(fc.property(small, a => equalJson(a, reversed(a)) && equalJson(reversed(a), a)))
  })

  it('[S7] has no limit of depth', () => {
    expect(equalJson(nested(100_000, 1), nested(100_000, 1))).toBe(true)
    expect(equalJson(nested(100_000, 1), nested(100_000, 2))).toBe(false)
  })
})

describe('a prototype somebody added to', () => {
  const polluted = <Result>(key: string, value: unknown, body: () => Result): Result => {
    Object.defineProperty(Object.prototype, key, { value, enumerable: true, configurable: true, writable: true })
    try {
      return body()
    } finally {
      delete (Object.prototype as Record<string, unknown>)[key]
    }
  }

  it.each([
    ['a function', () => 1],
    ['text', 'text'],
    ['an object', { a: 1 }],
  ])('[L3] adds nothing to a snapshot and refuses nothing in it: %s', (_what, value) => {
    const copy = polluted('extra', value, () => snapshotJson({ a: 1, b: { c: [{}] } }))
    expect(copy).toEqual({ a: 1, b: { c: [{}] } })
    expect(Object.keys(copy)).toEqual(['a', 'b'])
  })

  it('[L3] does not hide a hidden key', () => {
    const hidden = Object.defineProperty({ a: 1 }, 'secret', { value: 1 })
    expect(() => polluted('extra', 1, () => snapshotJson(hidden))).toThrow(
      expect.objectContaining({ code: 'not-json' }),
    )
    expect(() => polluted('secret', 1, () => snapshotJson(hidden))).toThrow(
      expect.objectContaining({ code: 'not-json' }),
    )
  })
})
