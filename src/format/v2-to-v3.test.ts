import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { FormatError } from './errors.ts'
import {
  answer as answerV1,
  type Entry,
  endSeed,
  logOf,
  queued,
  requestHeader,
  runMigration,
  type MigrationRun,
  stepEnd,
  stepStart,
  todo,
  turnEnd,
  turnStart,
  user,
  userMessage,
} from './migration-kit.ts'
import type { StoredEvent, StoredHeader } from './stored.ts'
import { promptOf, v2ToV3 } from './v2-to-v3.ts'

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')
const v2 = (more: object = {}): StoredHeader => ({ version: 2, id: 's', createdAt: 900, isSeeded: false, ...more })
const seeded = { isSeeded: true, parentSession: 'parent' }
const marker = endSeed({ inherited: true })

type Options = { readonly header?: object; readonly inherited?: number | null; readonly mayRepair?: boolean }

const run = (
  entries: readonly Entry[],
  { header = {}, inherited = null, mayRepair = false }: Options = {},
): MigrationRun => runMigration(v2ToV3, { header: v2(header), events: logOf(...entries), sha256, inherited, mayRepair })

const refusal = (entries: readonly Entry[], options: Options = {}): FormatError => {
  try {
    run(entries, options)
  } catch (error) {
    if (error instanceof FormatError) return error
    throw error
  }
  throw new Error('nothing was refused')
}

const outline = ({ events }: MigrationRun): readonly string[] =>
  events.map(({ type, seq, time }) => `${seq} ${type} @${time}`)
const prompts = ({ events }: MigrationRun): readonly unknown[] =>
  events
    .filter(({ type }) => type === 'system/message')
    .map(({ data }) => (data as { message: { content: readonly { text: string }[] } }).message.content[0]?.text ?? null)

/** Texts of the surface at each `request/header`, after those the header itself adds. */
function contentsAtHeaders(
  events: readonly StoredEvent[],
  own: (event: StoredEvent) => readonly string[],
): readonly (readonly unknown[])[] {
  const surface: number[] = []
  const found: unknown[][] = []
  for (const event of events) {
    const { surfaceOp, seq, type } = event
    if (surfaceOp === 'append') surface.push(seq)
    else if (surfaceOp !== undefined)
      surface.splice(surface.indexOf((surfaceOp as { startSeq: number }).startSeq), 1, seq)
    if (type !== 'request/header') continue
    const texts = surface.flatMap(at => {
      const data = events[at]?.data as { content?: unknown[]; message?: { content: unknown[] } }
      return (data.message?.content ?? data.content ?? []).map(block => (block as { text: string }).text)
    })
    found.push([...own(event), ...texts])
  }
  return found
}

const answer = (id: string, more: object = {}): Entry => answerV1(id, { stream: [], ...more })
const call = (callId = 'c'): Entry => ['tool/call', { turn: 1, step: 1, callId, name: 'n', arguments: '{}' }]
const result = (message: object, more: object = {}, envelope: Partial<StoredEvent> = {}): Entry => [
  'tool/result',
  {
    turn: 1,
    step: 1,
    message: {
      id: 'r',
      role: 'user',
      content: [{ type: 'tool-result', toolCallId: 'c', content: [] }],
      source: { kind: 'tool', callId: 'c' },
      ...message,
    },
    ...more,
  },
  { surfaceOp: 'append', ...envelope },
]
const failed = (id: string, error: object = { name: 'ToolNotStartedError', code: 'TOOL_NOT_STARTED' }): Entry =>
  result({ id, content: [{ type: 'tool-result', toolCallId: 'c', content: [], isError: true }] }, { error })
const open = [turnStart(), stepStart()]
const close = [stepEnd(), turnEnd()]

