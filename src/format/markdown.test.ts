import fc from 'fast-check'
import type { Nodes, Root } from 'mdast'
import { fromMarkdown } from 'mdast-util-from-markdown'
import { gfmFromMarkdown } from 'mdast-util-gfm'
import { toHast } from 'mdast-util-to-hast'
import { gfm } from 'micromark-extension-gfm'
import { describe, expect, it } from 'vitest'
import { answered, assistant, called, type Draft, header, log, over, prompted, returned, said, stepEnd, stepStart, storedEvents, textBlock, toolCall, turnEnd, turnStart, user } from '../core/builders.ts' // biome-ignore format: one line
import type { ContentBlock, SessionEvent, StreamChunk, TurnEndReason } from '../core/events.ts'
import { finishOf, streamOf, validHistory } from '../core/invariants/valid-history.ts'
import { projectedHistory } from '../core/projected-history.ts'
import { transcriptMarkdown } from './markdown.ts'
import { asIs, codeFence, codeSpan, isoTime, oneLine, plainLine, prettyJson, quote } from './markdown-text.ts'

const markdown = (events: Iterable<SessionEvent>, title?: string): string =>
  [...transcriptMarkdown({ header: header(), events }, title === undefined ? {} : { title })].join('')
/** What is between the heading with its date and the last line. */
const body = (...drafts: readonly Draft[]): string =>
  markdown(log(...drafts))
    .split('\n')
    .slice(4, -2)
    .join('\n')
    .trim()
const outside = '## Outside of turns\n\n'
const block = (value: object): ContentBlock => value as ContentBlock

