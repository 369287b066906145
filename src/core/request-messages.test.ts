import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  answered,
  assistant,
  called,
  idsOf,
  log,
  loopLog,
  newSession,
  over,
  restored,
  returned,
  said,
  system,
  textBlock,
  toolCall,
  toolResult,
  turnEnd,
  turnStart,
  user,
} from './builders.ts'
import type { ContentBlock, Message } from './events.ts'
import { openAiBody } from './openai-body.ts'
import { validateOpenAiChat } from './provider-rules.ts'
import { type RequestChange, requestMessages } from './request-messages.ts'

const calls = (...ids: readonly string[]): ContentBlock[] => ids.map(id => toolCall(id))
const asked = (...ids: readonly string[]): Message => assistant(calls(...ids), `a:${ids.join()}`)
/** A list in short: who says it, and the call it is about. */
const shortly = (messages: Iterable<Message>): string[] =>
  [...messages].map(message => {
    if (message.role !== 'assistant')
      return message.source.kind === 'tool' ? `result ${resultOf(message)}` : message.role
    const ids = message.content.flatMap(block => (block.type === 'tool-call' ? [block.id] : []))
    return ['assistant', ...ids].join(' ')
  })
const resultOf = (message: Message): string => {
  const [block] = message.content
  if (block?.type !== 'tool-result') return 'without block'
  const { callId } = message.source as { callId?: string }
  return block.toolCallId === callId ? callId : `${callId} ≠ ${block.toolCallId}`
}
const kinds = (changes: readonly RequestChange[]): string[] =>
  changes.map(({ kind, index, callId }) => [kind, index, ...(callId === undefined ? [] : [callId])].join(' '))

/** What is wrong with a list as pairs: each call is answered once, directly after its message; ids are used once. */
function unpaired(messages: readonly Message[]): string[] {
  const found: string[] = []
  const used = new Set<string>()
  let open = new Set<string>()
  for (const message of messages) {
    const [first] = message.content
    if (message.source.kind === 'tool' && first?.type === 'tool-result') {
      if (!open.delete(first.toolCallId)) found.push(`result without call: ${first.toolCallId}`)
      if (first.toolCallId !== message.source['callId']) found.push('ids of a result differ')
      continue
    }
    for (const id of open) found.push(`unanswered: ${id}`)
    open = new Set()
    if (message.content.length === 0) found.push(`empty: ${message.id}`)
    for (const block of message.content) {
      if (block.type === 'text' && block.text.trim() === '') found.push(`blank text: ${message.id}`)
      if (block.type !== 'tool-call' || message.role !== 'assistant') continue
      if (used.has(block.id)) found.push(`used twice: ${block.id}`)
      used.add(block.id)
      open.add(block.id)
    }
  }
  for (const id of open) found.push(`unanswered: ${id}`)
  return found
}

describe('what answers a call', () => {
  const answer = toolResult('c')
  const [block] = answer.content
  it.each<[string, object]>([
    ['said by a person', { source: { kind: 'user' } }],
    ['with something beside it', { content: [block, textBlock('and more')] }],
    ['that is only text', { content: [textBlock('ok')] }],
    ['that is empty', { content: [] }],
    ['with the id of another call', { content: [{ ...block, toolCallId: 'other' }] }],
    ['whose source names another call', { source: { kind: 'tool', callId: 'other' } }],
  ])('[A3] is a result and nothing else, not one %s', (_what, change) => {
    const { changes } = requestMessages([user('q'), asked('c'), { ...answer, ...change }])
    expect(changes).toContainEqual({ kind: 'missing-result', index: 1, messageId: 'a:c', callId: 'c' })
    expect(requestMessages([user('q'), asked('c'), answer]).changes).toEqual([])
  })

  it('[A3] what a person quotes of one is mended inside, once; results inside results are left as they are', () => {
    const inner = { ...block, content: [textBlock('\ud800')] }
    const quote = { ...block, content: [textBlock('a\ud800'), textBlock(' '), inner] }
    const { messages, changes } = requestMessages([user([quote, textBlock('?')], 'm')])
    expect(messages[0]?.content).toEqual([{ ...block, content: [textBlock('a\ufffd'), inner] }, textBlock('?')])
    expect(changes).toEqual([
      { kind: 'malformed-text', index: 0, messageId: 'm' },
      { kind: 'empty-text', index: 0, messageId: 'm' },
    ])
  })
})

