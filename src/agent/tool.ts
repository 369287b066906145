/** Tools: what a model may call, and how a call's arguments and result get in and out (SPEC A5, A6). */
import { Validator } from '@cfworker/json-schema'
import type { ContentBlock, FileBlock, ImageBlock, ToolDescription } from '../core/message.ts'
import { jsonText, type JsonValue, snapshotJson } from '../core/json.ts'
import { AgentError } from './errors.ts'

/** What a tool's body is told about the call it serves. */
export type ToolContext = {
  readonly sessionId: string
  readonly callId: string
  /** The same for every execution of this call: pass it to services that drop repeats. */
  readonly idempotencyKey: string
  /** Aborts when the turn is cancelled or the call takes too long. Soon after, a result is dropped. */
  readonly signal: AbortSignal
  /**
   * Says how far the call is, for people: shown while it runs, at most 200 code points of it, and never logged. After the
   * call has ended it does nothing.
   */
  readonly report: (progress: string) => void
  /**
   * Stores bytes beside the log; answers the block that refers to them, for the `content` of the result: an image where
   * it is one the model can see, else a file. @throws {StorageError} when they cannot be stored.
   */
  readonly attach: (data: Blob | Uint8Array, name: string) => Promise<ImageBlock | FileBlock>
}

/** A result with more than its value to say. */
export type ToolResult = {
  /** What the model reads: text, images, files. */
  readonly content: readonly ContentBlock[]
  /** The call failed, in words the model can read. */
  readonly isError?: boolean
  /** The turn is over once this result is committed, unless somebody steers it: the model is not asked again. */
  readonly concludesTurn?: boolean
  /** Said to the model before its next step, besides the result. */
  readonly context?: string
  /** Kept in the log beside the result, for people and programs; no model reads it. */
  readonly meta?: JsonValue
}

/** Text, any other JSON value (shown to the model as JSON text), or a `ToolResult`: an object with no other members. */
export type ToolOutput = JsonValue | ToolResult | undefined

/** The part of the Standard Schema interface that is used: any library that speaks it fits. */
export type StandardSchema<Output = unknown> = {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>
    readonly jsonSchema?: { readonly input: (options: { readonly target: string }) => unknown }
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined
  }
}

type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly { readonly message: string; readonly path?: readonly unknown[] | undefined }[] }

/** A JSON Schema, as plain JSON. */
export type JsonSchema = { readonly [key: string]: JsonValue }

export type ToolDefinition<Input = never> = {
  readonly name: string
  readonly description: string
  /** Standard Schema or JSON Schema of the arguments. Arguments that do not fit never reach `execute`. */
  readonly input: StandardSchema<Input> | JsonSchema
  /** JSON Schema shown to the model when `input` is a Standard Schema that cannot make one itself. */
  readonly inputSchema?: JsonSchema
  /** Whether a call may run beside others that say so too; asked right before it starts. Default: none does. */
  readonly parallel?: boolean | ((input: Input) => boolean)
  /** Whether a person has to allow a call before it runs; a text says why. Default: nobody has to. */
  readonly needsApproval?: boolean | string | ((input: Input) => boolean | string)
  /** Running a call twice, with the same idempotency key, does no harm: after a crash it may run again (SPEC A25). */
  readonly idempotent?: boolean
  /** How long a call may take, ms; default: as long as it likes. */
  readonly timeoutMs?: number
  /** Runs one call. What it throws becomes an error result the model can read; the turn goes on. */
  execute(input: Input, context: ToolContext): ToolOutput | Promise<ToolOutput>
}

/** A tool ready to run. */
export type Tool = {
  readonly description: ToolDescription
  /** Checks arguments. @returns the input for `execute`, or what is wrong with it, in words. */
  check(
    value: unknown,
  ): Promise<{ readonly ok: true; readonly input: unknown } | { readonly ok: false; readonly reason: string }>
  isParallel(input: unknown): boolean
  /** False, or why a person has to allow it; an empty text is no reason, and it has to be allowed all the same. */
  approval(input: unknown): false | string
  readonly isIdempotent: boolean
  /** ms; null without a limit. */
  readonly timeoutMs: number | null
  execute(input: unknown, context: ToolContext): ToolOutput | Promise<ToolOutput>
}

