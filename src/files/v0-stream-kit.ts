/** For tests only: what is drawn from a list of numbers, and answers of a model drawn from one, chunk by chunk. */

export type Members = Readonly<Record<string, unknown>>

export const text = (value: string): Members => ({ type: 'text', text: value })
export const TEXTS = ['', ' ', 'one', 'two ', '\n', 'ünï', '\ud83d', '\ude42', '"}{', '{"a":', '1}', '\u0000'] as const

/** Draws one number after another; zeroes when they have run out. */
export class Draw {
  readonly #choices: readonly number[]
  #next = 0
  #ids = 0

  constructor(choices: readonly number[]) {
    this.#choices = choices
  }

  get hasMore(): boolean {
    return this.#next < this.#choices.length
  }

  pick(below: number): number {
    return (this.#choices[this.#next++] ?? 0) % below
  }

  one<Value>(list: readonly Value[]): Value {
    return list[this.pick(list.length)] as Value
  }

  /** True once in `times`; never when the numbers have run out. */
  chance(times: number): boolean {
    return this.pick(times) === times - 1
  }

  /** One that was not there before. */
  id(kind: string): string {
    this.#ids += 1
    return `${kind}${this.#ids}`
  }
}

/** An answer as it was streamed. */
export type Streamed = {
  readonly chunks: readonly Members[]
  /** Of the message that is made of it. */
  readonly content: readonly Members[]
  readonly usage?: Members
  readonly replayState?: unknown
  readonly isFinished: boolean
}

type Block = { readonly chunks: readonly Members[]; readonly block: Members }

/** A whole answer, one that was given up, or one that failed on its way. */
export function streamOf(draw: Draw, kind: 'whole' | 'interrupted' | 'failed'): Streamed {
  const isCut = kind !== 'whole'
  const blocks = Array.from({ length: draw.pick(4) }, (_, index) => blockOf(draw, index, isCut))
  const chunks = interleaved(draw, blocks)
  const usage = draw.one<Members | undefined>([undefined, { inputTokens: 3, outputTokens: 1, totalTokens: 4 }])
  if (usage !== undefined) chunks.push({ type: 'usage', usage })
  const said = blocks.map(({ block }) => block)
  const shared = { chunks, ...(usage === undefined ? {} : { usage }) }
  if (kind === 'interrupted') {
    const visible = said.filter(({ text: value }) => typeof value === 'string' && value.trim() !== '')
    return { ...shared, content: visible, isFinished: false }
  }
  const failure = { message: 'cut', code: 'E' }
  const reason = isCut
    ? draw.one<Members | null>([null, { kind: 'error', failure }, { kind: 'aborted', failure }])
    : draw.one<Members>([{ kind: 'stop' }, { kind: 'tool-calls' }, { kind: 'max-tokens' }])
  const replay = isCut ? undefined : draw.one([undefined, undefined, 'opaque', { at: [1.5, null] }])
  const replayState = replay === undefined ? {} : { replayState: replay }
  if (reason !== null) chunks.push({ type: 'finish', reason, ...replayState })
  const content = reason?.['kind'] === 'max-tokens' ? said.filter(({ type }) => type !== 'tool-call') : said
  return { ...shared, content, isFinished: reason !== null, ...replayState }
}

/** Block after block, or several at once, as some models write them. */
function interleaved(draw: Draw, blocks: readonly Block[]): Members[] {
  const written: Members[] = []
  const at = blocks.map(() => 0)
  for (;;) {
    const unbegun = at.indexOf(0)
    const reach = unbegun === -1 ? blocks.length : unbegun + 1
    const open = blocks.flatMap(({ chunks }, index) =>
      index < reach && (at[index] as number) < chunks.length ? [index] : [],
    )
    if (open.length === 0) return written
    const index = draw.chance(5) ? draw.one(open) : (open[0] as number)
    written.push(blocks[index]?.chunks[at[index] as number] as Members)
    at[index] = (at[index] as number) + 1
  }
}

function blockOf(draw: Draw, index: number, mayBeCut: boolean): Block {
  const kind = draw.one(['text', 'reasoning', 'tool-call', 'tool-call'])
  const parts = Array.from({ length: 1 + draw.pick(5) }, () => draw.one(TEXTS))
  const written = parts.join('')
  const id = kind === 'tool-call' ? draw.id('c') : ''
  const isNamedOnce = draw.chance(2)
  const deltas = parts.map((part, position): Members => {
    if (kind !== 'tool-call') return { type: `${kind}-delta`, index, text: part }
    const named = isNamedOnce && position > 0 ? {} : { name: 'read' }
    return { type: 'tool-call-delta', index, id, ...named, argumentsDelta: part }
  })
  const call = { type: kind, id, name: 'read', arguments: written }
  const block = kind === 'tool-call' ? call : { type: kind, text: written }
  const start = draw.chance(4) ? [] : [{ type: 'block-start', index, blockType: kind }]
  const end = mayBeCut && draw.chance(2) ? [] : [{ type: 'block-end', index, block }]
  // A member no build gives a delta: no row can hold it then.
  if (draw.chance(12)) deltas[0] = { ...deltas[0], extra: null }
  return { block, chunks: [...start, ...deltas, ...end] }
}
