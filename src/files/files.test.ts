/** Files as bytes: lines, compression, damage, progress. */
import { createGzip, gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { wellFormedText } from '../core/well-formed.ts'
import { FormatError } from '../format/errors.ts'
import { bytesOf } from './bytes.ts'
import { decompress } from './decompress.ts'
import { LineCutter } from './lines.ts'
import { newLogReader, readLog, type ReadProgress, sha256Hex } from './read-log.ts'
import { FrameCutter, isZstd } from './zstd-frames.ts'

const encoder = new TextEncoder()
const HEADER = '{"type":"session","version":3,"id":"s","createdAt":1,"isSeeded":false,"delegationDepth":0}'
const todo = (seq: number, text = 'x') =>
  JSON.stringify({ type: 'todo/write', seq, time: seq, data: { todos: [text] } })
const file = (count: number, text?: string): string =>
  `${[HEADER, ...Array.from({ length: count }, (_, seq) => todo(seq, text))].join('\n')}\n`

/** The bytes in pieces of these sizes, the last one over and over. */
async function* cut(bytes: Uint8Array, ...sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  await Promise.resolve()
  let at = 0
  for (let index = 0; at < bytes.length; index += 1) {
    const size = Math.max(1, sizes[Math.min(index, sizes.length - 1)] ?? bytes.length)
    yield bytes.subarray(at, at + size)
    at += size
  }
}

async function collected(chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array[]> {
  const list: Uint8Array[] = []
  for await (const chunk of chunks) list.push(chunk)
  return list
}

async function joined(chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  return new Uint8Array(await new Response(new Blob((await collected(chunks)) as BlobPart[])).arrayBuffer())
}

async function* textPieces(): AsyncGenerator<string> {
  yield await Promise.resolve(file(1))
}

function lockedStream(): ReadableStream {
  const stream = new ReadableStream()
  stream.getReader()
  return stream
}

/** A block as it is, in a frame of its own: `1` a raw block, then RFC 8878 by hand. */
function zstdFrame(content: string, { checksum = true, blockSize = Math.max(1, content.length) } = {}): Uint8Array {
  const bytes = encoder.encode(content)
  const blocks: number[] = []
  for (let at = 0; at < Math.max(1, bytes.length); at += blockSize) {
    const block = bytes.subarray(at, at + blockSize)
    const isLast = at + blockSize >= bytes.length
    const header = (block.length << 3) | (isLast ? 1 : 0)
    blocks.push(header & 255, (header >> 8) & 255, header >> 16, ...block)
  }
  const size = bytes.length
  const sum = checksum ? XXH64[content] : undefined
  if (checksum && sum === undefined) throw new Error(`no checksum known for ${content}`)
  // Single segment, 4 bytes of content size.
  const descriptor = 0xa0 | (checksum ? 4 : 0)
  const tail = sum === undefined ? [] : [sum & 255, (sum >> 8) & 255, (sum >> 16) & 255, sum >>> 24]
  return Uint8Array.of(
    0x28,
    0xb5,
    0x2f,
    0xfd,
    descriptor,
    size & 255,
    (size >> 8) & 255,
    (size >> 16) & 255,
    0,
    ...blocks,
    ...tail,
  )
}

/** Lower 32 bits of XXH64, from the reference implementation: of the header line, of one letter, of nothing. */
const XXH64: Readonly<Record<string, number>> = { [`${HEADER}\n`]: 0x89228b17, a: 0xa98c6e5b, '': 0x51d8e999 }

describe('bytes', () => {
  it.each<[what: string, source: Parameters<typeof bytesOf>[0], size: number | undefined]>([
    ['text', 'Grüße', 7],
    ['bytes', encoder.encode('Grüße'), 7],
    ['a buffer', encoder.encode('Grüße').buffer, 7],
    ['a blob', new Blob(['Grüße']), 7],
    ['a stream', new Blob(['Grüße']).stream(), undefined],
    ['pieces', cut(encoder.encode('Grüße'), 2), undefined],
  ])('[F14] come from %s', async (_what, source, size) => {
    const bytes = bytesOf(source)
    expect(bytes.size).toBe(size)
    expect(await joined(bytes.chunks)).toEqual(encoder.encode('Grüße'))
  })

  it('[F14] come in pieces that can be held, however large the source hands them out', async () => {
    const large = new Uint8Array(3_000_000)
    for (const source of [large, cut(large, large.length), new Blob([large]).stream()]) {
      const pieces = await collected(bytesOf(source).chunks)
      expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThanOrEqual(1 << 20)
      expect(pieces.reduce((sum, { length }) => sum + length, 0)).toBe(large.length)
    }
  })

  it('[F14] of a text are told and come as they are encoded at once, however long it is', async () => {
    const units = ['a', 'é', '€', '\u{1f600}', '\ud800', '\udc00']
    await fc.assert(
      fc.asyncProperty(fc.array(fc.constantFrom(...units), { maxLength: 12 }), fc.boolean(), async (list, isLong) => {
        // So long that the pieces end in the middle of it.
        const text = `${isLong ? 'x'.repeat((1 << 18) - 3) : ''}${list.join('')}`
        const { chunks, size } = bytesOf(text)
        const bytes = encoder.encode(text)
        expect(size).toBe(bytes.length)
        expect(Buffer.compare(await joined(chunks), bytes)).toBe(0)
      }),
      { numRuns: 100 },
    )
  })

  it.each<[what: string, source: unknown, came: string]>([
    ['nothing', undefined, 'undefined'],
    ['null', null, 'null'],
    ['a number', 7, 'number'],
    ['a list', [1, 2], 'Array'],
    ['an object', {}, 'Object'],
    ['other numbers', new Float64Array(2), 'Float64Array'],
    ['text in pieces', textPieces(), 'string'],
    ['pieces that are null', new ReadableStream({ start: controller => controller.enqueue(null) }), 'null'],
    ['pieces that are numbers', new ReadableStream({ start: controller => controller.enqueue(7) }), 'number'],
    ['a locked stream', lockedStream(), 'locked'],
  ])('[F14] do not come from %s: it is refused by name', async (_what, source, came) => {
    const reading = readLog(source as string)
    await expect(reading).rejects.toMatchObject({ name: 'FormatError', code: 'source' })
    await expect(reading).rejects.toThrow(came)
  })

  it('[F14] let their source go when nobody wants more', async () => {
    let cancelled: unknown = null
    const stream = new ReadableStream<Uint8Array>({
      pull: controller => controller.enqueue(encoder.encode(file(1))),
      cancel: reason => {
        cancelled = reason ?? 'cancelled'
      },
    })
    for await (const _chunk of bytesOf(stream).chunks) break
    expect(cancelled).not.toBeNull()
  })
})

describe('lines', () => {
  const linesOf = (bytes: Uint8Array, ...sizes: readonly number[]): (string | null)[] => {
    const lines: (string | null)[] = []
    const cutter = new LineCutter(line => lines.push(line))
    let at = 0
    for (let index = 0; at < bytes.length; index += 1) {
      const size = Math.max(1, sizes[Math.min(index, sizes.length - 1)] ?? bytes.length)
      cutter.push(bytes.subarray(at, at + size))
      at += size
    }
    return [...lines, cutter.end()]
  }

  it('[F8] are the same wherever the pieces end, in the middle of a character too', () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: 'binary' }), { maxLength: 8 }),
        fc.array(fc.nat(9), { minLength: 1 }),
        (texts, sizes) => {
          const lines = texts.map(text => wellFormedText(text.replaceAll('\n', ' ')))
          const bytes = encoder.encode(lines.join('\n'))
          expect(linesOf(bytes, ...sizes)).toEqual(lines.length === 0 ? [''] : lines)
          expect(linesOf(bytes)).toEqual(lines.length === 0 ? [''] : lines)
        },
      ),
      { numRuns: 300 },
    )
  })

  it('[F8] that are no UTF-8 are told apart from those around them', () => {
    const bad = Uint8Array.of(...encoder.encode('one\n'), 0xff, 10, ...encoder.encode('three\n'), 0xc3)
    for (const size of [1, 2, 3, 100]) expect(linesOf(bad, size)).toEqual(['one', null, 'three', null])
  })

  it('[F8] keep a mark at their beginning', () => {
    expect(linesOf(encoder.encode('\ufeffa\n\ufeffb'))).toEqual(['\ufeffa', '\ufeffb'])
  })

  it('[F8] that are longer than lines may be are refused with their number, before they are whole', () => {
    for (const size of [1, 3, 100]) {
      const lines: (string | null)[] = []
      const cutter = new LineCutter(line => lines.push(line), 5)
      const push = (text: string) => {
        for (let at = 0; at < text.length; at += size) cutter.push(encoder.encode(text.slice(at, at + size)))
      }
      push('12345\n\n1234\n')
      expect(lines).toEqual(['12345', '', '1234'])
      expect(() => push('123456')).toThrow(FormatError)
      const other = new LineCutter(() => {}, 5)
      expect(() => other.push(encoder.encode('1\n123456\n'))).toThrow(
        expect.objectContaining({ code: 'too-long', line: 2 }),
      )
    }
  })

  it('[F8, F10] of 300 MB are refused, or end the log where that was asked for', { timeout: 60_000 }, async () => {
    const source = () =>
      (async function* () {
        yield await Promise.resolve(encoder.encode(file(2)))
        for (let count = 0; count < 300; count += 1) yield new Uint8Array(1 << 20).fill(32)
        yield encoder.encode(`\n${todo(2)}\n`)
      })()
    await expect(readLog(source())).rejects.toMatchObject({ name: 'FormatError', code: 'too-long', line: 4 })
    const { eventCount, repairs } = await readLog(source(), { mode: 'recoverable' })
    expect([eventCount, repairs]).toMatchObject([2, [{ code: 'kept-prefix', line: 4, seq: 2 }]])
  })

  it('[F8] are blank with spaces, tabs and carriage returns alone', async () => {
    expect((await readLog(`${HEADER}\n \t\r\n\r\n${todo(0)}\n`)).repairs).toEqual([])
    for (const blank of ['\u00a0', '\u2028', '\ufeff', '\v', '\f']) {
      expect((await readLog(`${HEADER}\n${blank}\n${todo(0)}\n`)).repairs).toMatchObject([
        { code: 'torn-tail', line: 2 },
      ])
    }
  })

  it('[F14] of 50 MB are read like others', { timeout: 60_000 }, async () => {
    const long = 'é'.repeat(25_000_000)
    const log = await readLog(cut(encoder.encode(file(2, long)), 700_001))
    expect(log.events).toHaveLength(2)
    expect(log.events[1]).toMatchObject({ data: { todos: [long] } })
  })
})