describe('the system prompt', () => {
  it('[F5, case 126] becomes the head of the surface, replaced where it changes', () => {
    const steps = ['first', 'first', 'changed', undefined, ''].flatMap((prompt, at): Entry[] => [
      stepStart(1, at + 1),
      user(`u${at}`),
      requestHeader(prompt),
      answer(`m${at}`, { step: at + 1 }),
      stepEnd(1, at + 1),
    ])
    const events = logOf(turnStart(), ...steps, turnEnd())
    const done = runMigration(v2ToV3, { header: v2(), events, sha256 })
    expect(prompts(done)).toEqual([null, 'first', 'changed', null])
    const heads = done.events.filter(({ type }) => type === 'system/message')
    expect(heads.map(({ seq, surfaceOp, sourceEventSeqs }) => [seq, surfaceOp, sourceEventSeqs])).toEqual([
      [2, 'append', undefined],
      [4, { op: 'replace', startSeq: 2, endSeq: 2 }, [2]],
      [15, { op: 'replace', startSeq: 4, endSeq: 4 }, [4]],
      [21, { op: 'replace', startSeq: 15, endSeq: 15 }, [15]],
    ])
    const others = done.events.filter(({ type }) => type !== 'system/message')
    expect(others.map(({ type, time }) => [type, time])).toEqual(events.map(({ type, time }) => [type, time]))
    for (const { type, data } of others) {
      if (type === 'request/header') expect((data as { header: object }).header).not.toHaveProperty('system')
    }
    // What each request is made of says the same, message by message.
    const before = contentsAtHeaders(events, event => (promptOf(event) === '' ? [] : [promptOf(event)]))
    expect(contentsAtHeaders(done.events, () => [])).toEqual(before)
    expect(before.map(contents => contents[0])).toEqual(['first', 'first', 'changed', 'u0', 'u0'])
  })

  it('[F5] gives the messages the published ids and the form of the published examples', () => {
    const entries = [...open, user('m-1'), requestHeader('You are a helper.')]
    const done = run(entries, { header: { id: 'session-mig-01' } })
    expect(JSON.stringify(done.events[2])).toBe(
      '{"type":"system/message","seq":2,"time":1010,"data":{"turn":1,"step":1,"message":{"id":"v2-to-v3-system-5b231045d590606c03dfa6c47ed5cc3d44fa16fb9d73565b6921915388be1371","role":"system","source":{"kind":"plugin","plugin":"@deepseek-ai/dsh-system-prompt"},"content":[]}},"surfaceOp":"append"}',
    )
    expect(JSON.stringify(done.events[4])).toBe(
      '{"type":"system/message","seq":4,"time":1030,"data":{"turn":1,"step":1,"message":{"id":"v2-to-v3-system-c71a4b4d64dc7d54e65632cbd62e3e6538bbe791ba2fda86fda965f2bbac61f5","role":"system","source":{"kind":"plugin","plugin":"@deepseek-ai/dsh-system-prompt"},"content":[{"type":"text","text":"You are a helper."}]}},"sourceEventSeqs":[2],"surfaceOp":{"op":"replace","startSeq":2,"endSeq":2}}',
    )
    expect(done.origins).toEqual([0, 1, 1, 2, 3, 3])
    expect(done.map).toEqual([0, 1, 3, 5])
  })

  it('[F5] has an empty head after the first step only, even where no request was made', () => {
    const done = run([...open, ...close, turnStart(2), stepStart(2)])
    expect(done.events.map(({ type }) => type)).toEqual([
      'turn/start',
      'step/start',
      'system/message',
      'step/end',
      'turn/end',
      'turn/start',
      'step/start',
    ])
  })

  it('[F5] may be blank, and inserts nothing when it stays', () => {
    const done = run([...open, requestHeader('   '), requestHeader('   '), ...close, requestHeader('   ')])
    expect(prompts(done)).toEqual([null, '   '])
  })

  it('[F5] belongs to the step that is open', () => {
    const done = run([
      ...open,
      ...close,
      turnStart(2),
      stepStart(2, 1),
      stepEnd(2, 1),
      stepStart(2, 2),
      requestHeader('a'),
    ])
    expect(done.events.at(-2)?.data).toMatchObject({ turn: 2, step: 2 })
  })

  it('[F5] may be empty before the first step', () => {
    expect(outline(run([turnStart(), requestHeader(''), requestHeader()]))).toEqual([
      '0 turn/start @1000',
      '1 request/header @1010',
      '2 request/header @1020',
    ])
  })

  it.each<[string, readonly Entry[]]>([
    ['before the first step', [turnStart(), requestHeader('a')]],
    ['before the first turn', [requestHeader('a')]],
    ['after the step', [...open, stepEnd(), requestHeader('a')]],
    ['after the turn', [...open, turnEnd(), requestHeader('a')]],
    ['in a turn whose step did not begin', [...open, turnEnd(), turnStart(2), requestHeader('a')]],
    ['after the step, to none', [...open, requestHeader('a'), stepEnd(), requestHeader('')]],
  ])('[F5] refuses to change %s', (_name, entries) => {
    const error = refusal(entries)
    expect(error).toMatchObject({ code: 'order', seq: entries.length - 1, path: '$.header.system' })
  })

  it.each([[user('u')], [answer('m')], [result({})]])('[F5] refuses a message before the first step: %j', entry => {
    expect(refusal([turnStart(), entry])).toMatchObject({ code: 'order', seq: 1 })
    expect(refusal([entry])).toMatchObject({ code: 'order', seq: 0 })
  })

  it.each<[string, readonly Entry[]]>([
    ['no step', [turnStart(), todo, turnEnd()]],
    ['nothing', []],
    ['facts about the session only', [todo, ['session/title', { title: 't', messageSeqs: [], source: 'user' }]]],
  ])('[F5, case 129] gives a log with %s no head', (_name, entries) => {
    const events = logOf(...entries)
    const done = runMigration(v2ToV3, { header: v2(), events, sha256 })
    expect(done.events).toEqual(events)
    done.events.forEach((event, seq) => expect(event).toBe(events[seq]))
  })

  it('[F5] is read where it is text', () => {
    const at = (data: unknown) => promptOf({ type: 'request/header', seq: 0, time: 0, data })
    expect([{ header: { system: 'a' } }, { header: { system: 1 } }, { header: [] }, null, {}].map(at)).toEqual([
      'a',
      '',
      '',
      '',
      '',
    ])
  })
})

