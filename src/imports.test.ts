/** Proves the import table of `src/README.md`: which folder may import what. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { describe, expect, test } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))

/** Each folder of `src` and the other folders it may import. Its own files it may always import. */
const mayImport: Record<string, readonly string[]> = {
  core: [],
  format: ['core'],
  files: ['core', 'format'],
  storage: ['core', 'format'],
  sessions: ['core', 'format', 'files', 'storage'],
  agent: ['core', 'format', 'files', 'storage', 'sessions'],
  compaction: ['core', 'format', 'files', 'storage', 'sessions', 'agent'],
  worker: ['core', 'format', 'files', 'storage', 'sessions', 'agent', 'compaction', 'views'],
  views: ['core'],
  react: ['views'],
  testing: ['core', 'format', 'files', 'storage', 'sessions', 'agent', 'compaction', 'worker', 'views'],
  cli: ['core', 'format', 'files', 'storage', 'sessions', 'agent', 'compaction', 'worker', 'views', 'testing'],
}

/** Packages that only some files may import. */
const packageHomes: Record<string, (file: string) => boolean> = {
  idb: file => file.startsWith('src/storage/indexeddb-'),
  comlink: file => file.startsWith('src/worker/'),
  react: file => file.startsWith('src/react/'),
  fzstd: file => file.startsWith('src/files/'),
  xxhashjs: file => file.startsWith('src/files/'),
  '@noble/hashes': file => file.startsWith('src/files/'),
}
const packageFree = ['core', 'format']

type Import = { readonly specifier: string; readonly typeOnly: boolean; readonly isDynamic?: true }

/** What files import, by their text: each is parsed once. */
const known = new Map<string, readonly Import[]>()

/** Everything a file imports: `import`, `export … from`, `import()` and `import('…')` types. */
function importsOf(file: string, text: string): readonly Import[] {
  const imports = known.get(text) ?? readImports(file, text)
  known.set(text, imports)
  return imports
}

function readImports(file: string, text: string): readonly Import[] {
  const found: Import[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node) && ts.isStringLiteral(node.moduleSpecifier)) {
      const clause = node.importClause
      const names = clause?.namedBindings
      const typeOnly =
        clause !== undefined &&
        (clause.phaseModifier === ts.SyntaxKind.TypeKeyword ||
          (clause.name === undefined &&
            names !== undefined &&
            ts.isNamedImports(names) &&
            names.elements.length > 0 &&
            names.elements.every(element => element.isTypeOnly)))
      found.push({ specifier: node.moduleSpecifier.text, typeOnly })
    } else if (ts.isExportDeclaration(node) && node.moduleSpecifier && ts.isStringLiteral(node.moduleSpecifier)) {
      found.push({ specifier: node.moduleSpecifier.text, typeOnly: node.isTypeOnly })
    } else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      const [argument] = node.arguments
      const known = argument && ts.isStringLiteralLike(argument)
      found.push({ specifier: known ? argument.text : '(computed)', typeOnly: false, isDynamic: true })
    } else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) {
      const { literal } = node.argument
      if (ts.isStringLiteral(literal)) found.push({ specifier: literal.text, typeOnly: true })
    }
    ts.forEachChild(node, visit)
  }
  visit(ts.createSourceFile(file, text, ts.ScriptTarget.Latest, false))
  return found
}

const isRelative = (specifier: string): boolean => /^\.{1,2}\//.test(specifier)
const isCode = (specifier: string): boolean => /\.tsx?(\?.*)?$/.test(specifier)
/** What a bundler takes as a file rather than as code; only the demo and e2e have such. */
const isAsset = (specifier: string): boolean => /\.(css|svg|json|html|mjs)(\?.*)?$/.test(specifier)
const targetOf = (file: string, specifier: string): string =>
  posix.join(posix.dirname(file), specifier.replace(/\?.*$/, ''))
