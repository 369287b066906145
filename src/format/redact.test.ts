import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { answered, assistant, called, counter, type Draft, header, log, loopLog, over, prompted, returned, said, storedEvents, surfaceLog, textBlock, toolCall, user } from '../core/builders.ts' // biome-ignore format: one line
import type { AssistantMessage, ContentBlock, SessionEvent, StreamChunk, ToolResultMessage } from '../core/events.ts'
import type { Invariant } from '../core/invariant.ts'
import { allInvariants } from '../core/invariants/all.ts'
import { chunksOf, finishOf, streamed, streamOf, validHistory } from '../core/invariants/valid-history.ts'
import { deepFreeze, equalJson } from '../core/json.ts'
import { image, openWith, projectedHistory } from '../core/projected-history.ts'
import { Session } from '../core/session.ts'
import { type Redactor, redactEvent, redactHeader } from './redact.ts'

const choices = fc.array(fc.nat(5_000), { maxLength: 80 })
const place = { turn: 1, step: 1 }
const one = (draft: Draft): SessionEvent => log(draft)[0] as SessionEvent
const draft = (type: string, data: unknown, more: object = {}): Draft => ({ type, data, ...more })

/** Takes a name out, and counts where it was asked. */
const withoutAnn: Redactor = text => text.replaceAll('Ann', '…')
const same: Redactor = text => text
/** The places asked about, with what stood there. */
function asked(event: SessionEvent): readonly string[] {
  const places: string[] = []
  redactEvent(event, (text, { seq, type, path }) => {
    expect([seq, type]).toEqual([event.seq, event.type])
    places.push(`${path} ${text}`)
    return text
  })
  return places
}
const redacted = (event: SessionEvent, redact: Redactor = withoutAnn): SessionEvent => {
  deepFreeze(event)
  return redactEvent(event, redact)
}