describe('gzip', () => {
  it('[F14] is read like the plain file, cut anywhere', async () => {
    const plain = file(50)
    for (const size of [1, 7, 1000]) {
      const log = await readLog(cut(gzipSync(plain), size))
      expect(log).toEqual(await readLog(plain))
    }
  })

  it('[F14] that is damaged or cut off is refused by name', async () => {
    const zipped = gzipSync(file(500))
    const damaged = zipped.slice()
    damaged.fill(0x55, 40, 60)
    for (const bytes of [zipped.subarray(0, -9), zipped.subarray(0, 30), damaged]) {
      await expect(readLog(bytes)).rejects.toMatchObject({ name: 'FormatError', code: 'compression' })
    }
  })

  it('[F10, F14] that is cut off gives what is there, where that was asked for', async () => {
    const zipped = gzipSync(file(5_000, 'words that '.repeat(3) + Math.random()))
    const { eventCount, repairs } = await readLog(zipped.subarray(0, zipped.length >> 1), { mode: 'recoverable' })
    expect(eventCount).toBeGreaterThan(0)
    expect(eventCount).toBeLessThan(20_000)
    expect(repairs).toMatchObject([{ code: 'torn-tail', seq: eventCount }])
  })

  it('[F10, F14] that is damaged in the middle is not torn there', async () => {
    const words = Array.from({ length: 3_000 }, (_, index) => sha256Hex(String(index)))
    const zipped = gzipSync([HEADER, ...words.map((word, seq) => todo(seq, word)), ''].join('\n'))
    zipped[zipped.length >> 1] = (zipped[zipped.length >> 1] as number) ^ 255
    const { eventCount, repairs } = await readLog(zipped, { mode: 'recoverable' })
    expect(eventCount).toBeGreaterThan(0)
    expect(repairs).toMatchObject([{ code: 'kept-prefix', seq: eventCount }])
    // Nothing was read before it: then there is nothing to keep, and the file is not empty either.
    zipped.fill(255, 20, 40)
    await expect(readLog(zipped, { mode: 'recoverable' })).rejects.toMatchObject({ code: 'compression' })
  })

  it('[F14] of several members, or with something behind, is refused by name', async () => {
    const one = gzipSync(file(3))
    const behind = [gzipSync(`${todo(3)}\n`), one, gzipSync(''), new Uint8Array(10), new Uint8Array(100_000)]
    for (const more of behind) {
      const bytes = Buffer.concat([one, more])
      await expect(readLog(bytes)).rejects.toMatchObject({ name: 'FormatError', code: 'compression' })
      await expect(readLog(cut(bytes, 1000))).rejects.toThrow('behind its first member')
    }
  })

  it('[F14] is read in memory that does not grow with what is in it', async () => {
    const zip = createGzip({ level: 1 })
    const zipped: Uint8Array[] = []
    zip.on('data', (chunk: Uint8Array) => zipped.push(chunk))
    const blank = new Uint8Array(1 << 20).fill(32)
    blank[blank.length - 1] = 10
    zip.write(`${HEADER}\n`)
    for (let count = 0; count < 400; count += 1) {
      if (!zip.write(blank)) await new Promise(resolve => zip.once('drain', resolve))
    }
    await new Promise(resolve => zip.once('end', resolve).end())
    const held = () => process.memoryUsage().rss / 1e6
    const before = held()
    let peak = 0
    expect(
      (await readLog(Buffer.concat(zipped), { onProgress: () => (peak = Math.max(peak, held())) })).eventCount,
    ).toBe(0)
    expect(peak - before).toBeLessThan(200)
  }, 30_000)

  it('[F14] what the source throws is no damage', async () => {
    const failing = (async function* () {
      await Promise.resolve()
      yield gzipSync(file(500)).subarray(0, 50)
      throw new RangeError('the disk is gone')
    })()
    await expect(readLog(failing)).rejects.toThrow('the disk is gone')
  })
})