const packageOf = (specifier: string): string => /^(@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? specifier
/** Folder of `src` a file belongs to; null for an entry, which stands in `src` itself. */
const layerOf = (file: string): string | null => /^src\/([^/]+)\//.exec(file)?.[1] ?? null

/** Checks the sources (path → text) against the table; each finding names the file, the import and the rule. */
function violations(sources: ReadonlyMap<string, string>, publicNames: readonly string[]): string[] {
  const found: string[] = []
  const graph = new Map<string, string[]>()
  for (const [file, text] of sources) {
    const targets: string[] = []
    graph.set(file, targets)
    for (const { specifier, typeOnly } of importsOf(file, text)) {
      const refuse = (rule: string): unknown => found.push(`${file} imports ${specifier}: ${rule}`)
      const own = file.startsWith('src/')
      if (isRelative(specifier)) {
        const target = targetOf(file, specifier)
        if (sources.has(target)) targets.push(target)
        if (!isCode(specifier) && (own || !isAsset(specifier))) refuse('a relative import ends in .ts')
        if (own) checkLayer(file, target, typeOnly, refuse)
        else if (target.startsWith('src/')) refuse(`${posix.dirname(file).split('/')[0]} does not reach into src`)
      } else if (own) {
        checkPackage(file, specifier, refuse)
      } else if (file.startsWith('demo/') && packageOf(specifier) === 'palimpsest') {
        if (!publicNames.includes(specifier)) refuse('it is not a public entry')
      }
    }
  }
  return [...found, ...cycles(graph).map(cycle => `import cycle: ${cycle.join(' → ')}`)]
}

function checkLayer(file: string, target: string, typeOnly: boolean, refuse: (rule: string) => unknown): void {
  const from = layerOf(file)
  const to = layerOf(target)
  if (!target.startsWith('src/')) return void refuse('src imports nothing outside of src')
  if (from === null) return // An entry may import whatever it exports.
  if (to === null) return void refuse('only entries stand above the folders, nothing in them imports one')
  if (!(from in mayImport)) return void refuse(`the folder ${from} is not in the import table`)
  if (from === to || mayImport[from]?.includes(to)) return
  if (from === 'react' && typeOnly && /^src\/worker\/client(-sessions?)?\.ts$/.test(target)) return
  refuse(`${from} may import ${mayImport[from]?.join(', ') || 'no other folder'}`)
}

function checkPackage(file: string, specifier: string, refuse: (rule: string) => unknown): void {
  const layer = layerOf(file)
  const name = packageOf(specifier)
  if (layer !== null && packageFree.includes(layer)) return void refuse(`${layer} imports no package`)
  if (packageHomes[name] && !packageHomes[name](file)) return void refuse('this package has one home')
  if (name === 'palimpsest') return void refuse('src does not import itself by name')
  if ((name.startsWith('node:') || name === 'vite') && layer !== 'cli') refuse('the library needs no Node and no vite')
}

/** Import cycles between files, each once, type-only imports included. */
function cycles(graph: ReadonlyMap<string, readonly string[]>): string[][] {
  const found: string[][] = []
  const done = new Set<string>()
  const path: string[] = []
  const visit = (file: string): void => {
    const start = path.indexOf(file)
    if (start >= 0) found.push([...path.slice(start), file])
    if (start >= 0 || done.has(file)) return
    path.push(file)
    for (const target of graph.get(file) ?? []) visit(target)
    path.pop()
    done.add(file)
  }
  for (const file of graph.keys()) visit(file)
  return found
}

/** Sources below a folder, without what is only there for tests and benchmarks. A missing folder has none. */
function readSources(folder: string): Map<string, string> {
  const sources = new Map<string, string>()
  if (!existsSync(join(root, folder))) return sources
  for (const entry of readdirSync(join(root, folder), { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    const name = path.slice(root.length).replaceAll('\\', '/')
    if (!entry.isFile() || !/\.tsx?$/.test(name) || /(^|\/)(node_modules|dist)\//.test(name)) continue
    if (folder === 'src' && /\.(test|bench|test-d)\.tsx?$/.test(name)) continue
    sources.set(name, readFileSync(path, 'utf8'))
  }
  return sources
}

const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { exports: Record<string, unknown> }
const publicNames = Object.keys(manifest.exports).map(name => posix.join('palimpsest', name))

// Every source is parsed, which takes a busy machine a while.
describe('import table', { timeout: 30_000 }, () => {
  test('the sources keep to it', () => {
    const sources = readSources('src')
    expect([...sources.keys()]).toContain('src/core/events.ts')
    expect(violations(sources, publicNames)).toEqual([])
  })

  test('the demo imports public entries only', () => {
    expect(violations(readSources('demo'), publicNames)).toEqual([])
  })

  test('e2e imports nothing from src', () => {
    expect(violations(readSources('e2e'), publicNames)).toEqual([])
  })

  test('a worker and a page load no format before they need it, but for its errors', () => {
    const sources = readSources('src')
    const reached = new Set(['src/worker.ts', 'src/index.ts'])
    for (const file of reached) {
      for (const { specifier, typeOnly, isDynamic } of importsOf(file, sources.get(file) ?? '')) {
        if (!typeOnly && isDynamic !== true && isRelative(specifier)) reached.add(targetOf(file, specifier))
      }
    }
    expect(reached).toContain('src/sessions/sessions.ts')
    const loaded = [...reached].filter(file => /^src\/(format|files)\//.test(file))
    expect(loaded).toEqual(['src/format/errors.ts'])
  })

  test('a benchmark takes only types from outside of src', () => {
    for (const entry of readdirSync(dirname(fileURLToPath(import.meta.url)), { recursive: true, encoding: 'utf8' })) {
      if (!entry.endsWith('.bench.ts')) continue
      const file = posix.join('src', entry.replaceAll('\\', '/'))
      for (const { specifier, typeOnly } of importsOf(file, readFileSync(join(root, file), 'utf8'))) {
        const outside = isRelative(specifier) && !targetOf(file, specifier).startsWith('src/')
        expect(outside && !typeOnly, `${file} imports ${specifier}`).toBe(false)
      }
    }
  })
})

describe('the check itself', () => {
  const check = (files: Record<string, string>): string[] => violations(new Map(Object.entries(files)), publicNames)

  test('a lawful tree has no findings', () => {
    const files = {
      'src/index.ts': "export { connect } from './worker/client.ts'\nexport type { A } from './core/a.ts'",
      'src/core/a.ts': 'export type A = 1',
      'src/storage/indexeddb-connection.ts': "import { openDB } from 'idb'\nimport type { A } from '../core/a.ts'",
      'src/worker/client.ts': "import { wrap } from 'comlink'\nimport { V } from '../views/v.ts'",
      'src/views/v.ts': "import type { A } from '../core/a.ts'",
      'src/react/use.ts': "import { useSyncExternalStore } from 'react'\nimport type { C } from '../worker/client.ts'",
      'demo/main.ts': "import { connect } from 'palimpsest'\nimport 'palimpsest/worker'\nimport './style.css'",
      'e2e/a.e2e.ts': "import { test } from '@playwright/test'\nimport { b } from './b.ts'",
    }
    expect(check(files)).toEqual([])
  })

  test.each([
    ['a layer to the right', 'src/core/a.ts', "import '../storage/storage.ts'"],
    ['a type of a layer to the right', 'src/core/a.ts', "import type { S } from '../storage/storage.ts'"],
    ['a re-export of a layer to the right', 'src/core/a.ts', "export * from '../format/jsonl.ts'"],
    ['an import type', 'src/core/a.ts', "export type X = import('../format/jsonl.ts').X"],
    ['a dynamic import', 'src/core/a.ts', "export const x = () => import('../format/jsonl.ts')"],
    ['compaction in agent', 'src/agent/a.ts', "import { compact } from '../compaction/compact.ts'"],
    ['storage in views', 'src/views/a.ts', "import { S } from '../storage/storage.ts'"],
    ['a value of the client in react', 'src/react/a.ts', "import { type A, connect } from '../worker/client.ts'"],
    ['types of the host in react', 'src/react/a.ts', "import type { Host } from '../worker/host.ts'"],
    ['an entry in a layer', 'src/worker/a.ts', "import { Session } from '../core.ts'"],
    ['an unknown folder', 'src/helpers/a.ts', "import { A } from '../core/a.ts'"],
    ['a package in core', 'src/core/a.ts', "import { openDB } from 'idb'"],
    ['a Node module in format', 'src/format/a.ts', "import { join } from 'node:path'"],
    ['a Node module elsewhere', 'src/sessions/a.ts', "import { join } from 'node:path'"],
    ['idb away from home', 'src/storage/memory.ts', "import type { IDBPDatabase } from 'idb'"],
    ['React away from home', 'src/views/a.ts', "import { useState } from 'react'"],
    ['comlink away from home', 'src/index.ts', "export { wrap } from 'comlink'"],
    ['no extension', 'src/core/a.ts', "import { B } from './b'"],
    ['a .js extension', 'src/core/a.ts', "import { B } from './b.js'"],
    ['e2e in src', 'src/core/a.ts', "import type { B } from '../../e2e/bench/harness.ts'"],
    ['src in the demo', 'demo/main.ts', "import { Session } from '../src/core/session.ts'"],
    ['a private path in the demo', 'demo/main.ts', "import { Session } from 'palimpsest/core/session.ts'"],
    ['src in e2e', 'e2e/a.e2e.ts', "import { Session } from '../src/core.ts'"],
  ])('finds %s', (_, file, text) => {
    expect(check({ [file]: text })).toHaveLength(1)
  })

  test('finds a cycle', () => {
    const files = {
      'src/core/a.ts': "import './b.ts'",
      'src/core/b.ts': "import type { C } from './c.ts'",
      'src/core/c.ts': "export * from './a.ts'",
    }
    expect(check(files)).toEqual(['import cycle: src/core/a.ts → src/core/b.ts → src/core/c.ts → src/core/a.ts'])
  })
})
