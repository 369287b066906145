/** What an answer's stream must be, and that its message is what the stream yields (SPEC I9). */
import { SessionError } from '../errors.ts'
import type { StreamRecord } from '../events.ts'
import type { Invariant } from '../invariant.ts'
import { streamMismatch, streamProblem } from '../stream-grammar.ts'
import { expandStream } from '../stream-records.ts'

export const streamInvariant: Invariant = {
  key: 'stream',
  problem({ event }) {
    // A failed call is what it is: only its records must be readable.
    if (event.type === 'assistant/attempt') return recordsProblem(event.data.stream, null)
    if (event.type !== 'assistant/message') return null
    const { stream, interrupted } = event.data
    const problem = recordsProblem(stream, interrupted === true ? 'interrupted' : 'message')
    return problem ?? streamMismatch(event.data, { exact: false })
  },
}

function recordsProblem(records: readonly StreamRecord[], settled: 'message' | 'interrupted' | null): string | null {
  try {
    const chunks = expandStream(records).map(({ chunk }) => chunk)
    return settled && streamProblem(chunks, { settled })
  } catch (error) {
    if (error instanceof SessionError) return error.message
    throw error
  }
}