describe('calls nobody named', () => {
  it('[A3] get an id and a name, and their results go with them', () => {
    const odd = assistant([
      { ...toolCall('c'), name: '' },
      { ...toolCall(''), name: 'read' },
    ])
    const { messages, changes } = requestMessages([user('q'), odd, toolResult('c')])
    expect(messages[1]?.content).toMatchObject([
      { id: 'c', name: 'unknown' },
      { id: 'call', name: 'read' },
    ])
    expect(messages.slice(2).map(({ source }) => source)).toMatchObject([{ callId: 'c' }, { callId: 'call' }])
    expect(changes.map(({ kind }) => kind)).toEqual(['renamed-call', 'renamed-call', 'missing-result'])
    expect(validateOpenAiChat(openAiBody(messages))).toEqual([])
  })
})

describe('a call without a name alone', () => {
  it('[A3] is named, and said so', () => {
    const odd = assistant([{ ...toolCall('c'), name: '' }])
    const { messages, changes } = requestMessages([user('q'), odd, toolResult('c')])
    expect(messages[1]?.content).toEqual([{ ...toolCall('c'), name: 'unknown' }])
    expect(changes).toEqual([{ kind: 'renamed-call', index: 1, messageId: odd.id, callId: 'c' }])
  })
})

describe('what is fine stays', () => {
  it('[A3] as the same objects, with no change reported', () => {
    const messages = [
      system('p'),
      user('q'),
      assistant([{ type: 'reasoning', text: 'hm' }, textBlock('let me see'), toolCall('c1'), toolCall('c2')]),
      toolResult('c1'),
      toolResult('c2', ''.padEnd(3, 'x')),
      assistant('done'),
    ]
    const sent = requestMessages(messages)
    expect(sent.changes).toEqual([])
    expect(sent.messages).toHaveLength(messages.length)
    sent.messages.forEach((message, index) => expect(message).toBe(messages[index]))
  })

  it('[A3] results directly after their message keep the order they were recorded in', () => {
    const messages = [user('q'), asked('a', 'b', 'c'), toolResult('c'), toolResult('a'), toolResult('b'), user('next')]
    expect(requestMessages(messages)).toEqual({ messages, changes: [] })
  })

  it('[A3] takes any iterable and does not touch it', () => {
    const messages = Object.freeze([user('q'), asked('a')])
    expect(shortly(requestMessages(new Set(messages)).messages)).toEqual(['user', 'assistant a', 'result a'])
    expect(requestMessages([])).toEqual({ messages: [], changes: [] })
  })
})

