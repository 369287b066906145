/** Files as bytes: whatever they hold and in whatever pieces they come, they are a log or refused in words. */
import { readdirSync, readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { SessionError } from '../core/errors.ts'
import { FormatError } from '../format/errors.ts'
import { readLog, type ReadLogOptions, sha256Hex } from './read-log.ts'

/** How much longer than usual to look (`CONTRIBUTING.md`). */
const FUZZ = Number(import.meta.env['PALIMPSEST_FUZZ'] ?? 1)
const patience = 120_000 * FUZZ

const folder = new URL('../../e2e/cases/real/', import.meta.url)
const files = readdirSync(folder)
  .filter(name => /\.jsonl(\.zstd)?$/.test(name))
  .map(name => new Uint8Array(readFileSync(new URL(name, folder))))
const isPlain = (bytes: Uint8Array): boolean => bytes[0] === 0x7b

async function gzipped(bytes: Uint8Array): Promise<Uint8Array> {
  const stream = new Blob([bytes as Uint8Array<ArrayBuffer>]).stream().pipeThrough(new CompressionStream('gzip'))
  return new Uint8Array(await new Response(stream).arrayBuffer())
}
const gzips = await Promise.all(files.filter(isPlain).map(gzipped))
/** One that is longer, compressed, than what is decompressed at once. */
const long = await gzipped(
  new TextEncoder().encode(
    Array.from({ length: 900 }, (_, line) =>
      line === 0
        ? '{"type":"session","version":3,"id":"s","createdAt":1,"isSeeded":false,"delegationDepth":0}\n'
        : `{"type":"todo/write","seq":${line - 1},"time":1,"data":{"todos":["${sha256Hex(String(line))}"]}}\n`,
    ).join(''),
  ),
)
const valid: readonly Uint8Array[] = [...files, ...gzips, long]

/** What reading comes to, as one text: the log, or the refusal. Anything else fails the test. */
async function outcomeOf(
  source: Parameters<typeof readLog>[0],
  mode: NonNullable<ReadLogOptions['mode']>,
): Promise<string> {
  try {
    return JSON.stringify(await readLog(source, { mode }))
  } catch (error) {
    if (!(error instanceof FormatError || error instanceof SessionError)) throw error
    const { name, code, message, line, seq } = error
    expect(message).not.toBe('')
    return JSON.stringify({ name, code, message, line, seq })
  }
}

/** The bytes in pieces of these lengths, over and over; all at once when there are none. Those of long files are longer. */
async function* inPieces(bytes: Uint8Array, lengths: readonly number[]): AsyncGenerator<Uint8Array> {
  const scale = 1 + (bytes.length >> 13) * 16
  let at = 0
  for (let next = 0; at < bytes.length; next += 1) {
    const length = lengths.length === 0 ? bytes.length : (lengths[next % lengths.length] as number) * scale
    yield bytes.slice(at, at + length)
    at += length
  }
}

function joined(...parts: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return all
}

type Change = { readonly kind: string; readonly at: number; readonly length: number; readonly bytes: Uint8Array }

function changed(bytes: Uint8Array, { kind, at, length, bytes: other }: Change): Uint8Array {
  const from = at % (bytes.length + 1)
  switch (kind) {
    case 'flip': {
      const copy = bytes.slice()
      if (copy.length > 0) copy[at % copy.length] = (copy[at % copy.length] as number) ^ (1 << (length % 8))
      return copy
    }
    case 'cut':
      return bytes.slice(0, from)
    case 'remove':
      return joined(bytes.slice(0, from), bytes.slice(from + length))
    case 'insert':
      return joined(bytes.slice(0, from), other, bytes.slice(from))
    case 'overwrite':
      return joined(bytes.slice(0, from), other, bytes.slice(from + other.length))
    case 'repeat':
      return joined(bytes.slice(0, from), bytes.slice(Math.max(0, from - length)))
    default:
      return joined(bytes, other)
  }
}

const noise = fc.uint8Array({ maxLength: 24 })
const change: fc.Arbitrary<Change> = fc.record({
  kind: fc.constantFrom('flip', 'cut', 'remove', 'insert', 'overwrite', 'repeat', 'append'),
  // Headers are short and at the beginning.
  at: fc.oneof(fc.nat(40), fc.nat(50_000)),
  length: fc.nat(60),
  bytes: noise,
})
const mode = fc.constantFrom('strict' as const, 'recoverable' as const)
const pieces = fc.array(fc.oneof(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 3_000 })), { maxLength: 6 })
const magic = fc.constantFrom<number[]>(
  [],
  [0x1f, 0x8b],
  [0x1f, 0x8b, 8, 0],
  [0x28, 0xb5, 0x2f, 0xfd],
  [0x50, 0x2a, 0x4d, 0x18],
  [0xef, 0xbb, 0xbf],
  [0x7b],
)

describe('files', () => {
  it(
    '[F8, F14] of any bytes are refused in words, alike in whatever pieces they come',
    () =>
      fc.assert(
        fc.asyncProperty(magic, fc.uint8Array({ maxLength: 200 }), pieces, mode, async (start, rest, lengths, how) => {
          const bytes = new Uint8Array([...start, ...rest])
          const whole = await outcomeOf(bytes, how)
          expect(await outcomeOf(inPieces(bytes, lengths), how)).toBe(whole)
        }),
        { numRuns: 800 * FUZZ },
      ),
    patience,
  )

  it(
    '[F8, F14] that were good and are damaged somewhere come to the same in whatever pieces they come',
    () =>
      fc.assert(
        fc.asyncProperty(
          fc.constantFrom(...valid),
          fc.array(change, { minLength: 1, maxLength: 2 }),
          pieces,
          mode,
          async (good, changes, lengths, how) => {
            const bytes = changes.reduce(changed, good)
            const whole = await outcomeOf(bytes, how)
            expect(await outcomeOf(inPieces(bytes, lengths), how)).toBe(whole)
          },
        ),
        { numRuns: 1_000 * FUZZ },
      ),
    patience,
  )

  it(
    '[F14] that are good open alike, plain and compressed, in whatever pieces they come',
    async () => {
      const whole = await Promise.all(valid.map(bytes => outcomeOf(bytes, 'strict')))
      gzips.forEach((_, index) => {
        expect(whole[files.length + index]).toBe(whole[files.findIndex(file => file === files.filter(isPlain)[index])])
      })
      await fc.assert(
        fc.asyncProperty(fc.nat(valid.length - 1), pieces, async (index, lengths) => {
          expect(await outcomeOf(inPieces(valid[index] as Uint8Array, lengths), 'strict')).toBe(whole[index])
        }),
        { numRuns: 200 * FUZZ },
      )
    },
    patience,
  )
})