describe('zstd', () => {
  const frames = [`${HEADER}\n`, `${todo(0)}\n`, `${todo(1)}\n${todo(2)}\n`].map(text =>
    zstdFrame(text, { checksum: false }),
  )
  const whole = Uint8Array.from(frames.flatMap(frame => [...frame]))

  it('[F14] of several frames is read as one file, cut anywhere', async () => {
    for (const size of [1, 5, 1000]) expect((await readLog(cut(whole, size))).eventCount).toBe(3)
  })

  it('[F14] may have blocks, skippable frames and empty ones', async () => {
    const skippable = Uint8Array.of(0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3)
    const parts = [skippable, zstdFrame(file(3), { checksum: false, blockSize: 10 }), zstdFrame(''), skippable]
    const bytes = Uint8Array.from(parts.flatMap(part => [...part]))
    for (const size of [1, 1000]) expect((await readLog(cut(bytes, size))).eventCount).toBe(3)
    expect(isZstd(bytes)).toBe(true)
    expect(isZstd(encoder.encode(HEADER))).toBe(false)
  })

  it('[F14] that ends inside a frame is torn: whole lines are kept', async () => {
    const torn = whole.subarray(0, -4)
    const { eventCount, repairs } = await readLog(torn)
    expect(eventCount).toBe(1)
    expect(repairs).toMatchObject([{ code: 'torn-tail', seq: 1 }])
    // What was whole before the tear is kept, also inside the frame.
    const blocks = zstdFrame(file(3), { checksum: false, blockSize: HEADER.length + 1 + todo(0).length + 1 })
    expect((await readLog(blocks.subarray(0, -4))).eventCount).toBe(1)
  })

  it('[F14] that does not match its checksum is damaged', async () => {
    const good = zstdFrame(`${HEADER}\n`)
    expect((await readLog(good)).eventCount).toBe(0)
    for (const at of [good.length - 1, 20]) {
      const bad = good.slice()
      bad[at] = (bad[at] as number) ^ 1
      await expect(readLog(bad)).rejects.toMatchObject({ code: 'compression' })
    }
  })

  it('[F14] whose table of Huffman weights has one symbol is refused: the decompressor would read it for ever', async () => {
    // Behind the sizes of the literals: four bytes of weights, which begin with the symbols that occur.
    const block = (...symbols: readonly number[]) => {
      const content = [0xa2, 0x40, 0x01, 4, ...symbols, 0, 0, 0]
      const size = 5 | (content.length << 3)
      return Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd, 0x20, 10, size & 255, size >> 8, 0, ...content)
    }
    const endless = {
      name: 'FormatError',
      code: 'compression',
      message: expect.stringContaining('never ends') as string,
    }
    // The first symbol takes all there is; so does the third, behind two that do not occur.
    for (const symbols of [
      [0xf0, 0x03, 0x00, 0x80],
      [0x10, 0xfa, 0x01, 0x80],
    ]) {
      await expect(readLog(block(...symbols))).rejects.toMatchObject(endless)
      await expect(readLog(cut(block(...symbols), 1))).rejects.toMatchObject(endless)
    }
    // Two symbols share it: that ends, and then something else is wrong.
    await expect(readLog(block(0xf0, 0x02, 0x00, 0x80))).rejects.not.toMatchObject(endless)
  })

  it('[F10, F14] that has something else behind a frame is damaged, not torn', async () => {
    for (const more of [[1], [0x28, 0xb5, 1], [0x51, 0x2a, 0x4e], [1, 2, 3, 4, 5]]) {
      const bytes = Uint8Array.of(...whole, ...more)
      await expect(readLog(bytes)).rejects.toMatchObject({ code: 'compression' })
      const { eventCount, repairs } = await readLog(cut(bytes, 1), { mode: 'recoverable' })
      expect([eventCount, repairs]).toMatchObject([3, [{ code: 'kept-prefix', line: 5, seq: 3 }]])
    }
    for (const more of [[0x28], [0x28, 0xb5, 0x2f], [0x5f, 0x2a], [0x50, 0x2a, 0x4d, 0x18, 9]]) {
      expect((await readLog(Uint8Array.of(...whole, ...more))).repairs).toMatchObject([{ code: 'torn-tail', seq: 3 }])
    }
  })

  it('[F10, F14] of a frame that does not match its checksum nothing is kept, of one that just ends all there is', async () => {
    const frame = zstdFrame('a')
    const bad = frame.slice()
    bad[bad.length - 1] = (bad[bad.length - 1] as number) ^ 1
    const taken = async (bytes: Uint8Array) => {
      const pieces: Uint8Array[] = []
      const { chunks, tear } = await decompress(cut(bytes, 1))
      try {
        for await (const chunk of chunks) pieces.push(chunk)
      } catch (error) {
        expect(error).toMatchObject({ code: 'compression' })
        expect(tear()).toBeNull()
      }
      return Buffer.concat(pieces).toString()
    }
    expect(await taken(frame)).toBe('a')
    expect(await taken(bad)).toBe('')
    expect(await taken(Uint8Array.of(...frame, ...bad))).toBe('a')
    // A block, and not the last one. The decompressor waits for eighteen bytes.
    const text = 'abcdefghijklm'
    const head = Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd, 4, 0x50, text.length << 3, 0, 0, ...encoder.encode(text))
    expect(await taken(head)).toBe(text)
    expect(await taken(Uint8Array.of(...head, 1, 0, 0, 1, 2, 3, 4))).toBe('')
  })

  /** A header by hand, and the last block of a frame, whose content is a header line. */
  const framed = (...header: readonly number[]) => {
    const content = encoder.encode(`${HEADER}\n`)
    const block = (content.length << 3) | 1
    return Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd, ...header, block & 255, block >> 8, 0, ...content)
  }

  it.each<[what: string, header: readonly number[], message: string]>([
    ['a window of 1 GiB', [0, 20 << 3], '1024 MiB'],
    ['a window just too large', [0, (15 << 3) | 1], '36 MiB'],
    ['a window no number of 32 bits holds', [0, 255], 'at most 32 MiB'],
    ['a window as large as 1 GiB of content', [0xa0, 0, 0, 0, 0x40], '1024 MiB'],
    ['a window as large as content without end', [0xe0, 255, 255, 255, 255, 255, 255, 255, 255], 'at most 32 MiB'],
    ['a dictionary', [1, 0x50, 7], 'dictionary (7)'],
    ['a dictionary with a long id', [3, 0x50, 1, 0, 0, 128], 'dictionary (2147483649)'],
    ['less content than it says', [0x60, 0, 0], 'says it holds 256 bytes'],
    ['more content than it says, beside a window', [0x80, 0x50, 9, 0, 0, 0], 'says it holds 9 bytes'],
    ['more content than it says', [0x20, 5], 'damaged'],
  ])('[F14] that has %s is refused by name', async (_what, header, message) => {
    const reading = readLog(framed(...header))
    await expect(reading).rejects.toMatchObject({ name: 'FormatError', code: 'compression' })
    await expect(reading).rejects.toThrow(message)
  })

  it('[F14] may have a window of 32 MiB, and a size that fits', async () => {
    const { length } = encoder.encode(`${HEADER}\n`)
    for (const header of [
      [0, 15 << 3],
      [0x20, length],
      [0x80, 0x50, length, 0, 0, 0],
      [1, 0x50, 0],
    ]) {
      expect((await readLog(framed(...header))).eventCount).toBe(0)
    }
  })

  it('[F14] of large blocks is found in time, whatever pieces it comes in', { timeout: 60_000 }, () => {
    const block = (1 << 17) << 3
    const head = [0x28, 0xb5, 0x2f, 0xfd, 0, 0x50]
    const bytes = new Uint8Array(head.length + 4 * (3 + (1 << 17)))
    bytes.set(head)
    for (let at = head.length; at < bytes.length; at += 3 + (1 << 17)) bytes.set([block & 255, (block >> 8) & 255, block >> 16], at) // biome-ignore format: one line
    const cutter = new FrameCutter()
    let count = 0
    const start = performance.now()
    for (const byte of bytes) for (const _part of cutter.push(Uint8Array.of(byte))) count += 1
    expect(count).toBe(5)
    expect(performance.now() - start).toBeLessThan(20_000)
    const more = block + 8
    const bad = Uint8Array.of(...head, more & 255, (more >> 8) & 255, more >> 16)
    expect(new FrameCutter().push(bad).next().value).toMatchObject({ isFirst: true })
    expect([...new FrameCutter().push(bad)]).toHaveLength(1)
  })

  it('[F14] frames are found wherever the pieces end', () => {
    const bytes = Uint8Array.from([
      ...zstdFrame('a'),
      ...zstdFrame(''),
      ...zstdFrame('abcdef', { checksum: false, blockSize: 2 }),
    ])
    const outline = (size: number) => {
      const cutter = new FrameCutter()
      const parts = []
      for (let at = 0; at < bytes.length; at += size) parts.push(...cutter.push(bytes.subarray(at, at + size)))
      expect(cutter.isWhole).toBe(true)
      return parts.map(({ isFirst, isLast, checksum }) => `${isFirst ? '<' : ''}${isLast ? '>' : ''}${checksum ?? ''}`)
    }
    const expected = ['<', `>${XXH64['a']}`, '<', `>${XXH64['']}`, '<', '', '', '>']
    for (const size of [1, 2, 3, 1000]) expect(outline(size)).toEqual(expected)
  })
})