describe('pairs', () => {
  it('[A3, CMP-01] a result without its call is dropped', () => {
    const session = newSession(
      said('q'),
      answered(calls('c1')),
      returned('c1'),
      answered('done'),
      over(said('summary'), 0, 1, [0, 1]),
    )
    expect(idsOf(session.messages)).toEqual(['u:summary', 'r:c1', 'a:done'])
    const { messages, changes } = requestMessages(session.messages)
    expect(idsOf(messages)).toEqual(['u:summary', 'a:done'])
    expect(changes).toEqual([{ kind: 'orphan-result', index: 1, messageId: 'r:c1', callId: 'c1' }])
  })

  it('[A3] a result before its call does not answer it', () => {
    const { messages, changes } = requestMessages([toolResult('a'), asked('a')])
    expect(shortly(messages)).toEqual(['assistant a', 'result a'])
    expect(kinds(changes)).toEqual(['orphan-result 0 a', 'missing-result 1 a'])
  })

  it('[A3] a call without a result is answered with an error that says so', () => {
    const { messages, changes } = requestMessages([user('q'), asked('a', 'b'), toolResult('a'), user('next')])
    expect(shortly(messages)).toEqual(['user', 'assistant a b', 'result a', 'result b', 'user'])
    expect(changes).toEqual([{ kind: 'missing-result', index: 1, messageId: 'a:a,b', callId: 'b' }])
    expect(messages[3]).toMatchObject({
      role: 'user',
      source: { kind: 'tool', callId: 'b' },
      content: [
        { isError: true, content: [{ text: expect.stringMatching(/no result was recorded.*unknown/is) as string }] },
      ],
    })
    expect(new Set(idsOf(messages)).size).toBe(messages.length)
  })

  it('[A3] each missing result is a message of its own', () => {
    const { messages } = requestMessages([asked('a', 'b'), user('q'), asked('c')])
    expect(shortly(messages)).toEqual(['assistant a b', 'result a', 'result b', 'user', 'assistant c', 'result c'])
    expect(new Set(idsOf(messages)).size).toBe(messages.length)
    expect(idsOf(messages)).not.toContain('')
  })

  it('[A3] only a call of an assistant message can be answered', () => {
    const quoted = user(calls('a'), 'u1')
    const orphan = requestMessages([quoted, toolResult('a')])
    expect(orphan.messages).toEqual([quoted])
    expect(kinds(orphan.changes)).toEqual(['orphan-result 1 a'])
    const between = requestMessages([asked('a'), quoted, toolResult('a')])
    expect(idsOf(between.messages)).toEqual(['a:a', 'r:a', 'u1'])
    expect(kinds(between.changes)).toEqual(['moved-result 2 a'])
  })

  it('[A3, REP-10] of two results for one call the first is sent', () => {
    const first = toolResult('c1', 'first', 'r1')
    const messages = [user('q'), asked('c1'), first, toolResult('c1', 'second', 'r2'), assistant('done')]
    const sent = requestMessages(messages)
    expect(idsOf(sent.messages)).toEqual(['u:q', 'a:c1', 'r1', 'a:done'])
    expect(sent.messages[2]).toBe(first)
    expect(sent.changes).toEqual([{ kind: 'duplicate-result', index: 3, messageId: 'r2', callId: 'c1' }])
  })

  it('[A3, REP-10] a stored log with two results loads', () => {
    const session = restored(
      log(turnStart(1), answered(calls('c1')), called('c1'), returned('c1'), returned('c1'), turnEnd(1)),
    )
    expect(kinds(requestMessages(session.messages).changes)).toEqual(['duplicate-result 2 c1'])
  })

  it('[A3] a result that came late is sent directly after its call', () => {
    const { messages, changes } = requestMessages([asked('a'), user('meanwhile'), toolResult('a'), assistant('done')])
    expect(shortly(messages)).toEqual(['assistant a', 'result a', 'user', 'assistant'])
    expect(changes).toEqual([{ kind: 'moved-result', index: 2, messageId: 'r:a', callId: 'a' }])
  })

  it('[A3] a result that came late within the span of its siblings is reported too', () => {
    const late = requestMessages([asked('a', 'b'), user('meanwhile'), toolResult('a'), toolResult('b')])
    expect(shortly(late.messages)).toEqual(['assistant a b', 'result a', 'result b', 'user'])
    expect(kinds(late.changes)).toEqual(['moved-result 2 a', 'moved-result 3 b'])
    const one = requestMessages([asked('a', 'b'), toolResult('b'), user('meanwhile'), toolResult('a')])
    expect(shortly(one.messages)).toEqual(['assistant a b', 'result b', 'result a', 'user'])
    expect(kinds(one.changes)).toEqual(['moved-result 3 a'])
  })
})

describe('ids', () => {
  it('[A3, REP-06] a call id used again is renamed on the call and on its result', () => {
    const messages = [user('1'), asked('ls:0'), toolResult('ls:0', 'one', 'r1'), user('2')]
    const again = [assistant(calls('ls:0'), 'a2'), toolResult('ls:0', 'two', 'r2'), assistant('done')]
    const sent = requestMessages([...messages, ...again])
    expect(shortly(sent.messages)).toEqual([
      'user',
      'assistant ls:0',
      'result ls:0',
      'user',
      'assistant ls:0_2',
      'result ls:0_2',
      'assistant',
    ])
    expect(sent.messages[5]).toMatchObject({ id: 'r2', content: [{ content: [textBlock('two')] }] })
    expect(sent.changes).toEqual([{ kind: 'renamed-call', index: 4, messageId: 'a2', callId: 'ls:0' }])
    expect(again[0]?.content[0]).toEqual(toolCall('ls:0'))
  })

  it('[A3, REP-06] the first use is not answered by the result of the second', () => {
    const sent = requestMessages([asked('c'), assistant(calls('c'), 'a2'), toolResult('c', 'second')])
    expect(shortly(sent.messages)).toEqual(['assistant c', 'result c', 'assistant c_2', 'result c_2'])
    expect(sent.messages[3]).toMatchObject({ content: [{ content: [textBlock('second')] }] })
    expect(kinds(sent.changes)).toEqual(['missing-result 0 c', 'renamed-call 1 c'])
  })

  it('[A3] a new id never meets one that is in use', () => {
    const sent = requestMessages([
      ...[asked('c'), toolResult('c')],
      ...[asked('c_2'), toolResult('c_2')],
      ...[assistant([...calls('c'), ...calls('c_3')], 'a3'), toolResult('c'), toolResult('c_3')],
    ])
    expect(unpaired(sent.messages)).toEqual([])
  })

  it('[A3] each further use of an id gets the next number', () => {
    const again = (id: string) => [assistant(calls('c'), `a:${id}`), toolResult('c', 'ok', `r:${id}`)]
    const { messages } = requestMessages([...again('1'), ...again('2'), ...again('3')])
    expect(shortly(messages.filter(({ role }) => role === 'assistant'))).toEqual([
      'assistant c',
      'assistant c_2',
      'assistant c_3',
    ])
    expect(unpaired(messages)).toEqual([])
  })

  it('[A3] two calls of one id in one message are answered by their results in order', () => {
    const messages = [asked('c', 'c'), toolResult('c', 'first', 'r1'), toolResult('c', 'second', 'r2')]
    const sent = requestMessages(messages)
    expect(shortly(sent.messages)).toEqual(['assistant c c_2', 'result c', 'result c_2'])
    expect(idsOf(sent.messages)).toEqual(['a:c,c', 'r1', 'r2'])
    expect(kinds(sent.changes)).toEqual(['renamed-call 0 c'])
  })
})

