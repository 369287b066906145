/**
 * The rules strict providers apply to a request body, as two checks over the wire shape. They judge a finished request
 * and change nothing: `request-messages.ts` makes requests valid, this module says whether they are.
 */

/** Which rule was broken; one code per rule, stable. */
export type RequestFindingCode =
  /** The request or a message is not an object. */
  | 'not-an-object'
  | 'no-model'
  /** `messages` is not a list, or empty. */
  | 'no-messages'
  /** Anthropic: `max_tokens` is not a positive integer. */
  | 'malformed-max-tokens'
  | 'unknown-role'
  /** Anthropic: the first message is not from the user. */
  | 'first-not-user'
  /** Content is neither text nor a list of parts, or the list is empty. */
  | 'no-content'
  /** A part lacks what its type demands, or its type is not allowed for this role. */
  | 'malformed-part'
  | 'empty-text'
  /** Anthropic: text of whitespace only. */
  | 'blank-text'
  /** Anthropic: the final message is the assistant's and ends with whitespace. */
  | 'trailing-whitespace'
  /** OpenAI: `tool_calls` is there but not a list, or empty. */
  | 'no-calls'
  | 'malformed-call'
  | 'malformed-call-id'
  /** The id of a call was used before in this request. */
  | 'duplicate-call-id'
  | 'malformed-call-name'
  /** Arguments are not the text of JSON (OpenAI) or not an object (Anthropic). */
  | 'malformed-call-arguments'
  /** Anthropic: other content follows a tool call in the same turn. */
  | 'content-after-call'
  /** A call has no result before anything else is said. */
  | 'unanswered-call'
  | 'result-without-call'
  | 'second-result'
  /** Anthropic: a result follows other content in the same turn. */
  | 'result-after-content'
  /** `tools` is there but not a list, or (OpenAI) empty. */
  | 'no-tools'
  | 'malformed-tool'
  | 'malformed-tool-name'
  | 'duplicate-tool-name'
  /** A tool's parameters are not a JSON Schema of type object. */
  | 'malformed-tool-schema'
  /** Text holds half of a surrogate pair, which has no UTF-8 form. */
  | 'lone-surrogate'

/** One reason a strict provider would refuse the request. */
export type RequestFinding = {
  readonly code: RequestFindingCode
  /** Where, such as `messages[3].content`; empty for the request itself. */
  readonly path: string
  readonly message: string
}

type Fields = Readonly<Record<string, unknown>>
type Report = (code: RequestFindingCode, path: string) => void
type CheckText = (text: string, path: string) => void
/** Sees every part but plain text, after its type was found allowed. */
type CheckPart = (part: Fields, type: string, path: string) => void

const textParts = /^text$/
const outputParts = /^(text|image|document|search_result)$/
/** Part types by role. The keys are the known roles. */
const openAiParts: ReadonlyMap<unknown, RegExp> = new Map([
  ['developer', textParts],
  ['system', textParts],
  ['user', /^(text|image_url|input_audio|file)$/],
  ['assistant', /^(text|refusal)$/],
  ['tool', textParts],
])
const anthropicParts: ReadonlyMap<unknown, RegExp> = new Map([
  ['user', /^(text|image|document|search_result|tool_result|container_upload)$/],
  ['assistant', /^(text|(redacted_)?thinking|((server|mcp)_)?tool_use|\w+_tool_result)$/],
])

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''
const isName = (value: unknown): boolean => isText(value) && /^[\w-]{1,64}$/.test(value)

