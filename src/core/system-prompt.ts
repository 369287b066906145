/**
 * The system prompt as messages on the surface: node 0 is reserved at the first step, later prompts replace it or, where
 * the model allows, are appended (SPEC P1–P3).
 */
import type { EventOf, SurfaceOp, SystemMessage } from './events.ts'
import type { MessageId, SessionSeq } from './ids.ts'

/** The plugin name in the source of every system message this library writes. */
export const SYSTEM_PROMPT_PLUGIN = 'palimpsest/system-prompt'

/** One system message to append to the log, with its place. */
export type SystemPromptCommit = {
  readonly text: string
  readonly surfaceOp: SurfaceOp
  readonly sourceEventSeqs?: readonly SessionSeq[]
}

export type SystemPromptSituation = {
  /** The model takes the latest system message at any position as the whole prompt. */
  readonly inHistory: boolean
  readonly startsSeries: boolean
}

/** The `system/message` commits that make `prompt` effective; none when it already is. */
export function planSystemPrompt(
  nodes: readonly EventOf<'system/message'>[],
  prompt: string,
  { inHistory, startsSeries }: SystemPromptSituation,
): readonly SystemPromptCommit[] {
  const head = nodes[0]
  if (head === undefined) return [{ text: prompt, surfaceOp: 'append' }]
  if (!inHistory || startsSeries || prompt === '') {
    const later = nodes.slice(1).filter(node => promptText(node.data.message) !== '')
    const commits = later.map(node => replacement(node.seq, ''))
    if (promptText(head.data.message) !== prompt) commits.push(replacement(head.seq, prompt))
    return commits
  }
  const latest = nodes.findLast(node => promptText(node.data.message) !== '') ?? head
  return promptText(latest.data.message) === prompt ? [] : [{ text: prompt, surfaceOp: 'append' }]
}

function replacement(seq: SessionSeq, text: string): SystemPromptCommit {
  return { text, surfaceOp: { op: 'replace', startSeq: seq, endSeq: seq }, sourceEventSeqs: [seq] }
}

/** The text of a system message; null when it has no single text: then it differs from everything. */
function promptText({ content }: SystemMessage): string | null {
  if (content.length === 0) return ''
  const [block] = content
  return content.length === 1 && block?.type === 'text' ? block.text : null
}

/** A system message holding `text`; empty text means "no prompt". */
export function systemMessage(id: MessageId, text: string): SystemMessage {
  return {
    id,
    role: 'system',
    content: text === '' ? [] : [{ type: 'text', text }],
    source: { kind: 'plugin', plugin: SYSTEM_PROMPT_PLUGIN },
  }
}