describe('reading', () => {
  it('[F14] says how far it got, in bytes of the file as it is stored', async () => {
    const told: ReadProgress[] = []
    const zipped = gzipSync(file(100))
    await readLog(new Blob([zipped]), { onProgress: progress => told.push(progress) })
    expect(told.at(-1)).toEqual({ bytes: zipped.length, size: zipped.length, events: 100 })
  })

  it('[F14] can be given up', async () => {
    const cancel = new AbortController()
    const reading = readLog(cut(encoder.encode(file(100)), 500), {
      signal: cancel.signal,
      onProgress: () => cancel.abort(new RangeError('enough')),
    })
    await expect(reading).rejects.toThrow('enough')
  })

  const lines = new Uint8Array(60_000_000).fill(10)
  lines.set(encoder.encode(HEADER))
  it.each<[what: string, source: () => Parameters<typeof readLog>[0]]>([
    ['bytes', () => lines],
    ['text', () => `${HEADER}${'\n'.repeat(60_000_000)}`],
    ['gzip', () => gzipSync(lines, { level: 1 })],
    [
      'zstd',
      () => {
        // Blocks of one newline over and over.
        const block = ((1 << 17) << 3) | 2
        const blocks = Array.from({ length: 500 }, () => [block & 255, (block >> 8) & 255, block >> 16, 10]).flat()
        return Uint8Array.of(...zstdFrame(`${HEADER}\n`), 0x28, 0xb5, 0x2f, 0xfd, 0, 0x50, ...blocks)
      },
    ],
    [
      'zstd that comes to nothing',
      () => {
        const blocks = new Uint8Array(3_000_000)
        return Buffer.concat([zstdFrame(`${HEADER}\n`), Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd, 0, 15 << 3), blocks])
      },
    ],
    [
      'chunks without bytes',
      () =>
        (async function* () {
          for (;;) yield await Promise.resolve(new Uint8Array(0))
        })(),
    ],
  ])(
    '[F14] long %s lets others have their turn, and can be given up soon',
    { timeout: 60_000 },
    async (_what, sourceOf) => {
      const source = sourceOf()
      const cancel = new AbortController()
      let turns = 0
      const timer = setInterval(() => {
        turns += 1
        if (turns === 3) cancel.abort(new RangeError('enough'))
      }, 1)
      let aborted = 0
      cancel.signal.addEventListener('abort', () => (aborted = performance.now()))
      try {
        await expect(readLog(source, { signal: cancel.signal })).rejects.toThrow('enough')
        expect(performance.now() - aborted).toBeLessThan(1_000)
      } finally {
        clearInterval(timer)
      }
    },
  )

  it.each([
    ['a stream', () => new ReadableStream<Uint8Array>()],
    [
      'a generator',
      () =>
        (async function* () {
          yield await new Promise<Uint8Array>(() => {})
        })(),
    ],
  ])('[F14] can be given up while %s says nothing', async (_what, sourceOf) => {
    const cancel = new AbortController()
    const reading = readLog(sourceOf(), { signal: cancel.signal })
    setTimeout(() => cancel.abort(new RangeError('enough')), 5)
    await expect(reading).rejects.toThrow('enough')
  })

  it('[F14] given up, lets the source go', async () => {
    const cancel = new AbortController()
    let letGo: (reason: unknown) => void = () => {}
    const isLetGo = new Promise(resolve => {
      letGo = resolve
    })
    const source = new ReadableStream<Uint8Array>({
      start: controller => controller.enqueue(gzipSync(file(10)).subarray(0, 20)),
      cancel: reason => letGo(reason),
    })
    const reading = readLog(source, { signal: cancel.signal })
    setTimeout(() => cancel.abort(), 5)
    await expect(reading).rejects.toMatchObject({ name: 'AbortError' })
    await isLetGo
  })

  it('[F14] a small file is none of something else', async () => {
    for (const source of ['', 'a', '\n\n', Uint8Array.of(0x1f), Uint8Array.of(0x28, 0xb5)]) {
      await expect(readLog(source)).rejects.toMatchObject({ code: 'foreign-header' })
    }
    const { chunks, compression } = await decompress(cut(Uint8Array.of(1, 2)))
    expect([compression, await joined(chunks)]).toEqual(['none', Uint8Array.of(1, 2)])
  })

  it('[F4] ids are made with SHA-256 of UTF-8', () => {
    expect(sha256Hex('ß')).toBe('cd3a7e92a9114307055e4a0583acd6549ec3bb6d7c10ecc6ce11ae3d76b3d7db')
    expect(newLogReader().version).toBeNull()
  })
})