describe('ids of the messages put in', () => {
  const idOf = (seq: number, type: string) =>
    `v2-to-v3-system-${sha256(JSON.stringify(['session-format-v2-to-v3', 's', seq, type]))}`

  it.each<[string, readonly Entry[], number]>([
    ['a message after it', [...open, user(idOf(1, 'step/start'))], 2],
    ['an answer after it', [...open, answer(idOf(1, 'step/start'))], 2],
    ['a result after it', [...open, result({ id: idOf(1, 'step/start') })], 2],
    ['a queued message after it', [...open, queued([userMessage('x'), userMessage(idOf(1, 'step/start'))])], 2],
    ['a queued message before it', [queued([userMessage(idOf(2, 'step/start'))]), ...open], 2],
    ['a message before it', [...open, user(idOf(3, 'request/header')), requestHeader('a')], 3],
    [
      'a message of the request for a title',
      [
        [
          'session/title-llm-request',
          {
            titleProvider: 'p',
            messageSeqs: [],
            route: {},
            system: '',
            messages: [userMessage(idOf(2, 'step/start'))],
            maxTokens: 5,
          },
        ],
        ...open,
      ],
      2,
    ],
  ])('[F5] refuses %s to have one', (_name, entries, seq) => {
    expect(refusal(entries)).toMatchObject({ code: 'message-id', seq })
  })

  it('[F5] are those of seqs in the older log, so that a message may have the id of another place', () => {
    expect(run([...open, user(idOf(4, 'step/start')), requestHeader('a')]).events).toHaveLength(6)
  })
})