describe('texts', () => {
  it('[A3, TRN-06] empty and blank texts are left out', () => {
    const image = { type: 'image', attachment: { attachmentId: 'i' } } as ContentBlock
    const session = newSession(said([textBlock(''), image], 'u1'), answered([]), said('next'), answered('ok'))
    const { messages, changes } = requestMessages(session.messages)
    expect(messages.map(({ role }) => role)).toEqual(['user', 'user', 'assistant'])
    expect(messages[0]?.content).toEqual([image])
    expect(kinds(changes)).toEqual(['empty-text 0'])
    expect(session.deriveMessages()[0]?.content).toHaveLength(2)
  })

  it('[A3] a message of nothing but blank text is left out', () => {
    const sent = requestMessages([
      user(' \n', 'u1'),
      user('q'),
      assistant([textBlock('')], 'a1'),
      system([textBlock(' ')], 's1'),
    ])
    expect(idsOf(sent.messages)).toEqual(['u:q'])
    expect(kinds(sent.changes)).toEqual([
      'empty-text 0',
      'empty-message 0',
      'empty-text 2',
      'empty-message 2',
      'empty-text 3',
      'empty-message 3',
    ])
  })

  it('[A3] a user message without any content is left out', () => {
    const sent = requestMessages([user([], 'u1'), user('q')])
    expect(idsOf(sent.messages)).toEqual(['u:q'])
    expect(sent.changes).toStrictEqual([{ kind: 'empty-message', index: 0, messageId: 'u1' }])
  })

  it('[A3] a message of a tool without any content is left out', () => {
    const empty = { ...user([], 'u1'), source: { kind: 'tool', callId: 'c' } }
    const sent = requestMessages([asked('c'), toolResult('c'), empty])
    expect(idsOf(sent.messages)).toEqual(['a:c', 'r:c'])
    expect(kinds(sent.changes)).toEqual(['empty-message 2'])
  })

  it('[A3] an assistant message keeps its calls when its text is blank', () => {
    const sent = requestMessages([assistant([textBlock('\n\n'), toolCall('c')], 'a1'), toolResult('c')])
    expect(sent.messages[0]?.content).toEqual([toolCall('c')])
    expect(shortly(sent.messages)).toEqual(['assistant c', 'result c'])
    expect(kinds(sent.changes)).toEqual(['empty-text 0'])
  })

  it('[A3] a result may be empty, but not of empty text', () => {
    const sent = requestMessages([
      asked('a', 'b'),
      toolResult('a', []),
      toolResult('b', [textBlock(''), textBlock('x')]),
    ])
    expect(sent.messages.slice(1)).toEqual([toolResult('a', []), toolResult('b', 'x')])
    expect(kinds(sent.changes)).toEqual(['empty-text 2'])
  })

  it('[A3] half a surrogate pair becomes U+FFFD; whole pairs stay', () => {
    const sent = requestMessages([
      user('a\ud800b 😀', 'u1'),
      assistant([{ type: 'reasoning', text: '\udc00' }, textBlock('fine'), toolCall('c')], 'a1'),
      toolResult('c', 'x\udfff'),
    ])
    expect(sent.messages.map(({ content }) => content)).toEqual([
      [textBlock('a\ufffdb 😀')],
      [{ type: 'reasoning', text: '\ufffd' }, textBlock('fine'), toolCall('c')],
      toolResult('c', 'x\ufffd').content,
    ])
    expect(kinds(sent.changes)).toEqual(['malformed-text 0', 'malformed-text 1', 'malformed-text 2'])
  })

  it('[A3] a user message that only holds a result of a tool is no result', () => {
    const quoted = user(toolResult('c').content, 'u1')
    const messages = [asked('c'), quoted, user('q')]
    const sent = requestMessages(messages)
    expect(idsOf(sent.messages).slice(2)).toEqual(['u1', 'u:q'])
    expect(sent.messages[2]).toBe(quoted)
    expect(kinds(sent.changes)).toEqual(['missing-result 0 c'])
  })

  it('[A3] a user message that only calls itself a tool is no result', () => {
    const odd = { ...user('from a tool of mine', 'u1'), source: { kind: 'tool', callId: 'c' } }
    const messages = [asked('c'), toolResult('c'), odd]
    const session = newSession(answered(calls('c')), { ...said('x'), data: odd })
    expect(requestMessages(messages)).toEqual({ messages, changes: [] })
    expect(shortly(requestMessages(session.messages).messages)).toEqual([
      'assistant c',
      'result c',
      'result without block',
    ])
  })
})