/** Finds every reason a strict OpenAI-compatible provider would refuse this `POST /chat/completions` body. */
export function validateOpenAiChat(request: unknown): readonly RequestFinding[] {
  return inspect(request, (body, messages, report) => {
    const pairs = pairing(report, isText)
    const checkText: CheckText = (text, path) => text || report('empty-text', path)
    const checkPart: CheckPart = (part, type, path) => {
      const value = part[type]
      if (type === 'refusal' ? !isText(value) : !isFields(value) || (type === 'image_url' && !isText(value.url)))
        report('malformed-part', path)
    }

    messages.forEach((message, index) => {
      const path = `messages[${index}]`
      if (!isFields(message)) return report('not-an-object', path)
      const { role, content, tool_calls: calls } = message
      const allowed = openAiParts.get(role)
      if (role === 'tool') pairs.result(message.tool_call_id, path)
      else pairs.settle()
      if (!allowed) return report('unknown-role', path)

      const isCalling = role === 'assistant' && calls !== undefined
      if (!(role === 'tool' ? content === '' : isCalling && (content ?? '') === ''))
        checkContent(content, `${path}.content`, allowed, report, checkText, checkPart)
      if (!isCalling) return
      if (!Array.isArray(calls) || !calls.length) return report('no-calls', `${path}.tool_calls`)
      calls.forEach((call: unknown, callIndex) => {
        const callPath = `${path}.tool_calls[${callIndex}]`
        if (!isFields(call) || call.type !== 'function' || !isFields(call.function))
          return report('malformed-call', callPath)
        pairs.call(call.id, call.function.name, isJson(call.function.arguments), callPath)
      })
    })
    pairs.settle()
    checkTools(body.tools, report, true)
  })
}

/** Finds every reason the Anthropic Messages API would refuse this `POST /v1/messages` body. */
export function validateAnthropicMessages(request: unknown): readonly RequestFinding[] {
  return inspect(request, (body, messages, report) => {
    const pairs = pairing(report, id => isText(id) && /^[\w-]+$/.test(id))
    // Consecutive messages of one role are one turn to this provider, so these three outlive a message.
    let turn: unknown
    let isPastCalls = false
    let isPastResults = false
    const checkOutput: CheckText = (text, path) => text || report('empty-text', path)
    const checkText: CheckText = (text, path) => text.trim() || report(text ? 'blank-text' : 'empty-text', path)
    const checkSource: CheckPart = (part, type, path) => {
      if (/^(image|document)$/.test(type) && !(isFields(part.source) && isText(part.source.type)))
        report('malformed-part', path)
      if (/thinking/.test(type) && !isText(part.signature ?? part.data)) report('malformed-part', path)
    }
    const checkPart: CheckPart = (part, type, path) => {
      if (type === 'tool_use') {
        isPastCalls = true
        pairs.call(part.id, part.name, isFields(part.input), path)
      } else if (type === 'tool_result') {
        if (isPastResults) report('result-after-content', path)
        pairs.result(part.tool_use_id, path)
        if (part.content !== undefined)
          checkContent(part.content, `${path}.content`, outputParts, report, checkOutput, checkSource)
      } else checkSource(part, type, path)
    }

    if (!Number.isInteger(body.max_tokens) || Number(body.max_tokens) < 1) report('malformed-max-tokens', 'max_tokens')
    if (body.system !== undefined) checkContent(body.system, 'system', textParts, report, checkText)
    messages.forEach((message, index) => {
      const path = `messages[${index}]`
      if (!isFields(message)) return report('not-an-object', path)
      const { role, content } = message
      const allowed = anthropicParts.get(role)
      if (!allowed) return report('unknown-role', path)
      if (!index && role !== 'user') report('first-not-user', path)
      if (role !== turn) {
        if (role !== 'user') pairs.settle()
        isPastCalls = isPastResults = false
        turn = role
      }
      checkContent(content, `${path}.content`, allowed, report, checkText, checkPart, (type, at) => {
        if (type !== 'tool_result') isPastResults = true
        if (type !== 'tool_use' && isPastCalls) report('content-after-call', at)
      })
    })
    pairs.settle()

    const last = messages.at(-1)
    if (isFields(last) && last.role === 'assistant') {
      const part: unknown = Array.isArray(last.content) ? last.content.at(-1) : { text: last.content }
      if (isFields(part) && /\s$/.test(String(part.text)))
        report('trailing-whitespace', `messages[${messages.length - 1}]`)
    }
    checkTools(body.tools, report, false)
  })
}

