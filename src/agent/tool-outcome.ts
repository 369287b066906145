/** What came of a tool call, as content for its result (SPEC A6). */
import type { ContentBlock, ToolError } from '../core/events.ts'
import { jsonText, type JsonValue, snapshotJson } from '../core/json.ts'
import { isBlankText } from '../core/stream.ts'
import { wellFormedBlock, wellFormedText } from '../core/well-formed.ts'
import type { ToolOutput, ToolResult } from './tool.ts'

export type Outcome = Omit<ToolResult, 'isError'> & {
  readonly isError?: boolean
  readonly error?: ToolError
}

/** A call that failed, or did not run; `text` is for the model to read. */
export function failed(name: string, code: string, text: string): Outcome {
  return { content: [{ type: 'text', text }], isError: true, error: { name, code } }
}

/** A tool's output as an outcome: checked to be JSON, without empty text. */
export function outcomeOf(output: ToolOutput): Outcome {
  if (output === undefined || output === null) return { content: [] }
  if (isResult(output)) {
    const { content, isError, concludesTurn, context, meta } = snapshotJson(defined(output))
    const odd = content.findIndex(block => !isShown(block))
    if (odd !== -1) {
      const words = `The tool answered with content nobody can show: block ${odd} is no text, image or file.`
      return failed('ToolError', 'TOOL_FAILED', words)
    }
    return defined({
      content: content.filter(block => !isBlankText(block)).map(wellFormedBlock),
      isError: isError === true ? true : undefined,
      concludesTurn: concludesTurn === true ? true : undefined,
      context: typeof context === 'string' && context.trim() !== '' ? wellFormedText(context) : undefined,
      meta,
    })
  }
  const text = typeof output === 'string' ? output : jsonText(snapshotJson(output))
  const block: ContentBlock = { type: 'text', text: wellFormedText(text) }
  return { content: isBlankText(block) ? [] : [block] }
}

/** What a result may show: text, or an image or file that refers to bytes. */
function isShown(block: ContentBlock): boolean {
  if (block.type === 'text') return typeof block.text === 'string'
  if (block.type !== 'image' && block.type !== 'file') return false
  const { attachmentId } = (block.attachment ?? {}) as { readonly attachmentId?: unknown }
  return typeof attachmentId === 'string' && attachmentId !== ''
}

const RESULT_KEYS: readonly string[] = ['content', 'isError', 'concludesTurn', 'context', 'meta']

/** Blocks and what goes with them, and not just any JSON that has a member of this name. */
function isResult(output: object | string | number | boolean): output is ToolResult {
  if (typeof output !== 'object' || !('content' in output)) return false
  if (Object.keys(output).some(key => !RESULT_KEYS.includes(key))) return false
  const { content } = output as { readonly content: JsonValue }
  return (
    Array.isArray(content) &&
    content.every((block: unknown) => typeof block === 'object' && block !== null && 'type' in block)
  )
}

/** Without the members that are undefined. */
function defined<Value extends object>(value: { readonly [Key in keyof Value]: Value[Key] | undefined }): Value {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as Value
}