describe('laws', () => {
  const choices = fc.array(fc.nat({ max: 1 << 16 }), { maxLength: 80 })
  const id = fc.constantFrom('c1', 'c2', 'c1_2', 'c1_2_2')
  const content = fc.array(
    fc.oneof(
      fc.constantFrom('', ' ', 'a', '\ud800', 'b\udc00c').map(textBlock),
      fc.constant<ContentBlock>({ type: 'reasoning', text: '\udfff' }),
    ),
    { maxLength: 2 },
  )
  const anyMessage = fc.oneof(
    content.map(blocks => user(blocks)),
    content.map(blocks => system(blocks.length === 0 ? 'p' : blocks)),
    fc.tuple(content, fc.array(id, { maxLength: 3 })).map(([blocks, ids]) => assistant([...blocks, ...calls(...ids)])),
    fc.tuple(id, content).map(([callId, blocks]) => toolResult(callId, blocks)),
  )
  /** The messages of a valid history, in any order, some left out. */
  const shuffled = choices.chain(numbers =>
    fc.shuffledSubarray(newSession(...loopLog(numbers).drafts).deriveMessages()),
  )
  const anyList = fc.oneof(fc.array(anyMessage, { maxLength: 14 }), shuffled)

  it('[A3] whatever the list was, what is sent is paired, unique and without empty text', () => {
    fc.assert(
      fc.property(anyList, list => {
        const { messages } = requestMessages(list)
        expect(unpaired(messages)).toEqual([])
      }),
      { numRuns: 1000 },
    )
  })

  it('[A3] what is sent once is sent unchanged the next time', () => {
    fc.assert(
      fc.property(anyList, list => {
        const { messages } = requestMessages(list)
        const again = requestMessages(messages)
        expect(again.changes).toEqual([])
        expect(again.messages).toEqual(messages)
      }),
      { numRuns: 500 },
    )
  })

  it('[A3] every difference is reported, and nothing is reported without one', () => {
    fc.assert(
      fc.property(anyList, list => {
        const { messages, changes } = requestMessages(list)
        const same = messages.length === list.length && messages.every((message, index) => message === list[index])
        expect(changes.length === 0).toBe(same)
        for (const change of changes) expect(change.messageId).toBe(list[change.index]?.id)
      }),
      { numRuns: 1000 },
    )
  })

  it('[A3] every result is sent or reported as left out, and the missing ones are made up', () => {
    const resultsIn = (list: readonly Message[]): number => list.filter(({ source }) => source.kind === 'tool').length
    fc.assert(
      fc.property(anyList, list => {
        const { messages, changes } = requestMessages(list)
        const count = (kind: RequestChange['kind']): number => changes.filter(change => change.kind === kind).length
        const kept = resultsIn(list) - count('orphan-result') - count('duplicate-result')
        expect(resultsIn(messages)).toBe(kept + count('missing-result'))
      }),
      { numRuns: 500 },
    )
  })

  it('[A3] what this library writes is sent as it is', () => {
    fc.assert(
      fc.property(choices, numbers => {
        const derived = newSession(...loopLog(numbers).drafts).deriveMessages()
        expect(requestMessages(derived).changes).toEqual([])
      }),
    )
  })

  it('[A3] a strict provider takes what is sent', () => {
    fc.assert(
      fc.property(anyList, list => {
        const { messages } = requestMessages(list)
        fc.pre(
          messages.some(
            ({ role, content }) => role !== 'assistant' || content.some(({ type }) => type !== 'reasoning'),
          ),
        )
        fc.pre(
          messages.every(
            ({ role, content }) => role === 'assistant' || content.some(({ type }) => type !== 'reasoning'),
          ),
        )
        expect(validateOpenAiChat(openAiBody(messages))).toEqual([])
      }),
      { numRuns: 500 },
    )
  })
})