describe('references', () => {
  it('[F5, case 127] shift with the heads, which no range takes in', () => {
    const done = run([
      ...open,
      user('u'),
      requestHeader('a'),
      answer('m'),
      ['compaction/start', { compactionId: 'c', turn: 1 }],
      [
        'compaction/summary',
        {
          compactionId: 'c',
          summary: [],
          shadowedRange: { start: 2, end: 4 },
          shadowedSeqs: [2, 4],
          shadowedTokenCount: 1,
          provider: 'p',
          model: 'm',
        },
      ],
      user('v', {}, { sourceEventSeqs: [5, 6, 2, 4], surfaceOp: { op: 'replace', start: 2, end: 4 } }),
      ['compaction/prune', { shadowedRange: { start: 7, end: 7 }, shadowedSeqs: [7], shadowedTokenCount: 1 }],
      ['session/title', { title: 't', messageSeqs: [2], source: 'user' }],
      ['command/done', { commandId: 'x', kind: 'success', sourceEventSeq: 8 }],
    ])
    expect(done.map).toEqual([0, 1, 3, 5, 6, 7, 8, 9, 10, 11, 12])
    expect(done.events[8]?.data).toMatchObject({ shadowedRange: { start: 3, end: 6 }, shadowedSeqs: [3, 6] })
    expect(done.events[9]).toMatchObject({
      sourceEventSeqs: [7, 8, 3, 6],
      surfaceOp: { op: 'replace', startSeq: 3, endSeq: 6 },
    })
    expect(done.events[10]?.data).toMatchObject({ shadowedRange: { start: 9, end: 9 }, shadowedSeqs: [9] })
    expect(done.events[11]?.data).toMatchObject({ messageSeqs: [3] })
    expect(done.events[12]?.data).toMatchObject({ sourceEventSeq: 10 })
  })

  it('[F5] must name earlier events, in an operation of version 2', () => {
    const at = (envelope: Partial<StoredEvent>) => refusal([...open, user('u', {}, envelope)])
    expect(at({ sourceEventSeqs: [2] })).toMatchObject({ code: 'reference', seq: 2 })
    expect(at({ surfaceOp: { op: 'replace', startSeq: 0, endSeq: 0 } })).toMatchObject({ code: 'surface-op', seq: 2 })
  })
})

describe('the envelope', () => {
  it.each<[string, Entry, object]>([
    ['no operation on a message', ['user/message', userMessage('u')], { code: 'surface-op', path: 'surfaceOp' }],
    [
      'an operation elsewhere',
      [...todo.slice(0, 2), { surfaceOp: 'append' }] as unknown as Entry,
      { code: 'envelope' },
    ],
    ['sources elsewhere', ['todo/write', { todos: [] }, { sourceEventSeqs: [0] }], { code: 'envelope' }],
    ['sources of an answer', answerV1('m', { stream: [] }, { sourceEventSeqs: [] }), { code: 'envelope' }],
    ['a surplus key', ['todo/write', { todos: [] }, { note: 1 } as object], { code: 'envelope', path: 'note' }],
  ])('[F5] refuses %s', (_name, entry, facts) => {
    expect(refusal([...open, entry])).toMatchObject({ seq: 2, ...facts })
  })

  it('[F5] keeps what says it may be ignored', () => {
    expect(run([['todo/write', { todos: [] }, { ignorable: true }]]).events[0]).toMatchObject({ ignorable: true })
  })
})

describe('canonical form', () => {
  it('[F5] drops empty tools and defaults, and no other empty member', () => {
    const entry = requestHeader(undefined, { tools: [], adapterDefaults: {} })
    const done = run([...open, entry])
    expect(done.events[3]?.data).toEqual({ header: { config: { provider: 'p', model: 'm' } }, reason: 'change' })
    const kept = {
      config: { provider: 'p', model: 'm', stop: [] },
      tools: [{ name: 't' }],
      adapterDefaults: { maxTokens: true },
    }
    const events = logOf(['request/header', { header: kept, reason: 'series', startsSeries: true }])
    expect(runMigration(v2ToV3, { header: v2(), events, sha256 }).events[0]).toBe(events[0])
  })

  it('[F5] renames the nested calls of the code tool', () => {
    const start = { rootCallId: 'a', parentCallId: 'a', subCallId: 'b', name: 'n', arguments: {} }
    const done = run([
      ['tool/code-dispatch-start', start],
      ['tool/code-dispatch', { ...start, isError: false, content: [] }],
    ])
    expect(done.events.map(({ type }) => type)).toEqual(['tool/ptc-dispatch-start', 'tool/ptc-dispatch'])
    expect(Object.keys(done.events[0] as object)).toEqual(['type', 'seq', 'time', 'data'])
  })

  it('[F5] renames its plugin where it is the source of a user message, and nowhere else', () => {
    const code = { source: { kind: 'plugin', plugin: 'tools-code-mode' } }
    const title = { titleProvider: 'p', messageSeqs: [], route: {}, system: 'tools-code-mode', maxTokens: 5 }
    const done = run([
      queued([userMessage('a'), userMessage('b', code)]),
      ...open,
      user('c', code),
      ['session/title-llm-request', { ...title, messages: [userMessage('d', code)] }],
      user('e', { source: { kind: 'user' }, content: [{ type: 'text', text: 'tools-code-mode' }] }),
    ])
    const ptc = { source: { kind: 'plugin', plugin: 'tools-ptc' } }
    expect(done.events[0]?.data).toMatchObject({ inserted: [{ source: { kind: 'user' } }, ptc] })
    expect(done.events[4]?.data).toMatchObject(ptc)
    expect(done.events[5]?.data).toMatchObject({ system: 'tools-code-mode', messages: [ptc] })
    expect(done.events[6]?.data).toMatchObject({ content: [{ text: 'tools-code-mode' }] })
  })

  it('[F5] renames the preset, in the header and where it was selected', () => {
    const selected = (agentPreset: string): Entry => ['agent-preset/selected', { agentPreset }]
    const done = run([selected('code'), selected('other')], { header: { agentPreset: 'code', cwd: '/' } })
    expect(done.events.map(({ data }) => data)).toEqual([{ agentPreset: 'ptc' }, { agentPreset: 'other' }])
    expect(JSON.stringify(done.header)).toBe(
      '{"version":3,"id":"s","createdAt":900,"isSeeded":false,"agentPreset":"ptc","cwd":"/"}',
    )
    expect(v2ToV3.header(v2({ agentPreset: 'mine' }))).toEqual({ ...v2({ agentPreset: 'mine' }), version: 3 })
  })

  it.each(['tool/ptc-dispatch-start', 'tool/ptc-dispatch', 'system/message', 'image/offload'])(
    '[F5] refuses %s: version 2 did not have it',
    type => {
      expect(refusal([[type, {}]])).toMatchObject({ code: 'unknown-type', seq: 0 })
      expect(refusal([[type, {}, { ignorable: true }]], { mayRepair: true })).toMatchObject({ code: 'unknown-type' })
    },
  )
})

