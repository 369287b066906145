import { mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { CliIo, CliOutput } from './io.ts'
import type { VerifyReport } from './report.ts'
import { run } from './run.ts'
import type { Stats } from './stats.ts'

const cases = fileURLToPath(new URL('../../e2e/cases/', import.meta.url))
const file = (name: string): string => join(cases, name)
const basic = file('mig-01-basic.v0.jsonl')
const current = file('mig-01-basic.v3.jsonl')
const crashed = file('rep-01-two-calls-one-started.jsonl')
const damaged = file('load-08-damaged-middle.jsonl')

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'palimpsest-cli-'))
})
afterAll(() => rm(folder, { recursive: true }))

type Ran = { readonly code: number; readonly out: string; readonly err: string }
type World = { readonly stdin?: Iterable<Uint8Array | string>; readonly isTTY?: boolean; readonly stdout?: CliOutput }

async function cli(argv: readonly string[], { stdin = [], isTTY = false, stdout }: World = {}): Promise<Ran> {
  let [out, err] = ['', '']
  const taker = (take: (text: string) => void): CliOutput => ({
    isTTY,
    write(text, done) {
      take(text)
      queueMicrotask(() => done())
    },
  })
  const input = async function* () {
    yield* stdin
  }
  const io: CliIo = {
    stdin: input(),
    stdout: stdout ?? taker(text => (out += text)),
    stderr: taker(text => (err += text)),
  }
  const code = await run(argv, io)
  return { code, out, err }
}

const verify = async (...argv: string[]): Promise<VerifyReport & { readonly exit: number }> => {
  const { code, out, err } = await cli(['verify', '--json', ...argv])
  expect(err).toBe('')
  expect(out.endsWith('}\n')).toBe(true)
  return { ...(JSON.parse(out) as VerifyReport), exit: code }
}

describe('exit codes', () => {
  it.each([
    [0, [basic]],
    [0, [current]],
    [1, [crashed]],
    [1, [file('load-07-torn-tail.jsonl')]],
    [1, ['--recover', damaged]],
    [2, [damaged]],
    [2, [file('load-13-version-99.jsonl')]],
    [2, [file('sur-04-replace-swallows-system-head.jsonl')]],
    [2, [fileURLToPath(import.meta.url)]],
  ])('[F17] %s for every command on %s', async (expected, argv) => {
    for (const command of ['verify', 'migrate', 'show', 'stats']) {
      const { code, out } = await cli([command, ...argv])
      expect([command, code]).toEqual([command, expected])
      expect(out === '').toBe(expected === 2 && command !== 'verify')
    }
  })

  it.each([
    ['nothing', [], 'Expected a command'],
    ['an unknown command', ['open', basic], 'There is no command open'],
    ['an unknown option', ['verify', '--fix', basic], "Unknown option '--fix'"],
    ['an option of another command', ['migrate', '--json', basic], 'migrate has no option --json'],
    ['an option without its value', ['migrate', basic, '--output'], 'argument missing'],
    ['two ways to show', ['show', '--messages', '--events', basic], 'not both'],
    ['no file', ['verify'], 'Expected a file'],
    ['two files', ['verify', basic, current], 'Expected one file; found 2'],
    ['a missing file', ['verify', '/nowhere/a.jsonl'], 'there is no such file'],
    ['a directory', ['stats', cases], 'it is a directory'],
    ['force without a file', ['migrate', '--force', basic], '--force is for --output FILE'],
    ['a directory to write to', ['migrate', basic, '-o', cases, '--force'], 'not a plain file'],
    ['no directory to write to', ['migrate', basic, '-o', '/nowhere/a.jsonl'], 'there is no such directory'],
  ])('[F17] 3 for %s, in one line', async (_, argv, message) => {
    const { code, out, err } = await cli(argv)
    expect({ code, out }).toEqual({ code: 3, out: '' })
    expect(err).toContain(message)
    expect(err).toMatch(/^palimpsest: [^\n]*\n$/)
  })

  it('[F17] 3 for what breaks in the middle, without a stack', async () => {
    const broken = async function* (): AsyncGenerator<Uint8Array> {
      yield new Uint8Array(1)
      throw new TypeError('the moon is full')
    }
    let err = ''
    const stderr: CliOutput = { write: text => (err += text) }
    expect(await run(['verify', '-'], { stdin: broken(), stdout: stderr, stderr })).toBe(3)
    expect(err).toBe('palimpsest: Cannot read standard input: the moon is full\n')

    const stdout: CliOutput = {
      write() {
        throw new TypeError('the moon is new')
      },
    }
    const unexpected = 'palimpsest: Something went wrong that should not: TypeError: the moon is new\n'
    expect(await cli(['verify', basic], { stdout })).toEqual({ code: 3, out: '', err: unexpected })
  })

  it('[F17] 0 for help and version', async () => {
    for (const argv of [['--help'], ['verify', '-h']]) {
      expect(await cli(argv)).toMatchObject({ code: 0, out: expect.stringContaining('Exit codes:') as string, err: '' })
    }
    const manifest = JSON.parse(await readFile(file('../../package.json'), 'utf8')) as { readonly version: string }
    expect(await cli(['--version'])).toEqual({ code: 0, out: `${manifest.version}\n`, err: '' })
  })
})