describe('what is asked', () => {
  it.each<[string, Draft, readonly string[]]>([
    [
      'what a person said',
      said([textBlock('hello'), { type: 'file', attachment: { attachmentId: 'f', name: 'a.txt', bytes: 1 } }]),
      ['$.content[0].text hello', '$.content[1].attachment.name a.txt'],
    ],
    ['a name of an image', said([image('a', { attachment: { attachmentId: 'a', mediaType: 'image/png', name: 'n' } })]), ['$.content[0].attachment.name n']], // biome-ignore format: one line
    ['a prompt', prompted('be brief'), ['$.message.content[0].text be brief']],
    [
      'an answer',
      answered([{ type: 'reasoning', text: 'hm' }, textBlock('yes'), toolCall('c', '{"a":1}')]),
      ['$.message.content[0].text hm', '$.message.content[1].text yes', '$.message.content[2].arguments {"a":1}'],
    ],
    [
      'state for the provider, all of it',
      draft('assistant/message', {
        ...place,
        message: { ...assistant('x'), source: { kind: 'model', provider: 'p', model: 'm', replayState: { id: 'i', blocks: ['b'] } } }, // biome-ignore format: one line
        stream: [],
      }),
      ['$.message.content[0].text x', '$.message.source.replayState.id i', '$.message.source.replayState.blocks[0] b'],
    ],
    ['a call', called('c'), ['$.arguments {}']],
    [
      'a result, why it failed, and all that came with it',
      returned('c', [textBlock('out'), image('i'), { type: 'odd', url: 'u' } as unknown as ContentBlock], {
        error: { name: 'E', code: 'C', reason: 'r' },
        meta: { id: 'i', type: ['t'], deep: { name: 'n' } },
      }),
      [
        '$.message.content[0].content[0].text out',
        '$.message.content[0].content[2].url u',
        '$.error.reason r',
        '$.meta.id i',
        '$.meta.type[0] t',
        '$.meta.deep.name n',
      ],
    ],
    [
      'how a turn ended',
      draft('turn/end', { turn: 1, reason: { kind: 'error', error: { message: 'm', code: 'C', requestId: 'r' } } }),
      ['$.reason.error.message m'],
    ],
    ['what a hook said', draft('turn/end', { turn: 1, reason: { kind: 'aborted', reason: { kind: 'hook', reason: 'r' } } }), ['$.reason.reason.reason r']], // biome-ignore format: one line
    [
      'what a tool says of itself',
      draft('request/header', {
        header: {
          config: { provider: 'p', model: 'm', reasoningEffort: 'high', stop: ['END'] },
          tools: [
            { name: 'read', description: 'reads', inputSchema: { type: 'object', description: 'd', required: ['r'] } },
          ],
        },
        reason: 'initial',
      }),
      [
        '$.header.config.stop[0] END',
        '$.header.tools[0].description reads',
        '$.header.tools[0].inputSchema.description d',
        '$.header.tools[0].inputSchema.required[0] r',
      ],
    ],
    [
      'nothing of a route',
      draft('request/context', { provider: 'p', model: 'm', systemPromptUpdate: 'in-history' }),
      [],
    ],
    [
      'what waits to be said',
      draft('agent/inbox/spliced', { target: 'next-turn', start: 0, inserted: [user('later')], outcome: 'canceled' }),
      ['$.inserted[0].content[0].text later'],
    ],
    ['why approval is needed', draft('approval/asked', { id: 'i', toolName: 't', callId: 'c', reason: 'r' }), ['$.reason r']], // biome-ignore format: one line
    ['nothing of a decision', draft('approval/decided', { id: 'i', outcome: 'rejected' }), []],
    ['what a hook decided', draft('hook/result', { invocationId: 'i', point: 'p', decision: 'd', durationMs: 1, stderrSummary: 's' }), ['$.decision d', '$.stderrSummary s']], // biome-ignore format: one line
    ['why a hook decided so', draft('hook/result', { invocationId: 'i', point: 'p', decision: { kind: 'block', reason: 'r', parts: ['x'] } }), ['$.decision.reason r', '$.decision.parts[0] x']], // biome-ignore format: one line
    ['what a command was given', draft('command/run', { commandId: 'c', name: 'n', args: 'a b', source: 'person' }), ['$.args a b']], // biome-ignore format: one line
    ['nothing of a policy', draft('approval/policy', { policy: 'ask', source: 'delegation' }), []],
    ['a failure', draft('llm/retry', { retryId: 'r', ...place, provider: 'p', policyKey: 'k', mode: 'normal', failure: { message: 'm', code: 'C' } }), ['$.failure.message m']], // biome-ignore format: one line
    ['a title', draft('session/title', { title: 't', messageSeqs: [1], source: { kind: 'llm' } }), ['$.title t']],
    [
      'a summary',
      draft('compaction/summary', {
        compactionId: 'c',
        sourceCommandId: 's',
        summary: [textBlock('t')],
        rawOutput: [textBlock('r')],
        llmStreamCall: { id: 'i' },
        provider: 'p',
        model: 'm', // biome-ignore format: one line
      }),
      ['$.summary[0].text t', '$.rawOutput[0].text r'],
    ],
    ['why a compaction failed', draft('compaction/end', { compactionId: 'c', turn: null, error: 'e' }), ['$.error e']],
    [
      'a command',
      draft('command/run', { commandId: 'c', name: 'n', args: { id: 'i' }, source: 'person' }),
      ['$.args.id i'],
    ],
    [
      'a call of a program',
      draft('tool/ptc-dispatch', { rootCallId: 'a', parentCallId: 'b', subCallId: 'c', name: 'n', arguments: { name: 'x' }, content: [{ type: 'text', text: 't', provider: 'p' }] }), // biome-ignore format: one line
      ['$.arguments.name x', '$.content[0].text t', '$.content[0].provider p'],
    ],
    ['a list of things to do', draft('todo/write', { todos: [{ id: 'i', content: 'c' }] }), ['$.todos[0].content c']],
    ['nothing of a list of models', draft('subagent/model-selection-policy', { allowedModels: ['m', 'n'] }), []],
    ['a catalog', draft('subagent/catalog', [{ id: 'i', name: 'n', model: 'm' }]), ['$[0].name n', '$[0].model m']],
    [
      'all that an unknown event says, but ids and kinds',
      draft('acme/x', { id: 'i', type: 't', kind: 'k', itemId: 'j', partIds: ['p'], name: 'n', code: 'c', list: [['a'], 'b'] }, { ignorable: true }), // biome-ignore format: one line
      ['$.name n', '$.code c', '$.list[0][0] a', '$.list[1] b'],
    ],
    ['a bare text', draft('acme/x', 'text', { ignorable: true }), ['$ text']],
    ['where an unknown event says it stands', draft('acme/x', 1, { ignorable: true, surfaceOp: { op: 'o', any: 'a' } }), ['$.surfaceOp.any a']], // biome-ignore format: one line
    ['nothing where that is the end', draft('acme/x', 1, { ignorable: true, surfaceOp: 'append' }), []],
    ['no empty text', said(''), []],
    ['members of any name', draft('acme/x', JSON.parse('{"__proto__":{"a b":"x"}}'), { ignorable: true }), ['$.__proto__["a b"] x']], // biome-ignore format: one line
  ])('[F12] %s', (_what, of, places) => {
    expect(asked(one(of))).toEqual(places)
  })

  it('[F12] of the header only its folder', () => {
    const whole = header({ cwd: '/home/Ann', parentSession: 'Ann', agentPreset: 'Ann' })
    const places: unknown[] = []
    const changed = redactHeader(Object.freeze(whole), (text, where) => {
      places.push({ ...where })
      return withoutAnn(text, where)
    })
    expect(changed).toEqual({ ...whole, cwd: '/home/…' })
    expect(places).toEqual([{ seq: null, type: 'session', path: '$.cwd' }])
    expect(redactHeader(whole, same)).toBe(whole)
    const bare = header()
    expect(redactHeader(bare, () => 'x')).toBe(bare)
  })
})

