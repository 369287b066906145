/**
 * The embedded model's mind: what to say and which tools to call, given the history it was sent. It knows nothing else;
 * progress within a turn is read off the calls and results after the last user message.
 */
import { type Attached, type ChatRequest, hashText, isContinued, promptIndex, type Said } from './chat-request.ts'
import type { Directives } from './directives.ts'
import { type Intent, type Note, readIntent, type ToolWish } from './intents.ts'
import { prose, wordCount } from './prose.ts'
import { excerpt, readOutcome, type ToolOutcome, type ToolSuccess } from './tool-results.ts'

export type ToolName = 'write_note' | 'search_notes' | 'delete_note' | 'set_theme'
export type Answer = {
  readonly reasoning: string
  readonly text: string
  readonly calls: readonly { readonly name: ToolName; readonly arguments: Readonly<Record<string, string>> }[]
}
type Call = Answer['calls'][number]
type Settled = { readonly name: string; readonly arguments: string; readonly outcome: ToolOutcome }

/** Composes the answer to a request whose last prompt, without directives, is `said.text`. */
export function compose(request: ChatRequest, said: Directives): Answer {
  const { history, tools } = request
  const start = promptIndex(history)
  const settled = settledCalls(history.slice(start + 1))
  const intent = readIntent(said.text, tools.size > 0)
  const answer = respondTo(intent, request, said, history.slice(0, Math.max(start, 0)), settled)
  const reasoning = /\bthink/i.test(said.text) ? reason(intent, settled.length) : ''
  const words = said.isLong ? 400 : said.pace === 'slow' ? 200 : 0
  const isShort = answer.calls.length === 0 && wordCount(answer.text) < words
  const text = isShort ? prose(answer.text, words, start) : answer.text
  return { ...answer, text: isContinued(history) ? `I go on where I was cut off. ${text}` : text, reasoning }
}

function respondTo(
  intent: Intent,
  { history, tools }: ChatRequest,
  said: Directives,
  before: readonly Said[],
  settled: readonly Settled[],
): Omit<Answer, 'reasoning'> {
  switch (intent.kind) {
    case 'tools':
      return useTools(intent.wish, tools, settled)
    case 'recall':
      return { text: recall(intent.which, before), calls: [] }
    case 'summarise':
      return { text: summarise(before.length > 0 ? before : history), calls: [] }
    case 'talk':
      return { text: talk(said.text, history[before.length], before), calls: [] }
  }
}

function useTools(wish: ToolWish, tools: ReadonlySet<string>, settled: readonly Settled[]): Omit<Answer, 'reasoning'> {
  const outcomeOf = (name: ToolName) => settled.find(call => call.name === name)?.outcome
  const found = outcomeOf('search_notes')
  const wanted: Call[] = [
    ...(wish.query ? [toCall('search_notes', { query: wish.query })] : []),
    ...(wish.note ? [toCall('write_note', wish.note)] : []),
    ...(wish.theme ? [toCall('set_theme', { theme: wish.theme })] : []),
    // Written from what was found, so not asked for until the search came back well.
    ...(wish.writesSummary && found?.kind === 'done' ? [toCall('write_note', summaryOf(wish.query ?? '', found))] : []),
    ...doomedTitles(wish, found, outcomeOf('write_note')).map(title => toCall('delete_note', { title })),
  ]
  // A call that was made is not made again, however it ended: a retry is the user's to ask for.
  const open = wanted.filter(call => !settled.some(done => done.name === call.name))
  const calls = open.filter(call => tools.has(call.name))
  const missing = open
    .filter(call => !tools.has(call.name))
    .map(call => `I cannot ${plans[call.name]}, because the tool ${call.name} is not offered to me here.`)
  const planned = [...new Set(calls.map(call => plans[call.name]))]
  const plan = calls.length > 0 ? [`I will ${listed(planned)}.`] : []
  const reports = calls.length > 0 && settled.length > 0 ? settled.slice(-1) : settled
  return { text: [...reports.map(report), ...missing, ...plan].join(' '), calls }
}

const toCall = (name: ToolName, args: Call['arguments']): Call => ({ name, arguments: args })

const plans: Readonly<Record<ToolName, string>> = {
  write_note: 'write that note',
  search_notes: 'look through your notes',
  delete_note: 'delete what you named, if you allow it',
  set_theme: 'change the theme of the page',
}

/** Most notes that are to be deleted at once. */
const MOST_DOOMED = 3

/** What was found or written has to be there before it can be deleted. */
function doomedTitles(
  { deletes, query, note }: ToolWish,
  found: ToolOutcome | undefined,
  written: ToolOutcome | undefined,
): readonly string[] {
  if (deletes === undefined) return []
  if (query === undefined) return written?.kind === 'done' && note ? [note.title] : []
  return found?.kind === 'done' ? found.names.slice(0, deletes === 'one' ? 1 : MOST_DOOMED) : []
}

function summaryOf(query: string, found: ToolSuccess): Note {
  const text =
    found.titles.length > 0
      ? `${count(found.count, 'note')} about ${query}: ${found.titles.join('; ')}.`
      : `Nothing was found about ${query}. ${found.excerpt}`
  return { title: `Summary: ${query}`, text: text.trim() }
}

