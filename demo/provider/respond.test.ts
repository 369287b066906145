import fc from 'fast-check'
import { validateOpenAiChat } from 'palimpsest/testing'
import { describe, expect, test } from 'vitest'
import { bodyOf, collect, converse, toolNames } from './collect-answer.ts'
import { failures } from './directives.ts'
import { wordCount } from './prose.ts'
import { models } from './models.ts'
import { respond } from './respond.ts'
import type { Answer } from './script.ts'
import { stallMs, toPieces } from './stream.ts'

const user = (content: unknown): object => ({ role: 'user', content })
const ask = (text: string, tools?: readonly string[]) => collect(respond({ body: bodyOf([user(text)], tools) }))
const argumentsOf = (call: { readonly arguments: string } | undefined): unknown => JSON.parse(call?.arguments ?? 'null')

const notes = JSON.stringify([{ title: 'Spring tides' }, { title: 'Neap tides' }])
const run = (name: string): string =>
  name === 'search_notes' ? notes : name === 'write_note' ? 'Saved as note 7' : 'ok'

describe('the script', () => {
  test('[demo] remembers by writing a note, then says what the tool answered', () => {
    const { say } = converse(run)
    const [first, second] = say('Please remember that high tide is at noon.')
    expect(first?.text).toBe('I will write that note.')
    expect(first?.finish).toBe('tool_calls')
    expect(first?.calls.map(call => call.name)).toEqual(['write_note'])
    expect(argumentsOf(first?.calls[0])).toEqual({ title: 'High tide is at noon', text: 'high tide is at noon' })
    expect(second?.text).toContain('“High tide is at noon”')
    expect(second?.text).toContain('Saved as note 7')
    expect(second?.finish).toBe('stop')
  })

  test.each([
    'search my notes for tides',
    'Find notes about tides',
    'What do my notes say about tides?',
    'Summarise my notes on tides',
  ])('[demo] searches and quotes what was found: %s', prompt => {
    const [first, second] = converse(run).say(prompt)
    expect(first?.calls.map(call => [call.name, argumentsOf(call)])).toEqual([['search_notes', { query: 'tides' }]])
    expect(second?.text).toBe('I found 2 notes about “tides”: “Spring tides” and “Neap tides”.')
  })

  test.each([
    ['JSON under a key', JSON.stringify({ notes: [{ title: 'A' }] }), 'I found 1 note about “tides”: “A”.'],
    [
      'a title that is cut from its text',
      JSON.stringify([{ title: 'The tables are', text: 'the tables are in the drawer' }]),
      'I found 1 note about “tides”: “The tables are in the drawer”.',
    ],
    ['lines', '- A: first\n- B: second', 'I found 2 notes about “tides”: “A” and “B”.'],
    ['nothing in words', 'No notes found.', 'I found no notes about “tides”.'],
    ['nothing in JSON', '[]', 'I found no notes about “tides”.'],
    ['prose', 'High at noon.', 'About “tides” your notes say: “High at noon.”'],
    [
      'a note about an error',
      JSON.stringify([{ title: 'An error interrupted me' }]),
      'I found 1 note about “tides”: “An error interrupted me”.',
    ],
  ])('[demo] reads search results given as %s', (_, output, text) => {
    expect(
      converse(() => output)
        .say('find notes about tides')
        .at(-1)?.text,
    ).toBe(text)
  })

  test.each([
    ['make the page dark', 'dark'],
    ['switch to light mode, please', 'light'],
  ])('[demo] sets the theme: %s', (prompt, theme) => {
    const [first, second] = converse(run).say(prompt)
    expect(first?.calls.map(call => [call.name, argumentsOf(call)])).toEqual([['set_theme', { theme }]])
    expect(second?.text).toBe(`The page is ${theme} now.`)
  })

  test('[demo] asks for two tools at once when the prompt does', () => {
    const [first, second] = converse(run).say('Remember that the boat leaves at 8 and make the page dark')
    expect(first?.calls.map(call => call.name)).toEqual(['write_note', 'set_theme'])
    expect(new Set(first?.calls.map(call => call.id)).size).toBe(2)
    expect(second?.text).toContain('I wrote the note')
    expect(second?.text).toContain('The page is dark now.')
  })

  test('[demo] chains: searches, writes from the result, then reports', () => {
    const answers = converse(run).say('Find my notes about tides and write a summary note')
    expect(answers.map(answer => answer.calls.map(call => call.name))).toEqual([['search_notes'], ['write_note'], []])
    expect(argumentsOf(answers[1]?.calls[0])).toEqual({
      title: 'Summary: tides',
      text: '2 notes about tides: Spring tides; Neap tides.',
    })
    expect(answers[2]?.text).toContain('I found 2 notes')
    expect(answers[2]?.text).toContain('“Summary: tides”')
  })

  test.each([
    ['Delete the note about tides', ['Spring tides']],
    ['Please remove my note on tides.', ['Spring tides']],
    ['Delete all notes about tides', ['Spring tides', 'Neap tides']],
    ['Find my notes about tides and delete them', ['Spring tides', 'Neap tides']],
    ['Find my notes about tides, then delete it', ['Spring tides']],
  ])('[demo] looks before it deletes, and deletes by whole titles: %s', (prompt, titles) => {
    const [first, second, third] = converse(run).say(prompt)
    expect(first?.calls.map(call => [call.name, argumentsOf(call)])).toEqual([['search_notes', { query: 'tides' }]])
    expect(second?.calls.map(call => [call.name, argumentsOf(call)])).toEqual(
      titles.map(title => ['delete_note', { title }]),
    )
    expect(second?.text).toContain('I will delete what you named, if you allow it.')
    expect(third?.calls).toEqual([])
    for (const title of titles) expect(third?.text).toContain(`I deleted the note “${title}”.`)
  })

  test('[demo] deletes what it has just written, and nothing that was not found', () => {
    const answers = converse(run).say('Make a note that the ferry leaves at nine, then delete it.')
    expect(answers.map(answer => answer.calls.map(call => call.name))).toEqual([['write_note'], ['delete_note'], []])
    expect(argumentsOf(answers[1]?.calls[0])).toEqual({ title: 'The ferry leaves at nine' })
    const none = converse(() => '{"notes":[]}').say('Delete the note about tides')
    expect(none.map(answer => answer.calls.map(call => call.name))).toEqual([['search_notes'], []])
    expect(none[1]?.text).toBe('I found no notes about “tides”.')
    expect(ask('Delete it.').calls).toEqual([])
  })

  test('[demo] says that what nobody allowed was not done', () => {
    const refused = 'The person did not allow this call, so it did not run. Do not try it again unless asked to.'
    const answers = converse(name => (name === 'delete_note' ? refused : notes)).say('Delete the note about tides')
    expect(answers.at(-1)?.text).toContain('The tool delete_note did not succeed')
    expect(answers.at(-1)?.calls).toEqual([])
  })

  test('[demo] goes on with the prompt before an interruption, without what that one asked for', () => {
    const goOn = 'The turn before was cut off before it was finished. Go on from where it stopped.'
    const { say, messages } = converse(run)
    messages.push(user('Find notes about tides [slow] [fail:server]'))
    const [first, second] = say(goOn)
    expect(first?.calls.map(call => call.name)).toEqual(['search_notes'])
    expect(second?.text).toBe(
      'I go on where I was cut off. I found 2 notes about “tides”: “Spring tides” and “Neap tides”.',
    )
    expect(say('And now? [fail:server]')[0]?.status).toBe(500)
  })

  test('[demo] answers about the history from what it was sent', () => {
    const { say, messages } = converse(run)
    expect(say('What did I say before?')[0]?.text).toContain('nothing before this')
    say('The lighthouse is red.')
    say('The harbour is closed.')
    expect(say('What did I say first?')[0]?.text).toContain('“What did I say before?”')
    expect(say('How many messages have I sent?')[0]?.text).toContain('4 earlier messages of yours')
    messages.splice(0, messages.length, user('<compacted-summary>All of it.</compacted-summary>'), user('Hello again.'))
    const recalled = say('What was my first message?')[0]?.text
    expect(recalled).toContain('“Hello again.”')
    expect(recalled).toContain('only as a summary')
  })

  test('[demo] talks when nothing else is asked for: quotes the prompt, counts the messages before it', () => {
    const { say } = converse(run)
    const first = say('Tell me about logs')[0]?.text ?? ''
    expect(first).toContain('“Tell me about logs”; no earlier messages')
    expect(say('And more?')[0]?.text).toContain('2 earlier messages')
    expect(wordCount(first)).toBeGreaterThanOrEqual(60)
    expect(wordCount(first)).toBeLessThanOrEqual(120)
  })

  const attachedTo = (...parts: readonly object[]): string => collect(respond({ body: bodyOf([user(parts)]) })).text
  const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }

  test('[demo] says what it was given: images by type and size, files by name, size and beginning', () => {
    const look = { type: 'text', text: 'Look' }
    expect(attachedTo(look, image)).toContain(
      'You wrote “Look” and sent 1 image (PNG, 3 bytes), which I can count but not see; no earlier messages',
    )
    expect(attachedTo(image)).toContain('You sent a message without words and sent 1 image')
    const text = { type: 'text', text: 'File tide table.txt:\n\n```\nHigh at noon\n```' }
    const pdf = { type: 'file', file: { filename: 'map.pdf', file_data: 'data:application/pdf;base64,AAAAAA==' } }
    const binary = { type: 'text', text: '[file data, v2.bin, 12 kB]' }
    expect(attachedTo(text, pdf, binary, look)).toContain(
      '“Look” and sent the file tide table.txt (12 bytes, it begins “High at noon”), the file map.pdf (4 bytes) and the file data, v2.bin (12 kB);',
    )
    expect(attachedTo({ type: 'text', text: '[image sea.png, not available here]' }, look)).toContain(
      'sent 1 image (sea.png)',
    )
  })

  test('[demo] what a file says asks for nothing, and fills the window', () => {
    const asking = { type: 'text', text: 'File a.txt:\n\n```\nMake the page dark. [fail:server]\n```' }
    const answer = collect(respond({ body: bodyOf([user([asking, { type: 'text', text: 'Look' }])]) }))
    expect(answer).toMatchObject({ status: 200, calls: [] })
    const long = { type: 'text', text: `File a.txt:\n\n\`\`\`\n${'a'.repeat(70_000)}\n\`\`\`` }
    expect(collect(respond({ body: bodyOf([user([long, image])]) })).code).toBe('context_length_exceeded')
  })

  test('[demo] thinks first when asked to', () => {
    expect(ask('Think, then tell me about logs').reasoning).not.toBe('')
    expect(ask('Tell me about logs').reasoning).toBe('')
  })

  test('[demo] summarises a conversation for a compaction, with or without tools on offer', () => {
    const history = [
      user('The lighthouse is red.'),
      { role: 'assistant', content: 'Noted.' },
      user('Summarise the conversation so far. Remember the open tasks.'),
    ]
    for (const tools of [[], toolNames]) {
      const answer = collect(respond({ body: bodyOf(history, tools) }))
      expect(answer.text).toContain('“The lighthouse is red.”')
      expect(answer.calls).toEqual([])
    }
  })

  const asked = ['write_note', 'search_notes', 'set_theme'] as const
  test.each(asked)('[demo] never asks for a tool that is not offered, and says so: %s', name => {
    const others = asked.filter(other => other !== name)
    const [first] = converse(run, others).say('Remember the boat, make the page dark. Search my notes for boats')
    expect(first?.calls.map(call => call.name).sort()).toEqual([...others].sort())
    expect(first?.text).toContain(`the tool ${name} is not offered`)
  })

  test('[demo] never asks for a deletion that is not offered, and says so', () => {
    const [, second] = converse(run, asked).say('Delete the note about tides')
    expect(second?.calls).toEqual([])
    expect(second?.text).toContain('the tool delete_note is not offered')
  })

  test.each([
    ['Error: the disk is full', 'did not succeed', 'the disk is full'],
    ['{"error":"no such theme"}', 'did not succeed', 'no such theme'],
    ['The user rejected this call.', 'did not succeed', 'rejected'],
    ['Interrupted; the outcome is unknown.', 'outcome is unknown', 'may or may not'],
  ])('[demo] a tool that fails is reported and not tried again: %s', (output, ...expected) => {
    const answers = converse(() => output).say('Find my notes about tides and write a summary note')
    expect(answers.map(answer => answer.calls.length)).toEqual([1, 0])
    for (const text of expected) expect(answers[1]?.text).toContain(text)
    expect(answers[1]?.text).toContain('I have not tried it again')
  })

  test('[demo] call ids are unique over a conversation, and its requests stay valid', () => {
    const { say, messages } = converse(run)
    for (let round = 0; round < 4; round++) {
      say('Remember the boat and make the page dark')
      say('Find my notes about tides and write a summary note')
    }
    expect(validateOpenAiChat(bodyOf(messages))).toEqual([])
  })

  test('[demo] a call id that the history holds already is not used again', () => {
    const answer: Answer = { reasoning: '', text: 'a', calls: [{ name: 'set_theme', arguments: { theme: 'dark' } }] }
    const facts = { model: 'm', seed: 7, promptTokens: 1, includesUsage: false, pace: 'fast', failure: null } as const
    const idWhenTaken = (...taken: string[]): string | undefined =>
      collect({ status: 200, ...toPieces(answer, { ...facts, takenIds: new Set(taken) }) }).calls[0]?.id
    const first = idWhenTaken() ?? ''
    const second = idWhenTaken(first) ?? ''
    expect(new Set([first, second, idWhenTaken(first, second)]).size).toBe(3)
  })
})