describe('what comes out', () => {
  it('[F12] the very same event when nothing changes', () => {
    const every = choices.map(numbers => storedEvents(validHistory(numbers, { crashes: true })))
    fc.assert(
      fc.property(every, events => {
        for (const event of events) expect(redactEvent(event, same)).toBe(event)
      }),
    )
  })

  it('[F12] shares what did not change, and changes nothing it was given', () => {
    const event = one(said([textBlock('Ann'), textBlock('Bob'), image('Ann')]))
    const after = redacted(event)
    expect(after).toEqual({ ...event, data: { ...(event.data as object), content: [textBlock('…'), textBlock('Bob'), image('Ann')] } }) // biome-ignore format: one line
    const [before, now] = [event, after].map(({ data }) => (data as { content: readonly unknown[] }).content)
    expect(now?.[1]).toBe(before?.[1])
    expect(now?.[2]).toBe(before?.[2])
  })

  it('[F12] refuses an answer that is no text', () => {
    for (const answer of [undefined, null, 7, {}, []]) {
      const refused = expect.objectContaining({
        name: 'FormatError',
        code: 'payload',
        seq: 0,
        eventType: 'user/message',
        path: '$.content[0].text',
      }) as Error
      expect(() => redactEvent(one(said('x')), () => answer as string)).toThrow(refused)
    }
    expect(() => redactEvent(one(said('x')), () => null as unknown as string)).toThrow('answered with null, not a text')
    expect(() => redactHeader(header({ cwd: 'x' }), () => 7 as unknown as string)).toThrow('of type number')
  })

  it('[F12] reaches any depth, and says where only when asked', () => {
    let data: unknown = 'Ann'
    for (let level = 0; level < 60_000; level += 1) data = level % 2 === 0 ? { in: data, at: 'Ann' } : [data]
    const after = redacted(one(draft('acme/x', data, { ignorable: true })))
    let found = after.data as unknown
    let count = 0
    for (let level = 60_000; level > 0; level -= 1) {
      if (Array.isArray(found)) found = found[0]
      else {
        if ((found as { at: unknown }).at === '…') count += 1
        found = (found as { in: unknown }).in
      }
    }
    expect([found, count]).toEqual(['…', 30_000])
  })

  it('[F12] keeps members of any name', () => {
    const data: unknown = JSON.parse('{"__proto__":{"__proto__":"Ann","toString":"Ann"},"b":"Ann","1":2}')
    const after = redacted(one(draft('acme/x', data, { ignorable: true })))
    expect(JSON.stringify(after.data)).toBe('{"1":2,"__proto__":{"__proto__":"…","toString":"…"},"b":"…"}')
  })

  it('[F12] a hook that is told a place may keep it', () => {
    const places: { readonly path: string }[] = []
    redactEvent(one(answered([textBlock('a'), textBlock('b')])), (text, where) => {
      places.push(where)
      return text
    })
    expect(places.map(({ path }) => path)).toEqual(['$.message.content[0].text', '$.message.content[1].text'])
  })

  it('[F12] a summary leaves out the call it came from, which may hold a text in pieces', () => {
    const data = { compactionId: 'c', summary: [textBlock('x')] }
    for (const llmStreamCall of [{ deltas: ['An', 'n'] }, [{ text: 'A' }, { text: 'nn' }], 'Ann', 7]) {
      expect(redacted(one(draft('compaction/summary', { ...data, llmStreamCall }))).data).toEqual(data)
    }
    const changed = redacted(one(draft('compaction/summary', { summary: [textBlock('Ann')], llmStreamCall: 'x' })))
    expect(changed.data).toEqual({ summary: [textBlock('…')] })
    for (const without of [data, null, 'x', [1]]) {
      const event = one(draft('compaction/summary', without))
      expect(redacted(event)).toBe(event)
    }
  })

  it('[F12] its refusals are short, wherever the text stands', () => {
    const event = one(draft('acme/x', { ['k'.repeat(5000)]: 'x' }, { ignorable: true }))
    let message = ''
    try {
      redactEvent(event, () => null as unknown as string)
    } catch (error) {
      message = (error as Error).message
    }
    expect(message).toContain('answered with null')
    expect(message.length).toBeLessThan(500)
  })
})

