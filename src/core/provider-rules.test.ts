// Longer than most: two tables of requests, one row per rule and corner.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type RequestFindingCode, validateAnthropicMessages, validateOpenAiChat } from './provider-rules.ts'

/** A request with one fault, and the paths where it must be found. */
type Refusal = readonly [name: string, request: unknown, ...paths: string[]]

// ── OpenAI ──────────────────────────────────────────────────────────────────────────────────────────────────────────

const openAi = (...messages: unknown[]): Record<string, unknown> => ({ model: 'gpt-4o', messages })
const user = (content: unknown): unknown => ({ role: 'user', content })
const system = (content: unknown): unknown => ({ role: 'system', content })
const tool = (id: unknown, content: unknown = 'ok'): unknown => ({ role: 'tool', tool_call_id: id, content })
const call = (id: unknown, args: unknown = '{}', name: unknown = 'get_weather'): unknown => ({
  id,
  type: 'function',
  function: { name, arguments: args },
})
const calling = (...calls: unknown[]): unknown => ({ role: 'assistant', content: null, tool_calls: calls })
const withTools = (...tools: unknown[]): unknown => ({ ...openAi(user('hi')), tools })
const openAiTool = (name: unknown, parameters: unknown = { type: 'object', properties: {} }): unknown => ({
  type: 'function',
  function: { name, parameters },
})

const weatherTool = {
  type: 'function',
  function: {
    name: 'get_current_weather',
    description: 'Get the current weather in a given location',
    parameters: {
      type: 'object',
      properties: {
        location: { type: 'string', description: 'The city and state, e.g. San Francisco, CA' },
        unit: { type: 'string', enum: ['celsius', 'fahrenheit'] },
      },
      required: ['location'],
    },
  },
}

