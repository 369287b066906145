/** Frames on their way to a page, as text in which what the chunks of one answer share is said once. */
import type { StreamChunk } from '../core/events.ts'
import { jsonText } from '../core/json.ts'
import type { AssistantStreamFrame } from '../core/live.ts'

type ChunkFrame = Extract<AssistantStreamFrame, { kind: 'chunk' }>
type TextDelta = Extract<StreamChunk, { type: 'text-delta' | 'reasoning-delta' }>

/**
 * Chunks that follow each other in one answer, from the position `index` on. In `run` a number is the time of the chunks
 * after it, and a text the delta of a chunk that is otherwise the one before.
 */
type Run = Pick<ChunkFrame, 'attemptId' | 'revision' | 'index'> & {
  readonly run: (number | string | StreamChunk)[]
}

/** As the text of a JSON array: a structured clone could not carry any depth. */
export function frameText(frames: readonly AssistantStreamFrame[]): string {
  const items: (AssistantStreamFrame | Run)[] = []
  let run: Run | null = null
  let last: ChunkFrame | null = null
  let lastDelta: TextDelta | null = null
  for (const frame of frames) {
    if (frame.kind !== 'chunk') {
      items.push(frame)
      last = null
      continue
    }
    const { attemptId, revision, index, time, chunk } = frame
    const delta = plainDelta(chunk)
    if (run === null || last?.attemptId !== attemptId || last.revision !== revision || last.index + 1 !== index) {
      run = { attemptId, revision, index, run: [time, chunk] }
      items.push(run)
    } else {
      if (last.time !== time) run.run.push(time)
      const isSame = delta !== null && lastDelta?.type === delta.type && lastDelta.index === delta.index
      run.run.push(isSame ? delta.text : chunk)
    }
    last = frame
    lastDelta = delta
  }
  return jsonText(items)
}

/** Null for all that has more than a delta of text has. */
function plainDelta(chunk: StreamChunk): TextDelta | null {
  const isDelta = chunk.type === 'text-delta' || chunk.type === 'reasoning-delta'
  return isDelta && Object.keys(chunk).length === 3 ? chunk : null
}

/** The frames again. */
export function readFrames(text: string): AssistantStreamFrame[] {
  const frames: AssistantStreamFrame[] = []
  for (const item of JSON.parse(text) as (AssistantStreamFrame | Run)[]) {
    if (!('run' in item)) frames.push(item)
    else {
      const { attemptId, revision, run } = item
      let { index } = item
      let time = 0
      let chunk = {} as StreamChunk
      for (const each of run) {
        if (typeof each === 'number') time = each
        else {
          chunk = typeof each === 'string' ? ({ ...chunk, text: each } as TextDelta) : each
          frames.push({ kind: 'chunk', attemptId, revision, index: index++, time, chunk })
        }
      }
    }
  }
  return frames
}