describe('streams', () => {
  const streamAfter = (stream: unknown, redact = withoutAnn): unknown => {
    const event = one(draft('assistant/attempt', { ...place, stream }))
    const after = redacted(event, redact)
    if (after === event) return 'same'
    return (after.data as { stream: unknown }).stream
  }
  const delta = (text: string, index = 0, type = 'text-delta'): StreamChunk => ({ type, index, text }) as StreamChunk
  const argument = (text: string, more: object = {}): StreamChunk => ({ type: 'tool-call-delta', index: 1, id: 'Ann', name: 'Ann', argumentsDelta: text, ...more }) // biome-ignore format: one line

  it.each<[string, readonly StreamChunk[]]>([
    ['in a piece', [delta('hello Ann')]],
    ['cut', [delta('hello A'), delta('n'), delta('n')]],
    ['cut, with another block in between', [delta('A'), delta('Bob', 1), delta('nn')]],
    ['cut in reasoning', [delta('A', 3, 'reasoning-delta'), delta('nn', 3, 'reasoning-delta')]],
    ['cut in arguments', [argument('{"name":"An'), argument('n"}')]],
    ['cut in chunks that are kept as they came', [argument('An', { id: '' }), argument('n', { id: '' })]],
    ['at the end of a block', [{ type: 'block-end', index: 0, block: textBlock('Ann') }]],
    ['in the failure', [{ type: 'finish', reason: { kind: 'error', failure: { message: 'Ann', code: 'Ann' } } }]],
    ['in the state', [{ type: 'finish', reason: { kind: 'stop' }, replayState: ['Ann'] }]],
  ])('[F12] a text %s: nothing of the stream is left', (_what, chunks) => {
    expect(streamAfter(streamOf(chunks))).toEqual([])
  })

  it.each<[string, readonly StreamChunk[]]>([
    ['without such a text', [delta('hello'), finishOf('stop')]],
    ['where it is spread over two blocks', [delta('A'), delta('nn', 1)]],
    ['where it is a name or an id', [argument('{}'), { type: 'block-start', index: 2, blockType: 'Ann' }]],
    ['without chunks', []],
  ])('[F12] a stream %s stays', (_what, chunks) => {
    expect(streamAfter(streamOf(chunks))).toBe('same')
  })

  it.each<[string, readonly unknown[]]>([
    ['a text for a record', ['Ann']],
    ['a list for a record', [['Ann']]],
    ['a record of another type', [{ type: 'odd', some: ['Ann'] }]],
    ['pieces that are no list', [{ type: 'text-chunks', texts: 'Ann' }]],
    ['pieces that are no texts', [{ type: 'text-chunks', texts: [1, 'Ann'] }]],
    ['more members', [{ type: 'text-chunks', texts: ['x'], more: 'Ann' }]],
    ['a text for a chunk', [{ type: 'chunk', chunk: 'Ann' }]],
  ])('[F12] a stream nobody can read is searched as well: %s', (_what, stream) => {
    expect(streamAfter(stream)).toEqual([])
    expect(streamAfter(stream, same)).toBe('same')
  })

  it('[F12] one text is asked about for each block, at its first piece', () => {
    const chunks = [delta('a'), delta('b', 1), delta('c'), argument('x', { index: 4 }), finishOf('error')]
    expect(asked(one(draft('assistant/attempt', { ...place, stream: streamOf(chunks) })))).toEqual([
      '$.stream[4].chunk.reason.failure.message no',
      '$.stream[0].texts ac',
      '$.stream[1].texts b',
      '$.stream[3].args x',
    ])
  })

  it('[F12] a message that changes leaves its stream, whatever that says', () => {
    const { data, ...rest } = streamed([textBlock('x'), toolCall('c')], place, 'tool-calls', true)
    const message = {
      ...(data as { message: AssistantMessage }).message,
      content: [textBlock('x'), toolCall('c', '"Ann"')],
    }
    const after = redacted(one({ ...rest, data: { ...(data as object), message } })).data
    expect(after).toEqual({
      ...(data as object),
      message: { ...message, content: [textBlock('x'), toolCall('c', '"…"')] },
      stream: [],
    })
  })

  it('[F12] a text the message left out of its stream is searched for', () => {
    const blocks = [textBlock('x'), toolCall('c', '{"name":"Ann"}')]
    const after = redacted(one(streamed(blocks, place, 'max-tokens'))).data
    expect(after).toEqual({ ...place, message: assistant([textBlock('x')]), stream: [] })
  })

  it('[F12] however a text is cut, nothing of it is left', () => {
    const pieces = fc.array(fc.nat(30), { maxLength: 6 })
    fc.assert(
      fc.property(pieces, fc.boolean(), (cuts, hasEnd) => {
        const secret = 'before Ann, between Ann, after'
        const at = [...new Set([0, ...cuts, secret.length])].sort((left, right) => left - right)
        const deltas = at.map((from, index) => delta(secret.slice(from, at[index + 1] ?? from)))
        const ends = hasEnd ? [chunksOf([textBlock(secret)]).at(-1) as StreamChunk] : []
        expect(streamAfter(streamOf([...deltas, ...ends, finishOf('error')]))).toEqual([])
      }),
    )
  })
})