function inspect(
  request: unknown,
  check: (body: Fields, messages: readonly unknown[], report: Report) => void,
): readonly RequestFinding[] {
  const found: RequestFinding[] = []
  const report: Report = (code, path) =>
    void found.push({ code, path, message: `${path || 'request'}: ${code.replaceAll('-', ' ')}` })
  if (!isFields(request)) report('not-an-object', '')
  else {
    const messages: readonly unknown[] = Array.isArray(request.messages) ? request.messages : []
    if (!isText(request.model)) report('no-model', 'model')
    if (!messages.length) report('no-messages', 'messages')
    check(request, messages, report)
    checkSurrogates(request, report)
  }
  return found
}

/** Follows calls and results: an id is used once, a call is answered once and before anything else. */
function pairing(
  report: Report,
  isId: (id: unknown) => boolean,
): {
  call(id: unknown, name: unknown, isInput: boolean, path: string): void
  result(id: unknown, path: string): void
  settle(): void
} {
  const ids = new Set<unknown>()
  const open = new Map<unknown, string>()
  const answered = new Set<unknown>()
  return {
    call(id, name, isInput, path) {
      if (!isId(id)) report('malformed-call-id', path)
      else if (ids.has(id)) report('duplicate-call-id', path)
      if (!isName(name)) report('malformed-call-name', path)
      if (!isInput) report('malformed-call-arguments', path)
      ids.add(id)
      open.set(id, path)
    },
    result(id, path) {
      if (open.delete(id)) answered.add(id)
      else report(answered.has(id) ? 'second-result' : 'result-without-call', path)
    },
    settle() {
      for (const path of open.values()) report('unanswered-call', path)
      open.clear()
      answered.clear()
    },
  }
}

function checkContent(
  content: unknown,
  path: string,
  allowed: RegExp,
  report: Report,
  checkText: CheckText,
  checkPart?: CheckPart,
  checkOrder?: (type: string, path: string) => void,
): void {
  const check = (part: unknown, at: string): void => {
    if (!isFields(part) || typeof part.type !== 'string' || !allowed.test(part.type))
      return report('malformed-part', at)
    checkOrder?.(part.type, at)
    if (part.type !== 'text') checkPart?.(part, part.type, at)
    else if (typeof part.text === 'string') checkText(part.text, at)
    else report('malformed-part', at)
  }
  if (typeof content === 'string') check({ type: 'text', text: content }, path)
  else if (Array.isArray(content) && content.length) content.forEach((part, index) => check(part, `${path}[${index}]`))
  else report('no-content', path)
}

function checkTools(tools: unknown, report: Report, isOpenAi: boolean): void {
  if (tools === undefined) return
  if (!Array.isArray(tools) || (isOpenAi && !tools.length)) return report('no-tools', 'tools')
  const names = new Set<unknown>()
  tools.forEach((tool: unknown, index) => {
    const path = `tools[${index}]`
    const given = isFields(tool) && isOpenAi ? tool.type === 'function' && tool.function : tool
    if (!isFields(given)) return report('malformed-tool', path)
    const { name, type } = given
    if (!isName(name)) report('malformed-tool-name', path)
    else if (names.has(name)) report('duplicate-tool-name', path)
    names.add(name)
    const schema = isOpenAi ? given.parameters : given.input_schema
    // A function without parameters takes none; Anthropic's own tools have a dated type in place of a schema.
    const mayLackSchema = isOpenAi ? schema === undefined : isText(type) && type !== 'custom'
    if (!mayLackSchema && !(isFields(schema) && schema.type === 'object')) report('malformed-tool-schema', path)
  })
}

function isJson(text: unknown): boolean {
  if (typeof text !== 'string') return false
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** Not recursive, because nesting is unbounded. */
function checkSurrogates(root: Fields, report: Report): void {
  const work: [value: unknown, path: string][] = [[root, '']]
  for (const [value, path] of work) {
    if (typeof value === 'string' && /\p{Surrogate}/u.test(value)) report('lone-surrogate', path)
    if (typeof value !== 'object' || !value) continue
    for (const [key, item] of Object.entries(value))
      work.push([key, path], [item, Array.isArray(value) ? `${path}[${key}]` : path ? `${path}.${key}` : key])
  }
}
