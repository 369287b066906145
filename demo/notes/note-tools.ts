/** The agent's tools on the notes. They run in the worker. */
import { defineTool, type Tool } from 'palimpsest/worker'
import { tellChange } from '../app/channel.ts'
import { findNotes, putNote } from './notes.ts'

const MOST_FOUND = 10
/** How long a note marked `[slow-tool]` takes to write, ms: time to look at a tool that runs, and to interrupt it. */
const SLOW_MS = 4_000
/** Parts of it, each of which is reported. */
const SLOW_PARTS = 4

const searchNotes: Tool = defineTool<{ query: string }>({
  name: 'search_notes',
  description: 'Finds notes that contain words of the query. Returns their titles and texts.',
  input: {
    type: 'object',
    properties: { query: { type: 'string', description: 'Words to look for' } },
    required: ['query'],
    additionalProperties: false,
  },
  execute: async ({ query }) => {
    const found = await findNotes(query)
    return { notes: found.slice(0, MOST_FOUND).map(({ title, text }) => ({ title, text })) }
  },
})

const writeNote: Tool = defineTool<{ title: string; text: string }>({
  name: 'write_note',
  description: 'Writes a note that is kept in this browser.',
  input: {
    type: 'object',
    properties: {
      title: { type: 'string', minLength: 1, maxLength: 200 },
      text: { type: 'string', description: 'What to keep' },
    },
    required: ['title', 'text'],
    additionalProperties: false,
  },
  execute: async ({ title, text }, { idempotencyKey, signal, report }) => {
    if (text.includes('[slow-tool]')) {
      for (let part = 1; part <= SLOW_PARTS && !signal.aborted; part += 1) {
        report(`writing, part ${part} of ${SLOW_PARTS}`)
        await pause(SLOW_MS / SLOW_PARTS, signal)
      }
    }
    signal.throwIfAborted()
    await putNote({ id: idempotencyKey, title, text, writtenAt: Date.now() })
    tellChange('notes')
    return 'Saved.'
  },
})

/** The tools, in the order the model is told of them. */
export const noteTools: readonly Tool[] = [searchNotes, writeNote]

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}