describe('the law', () => {
  const shape = (session: Session): unknown => ({
    nodes: session.surface.nodes,
    generations: [session.surface.replaceGeneration, session.surface.contentGeneration],
    messages: session.deriveMessages().map(({ id, role, source: { kind } }) => [id, role, kind]),
    blocks: session.deriveMessages().map(({ content }) => content.map(({ type }) => type)),
    length: session.length,
    inherited: session.inheritedEventCount,
  })
  const open = (events: readonly SessionEvent[], invariants: readonly Invariant[] = []): Session =>
    Session.fromRestore({ header: header(), events, now: counter(), invariants, readOnly: true })
  const hooks: readonly Redactor[] = [
    () => '',
    () => 'x',
    text => `${text} and more`,
    text => text.replace(/[0-9]/g, '#'),
    text => text.slice(1),
  ]
  const anyHook = fc.constantFrom(...hooks)

  it('[F12] a redacted log is admitted as it was, and every invariant with it', () => {
    fc.assert(
      fc.property(choices, anyHook, (numbers, hook) => {
        const events = storedEvents(validHistory(numbers, { crashes: true }))
        const before = shape(open(events, allInvariants))
        deepFreeze(events)
        const after = events.map(event => redactEvent(event, hook))
        expect(shape(open(after, allInvariants))).toEqual(before)
        // Once is enough, for a hook that changes nothing of its own.
        const again = after.map(event => redactEvent(event, hook))
        if (hook('ab', { seq: 0, type: '', path: '' }) === 'x') expect(equalJson(again, after)).toBe(true)
      }),
    )
  })

  it('[F12] so is any log admission accepts', () => {
    const drafts = fc.oneof(
      choices.map(numbers => surfaceLog(numbers).drafts),
      choices.map(numbers => loopLog(numbers).drafts),
    )
    fc.assert(
      fc.property(drafts, anyHook, (list, hook) => {
        const before = open(log(...list))
        const after = open(log(...list).map(event => redactEvent(event, hook)))
        expect(shape(after)).toEqual(shape(before))
      }),
    )
  })

  it('[F12] so is one whose messages extensions change, when they find as much text', () => {
    fc.assert(
      fc.property(choices, numbers => {
        const events = storedEvents(projectedHistory(numbers))
        const after = events.map(event => redactEvent(event, text => text.replace(/[a-z0-9]/gu, '#')))
        expect(shape(openWith(after, { readOnly: true }))).toEqual(shape(openWith(events, { readOnly: true })))
      }),
    )
  })

  it('[F12] nothing changes but texts', () => {
    const plain = (value: unknown): unknown =>
      JSON.parse(JSON.stringify(value), (key, member: unknown) =>
        typeof member === 'string' && key !== 'type' && key !== 'id' ? '' : key === 'stream' ? [] : member,
      )
    fc.assert(
      fc.property(choices, anyHook, (numbers, hook) => {
        for (const event of storedEvents(validHistory(numbers))) {
          expect(plain(redactEvent(event, hook))).toEqual(plain(event))
        }
      }),
    )
  })

  it('[F12] a rewrite of a result stays one', () => {
    const [result] = [returned('c', 'Ann and Bob')]
    const { message } = result.data as { message: ToolResultMessage }
    const pruned = { ...message, content: [{ ...message.content[0], content: [textBlock('Ann')] }] }
    const data = { ...(result.data as object), meta: { of: 'Ann' }, error: undefined }
    const events = log(
      { ...result, data: JSON.parse(JSON.stringify(data)) as unknown },
      over(draft('tool/result', JSON.parse(JSON.stringify({ ...data, message: pruned }))), 0, 0, [0]),
    )
    const session = open(events.map(event => redacted(event)))
    expect(JSON.stringify(session.deriveMessages())).toContain('"text":"…"')
  })
})