describe('the audit', () => {
  const video = [{ type: 'text', text: '' }, { type: 'video' }]
  const nested = [{ type: 'tool-result', toolCallId: 'c', content: video }]

  it.each<[string, Entry, string]>([
    ['a user message', user('u', { content: video }), '$.content[1].type'],
    ['a result inside of a user message', user('u', { content: nested }), '$.content[0].content[1].type'],
    [
      'an answer',
      answer('m', {
        message: { id: 'm', role: 'assistant', content: video, source: { kind: 'model', provider: 'p', model: 'm' } },
      }),
      '$.message.content[1].type',
    ],
    ['a result', result({ content: nested }), '$.message.content[0].content[1].type'],
    [
      'a queued message',
      queued([userMessage('a'), userMessage('b', { content: video })]),
      '$.inserted[1].content[1].type',
    ],
    [
      'a request for a title',
      [
        'session/title-llm-request',
        {
          titleProvider: 'p',
          messageSeqs: [],
          route: {},
          system: '',
          messages: [userMessage('a', { content: video })],
          maxTokens: 5,
        },
      ],
      '$.messages[0].content[1].type',
    ],
  ])('[F5] refuses an unknown block in %s', (_name, entry, path) => {
    expect(refusal([...open, entry])).toMatchObject({ code: 'payload', seq: 2, path })
    const done = run([...open, entry], { mayRepair: true })
    expect(done.repairs).toMatchObject([{ code: 'kept-verbatim', seq: 2 }])
    expect(done.events[3]?.data).toBe(entry[1])
  })

  it('[F5] refuses an unknown source', () => {
    const error = refusal([...open, user('u', { source: { kind: 'oracle' } })])
    expect(error).toMatchObject({ code: 'payload', seq: 2, path: '$.source.kind' })
    expect(refusal([queued([userMessage('a', { source: { kind: 'oracle' } })])])).toMatchObject({
      code: 'payload',
      path: '$.inserted[0].source.kind',
    })
  })

  it('[F5] refuses a payload that version 2 does not have, or lists and keeps it', () => {
    const entry: Entry = ['permission/preset', { preset: 'p', origin: 'default' }]
    const error = refusal([entry])
    expect(error).toMatchObject({ code: 'payload', seq: 0 })
    const done = run([entry], { mayRepair: true })
    expect(done.events[0]?.data).toBe(entry[1])
    expect(done.repairs).toMatchObject([{ code: 'kept-verbatim', seq: 0 }])
    expect(done.repairs[0]?.message).toContain('permission/preset at seq 0')
  })

  it('[F5] takes no descriptor of a subagent but of version 3, or lists it', () => {
    const descriptor = (version: number): Entry => ['subagent/descriptor', { mode: 'm', version, provider: 'p' }]
    expect(run([descriptor(3)]).events).toHaveLength(1)
    expect(refusal([descriptor(2)])).toMatchObject({ code: 'payload', seq: 0, path: '$.version' })
    expect(run([descriptor(2)], { mayRepair: true }).repairs).toMatchObject([{ code: 'kept-verbatim', seq: 0 }])
  })

  it('[F5] refuses unknown events even if they may be ignored, or lists those and keeps them', () => {
    const opaque: Partial<StoredEvent> = { ignorable: true, surfaceOp: 5, sourceEventSeqs: [99] }
    const entry: Entry = ['x/y', { sourceEventSeq: 1 }, opaque]
    expect(refusal([...open, entry])).toMatchObject({ code: 'unknown-type', seq: 2 })
    const done = run([...open, entry], { mayRepair: true })
    // All as it is but its sources: every reader takes them for seqs, and these name nothing.
    const { sourceEventSeqs: _sources, ...kept } = { ...logOf(entry)[0], seq: 3, time: 1020 }
    expect(done.events[3]).toEqual(kept)
    expect(done.repairs).toMatchObject([{ code: 'kept-verbatim', seq: 2 }])
    expect(refusal([['x/y', {}]], { mayRepair: true })).toMatchObject({ code: 'unknown-type' })
  })

  it('[F5] goes as deep as results are nested', () => {
    let content: object[] = [{ type: 'video' }]
    for (let depth = 0; depth < 5000; depth += 1) content = [{ type: 'tool-result', toolCallId: 'c', content }]
    const error = refusal([...open, user('u', { content })])
    expect(error.code).toBe('payload')
  })
})