describe('verify --json', () => {
  const keys = ['outcome', 'version', 'events', 'seqMap', 'surface', 'closers', 'repairs', 'refusal', 'findings']

  it.each([[basic], [crashed], [damaged]])('[F17] prints one object with the same keys for %s', async path => {
    const { out } = await cli(['verify', '--json', path])
    expect(Object.keys(JSON.parse(out) as object)).toEqual(keys)
    expect(out.indexOf('\n')).toBe(out.length - 1)
  })

  it('[F17] a migrated file: where each of its events went, null for one that became part of another', async () => {
    expect(await verify(basic)).toEqual({
      exit: 0,
      outcome: 'accepted',
      version: 0,
      events: 17,
      seqMap: [0, 1, 3, 5, ...Array.from({ length: 10 }, () => null), 6, 7, 8],
      surface: [4, 3, 6],
      closers: [],
      repairs: [],
      refusal: null,
      findings: [],
    })
  })

  it('[F17] a file of the current version: every seq is its own', async () => {
    const { version, events, seqMap, surface } = await verify(current)
    expect({ version, events, seqMap, surface }).toEqual({
      version: 3,
      events: 9,
      seqMap: [0, 1, 2, 3, 4, 5, 6, 7, 8],
      surface: [4, 3, 6],
    })
  })

  it('[F17] what closes a turn that was cut off, in order', async () => {
    const report = await verify(crashed)
    expect(report).toMatchObject({ exit: 1, outcome: 'repaired', events: 6, repairs: [], surface: [4, 3, 6, 8, 9] })
    expect(report.closers).toEqual([
      { type: 'tool/result', code: 'TOOL_OUTCOME_UNKNOWN' },
      { type: 'tool/result', code: 'TOOL_NOT_STARTED' },
      { type: 'step/end' },
      { type: 'turn/end' },
    ])
  })

  it('[F17] a torn tail is a repair, with line and seq of the file', async () => {
    const report = await verify(file('load-07-torn-tail.jsonl'))
    expect(report).toMatchObject({ exit: 1, outcome: 'repaired', events: 16, refusal: null })
    expect(report.repairs).toEqual([{ code: 'torn-tail', seq: 16, line: 18 }])
    expect(report.closers).toEqual([{ type: 'step/end' }, { type: 'turn/end' }])
  })

  const refusals: readonly [name: string, events: number, refusal: object][] = [
    ['load-08-damaged-middle.jsonl', 8, { code: 'corrupt', seq: 8, line: 10 }],
    ['load-04-seq-restart.jsonl', 25, { code: 'corrupt', seq: 25, line: 27 }],
    ['load-05-duplicate-seq.jsonl', 8, { code: 'corrupt', seq: 8, line: 10 }],
    ['load-06-repair-race.jsonl', 9, { code: 'corrupt', seq: 9, line: 11 }],
    ['load-17-packed-row-short-dt.jsonl', 5, { code: 'corrupt', seq: 5, line: 7 }],
    ['load-01-unknown-required-event.jsonl', 6, { code: 'unknown-type', seq: 6, line: 8 }],
    ['mig-03-user-before-step.v0.jsonl', 1, { code: 'order', seq: 1, line: 3 }],
    ['load-13-version-4.jsonl', 0, { code: 'newer-version', line: 1 }],
    // The session refuses these: seq and line are those of the file all the same.
    ['sur-06-replace-shadowed-endpoint.jsonl', 22, { code: 'surface-range', seq: 22, line: 24 }],
    ['sur-15-head-plus-neighbour.jsonl', 16, { code: 'system-head', seq: 16, line: 18 }],
    ['frk-07-seeded-without-marker.jsonl', 9, { code: 'header', line: 1 }],
  ]
  it.each(refusals)('[F17] %s is refused after %s events', async (name, events, refusal) => {
    const report = await verify(file(name))
    const { message, ...facts } = report.refusal as NonNullable<VerifyReport['refusal']>
    expect(facts).toEqual(refusal)
    expect(message).not.toBe('')
    expect(report).toMatchObject({ exit: 2, outcome: 'refused', events, seqMap: null, surface: [], closers: [] })
    expect([report.repairs, report.findings]).toEqual([[], []])
  })

  it.each([
    [99, file('load-13-version-99.jsonl')],
    [null, fileURLToPath(import.meta.url)],
  ])('[F17] version is that of the header: %s', async (version, path) => {
    expect((await verify(path)).version).toBe(version)
  })

  it('[F17] the version of a header that is refused', async () => {
    const path = join(folder, 'bad-header.jsonl')
    await writeFile(path, '{"type":"session","version":2,"id":"","createdAt":0,"isSeeded":false}\n')
    expect(await verify(path)).toMatchObject({ version: 2, events: 0, refusal: { code: 'header', line: 1 } })
  })

  it('[F17] --recover opens what is damaged, and says how', async () => {
    const report = await verify('--recover', damaged)
    expect(report).toMatchObject({ exit: 1, outcome: 'repaired', events: 8, refusal: null })
    expect(report.repairs).toEqual([{ code: 'kept-prefix', seq: 8, line: 10 }])
    const context = await verify('--recover', file('ctx-01-context-message.v0.jsonl'))
    expect(context.repairs).toEqual([{ code: 'context-message', seq: 3, line: 5 }])
  })

  it('[F17] findings change neither outcome nor exit code', async () => {
    const twice = await verify(file('rep-10-two-results.jsonl'))
    expect(twice).toMatchObject({ exit: 0, outcome: 'accepted', findings: [{ code: 'pair', seq: 7 }] })
    const { exit, findings } = await verify(file('load-12-no-final-newline.jsonl'))
    expect(exit).toBe(0)
    expect(findings).toEqual([{ code: 'final-newline', line: 8, message: expect.any(String) as string }])
  })
})

