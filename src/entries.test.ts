import { expect, it } from 'vitest'

it.each(['index', 'core', 'format', 'worker', 'ai-sdk', 'views', 'plugins', 'react', 'testing', 'cli'])(
  '[B5] importing the %s entry on a server does nothing',
  async name => {
    const before = Object.getOwnPropertyNames(globalThis).sort()
    const entry = (await import(`./${name}.ts`)) as object
    expect(Object.keys(entry).length).toBeGreaterThan(0)
    expect(Object.getOwnPropertyNames(globalThis).sort()).toEqual(before)
  },
)