describe('results', () => {
  it('[F5, case 130] of calls that never began keep the id of their repair, whose number is no seq', () => {
    const done = run([...open, user('u'), requestHeader('a'), failed('interrupted-tool-result-c-4')])
    expect(done.events[6]).toMatchObject({ seq: 6, data: { message: { id: 'interrupted-tool-result-c-4' } } })
  })

  it.each(['r', 'interrupted-tool-result-d-4', 'interrupted-tool-result-c-', 'interrupted-tool-result-c-04'])(
    '[F5, case 130] of calls that never began are refused with the id %s',
    id => {
      expect(refusal([...open, failed(id)])).toMatchObject({ code: 'message-id', seq: 2, path: '$.message.id' })
    },
  )

  it('[F5] that failed otherwise have any id', () => {
    expect(run([...open, call(), failed('r', { name: 'X', code: 'ABORTED' })]).events).toHaveLength(5)
  })

  it.each([{}, { isError: false }])('[F5] are refused with an error and the block %j', more => {
    const content = [{ type: 'tool-result', toolCallId: 'c', content: [], ...more }]
    const error = refusal([...open, result({ content }, { error: { name: 'X', code: 'Y' } })])
    expect(error).toMatchObject({ code: 'tool-result', seq: 2, path: '$.message.content[0].isError' })
  })
})

describe('the cut', () => {
  const log = [...open, requestHeader('a'), turnEnd(), marker, turnStart(2)]

  it('[F5, case 131] is where the tagged marker is, and insertions before it are inherited', () => {
    expect(run(log, { header: seeded }).inherited).toBe(6)
    expect(run(log, { header: seeded, inherited: 4 }).inherited).toBe(6)
    expect(run([marker, todo, marker, endSeed()], { header: seeded }).inherited).toBe(2)
    expect(run([todo, endSeed()]).inherited).toBeNull()
    expect(run([todo], { inherited: 0 }).inherited).toBeNull()
  })

  it.each<[string, readonly Entry[], Options]>([
    ['a supplied cut is another', log, { header: seeded, inherited: 3 }],
    ['a supplied cut has no marker', [todo], { inherited: 1 }],
    ['the marker is missing', [todo, endSeed()], { header: seeded }],
    ['a session that is not seeded has one', [todo, marker], {}],
  ])('[F5, case 131] is refused where %s', (_name, entries, options) => {
    expect(refusal(entries, options)).toMatchObject({ code: 'inherited-cut' })
  })
})