describe('input', () => {
  it('[F17] standard input is a file like any other', async () => {
    const bytes = await readFile(basic)
    const pieces = [bytes.subarray(0, 100), bytes.subarray(100, 101), bytes.subarray(101)]
    const piped = await cli(['verify', '--json', '-'], { stdin: pieces })
    expect(piped).toEqual(await cli(['verify', '--json', basic]))
    expect(await cli(['verify', '--json', '-'], { stdin: [bytes.toString()] })).toEqual(piped)
  })

  it('[F17] gzip and zstd are told by their bytes', async () => {
    const path = join(folder, 'basic')
    await writeFile(path, gzipSync(await readFile(basic)))
    expect(await verify(path)).toEqual(await verify(basic))
    expect(await verify(file('real/chat.jsonl.zstd'))).toMatchObject({
      exit: 0,
      events: 52,
      surface: [13, 3, 7, 12, 15],
    })
    expect(await verify(file('real/tools.jsonl.zstd'))).toMatchObject({ exit: 0, events: 81, version: 0 })
  })

  it('[F17] a damaged zstd file is refused, and recovered as far as it goes', async () => {
    const path = join(folder, 'damaged.zstd')
    const bytes = await readFile(file('real/chat.jsonl.zstd'))
    bytes[bytes.length - 2] = (bytes[bytes.length - 2] ?? 0) ^ 255
    await writeFile(path, bytes)
    expect(await verify(path)).toMatchObject({ exit: 2, version: 0, refusal: { code: 'compression' } })
    expect(await verify('--recover', path)).toMatchObject({ exit: 1, outcome: 'repaired', refusal: null })
  })

  // Node's own error for damaged gzip is none that files/decompress.ts knows; take `.fails` off once it does.
  it('[F17] a gzip file that is cut off is refused, and recovered as far as it goes', async () => {
    const path = join(folder, 'cut.gz')
    const whole = gzipSync(Buffer.concat([await readFile(basic), Buffer.alloc(200_000, ' ')]))
    await writeFile(path, whole.subarray(0, whole.length - 20))
    expect(await verify(path)).toMatchObject({ exit: 2, version: 0, refusal: { code: 'compression' } })
    expect(await verify('--recover', path)).toMatchObject({ exit: 1, events: 17, repairs: [{ code: 'torn-tail' }] })
  })

  it('[F17] an empty file and one with a header alone', async () => {
    const path = join(folder, 'header.jsonl')
    await writeFile(path, '')
    expect(await verify(path)).toMatchObject({ exit: 2, version: null, events: 0, refusal: { code: 'foreign-header' } })
    await writeFile(path, (await readFile(current, 'utf8')).split('\n')[0] ?? '')
    expect(await verify(path)).toMatchObject({ exit: 0, version: 3, events: 0, seqMap: [], surface: [] })
  })
})