describe('a transcript', () => {
  it('[F13] reads from top to bottom', () => {
    const calls = [{ type: 'reasoning', text: 'Let me\n\nsee.' } as const, textBlock('I look.'), toolCall('c1', '{"path":"a.txt"}')] // biome-ignore format: one line
    const events = log(
      turnStart(1),
      said('What is **in** it?'),
      stepStart(1, 1),
      prompted('be brief'),
      answered(calls),
      called('c1'),
      returned('c1', 'one\n``` two'),
      stepEnd(1, 1),
      stepStart(1, 2),
      answered('Two lines.', 1, 2),
      stepEnd(1, 2),
      turnEnd(1),
    )
    expect(markdown(events)).toBe(
      `# Session \`test\`

From 1970-01-01T00:00:01.000Z

## Turn 1

*1970-01-01T00:00:01.000Z*

### User

What is **in** it?

### Assistant \`demo-chat\`

> **Reasoning**
>
> Let me
>
> see.

I look.

**Tool call** \`read\`

\`\`\`json
{
  "path": "a.txt"
}
\`\`\`

**Result** of \`read\`

\`\`\`\`
one
\`\`\` two
\`\`\`\`

### Assistant \`demo-chat\`

Two lines.

Until 1970-01-01T00:00:01.011Z
`,
    )
  })

  it('[F13] has a title, or the name of the session, and no dates without events', () => {
    expect(markdown([])).toBe('# Session `test`\n')
    expect(markdown([], ' A\nb\u0007 ')).toBe('# A b\n')
    expect(markdown([], ' ')).toBe('# Session `test`\n')
    const [event] = log(stepStart(1, 1))
    expect(markdown([event as SessionEvent], 'A')).toContain('# A\n\nSession `test`, from 1970-01-01T00:00:01.000Z\n')
  })

  it('[F13] says who spoke', () => {
    const by = (source: object): string =>
      body({ type: 'user/message', data: { ...user('x'), source }, surfaceOp: 'append' })
    expect(by({ kind: 'user' })).toBe(`${outside}### User\n\nx`)
    expect(by({ kind: 'plugin', plugin: 'note`s' })).toBe(`${outside}### Plugin \`\`note\`s\`\`\n\nx`)
    expect(by({ kind: 'plugin' })).toBe(`${outside}### Plugin (unnamed)\n\nx`)
    expect(by({ kind: 'goal' })).toBe(`${outside}### \`goal\`\n\nx`)
  })

  it('[F13] leaves out prompts of the system, and what is only rewritten for the model', () => {
    const result = returned('c')
    const rewritten = over({ ...result }, 0, 0, [0])
    expect(body(prompted('secret'), over(prompted('other'), 0, 0, [0]), prompted(''))).toBe('')
    expect(body(result, rewritten)).toBe(`${outside}**Result** of \`c\`\n\n\`\`\`\nok\n\`\`\``)
  })

  it('[F13] says where a compaction was, and what its summary is', () => {
    const start: Draft = { type: 'compaction/start', data: { compactionId: 'c', turn: null } }
    const end = (more: object = {}): Draft => ({
      type: 'compaction/end',
      data: { compactionId: 'c', turn: null, ...more },
    })
    expect(body(turnStart(1), said('a'), turnEnd(1), start, over(said('all of it'), 1, 1, [1]), end())).toBe(
      '## Turn 1\n\n*1970-01-01T00:00:01.000Z*\n\n### User\n\na\n\n## Outside of turns\n\n### Summary\n\n' +
        '*From here on the model reads this in the place of what was said before.*\n\nall of it',
    )
    expect(body(start, end({ error: 'no *room*' }))).toBe(`${outside}*A compaction failed: \`no *room*\`.*`)
    expect(body({ type: 'compaction/end', data: null })).toBe('')
  })

  it('[F13] marks an answer that was interrupted', () => {
    const data = { turn: 1, step: 1, message: assistant('Hel'), stream: [], interrupted: true }
    expect(body({ type: 'assistant/message', data, surfaceOp: 'append' })).toBe(
      `${outside}### Assistant \`demo-chat\` (interrupted)\n\nHel`,
    )
  })

  it.each<[string, readonly unknown[], string]>([
    ['that failed', streamOf([finishOf('error')]), 'An attempt failed: `no` (`SERVER`).'],
    ['that was stopped', streamOf([{ type: 'text-delta', index: 0, text: 'x' }, finishOf('aborted')]), 'An attempt was stopped: `no` (`SERVER`).'], // biome-ignore format: one line
    ['that ended in another way', streamOf([finishOf('stop')]), 'An attempt failed: `stop`.'],
    ['without an end', streamOf([{ type: 'text-delta', index: 0, text: 'x' }]), 'An attempt ended without an answer.'],
    ['without anything', [], 'An attempt ended without an answer.'],
    ['nobody can read', [null, 7, { chunk: 1 }], 'An attempt ended without an answer.'],
    [
      'with a long story',
      streamOf([{ type: 'finish', reason: { kind: 'error', failure: { message: 'a\n```\nb', code: 'C' } } }]),
      'An attempt failed: ````a ``` b```` (`C`).',
    ],
  ])('[F13] an attempt %s is one line', (_what, stream, line) => {
    expect(body({ type: 'assistant/attempt', data: { turn: 1, step: 1, stream } })).toBe(`${outside}*${line}*`)
  })

  it.each<[unknown, string | null]>([
    [{ kind: 'completed' }, null],
    [{ kind: 'aborted', reason: { kind: 'user' } }, 'was stopped by the user'],
    [{ kind: 'aborted', reason: { kind: 'parent' } }, 'was stopped by its parent'],
    [{ kind: 'aborted', reason: { kind: 'hook', reason: 'too late' } }, 'was stopped by a hook: `too late`'],
    [{ kind: 'aborted', reason: { kind: 'disposed' } }, 'was stopped because the session was closed'],
    [{ kind: 'aborted', reason: { kind: 'legacy' } }, 'was stopped for an unknown reason'],
    [{ kind: 'aborted' }, 'was stopped for an unknown reason'],
    [{ kind: 'blocked' }, 'was blocked'],
    [{ kind: 'error', error: { message: 'no', code: 'AUTH' } }, 'failed: `no` (`AUTH`)'],
    [{ kind: 'error' }, 'failed'],
    [{ kind: 'max-tokens' }, 'ended at the limit of tokens'],
    [{ kind: 'interrupted' }, 'was interrupted'],
    [{ kind: 'odd' }, 'ended: `odd`'],
  ])('[F13] how a turn ended: %j', (reason, how) => {
    const end: Draft = { type: 'turn/end', data: { turn: 2, reason: reason as TurnEndReason } }
    const start = '## Turn 2\n\n*1970-01-01T00:00:01.000Z*'
    expect(body(turnStart(2), end)).toBe(how === null ? start : `${start}\n\n*Turn 2 ${how}.*`)
  })

  it('[F13] says when the log ends inside a turn', () => {
    expect(markdown(log(turnStart(4)))).toContain('\n*The log ends inside turn 4.*\n')
    expect(markdown(log(turnStart(4), turnEnd(4)))).not.toContain('ends inside')
  })

  it('[F13] names what is no text', () => {
    const attachment = { attachmentId: 'a1', mediaType: 'image/png', bytes: 12, width: 3, height: 4 }
    const content = [
      block({ type: 'image', attachment: { ...attachment, name: 'a\nb.png' } }),
      block({ type: 'image', attachment }),
      block({ type: 'file', attachment: { attachmentId: 'a2', name: 'c`.txt', bytes: 5 } }),
      block({ type: 'file' }),
      block({ type: 'odd', any: 1 }),
    ]
    expect(body(said(content))).toBe(
      `${outside}### User\n\nImage: \`a b.png\` (image/png, 3 × 4, 12 bytes)\n\nImage: \`a1\` (image/png, 3 × 4, 12 bytes)\n\n` +
        'File: ``c`.txt`` (5 bytes)\n\nFile: (unnamed)\n\n*A block of type `odd`*',
    )
    expect(body(said([]))).toBe(`${outside}### User\n\n*(nothing)*`)
    expect(body(said(' \n'))).toBe(`${outside}### User\n\n*(nothing)*`)
  })
})