/** Requests of OpenAI's API reference and its function calling guide. */
const openAiDocumented: Record<string, unknown> = {
  'API reference, default': openAi({ role: 'developer', content: 'You are a helpful assistant.' }, user('Hello!')),
  'API reference, streaming': {
    ...openAi(system('You are a helpful assistant.'), user('Hello!')),
    stream: true,
    stream_options: { include_usage: true },
  },
  'API reference, image input': {
    ...openAi(
      user([
        { type: 'text', text: "What's in this image?" },
        { type: 'image_url', image_url: { url: 'https://example.com/boardwalk.jpg' } },
      ]),
    ),
    max_tokens: 300,
  },
  'API reference, functions': {
    ...openAi(user("What's the weather like in Boston today?")),
    tools: [weatherTool],
    tool_choice: 'auto',
  },
  'guide, image as data': openAi(
    user([{ type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=', detail: 'low' } }]),
  ),
  'guide, audio and file': openAi(
    user([
      { type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } },
      { type: 'file', file: { file_id: 'file-abc123' } },
    ]),
  ),
  'guide, many turns': openAi(user('knock knock.'), { role: 'assistant', content: "Who's there?" }, user('Orange.')),
  'guide, a call and its result': {
    ...openAi(
      user("What's the weather like in Paris today?"),
      calling(call('call_12345xyz', '{"latitude":48.8566,"longitude":2.3522}')),
      tool('call_12345xyz', '14'),
    ),
    tools: [{ type: 'function', function: { ...weatherTool.function, name: 'get_weather', strict: true } }],
  },
  'guide, parallel calls': {
    ...openAi(
      user("What's the weather like in San Francisco, Tokyo, and Paris?"),
      calling(
        call('call_a', '{"location": "San Francisco"}', 'get_current_weather'),
        call('call_b', '{"location": "Tokyo"}', 'get_current_weather'),
        call('call_c', '{"location": "Paris"}', 'get_current_weather'),
      ),
      { ...(tool('call_a', '{"temperature": "72"}') as object), name: 'get_current_weather' },
      { ...(tool('call_b', '{"temperature": "10"}') as object), name: 'get_current_weather' },
      { ...(tool('call_c', '{"temperature": "22"}') as object), name: 'get_current_weather' },
    ),
    tools: [weatherTool],
    parallel_tool_calls: true,
  },
}

/** Corners that are allowed. */
const openAiAccepted: Record<string, unknown> = {
  'results in any order': openAi(user('a'), calling(call('x'), call('y')), tool('y'), tool('x'), user('b')),
  'no content beside calls': openAi(user('a'), { role: 'assistant', tool_calls: [call('x')] }, tool('x')),
  'empty content beside calls': openAi(
    user('a'),
    { role: 'assistant', content: '', tool_calls: [call('x')] },
    tool('x'),
  ),
  'empty tool output': openAi(user('a'), calling(call('x')), tool('x', '')),
  'tool output in parts': openAi(user('a'), calling(call('x')), tool('x', [{ type: 'text', text: 'ok' }])),
  'two turns with calls': openAi(user('a'), calling(call('x')), tool('x'), calling(call('y')), tool('y')),
  'a refusal sent back': openAi(user('a'), { role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] }),
  'two messages of one role': openAi(user('a'), user('b')),
  'whitespace only': openAi(user(' ')),
  'astral characters': openAi(user('🌊🌙')),
  'a function without parameters': withTools({ type: 'function', function: { name: 'now' } }),
}

const openAiRefused: Partial<Record<RequestFindingCode, Refusal[]>> = {
  'not-an-object': [
    ['a list', [], ''],
    ['null', null, ''],
    ['a message that is text', openAi('hi'), 'messages[0]'],
  ],
  'no-model': [
    ['absent', { messages: [user('hi')] }, 'model'],
    ['empty', { ...openAi(user('hi')), model: '' }, 'model'],
  ],
  'no-messages': [
    ['absent', { model: 'gpt-4o' }, 'messages'],
    ['empty', openAi(), 'messages'],
  ],
  'unknown-role': [
    ['a role of nobody', openAi({ role: 'model', content: 'hi' }), 'messages[0]'],
    ['a name every object has', openAi({ role: 'constructor', content: 'hi' }), 'messages[0]'],
  ],
  'no-content': [
    ['user without', openAi({ role: 'user' }), 'messages[0].content'],
    ['system with no parts', openAi(system([])), 'messages[0].content'],
    ['assistant without, not calling', openAi(user('a'), { role: 'assistant', content: null }), 'messages[1].content'],
    ['tool with null', openAi(user('a'), calling(call('x')), tool('x', null)), 'messages[2].content'],
    [
      'no parts beside calls',
      openAi(user('a'), { role: 'assistant', content: [], tool_calls: [call('x')] }, tool('x')),
      'messages[1].content',
    ],
  ],
  'malformed-part': [
    [
      'an image in a system message',
      openAi(system([{ type: 'image_url', image_url: { url: 'x' } }])),
      'messages[0].content[0]',
    ],
    [
      'an image in a tool result',
      openAi(user('a'), calling(call('x')), tool('x', [{ type: 'image_url', image_url: { url: 'x' } }])),
      'messages[2].content[0]',
    ],
    ['an image without an address', openAi(user([{ type: 'image_url', image_url: {} }])), 'messages[0].content[0]'],
    [
      'an address that is not in an object',
      openAi(user([{ type: 'image_url', image_url: 'https://x' }])),
      'messages[0].content[0]',
    ],
    ['an Anthropic image', openAi(user([{ type: 'image', source: {} }])), 'messages[0].content[0]'],
    ['text that is a number', openAi(user([{ type: 'text', text: 3 }])), 'messages[0].content[0]'],
    ['a part that is a string', openAi(user(['hi'])), 'messages[0].content[0]'],
  ],
  'empty-text': [
    ['user', openAi(user('')), 'messages[0].content'],
    ['system', openAi(system('')), 'messages[0].content'],
    ['assistant', openAi(user('a'), { role: 'assistant', content: '' }), 'messages[1].content'],
    [
      'a part beside an image',
      openAi(
        user([
          { type: 'image_url', image_url: { url: 'x' } },
          { type: 'text', text: '' },
        ]),
      ),
      'messages[0].content[1]',
    ],
  ],
  'no-calls': [
    ['empty', openAi(user('a'), { role: 'assistant', content: 'b', tool_calls: [] }), 'messages[1].tool_calls'],
    ['null', openAi(user('a'), { role: 'assistant', content: 'b', tool_calls: null }), 'messages[1].tool_calls'],
  ],
  'malformed-call': [
    ['another type', openAi(user('a'), calling({ id: 'x', type: 'custom', custom: {} })), 'messages[1].tool_calls[0]'],
    ['no function', openAi(user('a'), calling({ id: 'x', type: 'function' })), 'messages[1].tool_calls[0]'],
  ],
  'malformed-call-id': [['empty', openAi(user('a'), calling(call('')), tool('')), 'messages[1].tool_calls[0]']],
  'duplicate-call-id': [
    [
      'in a later turn',
      openAi(user('a'), calling(call('x')), tool('x'), calling(call('x')), tool('x')),
      'messages[3].tool_calls[0]',
    ],
    ['in one message', openAi(user('a'), calling(call('x'), call('x')), tool('x')), 'messages[1].tool_calls[1]'],
  ],
  'malformed-call-name': [
    ['empty', openAi(user('a'), calling(call('x', '{}', '')), tool('x')), 'messages[1].tool_calls[0]'],
    ['with a dot', openAi(user('a'), calling(call('x', '{}', 'notes.write')), tool('x')), 'messages[1].tool_calls[0]'],
    [
      '65 characters',
      openAi(user('a'), calling(call('x', '{}', 'n'.repeat(65))), tool('x')),
      'messages[1].tool_calls[0]',
    ],
  ],
  'malformed-call-arguments': [
    ['cut off', openAi(user('a'), calling(call('x', '{"a":')), tool('x')), 'messages[1].tool_calls[0]'],
    ['empty', openAi(user('a'), calling(call('x', '')), tool('x')), 'messages[1].tool_calls[0]'],
    ['not text', openAi(user('a'), calling(call('x', {})), tool('x')), 'messages[1].tool_calls[0]'],
  ],
  'unanswered-call': [
    ['at the end', openAi(user('a'), calling(call('x'))), 'messages[1].tool_calls[0]'],
    ['one of two', openAi(user('a'), calling(call('x'), call('y')), tool('x'), user('b')), 'messages[1].tool_calls[1]'],
    ['stopped turn, then a prompt', openAi(user('a'), calling(call('x')), user('b')), 'messages[1].tool_calls[0]'],
  ],
  'result-without-call': [
    ['no call at all', openAi(user('a'), tool('x')), 'messages[1]'],
    ['no id', openAi(user('a'), { role: 'tool', content: 'ok' }), 'messages[1]'],
    ['the call was condensed away', openAi(system('s'), tool('x'), user('a')), 'messages[1]'],
    [
      'after something else was said',
      openAi(user('a'), calling(call('x')), tool('x'), user('b'), tool('x')),
      'messages[4]',
    ],
  ],
  'second-result': [['twice the same', openAi(user('a'), calling(call('x')), tool('x'), tool('x')), 'messages[3]']],
  'no-tools': [
    ['empty', withTools(), 'tools'],
    ['not a list', { ...openAi(user('a')), tools: {} }, 'tools'],
  ],
  'malformed-tool': [
    ['not wrapped', withTools({ name: 'a', parameters: { type: 'object' } }), 'tools[0]'],
    ['null', withTools(null), 'tools[0]'],
  ],
  'malformed-tool-name': [['a space', withTools(openAiTool('my tool')), 'tools[0]']],
  'duplicate-tool-name': [['twice', withTools(openAiTool('a'), openAiTool('b'), openAiTool('a')), 'tools[2]']],
  'malformed-tool-schema': [
    ['not an object', withTools(openAiTool('a', 'none')), 'tools[0]'],
    ['no type', withTools(openAiTool('a', {})), 'tools[0]'],
  ],
  'lone-surrogate': [
    ['a cut emoji', openAi(user('wave \ud83c')), 'messages[0].content'],
    ['the other half', openAi(user([{ type: 'text', text: '\udf0a' }])), 'messages[0].content[0].text'],
    ['in a tool result', openAi(user('a'), calling(call('x')), tool('x', '\ud83c!')), 'messages[2].content'],
    [
      'in a description',
      withTools({ type: 'function', function: { name: 'a', description: '\ud83c' } }),
      'tools[0].function.description',
    ],
    ['in a key', { ...openAi(user('a')), metadata: { '\ud83c': 'b' } }, 'metadata'],
  ],
}

// ── Anthropic ───────────────────────────────────────────────────────────────────────────────────────────────────────

const claude = (...messages: unknown[]): Record<string, unknown> => ({
  model: 'claude-opus-4-6',
  max_tokens: 1024,
  messages,
})
const assistant = (content: unknown): unknown => ({ role: 'assistant', content })
const text = (value: unknown): unknown => ({ type: 'text', text: value })
const use = (id: unknown, input: unknown = {}, name: unknown = 'get_weather'): unknown => ({
  type: 'tool_use',
  id,
  name,
  input,
})
const result = (id: unknown, content?: unknown): unknown => ({
  type: 'tool_result',
  tool_use_id: id,
  ...(content === undefined ? {} : { content }),
})
const image = { type: 'image', source: { type: 'base64', media_type: 'image/jpeg', data: '/9j/4AAQSkZJRg==' } }
const claudeTool = {
  name: 'get_weather',
  description: 'Get the current weather in a given location',
  input_schema: { type: 'object', properties: { location: { type: 'string' } }, required: ['location'] },
}
const withClaudeTools = (...tools: unknown[]): unknown => ({ ...claude(user('hi')), tools })

/** Requests of Anthropic's guides to the Messages API and to tool use. */
const claudeDocumented: Record<string, unknown> = {
  'basic request': claude(user('Hello, Claude')),
  'several turns': claude(user('Hello, Claude'), assistant('Hello!'), user('Can you describe LLMs to me?')),
  'words put in its mouth': {
    ...claude(
      user('What is latin for Ant? (A) Apoidea, (B) Rhopalocera, (C) Formicidae'),
      assistant('The answer is ('),
    ),
    max_tokens: 1,
  },
  'vision, base64': claude(user([image, text('What is in the above image?')])),
  'vision, address': claude(
    user([{ type: 'image', source: { type: 'url', url: 'https://example.com/ant.jpg' } }, text('What is this?')]),
  ),
  'system prompt': { ...claude(user('Hello')), system: 'You are a seasoned data scientist.' },
  'cached system prompt': {
    ...claude(user('Hello')),
    system: [{ type: 'text', text: 'You analyse literary works.', cache_control: { type: 'ephemeral' } }],
  },
  'a tool offered': { ...claude(user("What's the weather like in San Francisco?")), tools: [claudeTool] },
  'a tool used': {
    ...claude(
      user("What's the weather like in San Francisco?"),
      assistant([
        text("I'll check the current weather in San Francisco for you."),
        use('toolu_01A09q90qw90lq917835lq9', { location: 'San Francisco, CA', unit: 'celsius' }),
      ]),
      user([result('toolu_01A09q90qw90lq917835lq9', '15 degrees')]),
    ),
    tools: [claudeTool],
  },
  'a result with an image': claude(
    user('a'),
    assistant([use('toolu_01')]),
    user([result('toolu_01', [text('15 degrees'), image])]),
  ),
  'a result without content': claude(user('a'), assistant([use('toolu_01')]), user([result('toolu_01')])),
  'a result with a document': claude(
    user('a'),
    assistant([use('toolu_01')]),
    user([
      result('toolu_01', [
        text('The weather is'),
        { type: 'document', source: { type: 'text', media_type: 'text/plain', data: '15 degrees' } },
      ]),
    ]),
  ),
  'text after the results': claude(
    user('a'),
    assistant([use('toolu_01')]),
    user([result('toolu_01', 'ok'), text('What should I do next?')]),
  ),
  'parallel calls': {
    ...claude(
      user("What's the weather in SF and NYC, and what time is it there?"),
      assistant([text('I will check both.'), use('toolu_01'), use('toolu_02'), use('toolu_03', {}, 'get_time')]),
      user([result('toolu_01', '68 degrees'), result('toolu_02', '45 degrees'), result('toolu_03', '2:30 PM')]),
    ),
    tools: [claudeTool, { ...claudeTool, name: 'get_time' }],
  },
  'thinking kept with its signature': claude(
    user('a'),
    assistant([
      { type: 'thinking', thinking: 'Let me see.', signature: 'EqQBCgIYAhIM' },
      { type: 'redacted_thinking', data: 'EmwKAhgBEgy3va3' },
      use('toolu_01'),
    ]),
    user([result('toolu_01', 'ok')]),
  ),
  "the provider's own search": {
    ...claude(
      user('a'),
      assistant([
        { type: 'server_tool_use', id: 'srvtoolu_01', name: 'web_search', input: { query: 'tides' } },
        { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_01', content: [] },
        text('High at noon.'),
      ]),
      user('b'),
    ),
    tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 5 }],
  },
}