describe('verify', () => {
  it('[F17] says what opened, and how', async () => {
    const { out } = await cli(['verify', file('load-07-torn-tail.jsonl')])
    expect(out).toContain('accepted with repairs')
    expect(out).toContain('0, opened as 3')
    expect(out).toMatch(/repaired +torn-tail: line 18, seq 16/)
    expect(out).toMatch(/closed with +turn\/end/)
  })

  it.each([
    [damaged, /corrupt at line 10, seq 8/, /Try --recover/],
    [file('load-13-version-99.jsonl'), /version +99/, /newer release/],
    [file('sur-15-head-plus-neighbour.jsonl'), /system-head at line 18, seq 16/, /This build cannot open it/],
    [fileURLToPath(import.meta.url), /foreign-header at line 1/, /Is it the log of a session\?/],
  ])('[F17] says what is wrong with %s, and what to do', async (path, what, advice) => {
    const { out } = await cli(['verify', path])
    expect(out).toMatch(what)
    expect(out).toMatch(advice)
  })
})

describe('migrate', () => {
  it('[F17] writes canonical lines of the current version, which come out the same again', async () => {
    const { out, err } = await cli(['migrate', basic])
    expect(err).toBe('')
    expect(out.split('\n').length).toBe(11)
    expect(JSON.parse(out.slice(0, out.indexOf('\n')))).toMatchObject({ type: 'session', version: 3 })
    expect((await cli(['migrate', '-'], { stdin: [out] })).out).toBe(out)
  })

  it('[F17] leaves out what closes a cut-off turn: whoever opens the log adds it', async () => {
    const { code, out, err } = await cli(['migrate', crashed])
    expect(code).toBe(1)
    expect(out.trimEnd().split('\n').length).toBe(1 + 8)
    expect(err).toContain('closes it with 4 events')
    const again = await cli(['verify', '--json', '-'], { stdin: [out] })
    expect((JSON.parse(again.out) as VerifyReport).closers).toEqual((await verify(crashed)).closers)
  })

  it('[F17] writes a file as a whole, and only over another one when told to', async () => {
    const target = join(folder, 'out.jsonl')
    expect(await cli(['migrate', basic, '--output', target])).toMatchObject({ code: 0, out: '' })
    const written = await readFile(target, 'utf8')
    expect(written).toBe((await cli(['migrate', basic])).out)

    const refused = await cli(['migrate', crashed, '--output', target])
    expect(refused).toMatchObject({ code: 3, out: '' })
    expect(refused.err).toContain('--force')
    expect(await cli(['migrate', damaged, '-o', target, '--force'])).toMatchObject({ code: 2, out: '' })
    expect(await readFile(target, 'utf8')).toBe(written)

    expect((await cli(['migrate', crashed, '-o', target, '--force'])).code).toBe(1)
    expect(await readFile(target, 'utf8')).toBe((await cli(['migrate', crashed])).out)
    const link = join(folder, 'link.jsonl')
    await symlink(target, link)
    expect((await cli(['migrate', basic, '-o', link, '--force'])).code).toBe(3)
    expect((await readdir(folder)).filter(name => name.endsWith('.tmp'))).toEqual([])
  })

  it('[F17] 3 for a file whose name is too long', async () => {
    for (const length of [240, 300]) {
      const { code, out, err } = await cli(['migrate', basic, '-o', join(folder, 'n'.repeat(length))])
      expect({ code, out }).toEqual({ code: 3, out: '' })
      expect(err).toMatch(/^palimpsest: Cannot write .*: its name is too long\n$/)
    }
  })

  it('[F17] waits for whoever reads, and stops quietly when they leave', async () => {
    let log = (await cli(['migrate', current])).out
    const event = JSON.stringify({ type: 'acme/note', time: 1, data: 'x'.repeat(1000), ignorable: true })
    for (let seq = 9; seq < 1009; seq += 1) log += `${event.replace('{', `{"seq":${seq},`)}\n`
    let [pending, most, calls] = [0, 0, 0]
    const slow: CliOutput = {
      write(_text, done) {
        pending += 1
        most = Math.max(most, pending)
        calls += 1
        setTimeout(() => {
          pending -= 1
          done(calls === 3 ? Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }) : null)
        }, 1)
      },
    }
    expect(await cli(['migrate', '-'], { stdin: [log], stdout: slow })).toEqual({ code: 0, out: '', err: '' })
    expect({ most, calls }).toEqual({ most: 1, calls: 3 })

    const full: CliOutput = { write: (_text, done) => done(Object.assign(new Error('full'), { code: 'ENOSPC' })) }
    expect(await cli(['migrate', basic], { stdout: full })).toMatchObject({
      code: 3,
      err: 'palimpsest: Cannot write: no space is left\n',
    })
  })
})