describe('the wire', () => {
  test('[demo] chunks have the shape OpenAI documents; usage comes last when asked for', () => {
    const response = respond({
      body: { ...bodyOf([user('make the page dark')]), stream_options: { include_usage: true } },
    })
    const chunks = 'pieces' in response ? response.pieces.map(piece => piece.data as Record<string, unknown>) : []
    for (const chunk of chunks)
      expect(chunk).toMatchObject({
        id: chunks[0]?.['id'],
        object: 'chat.completion.chunk',
        created: 1_764_547_200,
        model: 'embedded-small',
      })
    expect(chunks[0]).toMatchObject({
      choices: [{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }],
      usage: null,
    })
    expect(chunks.at(-2)).toMatchObject({ choices: [{ delta: {}, finish_reason: 'tool_calls' }], usage: null })
    const { prompt_tokens, completion_tokens, total_tokens } = chunks.at(-1)?.['usage'] as Record<string, number>
    expect(chunks.at(-1)).toMatchObject({ choices: [] })
    expect(total_tokens).toBe((prompt_tokens ?? 0) + (completion_tokens ?? 0))

    const opening = chunks.findIndex(chunk => JSON.stringify(chunk).includes('"name":"set_theme"'))
    expect(chunks[opening]).toMatchObject({
      choices: [
        {
          delta: {
            tool_calls: [
              {
                index: 0,
                id: expect.stringMatching(/^call_/) as unknown,
                type: 'function',
                function: { arguments: '' },
              },
            ],
          },
        },
      ],
    })
    expect(chunks.length - 2 - opening).toBeGreaterThanOrEqual(3)
    expect('end' in response && response.end).toBe('done')
  })

  test('[demo] no usage unless asked for', () => {
    expect(ask('hello').usage).toBeUndefined()
  })

  test('[demo] deltas come at reading pace, the first after a pause', () => {
    const delays = (text: string): number[] => {
      const response = respond({ body: bodyOf([user(text)]) })
      return 'pieces' in response ? response.pieces.map(piece => piece.delayMs) : []
    }
    const [first = 0, ...rest] = delays('hello')
    expect(first).toBeGreaterThanOrEqual(180)
    expect(first).toBeLessThanOrEqual(220)
    expect(Math.min(...rest)).toBeGreaterThanOrEqual(20)
    expect(Math.max(...rest)).toBeLessThanOrEqual(60)
    expect(new Set(delays('hello [slow]'))).toEqual(new Set([400]))
    expect(Math.max(...delays('hello [fast]'))).toBeLessThanOrEqual(2)
  })

  test('[demo] [long] is about 400 words, [slow] about 200, and directives are not quoted', () => {
    expect(Math.abs(wordCount(ask('hello [long]').text) - 410)).toBeLessThan(30)
    expect(Math.abs(wordCount(ask('hello [slow]').text) - 210)).toBeLessThan(30)
    expect(ask('hello [slow] [fail:length]').text).not.toContain('[')
  })

  test('[demo] a request that does not stream gets the same answer as one completion', () => {
    const prompt = user('Remember the boat and make the page dark, think')
    const streamed = collect(respond({ body: bodyOf([prompt]) }))
    const whole = collect(respond({ body: { ...bodyOf([prompt]), stream: false } }))
    expect({ ...whole, usage: undefined, end: '' }).toEqual({ ...streamed, end: '' })
    expect(whole.usage).toBeDefined()
  })
})

