/** What a prompt asks for. Patterns over plain English, tried in order of how specific they are. */

export type Intent =
  | { readonly kind: 'tools'; readonly wish: ToolWish }
  | { readonly kind: 'recall'; readonly which: 'first' | 'last' | 'count' }
  | { readonly kind: 'summarise' }
  | { readonly kind: 'talk' }

/** The tools one prompt asks for; several at once are called in parallel. */
export type ToolWish = {
  readonly query?: string
  readonly note?: Note
  readonly theme?: 'dark' | 'light'
  /** The note is to be written from what the search finds, so it has to wait for it. */
  readonly writesSummary?: true
  /** What was written or found is to be deleted: `one`, the best match, or `all`. */
  readonly deletes?: 'one' | 'all'
}

export type Note = { readonly title: string; readonly text: string }

const search =
  /\b(?:what (?:do|did|does) (?:my|the) notes say (?:about|on)|what did i note (?:about|on)|summari[sz]e (?:my|the) notes (?:about|on)|(?:search|look)(?: in| through)?(?: my| the| all)*(?: notes)? (?:for|about|on)|look up|(?<=^|[.?!,:]\s|\b(?:please|and|then|you|to)\s)find(?: me)?(?: my| the| all| any)*(?: notes?)?(?: about| on| for| mentioning)?|search(?: my| the| all)* notes:?)\s+(.+)/is
const note =
  /(?<!\b(?:you|i|we|they) )\b(?:note that|remember(?: that| to)?|note down(?: that)?|write down(?: that)?|(?:write|make|take|add|create)(?: me)? (?:a|an|the)(?: \w+)? note(?: that| about| saying| of)?)\b[:,]?\s*(.*)/is
const titled = /^titled ["“]([^"”]+)["”][:,]?\s*(.*)$/is
const summaryNote =
  /\b(?:write|make|take|save|create|add)\b[^.?!]*\bsummar|\bsummari[sz]e\b[^.?!]*\b(?:note|them|it|that)\b/i
const deletion =
  /\b(?:delete|remove|erase)\b(?: (?:the|my|any|all|that|those))* (notes?)(?: (?:about|on|for|titled|called|mentioning))? (.+)/is
const deletesIt = /\b(?:delete|remove|erase) (?:(it|that note|the note|that one)|them|those|these)\b/i
const theme = /\b(?:make|set|switch|turn|change|use|go)\b[^.?!]*\b(dark|light)\b|\b(dark|light) (?:mode|theme)\b/i
const recall =
  /\bwhat (?:did|have|had) i (?:just )?(?:say|said|ask|asked|tell|told|write|wrote|written)\b|\bwhat (?:was|were) my (?:very )?(?:first|last|previous|earlier)\b|\bhow many (?:messages|things|times)\b|\bdo you remember what i\b/i
/** Where one wish ends and the next begins. */
const clauseEnd =
  /[.?!](?:\s|$)|,?\s+(?:and|then)\s+(?:then\s+)?(?:please\s+)?(?:make|set|switch|turn|change|use|search|find|look|write|note|remember|add|create|save|take|delete|remove|erase|summari[sz]e)\b/i

/** Decides what `prompt` asks for. Without tools, a talk of summaries is a compaction's request for one. */
export function readIntent(prompt: string, hasTools: boolean): Intent {
  const wantsSummary = /summar|condens|compact/i.test(prompt)
  const isAboutTalk = /\b(?:conversation|transcript|so far|this session|chat history)\b/i.test(prompt)
  if (wantsSummary && (isAboutTalk || !hasTools)) return { kind: 'summarise' }
  if (recall.test(prompt)) {
    const which = /\bhow many\b/i.test(prompt) ? 'count' : /\bfirst\b/i.test(prompt) ? 'first' : 'last'
    return { kind: 'recall', which }
  }
  const wish = readWish(prompt)
  return Object.keys(wish).length > 0 ? { kind: 'tools', wish } : { kind: 'talk' }
}

function readWish(prompt: string): ToolWish {
  const [, kind = '', doomed = ''] = deletion.exec(prompt) ?? []
  const query = clause(search.exec(prompt)?.[1] ?? doomed).replace(
    /^(?:about|for|on)\s+|\s+in (?:my|the) notes$|["“”]/gi,
    '',
  )
  const it = deletesIt.exec(prompt)
  const deletes = query !== '' && doomed !== '' ? (/s$/i.test(kind) ? 'all' : 'one') : it && (it[1] ? 'one' : 'all')
  const colour = theme.exec(prompt)
  const noted = clause(note.exec(prompt)?.[1] ?? '')
  const writesSummary = query !== '' && (summaryNote.test(prompt) || (note.test(prompt) && noted === ''))
  return {
    ...(query ? { query } : {}),
    ...(writesSummary ? { writesSummary } : noted ? { note: toNote(noted) } : {}),
    ...(deletes && (query || noted) ? { deletes } : {}),
    ...(colour ? { theme: /dark/i.test(colour[1] ?? colour[2] ?? '') ? 'dark' : 'light' } : {}),
  }
}

function clause(text: string): string {
  const end = clauseEnd.exec(text)
  return (end ? text.slice(0, end.index) : text).trim()
}

function toNote(text: string): Note {
  const [, given, rest] = titled.exec(text) ?? []
  if (given) return { title: given.trim(), text: rest?.trim() || given.trim() }
  const title = text
    .split(' ')
    .slice(0, 6)
    .join(' ')
    .replace(/[,;:]$/, '')
  return { title: title.charAt(0).toUpperCase() + title.slice(1), text }
}