describe('tools', () => {
  const call = (text: string) => body({ type: 'tool/call', data: { turn: 1, step: 1, callId: 'c', name: 'run', arguments: text } }) // biome-ignore format: one line
  const start = `${outside}**Tool call** \`run\``

  it('[F13] arguments are laid out when they are JSON, and as they are when not', () => {
    expect(call('{"a":[1,{}],"b":"x"}')).toBe(
      `${start}\n\n\`\`\`json\n{\n  "a": [\n    1,\n    {}\n  ],\n  "b": "x"\n}\n\`\`\``,
    )
    expect(call('{"a":')).toBe(`${start}\n\n\`\`\`\n{"a":\n\`\`\``)
    expect(call('7')).toBe(`${start}\n\n\`\`\`\n7\n\`\`\``)
    expect(call(' ')).toBe(start)
  })

  it('[F13] a call is shown once; its result says what it is called', () => {
    const calls = [toolCall('a', ''), toolCall('b', '')]
    expect(body(answered(calls), called('b'), returned('b', 'B'), called('a'), returned('a', 'A'))).toBe(
      `${outside}### Assistant \`demo-chat\`\n\n**Tool call** \`read\` (\`a\`)\n\n**Tool call** \`read\` (\`b\`)\n\n` +
        '**Result** of `read` (`b`)\n\n```\nB\n```\n\n**Result** of `read` (`a`)\n\n```\nA\n```',
    )
    expect(body(called('a'), returned('a', 'A'))).toBe(
      `${outside}**Tool call** \`read\`\n\n\`\`\`json\n{}\n\`\`\`\n\n**Result** of \`read\`\n\n\`\`\`\nA\n\`\`\``,
    )
  })

  it('[F13] an id that another turn used is another call', () => {
    const text = body(
      turnStart(1),
      answered([toolCall('a', '')]),
      turnEnd(1),
      turnStart(2),
      called('a', 2),
      returned('a'),
    )
    expect(text.match(/\*\*Tool call\*\*/g)).toHaveLength(2)
  })

  it('[F13] an error is marked', () => {
    const failed = (error?: unknown): string => {
      const { data, ...rest } = returned('c', 'out')
      const { message } = data as { message: { content: readonly [object] } }
      const content = [{ ...message.content[0], isError: true }]
      return body({ ...rest, data: { ...(data as object), message: { ...message, content }, ...(error === undefined ? {} : { error }) } }) // biome-ignore format: one line
        .slice(outside.length)
        .split('\n')[0] as string
    }
    expect(failed()).toBe('**Result** of `c`: **error**')
    expect(failed({ name: 'E', code: 'C' })).toBe('**Result** of `c`: **error** `C`')
    expect(failed({ name: 'E', code: 'C', reason: 'no\nway' })).toBe('**Result** of `c`: **error** `C`: `no way`')
    expect(failed(null)).toBe('**Result** of `c`: **error**')
  })

  it('[F13] results may nest without end, in any shape', () => {
    let inner: unknown = textBlock('bottom')
    for (let depth = 0; depth < 30_000; depth += 1)
      inner = block({ type: 'tool-result', toolCallId: 'x', content: [inner] })
    const odd = [null, 7, 'text', [], {}, { type: 'text', text: 5 }, { type: 'tool-call' }, { type: 'image' }]
    const text = body(
      returned('c', [inner as ContentBlock, block({ type: 'tool-result', toolCallId: 'x', content: odd }), block({ type: 'tool-result', toolCallId: 'x' })]), // biome-ignore format: one line
    )
    expect(text).toContain('```\nbottom\n```')
    expect(text).toContain('Image: (unnamed)')
  })

  it('[F13] a result without anything says so', () => {
    expect(body(returned('c', []))).toBe(`${outside}**Result** of \`c\`\n\n*(nothing)*`)
  })
})