describe('failures', () => {
  test('[demo] a wrong key is refused and not repeated', () => {
    const response = respond({ body: bodyOf([user('hi')]), authorization: 'Bearer wrong-key' })
    expect(collect(response)).toMatchObject({ status: 401, code: 'invalid_api_key' })
    expect(JSON.stringify(response)).not.toContain('wrong-key')
    expect(respond({ body: bodyOf([user('hi')]), authorization: 'Bearer any' }).status).toBe(200)
  })

  test('[demo] an unknown model is not found', () => {
    expect(collect(respond({ body: { ...bodyOf([user('hi')]), model: 'gpt-4o' } }))).toMatchObject({
      status: 404,
      code: 'model_not_found',
    })
  })

  test('[demo] an invalid request is refused with the reason and its path', () => {
    expect(respond({ body: bodyOf([user('hi'), { role: 'tool', tool_call_id: 'x', content: 'ok' }]) })).toEqual({
      status: 400,
      headers: {},
      json: {
        error: {
          message: 'messages[1]: result without call',
          type: 'invalid_request_error',
          code: 'result-without-call',
          param: 'messages[1]',
        },
      },
    })
  })

  test.each([...models])('[demo] %s refuses a history over its window of %i tokens', (model, window) => {
    const bodyFor = (characters: number): object => ({ ...bodyOf([user('a'.repeat(characters))]), model })
    expect(collect(respond({ body: bodyFor(window * 4 + 1) }))).toMatchObject({
      status: 400,
      code: 'context_length_exceeded',
    })
    expect(respond({ body: bodyFor(window * 4 - 100) }).status).toBe(200)
  })

  test('[demo] refusals by directive', () => {
    expect(respond({ body: bodyOf([user('hi [fail:rate-limit]')]) })).toMatchObject({
      status: 429,
      headers: { 'retry-after': '2' },
    })
    expect(ask('hi [fail:server]').status).toBe(500)
    expect(ask('hi [fail:overflow]')).toMatchObject({ status: 400, code: 'context_length_exceeded' })
  })

  test('[demo] [fail:cut] and [fail:close] end half-way without a finish', () => {
    const whole = ask('hi')
    for (const end of ['cut', 'close']) {
      const broken = ask(`hi [fail:${end}]`)
      expect(broken).toMatchObject({ end, finish: undefined, status: 200 })
      expect(whole.text.startsWith(broken.text)).toBe(true)
      expect(wordCount(broken.text)).toBe(Math.ceil(wordCount(whole.text) / 2))
    }
  })

  test('[demo] [fail:cut-tool] ends inside the arguments of a call', () => {
    const broken = ask('make the page dark [fail:cut-tool]')
    expect(broken).toMatchObject({ end: 'cut', finish: undefined })
    expect(broken.calls[0]?.name).toBe('set_theme')
    expect(broken.calls[0]?.arguments).toMatch(/^\{./)
    expect(() => argumentsOf(broken.calls[0])).toThrow()
    expect(ask('hi [fail:cut-tool]')).toMatchObject({ end: 'cut', calls: [] })
  })

  test('[demo] [fail:length] finishes early and says so', () => {
    expect(ask('hi [fail:length]')).toMatchObject({ end: 'done', finish: 'length' })
    expect(ask('make the page dark [fail:length]').calls).toEqual([])
  })

  test('[demo] [fail:stall] goes silent after a few deltas', () => {
    const response = respond({ body: bodyOf([user('hi [fail:stall]')]) })
    const delays = 'pieces' in response ? response.pieces.map(piece => piece.delayMs) : []
    expect(delays.indexOf(stallMs)).toBe(4)
  })

  test('[demo] once: fails the first attempt of each request only', () => {
    const body = bodyOf([user('hi [fail:once:server]')])
    expect(respond({ body }).status).toBe(500)
    expect(respond({ body, attempt: 1 }).status).toBe(200)
  })

  test('[demo] later: fails after a tool ran, not before', () => {
    const answers = converse(run).say('make the page dark [fail:later:rate-limit]')
    expect(answers.map(answer => answer.status)).toEqual([200, 429])
  })

  test('[demo] only the last prompt directs', () => {
    expect(collect(respond({ body: bodyOf([user('hi [fail:server]'), user('again')]) })).status).toBe(200)
  })
})

describe('laws', () => {
  const prompt = fc
    .array(
      fc.oneof(
        fc.constantFrom(
          'remember',
          'note that',
          'find my notes about',
          'write a summary note',
          'delete the note about',
          'then delete it',
          'and',
          'make the page dark',
          'what did I say first?',
          'think',
          'summarise',
        ),
        fc.constantFrom('[fast]', '[slow]', '[long]', ...failures.map(failure => `[fail:${failure}]`)),
        fc.string({ unit: 'grapheme', maxLength: 12 }),
      ),
      { minLength: 1, maxLength: 6 },
    )
    .map(words => words.join(' '))
  const offered = fc.subarray([...toolNames])

  test('[demo] respond never throws and answers 400 to what the validator refuses', () => {
    const body = fc.record(
      {
        model: fc.constantFrom('embedded-small', 'embedded-large', 'other'),
        messages: fc.array(fc.oneof(fc.jsonValue(), prompt.map(user)), { maxLength: 3 }),
        tools: fc.jsonValue(),
        stream: fc.boolean(),
      },
      { requiredKeys: ['model'] },
    )
    fc.assert(
      fc.property(fc.oneof(fc.jsonValue(), body), request => {
        const { status } = respond({ body: request })
        expect(status === 400 || validateOpenAiChat(request).length === 0).toBe(true)
      }),
    )
  })

  test('[demo] the same request gets the same answer, and is not changed', () => {
    fc.assert(
      fc.property(prompt, offered, fc.nat(2), (text, tools, attempt) => {
        const body = bodyOf([user(text || 'hi')], tools)
        const before = structuredClone(body)
        const response = respond({ body, attempt })
        expect(respond({ body: before, attempt })).toEqual(response)
        expect(body).toEqual(before)
      }),
    )
  })

  test('[demo] every finished answer can be sent back: it calls offered tools only, with JSON, and is never empty', () => {
    fc.assert(
      fc.property(fc.array(prompt, { minLength: 1, maxLength: 3 }), offered, fc.string(), (prompts, tools, output) => {
        const { say, messages } = converse(() => output, tools)
        for (const text of prompts) {
          const answers = say(text.replace(/\[fail:[a-z-]+\]/g, '') || 'hi')
          if (answers.some(answer => answer.status !== 200)) return
          for (const call of answers.flatMap(answer => answer.calls)) expect(tools).toContain(call.name)
          expect(validateOpenAiChat(bodyOf(messages, tools))).toEqual([])
        }
      }),
    )
  })
})