const isStandardSchema = <Input>(schema: StandardSchema<Input> | JsonSchema): schema is StandardSchema<Input> =>
  '~standard' in schema

/**
 * Declares a tool.
 *
 * @throws {AgentError} `tool` when the name is not one providers take or no JSON Schema of the input can be had.
 */
export function defineTool<Input = Record<string, JsonValue>>(definition: ToolDefinition<Input>): Tool {
  const { name, description, input } = definition
  if (!/^[a-zA-Z0-9_-]{1,64}$/.test(name)) {
    throw new AgentError('tool', `Expected a tool name of 1–64 letters, digits, _ or -; found "${name}"`)
  }
  const inputSchema = jsonSchemaOf(name, input, definition.inputSchema)
  return {
    description: snapshotJson({ name, description, inputSchema }),
    check: isStandardSchema(input) ? value => checkStandard(input, value) : checkJson(inputSchema),
    // Exactly true: what answers with a promise, or throws, has not said so.
    isParallel: value => said(definition.parallel, value as Input) === true,
    approval: value => reasonOf(said(definition.needsApproval, value as Input)),
    isIdempotent: definition.idempotent === true,
    timeoutMs: timeoutOf(name, definition.timeoutMs),
    execute: (value, context) => definition.execute(value as Input, context),
  }
}

/** What a tool says of a call; undefined when it fails to. */
function said<Input, Value>(value: Value | ((input: Input) => Value) | undefined, input: Input): unknown {
  if (typeof value !== 'function') return value
  try {
    return (value as (input: Input) => Value)(input)
  } catch (error) {
    return error
  }
}

/** Only what clearly says so runs unasked. */
function reasonOf(answer: unknown): false | string {
  if (answer === undefined || answer === false) return false
  return typeof answer === 'string' ? answer : ''
}

function timeoutOf(name: string, timeoutMs?: number): number | null {
  if (timeoutMs === undefined || timeoutMs === Infinity) return null
  if (timeoutMs > 0) return timeoutMs
  throw new AgentError('tool', `Tool ${name}: expected a time-out above 0 ms; found ${timeoutMs}`)
}

/** A copy: libraries put hidden members on what they make, and the caller may go on using theirs. */
function jsonSchemaOf<Input>(name: string, input: StandardSchema<Input> | JsonSchema, given?: JsonSchema): JsonSchema {
  const schema =
    given ?? (isStandardSchema(input) ? input['~standard'].jsonSchema?.input({ target: 'draft-2020-12' }) : input)
  if (typeof schema === 'object' && schema !== null) return JSON.parse(jsonText(schema)) as JsonSchema
  throw new AgentError('tool', `Tool ${name}: its Standard Schema makes no JSON Schema; pass one as inputSchema`)
}

async function checkStandard<Input>(schema: StandardSchema<Input>, value: unknown): ReturnType<Tool['check']> {
  const result = await schema['~standard'].validate(value)
  if (result.issues === undefined) return { ok: true, input: result.value }
  const reason = result.issues.map(
    ({ message, path = [] }) => `${path.map(pathKey).join('.') || 'arguments'}: ${message}`,
  )
  return { ok: false, reason: reason.join('; ') }
}

/** A path segment is a key, or an object holding one. */
const pathKey = (segment: unknown): string =>
  typeof segment === 'object' && segment !== null && 'key' in segment ? String(segment.key) : String(segment)

function checkJson(schema: JsonSchema): Tool['check'] {
  const validator = new Validator(schema, '2020-12', false)
  return async value => {
    const { valid, errors } = validator.validate(value)
    if (valid) return { ok: true, input: value }
    const reasons = errors.slice(0, 5).map(each => `${each.instanceLocation.replace(/^#/, 'arguments')}: ${each.error}`)
    return { ok: false, reason: reasons.join('; ') }
  }
}