describe('show', () => {
  it('[F17] prints the conversation', async () => {
    const { out, err } = await cli(['show', file('real/tools.jsonl.zstd')])
    expect(err).toBe('')
    expect(out).toMatch(/^# /)
    expect(out).toContain('read two files')
  })

  it('[F17] --messages prints what the model reads', async () => {
    const { out } = await cli(['show', '--messages', '--json', crashed])
    const roles = (JSON.parse(out) as readonly { readonly role: string }[]).map(({ role }) => role)
    expect(roles).toEqual(['system', 'user', 'assistant', 'user', 'user'])
    const text = (await cli(['show', '--messages', crashed])).out
    expect(text).toContain('── 3 assistant ──')
    expect(text).toContain('[error call_b]')
  })

  it('[F17] --events prints a line for each event', async () => {
    const lines = (await cli(['show', '--events', crashed])).out.trimEnd().split('\n')
    expect(lines.length).toBe(12)
    expect(lines[7]).toMatch(/^ 7 {2}\d{4}-\d\d-\d\dT[\d:.]+Z {2}tool\/call +write \{"p":"x"\}$/)
    const json = (await cli(['show', '--events', '--json', crashed])).out.trimEnd().split('\n')
    expect(json.map(line => (JSON.parse(line) as { readonly seq: number }).seq)).toEqual([...lines.keys()])
  })

  it('[F17] --json prints header, surface and number of messages', async () => {
    const { out } = await cli(['show', '--json', crashed])
    expect(JSON.parse(out)).toMatchObject({ header: { version: 3 }, surface: [4, 3, 6, 8, 9], messages: 5 })
  })

  it('[F17] nothing of a log or an argument commands the terminal, or looks like a line of ours', async () => {
    const evil = '\x1b[31mX\u009b31mY\x07\x7f\nFAKE  accepted'
    const json = (value: object) => JSON.stringify(value)
    const event = (seq: number, type: string, data: object, more: object = {}) =>
      json({ type, seq, time: 1, data, ...more })
    const attachment = { attachmentId: evil, name: evil, mediaType: 'image/png', bytes: 1, width: 1, height: 1 }
    const call = { type: 'tool-call', id: evil, name: evil, arguments: '{}' }
    const content = [
      { type: 'text', text: evil },
      { type: 'image', attachment },
      { type: 'file', attachment },
    ]
    const log = [
      json({ type: 'session', version: 3, id: evil, createdAt: 1, isSeeded: false, delegationDepth: 0, cwd: evil }),
      event(0, 'turn/start', { turn: 1 }),
      event(1, 'step/start', { turn: 1, step: 1 }),
      event(2, 'user/message', { id: evil, role: 'user', content, source: { kind: 'plugin', plugin: evil, form: 'notice', summary: evil } }, { surfaceOp: 'append' }), // biome-ignore format: one line
      event(3, 'assistant/message', { turn: 1, step: 1, message: { id: 'a', role: 'assistant', content: [call], source: { kind: 'model', provider: evil, model: evil } }, stream: [] }, { surfaceOp: 'append' }), // biome-ignore format: one line
      event(4, `x/${evil}`, { [evil]: evil }, { ignorable: true }),
    ]
    const ends = [event(5, 'step/end', { turn: 1, step: 1 }), event(6, 'turn/end', { turn: 1, reason: { kind: evil } })]
    const contents = [
      [...log, ...ends, ''].join('\n'),
      [...log, '{"torn'].join('\n'),
      [log[0], event(0, evil, {}), ''].join('\n'),
      [log[0], event(0, 'x', {}, { [evil]: 1 }), ends[1], ''].join('\n'),
      'junk',
    ]
    const named = join(folder, '\x1b]0;name\x07\u009b2J\nFAKE  accepted.jsonl')
    const target = join(folder, '\x1b[31mout\nFAKE')
    const commands = [['verify'], ['verify', '--json'], ['show'], ['show', '--messages'], ['show', '--messages', '--json'], ['show', '--events'], ['show', '--events', '--json'], ['show', '--json'], ['stats'], ['stats', '--json'], ['migrate'], ['migrate', '-o', target, '--force']] // biome-ignore format: one line
    for (const text of contents) {
      await writeFile(named, text)
      for (const command of commands) {
        const { code, out, err } = await cli([...command, named], { isTTY: true })
        expect([command, out + err]).toEqual([command, expect.not.stringMatching(/[\0-\x08\x0b-\x1f\x7f-\x9f]/)])
        // Only what people and models say has lines of its own.
        const isConversation = command[0] === 'show' && !command.includes('--events')
        expect([command, code, isConversation ? err : out + err]).toEqual([command, code, expect.not.stringMatching(/^FAKE/m)]) // biome-ignore format: one line
      }
    }
    for (const argv of [
      ['verify', `${named}.none`],
      [evil, named],
      ['verify', `--${evil}`],
      ['migrate', named, '-o', named],
    ]) {
      const { code, err } = await cli(argv)
      expect(code).toBe(3)
      expect(err).toMatch(/^palimpsest: [^\0-\x1f\x7f-\x9f]*\n$/)
    }
    await rm(named)
    await rm(target, { force: true })
  })

  it('[F17] JSON says the same with its control characters escaped, and a migrated log keeps its bytes', async () => {
    const log = (await readFile(current, 'utf8')).replace('"text":"', '"text":"\u009b\x7f')
    const plain = await cli(['migrate', '-'], { stdin: [log] })
    expect(plain.out).toContain('"text":"\u009b\x7f')
    const shown = await cli(['migrate', '-'], { stdin: [log], isTTY: true })
    expect(shown.out).toContain('"text":"\\u009b\\u007f')
    expect(shown.out.split('\n').slice(0, -1).map(line => JSON.parse(line) as unknown)).toEqual(plain.out.split('\n').slice(0, -1).map(line => JSON.parse(line) as unknown)) // biome-ignore format: one line
    expect((await cli(['show', '--events', '--json', '-'], { stdin: [log] })).out).toBe(shown.out.replace(/^.*\n/, ''))
  })

  it('[F17] an event is one line, however long its type is', async () => {
    const log = `${await readFile(current, 'utf8')}${JSON.stringify({ type: 'y'.repeat(30_000), seq: 9, time: 1, data: 1, ignorable: true })}\n`
    const { out } = await cli(['show', '--events', '-'], { stdin: [log] })
    expect(out.split('\n').length).toBe(11)
    expect(out.length).toBeLessThan(3_000)
  })
})

describe('stats', () => {
  it('[F17] counts', async () => {
    const path = file('real/tools.jsonl.zstd')
    const facts = JSON.parse((await cli(['stats', '--json', path])).out) as Stats
    expect(facts).toEqual({
      id: 'real-tools',
      version: 0,
      events: 81,
      openedEvents: 24,
      turns: 2,
      steps: 3,
      messages: { system: 1, user: 2, assistant: 3, tool: 2 },
      toolCalls: { read_file: { calls: 2, errors: 1 } },
      tokens: { input: 30, output: 15, cacheRead: 0, cacheWrite: 0, reasoning: 0 },
      bytes: 2258,
      durationMs: 32,
    })
    expect((await cli(['stats', path])).out).toMatch(/read_file +2 calls, 1 failed/)
  })

  it('[F17] what opening adds does not count', async () => {
    const facts = JSON.parse((await cli(['stats', '--json', crashed])).out) as Stats
    expect(facts).toMatchObject({ openedEvents: 8, messages: { tool: 0 } })
    expect(facts.toolCalls).toEqual({ write: { calls: 1, errors: 0 }, read: { calls: 1, errors: 0 } })
  })
})

describe('progress', () => {
  const padded = async (): Promise<Iterable<Uint8Array>> => {
    const blank = Buffer.alloc(1_000_000, `${' '.repeat(999)}\n`)
    return [await readFile(current), ...Array.from({ length: 12 }, () => blank)]
  }

  it('[F17] is shown on a terminal while a big file is read, and taken away', async () => {
    const { err } = await cli(['verify', '-'], { stdin: await padded(), isTTY: true })
    expect(err).toMatch(/^\r\x1b\[KReading standard input, [\d.]+ MB, 9 events/)
    expect(err.endsWith('\r\x1b[K')).toBe(true)
    expect(err).not.toContain('\n')
  })

  it('[F17] is not shown elsewhere, for a small file, or when not wanted', async () => {
    expect((await cli(['verify', '-'], { stdin: await padded() })).err).toBe('')
    expect((await cli(['verify', '--no-progress', '-'], { stdin: await padded(), isTTY: true })).err).toBe('')
    expect((await cli(['verify', current], { isTTY: true })).err).toBe('')
  })
})