describe('records of delivery', () => {
  const delivered = (sessionId: string, sessionFormatVersion?: number): Entry => [
    'session-log-deepseek/delivery-accepted',
    { sessionId, throughSeq: 0, ...(sessionFormatVersion === undefined ? {} : { sessionFormatVersion }) },
  ]

  it('[F5] name this session, or an older format', () => {
    const entries = [todo, delivered('s', 2), delivered('o', 1), delivered('o', 0), delivered('o')]
    expect(run(entries).events).toEqual(logOf(...entries))
  })

  it('[F5] name another session only among inherited events of a session with a parent', () => {
    expect(run([todo, delivered('o', 2), marker], { header: seeded }).inherited).toBe(2)
    const refused: [readonly Entry[], object, number][] = [
      [[todo, delivered('o', 2)], {}, 1],
      [[todo, delivered('o', 2), marker], { isSeeded: true }, 1],
      [[todo, marker, delivered('o', 2)], seeded, 2],
    ]
    for (const [entries, header, seq] of refused) {
      expect(refusal(entries, { header })).toMatchObject({ code: 'delivery', seq, path: '$.sessionId' })
    }
  })

  it('[F5] claim no version 3', () => {
    expect(refusal([todo, delivered('s', 3)])).toMatchObject({ code: 'delivery', seq: 1 })
  })
})

describe('any log', () => {
  const entry: fc.Arbitrary<Entry> = fc.oneof(
    fc.constantFrom('a', 'b', '', undefined).map(prompt => requestHeader(prompt)),
    fc.constant(todo),
    fc.nat({ max: 9 }).map(id => user(`u${id}`)),
    fc.constant(answer('m')),
  )

  it('[F5] says the same: every event in order with its time, and before each request the prompt it had', () => {
    fc.assert(
      fc.property(fc.array(entry, { maxLength: 30 }), entries => {
        const events = logOf(...open, ...entries)
        const text = JSON.stringify(events)
        const done = runMigration(v2ToV3, { header: v2(), events, sha256 })
        expect(done.events.map(({ seq }) => seq)).toEqual([...done.events.keys()])
        const kept = done.events.filter(({ type }) => type !== 'system/message')
        expect(kept.map(({ type, time }) => [type, time])).toEqual(events.map(({ type, time }) => [type, time]))
        let prompt = ''
        const seen: string[] = []
        done.events.forEach(({ type, data }) => {
          if (type === 'request/header') seen.push(prompt)
          if (type !== 'system/message') return
          prompt = (data as { message: { content: readonly { text: string }[] } }).message.content[0]?.text ?? ''
        })
        expect(seen).toEqual(events.filter(({ type }) => type === 'request/header').map(promptOf))
        expect(JSON.stringify(events)).toBe(text)
      }),
      { numRuns: 200 },
    )
  })

  it('[F5] of hostile payloads gives nothing but FormatErrors, and changes no input', () => {
    const types = [
      'step/start',
      'request/header',
      'user/message',
      'tool/result',
      'agent/inbox/spliced',
      'session/title-llm-request',
      'session/end-seed',
      'session-log-deepseek/delivery-accepted',
      'compaction/summary',
      'x',
    ]
    const hostile = fc.record({
      type: fc.constantFrom(...types),
      data: fc.oneof(fc.json(), fc.constant('{"__proto__":{"source":1},"message":{"content":[null]},"error":{}}')),
      surfaceOp: fc.constantFrom('append', undefined, 3),
    })
    fc.assert(
      fc.property(fc.array(hostile, { maxLength: 12 }), fc.boolean(), fc.boolean(), (rows, mayRepair, isSeeded) => {
        const entries = rows.map(
          ({ type, data, surfaceOp }): Entry => [type, JSON.parse(data), surfaceOp === undefined ? {} : { surfaceOp }],
        )
        const text = JSON.stringify(entries)
        try {
          run([...open, ...entries], { mayRepair, header: { isSeeded } })
        } catch (error) {
          expect(error).toBeInstanceOf(FormatError)
        }
        expect(JSON.stringify(entries)).toBe(text)
      }),
      { numRuns: 300 },
    )
  })
})
