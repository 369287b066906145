/** Proves that `core` and `format` are pure (decision 3): no clock, no randomness, no promise, no DOM, no Node, no package. */
import ts from 'typescript'
import { describe, expect, test } from 'vitest'

const sources: Record<string, string> = import.meta.glob(['./**/*.ts', '../format/**/*.ts'], {
  query: '?raw',
  import: 'default',
  eager: true,
})

/** Never to be named, not even by a variable, a parameter or a type: a reader must not wonder which one is meant. */
const forbidden = new Set(
  (
    'Date performance crypto Promise PromiseLike setTimeout setInterval setImmediate queueMicrotask ' +
    'requestAnimationFrame requestIdleCallback process Buffer require module exports __dirname __filename window ' +
    'document navigator location globalThis global self console fetch structuredClone eval ' +
    'indexedDB localStorage sessionStorage Worker MessageChannel MessagePort BroadcastChannel AbortController ' +
    'AbortSignal XMLHttpRequest WebSocket WeakRef FinalizationRegistry Atomics SharedArrayBuffer'
  ).split(' '),
)

/** What the language itself gives on every engine, and is the same at every call. Everything else must be declared. */
const language = new Set(
  (
    'Array ArrayBuffer BigInt Boolean DataView Error Function Infinity JSON Map Math NaN Number Object RangeError Reflect RegExp ' +
    'Set String Symbol SyntaxError TypeError Uint8Array Uint16Array Uint32Array Int32Array Float64Array WeakMap ' +
    'WeakSet isFinite isNaN parseFloat parseInt undefined arguments'
  ).split(' '),
)

/** Whether an identifier is only the name of a member, which says nothing about globals. */
function isMemberName(node: ts.Identifier): boolean {
  const { parent } = node
  if (ts.isPropertyAccessExpression(parent)) return parent.name === node
  if (ts.isQualifiedName(parent)) return parent.right === node
  if (ts.isBindingElement(parent) || ts.isImportSpecifier(parent)) return parent.propertyName === node
  if (ts.isExportSpecifier(parent)) return true
  if (ts.isLabeledStatement(parent) || ts.isBreakOrContinueStatement(parent)) return true
  if (ts.isImportTypeNode(parent) || ts.isNamedTupleMember(parent)) return true
  return (
    (ts.isPropertyAssignment(parent) ||
      ts.isPropertyDeclaration(parent) ||
      ts.isPropertySignature(parent) ||
      ts.isMethodDeclaration(parent) ||
      ts.isMethodSignature(parent) ||
      ts.isAccessor(parent) ||
      ts.isEnumMember(parent)) &&
    parent.name === node
  )
}

/** Names the file declares or imports, at whatever depth. */
function declaredNames(file: ts.SourceFile): ReadonlySet<string> {
  const names = new Set<string>()
  const visit = (node: ts.Node): void => {
    const name = (node as ts.Node & { name?: ts.Node }).name
    const declares =
      ts.isVariableDeclaration(node) ||
      ts.isParameter(node) ||
      ts.isBindingElement(node) ||
      ts.isFunctionLike(node) ||
      ts.isClassLike(node) ||
      ts.isEnumDeclaration(node) ||
      ts.isImportClause(node) ||
      ts.isImportSpecifier(node) ||
      ts.isNamespaceImport(node)
    const isMember = ts.isMethodDeclaration(node) || ts.isAccessor(node) || ts.isMethodSignature(node)
    if (declares && !isMember && name && ts.isIdentifier(name)) names.add(name.text)
    ts.forEachChild(node, visit)
  }
  visit(file)
  return names
}

const isImport = (node: ts.Node): node is ts.ImportDeclaration | ts.ExportDeclaration =>
  ts.isImportDeclaration(node) || ts.isExportDeclaration(node)

/** Whether a node is a type, where names of ambient types (`ErrorOptions`, `Record`) are no use of a global. */
const isType = (node: ts.Node): boolean =>
  (ts.isTypeNode(node) && !ts.isExpressionWithTypeArguments(node)) ||
  ts.isTypeAliasDeclaration(node) ||
  ts.isInterfaceDeclaration(node) ||
  ts.isTypeParameterDeclaration(node) ||
  (ts.isHeritageClause(node) && node.token === ts.SyntaxKind.ImplementsKeyword)