const claudeAccepted: Record<string, unknown> = {
  'two messages of one role are one turn': claude(user('a'), user('b'), assistant('c'), assistant('d'), user('e')),
  'results split over two messages': claude(
    user('a'),
    assistant([use('x'), use('y')]),
    user([result('y')]),
    user([result('x')]),
  ),
  'results in another order': claude(user('a'), assistant([use('x'), use('y')]), user([result('y'), result('x')])),
  'whitespace tool output': claude(user('a'), assistant([use('x')]), user([result('x', '\n')])),
  'no tools': withClaudeTools(),
}

const claudeRefused: Partial<Record<RequestFindingCode, Refusal[]>> = {
  'not-an-object': [
    ['text', 'hi', ''],
    ['a message that is null', claude(user('a'), null), 'messages[1]'],
  ],
  'no-model': [['absent', { max_tokens: 1, messages: [user('a')] }, 'model']],
  'no-messages': [['empty', claude(), 'messages']],
  'malformed-max-tokens': [
    ['absent', { model: 'm', messages: [user('a')] }, 'max_tokens'],
    ['zero', { ...claude(user('a')), max_tokens: 0 }, 'max_tokens'],
    ['a fraction', { ...claude(user('a')), max_tokens: 1.5 }, 'max_tokens'],
    ['text', { ...claude(user('a')), max_tokens: '10' }, 'max_tokens'],
  ],
  'unknown-role': [['system among the messages', claude(system('a'), user('b')), 'messages[0]']],
  'first-not-user': [['assistant', claude(assistant('a'), user('b')), 'messages[0]']],
  'no-content': [
    ['no blocks', claude(user([])), 'messages[0].content'],
    ['null', claude(user(null)), 'messages[0].content'],
    ['system without blocks', { ...claude(user('a')), system: [] }, 'system'],
    [
      'a result with no blocks',
      claude(user('a'), assistant([use('x')]), user([result('x', [])])),
      'messages[2].content[0].content',
    ],
  ],
  'malformed-part': [
    ['an OpenAI image', claude(user([{ type: 'image_url', image_url: { url: 'x' } }])), 'messages[0].content[0]'],
    ['a call from the user', claude(user([use('x')])), 'messages[0].content[0]'],
    ['an image without a source', claude(user([{ type: 'image' }])), 'messages[0].content[0]'],
    [
      'unsigned thinking',
      claude(user('a'), assistant([{ type: 'thinking', thinking: 'b' }, text('c')])),
      'messages[1].content[0]',
    ],
    [
      'a call in a result',
      claude(user('a'), assistant([use('x')]), user([result('x', [use('y')])])),
      'messages[2].content[0].content[0]',
    ],
    ['an image in the system prompt', { ...claude(user('a')), system: [image] }, 'system[0]'],
  ],
  'empty-text': [
    ['message', claude(user('')), 'messages[0].content'],
    ['block', claude(user([image, text('')])), 'messages[0].content[1]'],
    ['system', { ...claude(user('a')), system: '' }, 'system'],
    [
      'tool output',
      claude(user('a'), assistant([use('x')]), user([result('x', '')])),
      'messages[2].content[0].content',
    ],
  ],
  'blank-text': [
    ['message', claude(user(' \n')), 'messages[0].content'],
    ['block', claude(user('a'), assistant([text('\n\n'), use('x')]), user([result('x')])), 'messages[1].content[0]'],
  ],
  'trailing-whitespace': [
    ['text', claude(user('a'), assistant('The answer is ')), 'messages[1]'],
    ['block', claude(user('a'), assistant([text('b'), text('c\n')])), 'messages[1]'],
  ],
  'malformed-call-id': [
    [
      'a colon',
      claude(user('a'), assistant([use('list_dir:0')]), user([result('list_dir:0')])),
      'messages[1].content[0]',
    ],
  ],
  'duplicate-call-id': [
    [
      'in a later turn',
      claude(user('a'), assistant([use('x')]), user([result('x')]), assistant([use('x')]), user([result('x')])),
      'messages[3].content[0]',
    ],
  ],
  'malformed-call-name': [
    ['a dot', claude(user('a'), assistant([use('x', {}, 'a.b')]), user([result('x')])), 'messages[1].content[0]'],
  ],
  'malformed-call-arguments': [
    ['text', claude(user('a'), assistant([use('x', '{}')]), user([result('x')])), 'messages[1].content[0]'],
    ['a list', claude(user('a'), assistant([use('x', [])]), user([result('x')])), 'messages[1].content[0]'],
  ],
  // A recorded answer of the real API: it says the call has no result "immediately after".
  'content-after-call': [
    [
      'text',
      claude(user('a'), assistant([use('x'), text('I will check.')]), user([result('x')])),
      'messages[1].content[1]',
    ],
    [
      'text in the next message of the turn',
      claude(user('a'), assistant([use('x')]), assistant('b'), user([result('x')])),
      'messages[2].content',
    ],
  ],
  'unanswered-call': [
    ['at the end', claude(user('a'), assistant([use('x')])), 'messages[1].content[0]'],
    [
      'one of two',
      claude(user('a'), assistant([use('x'), use('y')]), user([result('x'), text('b')])),
      'messages[1].content[1]',
    ],
    ['stopped turn, then a prompt', claude(user('a'), assistant([use('x')]), user('b')), 'messages[1].content[0]'],
  ],
  'result-without-call': [
    ['no call at all', claude(user([result('x')])), 'messages[0].content[0]'],
    [
      'the call is two turns back',
      claude(user('a'), assistant([use('x')]), user([result('x')]), assistant('b'), user([result('x')])),
      'messages[4].content[0]',
    ],
  ],
  'second-result': [
    [
      'twice the same',
      claude(user('a'), assistant([use('x')]), user([result('x'), result('x')])),
      'messages[2].content[1]',
    ],
  ],
  'result-after-content': [
    [
      'text first',
      claude(user('a'), assistant([use('x')]), user([text('Here:'), result('x')])),
      'messages[2].content[1]',
    ],
    [
      'text between',
      claude(user('a'), assistant([use('x'), use('y')]), user([result('x'), text('and'), result('y')])),
      'messages[2].content[2]',
    ],
    [
      'text in the message before',
      claude(user('a'), assistant([use('x')]), user('b'), user([result('x')])),
      'messages[3].content[0]',
    ],
  ],
  'no-tools': [['not a list', { ...claude(user('a')), tools: {} }, 'tools']],
  'malformed-tool': [['text', withClaudeTools('get_weather'), 'tools[0]']],
  'malformed-tool-name': [['absent', withClaudeTools({ input_schema: { type: 'object' } }), 'tools[0]']],
  'duplicate-tool-name': [['twice', withClaudeTools(claudeTool, claudeTool), 'tools[1]']],
  'malformed-tool-schema': [
    ['absent', withClaudeTools({ name: 'a' }), 'tools[0]'],
    ['an OpenAI tool', withClaudeTools({ name: 'a', parameters: { type: 'object' } }), 'tools[0]'],
  ],
  'lone-surrogate': [
    [
      'a cut emoji',
      claude(user('a'), assistant([use('x', { text: '\ud83c' })]), user([result('x')])),
      'messages[1].content[0].input.text',
    ],
  ],
}