// ── Fences ──────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The fence that is open at the end of a text, at the margin: what quotes and lists hold ends with them. */
function openFence(text: string): string | null {
  let open: string | null = null
  for (const line of text.split('\n')) {
    if (open === null) {
      const [, mark] = /^(`{3,}(?=[^`]*$)|~{3,})/.exec(line) ?? []
      open = mark ?? null
    } else {
      const [, mark = ''] = /^ {0,3}(`+|~+)[ \t]*$/.exec(line) ?? []
      if (mark[0] === open[0] && mark.length >= open.length) open = null
    }
  }
  return open
}
/** Lines of Markdown that open things, close them, or look as if. */
const line = fc
  .array(fc.constantFrom('`', '``', '```', '````', '~~~', '~~~~~', ' ', '   ', '    ', '\t', '> ', '- ', '1. ', '<!--', '-->', '<pre>', '<div>', 'a', 'js', '#', '\\', '[', '\r', '\ud800'), { maxLength: 5 }) // biome-ignore format: one line
  .map(parts => parts.join(''))
const anyText = fc.oneof(
  fc.array(line, { maxLength: 6 }).map(lines => lines.join('\n')),
  fc.string({ unit: 'binary' }),
)
const anyBlock: fc.Arbitrary<ContentBlock> = fc.oneof(
  anyText.map(textBlock),
  anyText.map(text => ({ type: 'reasoning', text }) as const),
  fc.tuple(anyText, anyText, anyText).map(([id, args, name]) => toolCall(id, args, name)),
  anyText.map(name => block({ type: 'file', attachment: { attachmentId: 'x', name, bytes: 1 } })),
  anyText.filter(type => type !== '').map(type => block({ type })),
)
const anyDraft: fc.Arbitrary<Draft> = fc.oneof(
  fc.array(anyBlock, { maxLength: 3 }).map(content => said(content)),
  fc.array(anyBlock, { maxLength: 3 }).map(content => answered(content)),
  fc.array(anyBlock, { maxLength: 3 }).map(content => returned('c', content)),
  fc.array(anyBlock, { maxLength: 2 }).map(content => over(said(content), 0, 0, [0])),
  anyText.map((text): Draft => ({ type: 'compaction/end', data: { error: text } })),
  anyText.map((text): Draft => {
    const finish: StreamChunk = { type: 'finish', reason: { kind: 'error', failure: { message: text, code: text } } }
    return { type: 'assistant/attempt', data: { turn: 1, step: 1, stream: streamOf([finish]) } }
  }),
  fc.constantFrom(turnStart(1), turnEnd(1)),
)

describe('whatever was said', () => {
  it('[F13] fences are closed before anything else begins', () => {
    fc.assert(
      fc.property(fc.array(anyDraft, { maxLength: 5 }), anyText, (drafts, title) => {
        let text = ''
        for (const piece of transcriptMarkdown({ header: header(), events: log(...drafts) }, { title })) {
          text += piece
          expect(openFence(text)).toBeNull()
        }
      }),
      { numRuns: 500 },
    )
  })

  it('[F13] no control character and no half of a surrogate pair comes through', () => {
    fc.assert(
      fc.property(fc.array(anyDraft, { maxLength: 5 }), anyText, (drafts, title) => {
        const text = markdown(log(...drafts), title)
        expect(text).not.toMatch(/[\0-\x08\x0b-\x1f\x7f-\x9f]|\p{Surrogate}/u)
      }),
    )
  })

  it('[F13] whole histories are told to their end', () => {
    const choices = fc.array(fc.nat(5_000), { maxLength: 80 })
    const histories = fc.oneof(
      choices.map(numbers => storedEvents(validHistory(numbers, { crashes: true }))),
      choices.map(numbers => storedEvents(projectedHistory(numbers))),
    )
    fc.assert(
      fc.property(histories, events => {
        const text = markdown(events)
        const turns = events.filter(({ type }) => type === 'turn/start').length
        expect((text.match(/^## Turn /gm) ?? []).length).toBe(turns)
        const last = events.at(-1)
        if (last !== undefined) expect(text.endsWith(`\nUntil ${isoTime(last.time)}\n`)).toBe(true)
      }),
    )
  })
})

// ── As HTML ─────────────────────────────────────────────────────────────────────────────────────────────────────────

const parse = (text: string): Root => fromMarkdown(text, { extensions: [gfm()], mdastExtensions: [gfmFromMarkdown()] })
function* nodesOf(node: Nodes | ReturnType<typeof toHast>): Generator<{ readonly type: string }> {
  yield node
  if ('children' in node) for (const child of node.children) yield* nodesOf(child)
}
const textIn = (node: Nodes): string =>
  'children' in node ? node.children.map(textIn).join('') : 'value' in node ? node.value : ''

/** What would reach from one message into others. */
const reaching = ['html', 'definition', 'linkReference', 'imageReference', 'footnoteDefinition', 'footnoteReference']
const MARKER = 'Then [User] and [x] [a] [^x] said this.'

/** A transcript with these texts, and a message behind them that has to be seen as it is. */
function expectNoReach(texts: readonly string[], title: string): void {
  const said1 = texts.map(text => said([{ type: 'reasoning', text }, textBlock(text)]))
  const image = block({ type: 'image', attachment: { attachmentId: 'x', mediaType: title } })
  const tree = parse(markdown(log(...said1, said([image]), said(MARKER)), title))
  expect([...nodesOf(tree)].map(({ type }) => type).filter(type => reaching.includes(type))).toEqual([])
  const html = toHast(tree, { allowDangerousHtml: true })
  expect([...nodesOf(html)].filter(({ type }) => type === 'raw')).toEqual([])

  const [heading] = tree.children as [Nodes]
  const last = tree.children.at(-2) as Nodes
  expect([last.type, textIn(last)]).toEqual(['paragraph', MARKER])
  const headings = tree.children.filter(node => node.type === 'heading' && node.depth === 3 && textIn(node) === 'User')
  expect(headings.length).toBeGreaterThanOrEqual(texts.length + 2)
  if (oneLine(title) !== '') expect(textIn(heading)).toBe(oneLine(title))
}

/** What code, tags, links and definitions are made of. */
const piece = fc.constantFrom('`', '`', '``', '```', '~~~', '|', '| - |\n', '](', '[x](', '[', '[^x', ']', ']:', ':', '\\', 'https://a', 'www.a', '<b>', '<b>', '<!--', '-->', '<script>', '</p>', '<?', '<![CDATA[', '<a href="', '"', "'", '(', ')', '\t', ' ', ' ', '    ', '- ', '> ', '1. ', '#', '\n', '\n', '\n\n', 'User', 'a', '<https://x.y>', '<', '*', '===', '\u00a0', '\ufeff') // biome-ignore format: one line
const hostileText = fc.array(piece, { maxLength: 20 }).map(parts => parts.join(''))

describe('a transcript as HTML', () => {
  it.each([
    '<!-- hidden',
    'foo <details><summary>x',
    'hi <textarea> there',
    'hi <plaintext>',
    '<script>alert(1)</script>',
    'foo <![CDATA[ bar',
    'foo <a href="',
    '<?php',
    '> <pre>',
    '- ```\n  <pre>\n\n<pre>',
    '[User]: javascript:alert(1)',
    '> [x]: javascript:alert(1)',
    '1. [a]:\n   <javascript:alert(1)>',
    '[^x]: ```\n    foo [^x]',
    '![a]: b\n\n[a\nb]: c',
    '| ` | <textarea> | ` |\n|---|---|---|\n| ` | <textarea> | ` |',
    '`a\nb` <textarea> `c`',
    '[a](`) <textarea> `b`',
    "[a](b '\n`') <textarea> `c`",
    'http://a\\<textarea>',
    'www.a`b <textarea> `',
    "[x`]: javascript:a '`'",
  ])('[F13] has no HTML and no definition of people in it: %j', text => {
    expectNoReach([text], text)
  })

  it('[F13] shows a message as text, whatever was said before it', () => {
    fc.assert(fc.property(fc.array(hostileText, { minLength: 1, maxLength: 2 }), hostileText, expectNoReach), {
      numRuns: 500,
    })
  })
})

describe('texts', () => {
  it.each([
    ['plain\n\n- list\n  more', 'plain\n\n- list\n  more'],
    ['```js\na\n```\nb', '```js\na\n```\nb'],
    ['```js\na', '```js\na\n```'],
    ['~~~~\n```\n~~~', '~~~~\n```\n~~~\n~~~~'],
    ['```\n   ```', '```\n   ```'],
    ['```\n    ```', '```\n    ```\n```'],
    ['```\n``` x', '```\n``` x\n```'],
    ['``` a`b', '``` a`b'],
    ['~~~ a`b', '~~~ a`b\n~~~'],
    ['```\n<div>\n- ```', '```\n<div>\n- ```\n```'],
    // Nobody can tell at a glance what these belong to.
    ['- a\n  ```\n  b', '> - a\n>   ```\n>   b'],
    ['> ```', '> > ```'],
    ['a\n\n<!-- b', 'a\n\n&lt;!-- b'],
    ['1. <div>', '1. &lt;div>'],
    ['a < b <3 and\n  x <b> \\<b> \\\\<b>', 'a < b <3 and\n  x &lt;b> &lt;b> \\\\&lt;b>'],
    ['- ```\n  <b>\n<?php', '> - ```\n>   &lt;b>\n> &lt;?php'],
    ['<https://a.example/b?c=d> <mailto:a@b> </p>', '<https://a.example/b?c=d> &lt;mailto:a@b> &lt;/p>'],
    ['a\u0000b\u009b\u007f\r\nc \ud800\n\n', 'ab\nc \ufffd'],
    // Code is left alone where it surely is code.
    ['`<b>` <b> ``<i>`<i>`` <i>', '`<b>` &lt;b> ``<i>`<i>`` &lt;i>'],
    ['[a](b) `<b>`', '[a](b) `<b>`'],
    ['```\n<b>\n[a]: b\n```\n<b>', '```\n<b>\n[a]: b\n```\n&lt;b>'],
    ['a `b\nc` <b> `d`\n\n`<b>`', 'a `b\nc` &lt;b> `d`\n\n`<b>`'],
    ['| `| <b> |` |', '| `| &lt;b> |` |'],
    ['[a](`) <b> `', '[a](`) &lt;b> `'],
    ['https://a`b <b> `', 'https://a`b &lt;b> `'],
    ['\\`<b>`', '\\`&lt;b>`'],
    // What a label would define.
    ['[User]: javascript:x', '[User]\\: javascript:x'],
    ['- > [a\nb]: c', '- > [a\nb]\\: c'],
    ['[^1]: a', '[^1]\\: a'],
    ["[a`]: b '`'", "[a`]\\: b '`'"],
  ])('[F13] of people: %j', (text, expected) => {
    expect(asIs(text)).toBe(expected)
  })

  it('[F13] in a line, in lines, in a quote', () => {
    expect(codeSpan('a')).toBe('`a`')
    expect(codeSpan('`a')).toBe('`` `a ``')
    expect(codeSpan('a``b')).toBe('```a``b```')
    expect(codeSpan(' \n')).toBe('(empty)')
    expect(codeFence('a\n')).toBe('```\na\n```')
    expect(codeFence('````', 'x')).toBe('`````x\n````\n`````')
    expect(quote('a\n\nb\n')).toBe('> a\n>\n> b')
    expect(oneLine(' a\r\nb\tc\u2028d\u0001')).toBe('a b c d')
  })

  it('[F13] a title says what it says', () => {
    expect(plainLine('a *b* [c](d) `e`\n<f> #g | h_i ~~j~~ &lt; \\')).toBe(
      'a \\*b\\* \\[c\\](d) \\`e\\` \\<f\\> \\#g \\| h\\_i \\~\\~j\\~\\~ \\&lt; \\\\',
    )
  })

  it('[F13] JSON is laid out, not written anew', () => {
    expect(prettyJson('{"a":1.0e3,"b":12345678901234567890,"a":"\\ud800\\"{"}')).toBe(
      '{\n  "a": 1.0e3,\n  "b": 12345678901234567890,\n  "a": "\\ud800\\"{"\n}',
    )
    expect(prettyJson(' [ ] ')).toBe('[]')
    for (const text of ['', '"a"', 'null', '7', '{', '[1,]']) expect(prettyJson(text)).toBeNull()
    const value = fc.oneof(fc.dictionary(fc.string(), fc.jsonValue()), fc.array(fc.jsonValue()))
    fc.assert(
      fc.property(value, fc.constantFrom(undefined, 1, '\t'), (data, space) => {
        expect(prettyJson(JSON.stringify(data, null, space))).toBe(JSON.stringify(data, null, 2))
      }),
    )
    const deep = '['.repeat(9_000) + ']'.repeat(9_000)
    expect(prettyJson(deep)?.replace(/\s/g, '')).toBe(deep)
  })

  it('[F13] times are those of the calendar', () => {
    fc.assert(
      fc.property(fc.integer({ min: -8.64e15, max: 8.64e15 }), time => {
        expect(isoTime(time)).toBe(new Date(time).toISOString())
      }),
    )
    for (const time of [0, -1, 951_782_400_000, 4_107_542_399_999, -62_167_219_200_001, 253_402_300_800_000]) {
      expect(isoTime(time)).toBe(new Date(time).toISOString())
    }
    expect(isoTime(Number.MAX_SAFE_INTEGER)).toBe('+287396-10-12T08:59:00.991Z')
    expect(isoTime(Number.MIN_SAFE_INTEGER)).toMatch(/^-\d{6}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  })
})
