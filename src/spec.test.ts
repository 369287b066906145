import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))
const rules = new Set(
  [...readFileSync(`${root}src/SPEC.md`, 'utf8').matchAll(/^- \*\*([A-Z]\d+)\*\* /gm)].map(([, id]) => id),
)

const isTest = (name: string) => /\.(test|e2e|test-d)\.tsx?$/.test(name) || /^conformance|-cases\.ts$/.test(name)
const tests = ['src', 'demo', 'e2e'].flatMap(folder =>
  readdirSync(`${root}${folder}`, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile() && isTest(entry.name) && !entry.parentPath.includes('node_modules'))
    .map(entry => readFileSync(`${entry.parentPath}/${entry.name}`, 'utf8')),
)

/** Ids at the start of a test's name: `[S5, case 9] …`, `[S5] …` or `W1 …`. */
function cited(source: string): string[] {
  const bracketed = [...source.matchAll(/['"`]\[([A-Z]\d+[^\]'"`]*)\]/g)].flatMap(
    ([, list = '']) => list.match(/\b[A-Z]\d+\b/g) ?? [],
  )
  const bare = [...source.matchAll(/['"`]([A-Z]\d+) [a-z]/g)].map(([, id = '']) => id)
  return [...bracketed, ...bare]
}

it('[F1] every rule of SPEC.md is cited by a test', () => {
  const ids = new Set(tests.flatMap(cited))
  expect([...rules].filter(id => !ids.has(id as string))).toEqual([])
})

it('[F1] tests cite rules that SPEC.md has', () => {
  // E numbers name end-to-end stories, not rules.
  const unknown = tests.flatMap(cited).filter(id => !rules.has(id) && !/^E\d/.test(id))
  expect([...new Set(unknown)]).toEqual([])
})
