/** The agent's tools on the notes. They run in the worker. */
import { defineTool, type Tool, type ToolContext } from 'palimpsest/worker'
import { tellChange } from '../app/channel.ts'
import { deleteNotes, findNotes, putNote } from './notes.ts'

const MOST_FOUND = 10
/** How long a call marked `[slow-tool]` takes, ms: time to look at a tool that runs, and to interrupt it. */
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
  parallel: true,
  execute: async ({ query }, context) => {
    await takeTime('searching', query, context)
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
  parallel: true,
  execute: async ({ title, text }, context) => {
    await takeTime('writing', text, context)
    await putNote({ id: context.idempotencyKey, title, text, writtenAt: Date.now() })
    tellChange('notes')
    return 'Saved.'
  },
})

const deleteNote: Tool = defineTool<{ title: string }>({
  name: 'delete_note',
  description: 'Deletes the notes with exactly this title, for good. The person is asked first.',
  input: {
    type: 'object',
    properties: { title: { type: 'string', minLength: 1, description: 'The whole title, as search_notes tells it' } },
    required: ['title'],
    additionalProperties: false,
  },
  needsApproval: 'A note that is deleted cannot be brought back.',
  execute: async ({ title }) => {
    if ((await deleteNotes(title)) === 0) throw new Error('Not found: no note has this title.')
    tellChange('notes')
    return 'Deleted.'
  },
})

/** The tools, in the order the model is told of them. */
export const noteTools: readonly Tool[] = [searchNotes, writeNote, deleteNote]

/** Takes its time where the call asks for it, and says how far it is. */
async function takeTime(doing: string, text: string, { signal, report }: ToolContext): Promise<void> {
  const parts = text.includes('[slow-tool]') ? SLOW_PARTS : 0
  for (let part = 1; part <= parts && !signal.aborted; part += 1) {
    report(`${doing}, part ${part} of ${parts}`)
    await pause(SLOW_MS / parts, signal)
  }
  signal.throwIfAborted()
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}