// ── Tests ───────────────────────────────────────────────────────────────────────────────────────────────────────────

const providers = [
  {
    name: 'OpenAI',
    validate: validateOpenAiChat,
    documented: openAiDocumented,
    accepted: openAiAccepted,
    refused: openAiRefused,
  },
  {
    name: 'Anthropic',
    validate: validateAnthropicMessages,
    documented: claudeDocumented,
    accepted: claudeAccepted,
    refused: claudeRefused,
  },
]

describe.each(providers)('$name', ({ name, validate, documented, accepted, refused }) => {
  test.each(Object.entries(documented))('[A7] accepts the documented example: %s', (_, request) => {
    expect(validate(request)).toEqual([])
  })

  test.each(Object.entries(accepted))('[A7] accepts %s', (_, request) => {
    expect(validate(request)).toEqual([])
  })

  const cases = Object.entries(refused).flatMap(([code, list]) => list.map(([why, ...rest]) => ({ code, why, rest })))
  test.each(cases)('[A7] refuses $code: $why', ({ code, rest: [request, ...paths] }) => {
    const found = validate(request)
    expect(found.map(finding => [finding.code, finding.path])).toEqual(paths.map(path => [code, path]))
    for (const { message } of found) expect(message).toMatch(/^[\w.[\]]+: [a-z -]+$/)
  })

  test(`[A7] ${name}: every finding of a broken request is reported, not the first alone`, () => {
    const codes = validate({ messages: [{ role: 'nobody' }, 3], tools: 3 }).map(finding => finding.code)
    expect(codes).toEqual(expect.arrayContaining(['no-model', 'unknown-role', 'not-an-object', 'no-tools']))
  })

  test('[A7] any JSON gets a verdict, the same each time, and is not changed', () => {
    const message = fc.record(
      {
        role: fc.constantFrom('system', 'user', 'assistant', 'tool'),
        content: fc.oneof(fc.string(), fc.array(fc.jsonValue()), fc.constant(null)),
        tool_calls: fc.array(fc.jsonValue(), { maxLength: 2 }),
        tool_call_id: fc.string({ maxLength: 2 }),
      },
      { requiredKeys: [] },
    )
    const body = fc.record(
      { model: fc.string(), messages: fc.array(message), tools: fc.jsonValue() },
      { requiredKeys: [] },
    )
    fc.assert(
      fc.property(fc.oneof(fc.jsonValue(), body), request => {
        const before = JSON.stringify(request)
        const findings = validate(request)
        expect(validate(request)).toEqual(findings)
        expect(JSON.stringify(request)).toBe(before)
      }),
    )
  })

  test('[A7] nesting too deep for recursion is no obstacle', () => {
    let nested: unknown = '\ud83c'
    for (let depth = 0; depth < 20_000; depth++) nested = [nested]
    expect(
      validate({ ...(documented[Object.keys(documented)[0] ?? ''] as object), nested }).map(each => each.code),
    ).toEqual(['lone-surrogate'])
  })
})

test('[A7] every code is proven by a refused request', () => {
  // Fails to compile when a code is added and not listed, and fails to pass when it is listed and not proven.
  const codes: Record<RequestFindingCode, true> = {
    'not-an-object': true,
    'no-model': true,
    'no-messages': true,
    'malformed-max-tokens': true,
    'unknown-role': true,
    'first-not-user': true,
    'no-content': true,
    'malformed-part': true,
    'empty-text': true,
    'blank-text': true,
    'trailing-whitespace': true,
    'no-calls': true,
    'malformed-call': true,
    'malformed-call-id': true,
    'duplicate-call-id': true,
    'malformed-call-name': true,
    'malformed-call-arguments': true,
    'content-after-call': true,
    'unanswered-call': true,
    'result-without-call': true,
    'second-result': true,
    'result-after-content': true,
    'no-tools': true,
    'malformed-tool': true,
    'malformed-tool-name': true,
    'duplicate-tool-name': true,
    'malformed-tool-schema': true,
    'lone-surrogate': true,
  }
  const proven = new Set([...Object.keys(openAiRefused), ...Object.keys(claudeRefused)])
  expect([...proven].sort()).toEqual(Object.keys(codes).sort())
})