function report({ name, arguments: json, outcome }: Settled): string {
  if (outcome.kind === 'failed')
    return `The tool ${name} did not succeed; it answered: “${outcome.excerpt}”. I have not tried it again.`
  if (outcome.kind === 'unknown')
    return `The tool ${name} was interrupted and its outcome is unknown, so it may or may not have taken effect. I have not tried it again; please check first.`
  const { query = '', title = '', theme = '' } = readArguments(json)
  switch (name) {
    case 'search_notes':
      if (outcome.count === 0) return `I found no notes about “${query}”.`
      if (outcome.titles.length === 0) return `About “${query}” your notes say: “${outcome.excerpt}”`
      return `I found ${count(outcome.count, 'note')} about “${query}”: ${listed(outcome.titles.slice(0, 5).map(each => `“${each}”`))}.`
    case 'write_note':
      return `I wrote the note “${title}”. The tool answered: “${outcome.excerpt}”.`
    case 'delete_note':
      return `I deleted the note “${title}”.`
    case 'set_theme':
      return `The page is ${theme} now.`
    default:
      return `The tool ${name} answered: “${outcome.excerpt}”.`
  }
}

function recall(which: 'first' | 'last' | 'count', before: readonly Said[]): string {
  const earlier = before.filter(message => message.role === 'user' && !isCheckpoint(message))
  const condensed = before.some(isCheckpoint) ? ' Older messages reached me only as a summary.' : ''
  const total = `I was sent ${count(earlier.length, 'earlier message')} of yours and ${count(before.length, 'message')} before this one in all.${condensed}`
  const quoted = which === 'first' ? earlier[0] : earlier.at(-1)
  if (!quoted) return `You have said nothing before this that I was sent. ${total}`
  if (which === 'count') return `${total} The latest was: “${excerpt(quoted.text, 300)}”.`
  return `${which === 'first' ? 'The first thing you said' : 'Before this you said'} was: “${excerpt(quoted.text, 300)}”. ${total}`
}

function summarise(messages: readonly Said[]): string {
  const asked = messages.filter(message => message.role === 'user').map(message => `“${excerpt(message.text, 60)}”`)
  const called = [...new Set(messages.flatMap(message => message.calls.map(call => call.name)))]
  const last = messages.findLast(message => message.role === 'assistant' && message.text !== '')
  return [
    `The conversation so far has ${count(messages.length, 'message')}.`,
    asked.length > 0 ? `The user said ${listed(asked.slice(0, 2).concat(asked.slice(2).slice(-3)))}.` : '',
    called.length > 0 ? `Tools used: ${called.join(', ')}.` : '',
    last ? `The assistant last said: “${excerpt(last.text, 80)}”.` : '',
  ]
    .filter(Boolean)
    .join(' ')
}

function talk(text: string, prompt: Said | undefined, before: readonly Said[]): string {
  const given = attachedWords(prompt?.attached ?? [])
  const about = text ? `You wrote “${excerpt(text, 120)}”${given}` : `You sent a message without words${given}`
  return prose(
    `${about}; ${count(before.length, 'earlier message')} came before it in what I was sent.`,
    70,
    hashText(text, before.length),
  )
}

function attachedWords(attached: readonly Attached[]): string {
  const factsOf = ({ name, size }: Attached) => [name, size].filter(Boolean).join(', ')
  const images = attached.filter(each => each.kind === 'image')
  const files = attached.filter(each => each.kind === 'file')
  const seen = `${count(images.length, 'image')} (${images.map(factsOf).join('; ')}), which I can count but not see`
  const read = files.map(file => {
    const beginning = excerpt(file.text, 60)
    return `the file ${file.name} (${file.size || 'of unknown size'}${beginning ? `, it begins “${beginning}”` : ''})`
  })
  const all = [...(images.length > 0 ? [seen] : []), ...(files.length > 0 ? [listed(read)] : [])]
  return all.length > 0 ? ` and sent ${all.join(', and ')}` : ''
}

function reason(intent: Intent, results: number): string {
  const next = intent.kind === 'tools' ? 'A tool can help here.' : 'No tool is needed for this.'
  const seen = results > 0 ? `I have ${count(results, 'tool result')} to work with.` : 'Let me see what is being asked.'
  return `${seen} ${next} I will keep the answer short and say what I did.`
}

const isCheckpoint = (message: Said): boolean => message.text.includes('<compacted-summary>')

function settledCalls(messages: readonly Said[]): readonly Settled[] {
  return messages.flatMap(message =>
    message.calls.flatMap(({ id, name, arguments: json }) => {
      const result = messages.find(other => other.role === 'tool' && other.callId === id)
      return result ? [{ name, arguments: json, outcome: readOutcome(result.text) }] : []
    }),
  )
}

function readArguments(json: string): Partial<Record<string, string>> {
  const value: unknown = JSON.parse(json)
  const entries = typeof value === 'object' && value !== null ? Object.entries(value) : []
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'))
}

const count = (number: number, noun: string): string => `${number || 'no'} ${noun}${number === 1 ? '' : 's'}`

function listed(items: readonly string[]): string {
  return items.length < 2 ? items.join('') : `${items.slice(0, -1).join(', ')} and ${items.at(-1)}`
}