function impurities(name: string, text: string): string[] {
  const file = ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true)
  const declared = declaredNames(file)
  const found: string[] = []
  const visit = (node: ts.Node, inType: boolean): void => {
    const report = (what: string): unknown =>
      found.push(`${name}:${file.getLineAndCharacterOfPosition(node.getStart()).line + 1} ${what}`)
    if (isImport(node) && node.moduleSpecifier) {
      const specifier = node.moduleSpecifier as ts.StringLiteral
      if (!/^\.\.?\//.test(specifier.text)) report(`imports ${specifier.text}`)
    }
    if (node.kind === ts.SyntaxKind.AsyncKeyword) report('async')
    if (ts.isAwaitExpression(node) || node.kind === ts.SyntaxKind.AwaitKeyword) report('await')
    if (ts.isMetaProperty(node) && node.keywordToken === ts.SyntaxKind.ImportKeyword) report('import.meta')
    if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) report('import()')
    if (ts.isIdentifier(node) && !isMemberName(node)) {
      if (forbidden.has(node.text)) report(node.text)
      else if (node.text === 'Function' && ts.isCallOrNewExpression(node.parent)) report('Function()')
      else if (node.text === 'Math' && !inType) {
        const member = ts.isPropertyAccessExpression(node.parent) ? node.parent.name.text : 'random'
        if (member === 'random') report('Math.random')
      } else if (!inType && !declared.has(node.text) && !language.has(node.text)) report(`${node.text} is not declared`)
    }
    ts.forEachChild(node, child => visit(child, inType || isType(node)))
  }
  visit(file, false)
  return found
}

describe('purity', () => {
  const pure = Object.entries(sources).filter(([name]) => !/\.(test|bench|test-d)\.ts$/.test(name))

  test('both are found', () => {
    expect(pure.map(([name]) => name)).toEqual(expect.arrayContaining(['./events.ts', '../format/versions.ts']))
  })

  test.each(pure)('%s is pure', (name, text) => {
    expect(impurities(name, text)).toEqual([])
  })
})

describe('the check itself', () => {
  test('accepts pure code', () => {
    const text = `
      import type { A } from './a.ts'
      import { b, type C as D } from '../core/b.ts'
      export type Clock = { readonly now: () => number; Date?: string; self: A }
      export class MyError extends Error { constructor(text: string, options?: ErrorOptions) { super(text, options) } }
      export class Bag implements Iterable<number> { *[Symbol.iterator]() { yield 1 } }
      const held = new Map<string, D>()
      export function f<T extends object>({ process: renamed, ...rest }: { process: T; x: Record<string, T> }): number {
        outer: for (const key of Object.keys(rest)) { if (key === 'Date') continue outer }
        const answer = b(renamed) as { then?: (a: unknown) => unknown }
        if (typeof answer.then === 'function') answer.then(() => undefined)
        return Math.max(held.size, [1].map(n => n + 1).length)
      }
      export const g = { document: 1, fetch() { return 2 }, get window() { return 3 } }
      export { f as fetch }
      export const h: Clock['now'] = () => g.document
    `
    expect(impurities('pure.ts', text)).toEqual([])
  })

  test.each([
    ['a clock', 'export const f = () => Date.now()', 'Date'],
    ['another clock', 'export const f = () => performance.now()', 'performance'],
    ['randomness', 'export const f = () => Math.random()', 'Math.random'],
    ['randomness by destructuring', 'const { random } = Math; export const f = random', 'Math.random'],
    ['randomness by index', "export const f = () => Math['random']()", 'Math.random'],
    ['crypto', 'export const f = () => crypto.randomUUID()', 'crypto'],
    ['a promise', 'export const f = () => Promise.resolve()', 'Promise'],
    ['the type of a promise', 'export type F = () => Promise<void>', 'Promise'],
    ['async', 'export async function f() {}', 'async'],
    ['an async arrow', 'export const f = async () => 1', 'async'],
    ['await', 'await f(); function f() {}', 'await'],
    ['for await', 'for await (const x of []) { void x }', 'await'],
    ['a timer', 'setTimeout(f, 1); function f() {}', 'setTimeout'],
    ['process', "export const dev = process.env['NODE_ENV']", 'process'],
    ['a shorthand', 'export const o = { process }', 'process'],
    ['a shadowed name', 'export const f = (document: string) => document.length', 'document'],
    ['globalThis', "export const d = globalThis['Date']", 'globalThis'],
    ['console', 'console.log(1)', 'console'],
    ['structuredClone', 'export const c = structuredClone({})', 'structuredClone'],
    ['a global not on any list', 'export const t = new TextEncoder()', 'TextEncoder is not declared'],
    ['an undeclared base class', 'export class A extends EventTarget {}', 'EventTarget is not declared'],
    ['a package', "import { openDB } from 'idb'", 'imports idb'],
    ['a package re-exported', "export * from 'node:path'", 'imports node:path'],
    ['a dynamic import', "export const f = () => import('./a.ts')", 'import()'],
    ['code from text', "export const now = new Function('return Date.now()')", 'Function()'],
    ['import.meta', 'export const u = import.meta.url', 'import.meta'],
  ])('finds %s', (_, text, what) => {
    expect(impurities('impure.ts', text).map(line => line.replace(/^\S+ /, ''))).toContain(what)
  })
})
