/** The worker of the crash runs: an agent whose answers come in many small pieces, and tools that take a while. */
import { type Message, requestMessages } from 'palimpsest/core'
import { scriptedModel, type ScriptedStep, validateAnthropicMessages, validateOpenAiChat } from 'palimpsest/testing'
import { defineTool, indexedDbStorage, type ModelRequest, serve } from 'palimpsest/worker'
import { anthropicBody, openAiBody } from './bodies.ts'
import { Reporter, sleep, troubleOf } from './reporter.ts'
import { answerTo, chunksOf } from './script.ts'

const reporter = new Reporter()
const trouble = (error: unknown) => reporter.say({ kind: 'trouble', text: `worker: ${troubleOf(error)}` })
globalThis.addEventListener('error', event => trouble(event.error ?? event.message))
globalThis.addEventListener('unhandledrejection', event => trouble(event.reason))

const work = defineTool<{ ms: number }>({
  name: 'work',
  description: 'Takes a while',
  input: { type: 'object', properties: { ms: { type: 'number' } }, required: ['ms'] },
  execute: async ({ ms }, { sessionId, callId, report }) => {
    await reporter.tell({ kind: 'tool', session: sessionId, callId, name: 'work' })
    for (let part = 1; part <= 4; part += 1) {
      await sleep(ms / 4)
      report(`part ${part} of 4`)
    }
    return { done: true, ms }
  },
})

const look = defineTool({
  name: 'look',
  description: 'Answers at once',
  input: { type: 'object' },
  execute: (_input, { sessionId, callId }) => {
    reporter.say({ kind: 'tool', session: sessionId, callId, name: 'look' })
    return 'The tide is in.'
  },
})

const breaks = defineTool({
  name: 'break',
  description: 'Fails',
  input: { type: 'object' },
  execute: (_input, { sessionId, callId }) => {
    reporter.say({ kind: 'tool', session: sessionId, callId, name: 'break' })
    throw new TypeError('The rope broke')
  },
})

/** What strict providers, and the library itself, would change of a request. */
function findingsOf(messages: readonly Message[]): readonly string[] {
  return [
    ...validateOpenAiChat(openAiBody(messages)).map(({ message }) => `OpenAI: ${message}`),
    ...validateAnthropicMessages(anthropicBody(messages)).map(({ message }) => `Anthropic: ${message}`),
    ...requestMessages(messages).changes.map(({ kind, index }) => `messages[${index}]: ${kind}`),
  ]
}

function* answers(isFast: boolean): Generator<ScriptedStep> {
  for (;;) {
    yield ({ messages }: ModelRequest) => {
      reporter.say({ kind: 'request', findings: findingsOf(messages) })
      return chunksOf(answerTo(messages), index => reporter.say({ kind: 'delta', index }), isFast)
    }
  }
}

serve<{ isFast: boolean }>({
  storage: indexedDbStorage(),
  agent: ({ config }) => ({
    model: scriptedModel(answers(config.isFast)),
    system: 'You know the sea.',
    tools: [work, look, breaks],
  }),
})
