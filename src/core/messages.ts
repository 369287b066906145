/**
 * The messages the surface derives to, as an immutable sequence that shares structure with its predecessor: an append
 * costs O(1), a replacement rebuilds the chunks it touches and nothing else (SPEC S10, S11).
 */
import type { Message, SessionEvent } from './events.ts'
import type { Fold } from './fold.ts'

/** The message an event itself contributes to the surface, or null (SPEC S10). */
export function projectMessage(event: SessionEvent): Message | null {
  switch (event.type) {
    case 'user/message':
      return event.data
    case 'system/message':
    case 'assistant/message':
    case 'tool/result':
      return contribution(event.data.message)
    default:
      return null
  }
}

/** Empty system and assistant messages hold a place and say nothing. */
export const contribution = (message: Message): Message | null =>
  message.content.length === 0 && (message.role === 'system' || message.role === 'assistant') ? null : message

/** Most nodes of a chunk made by appending. */
const CHUNK = 128

/** Nodes of consecutive surface positions; null where a node contributes no message. */
type Chunk = { readonly nodes: (Message | null)[]; messages: number }

/**
 * Chunks with the number of nodes and messages before each. Sequences that extend one another share a spine: the
 * longest one pushes at its end, and a shorter one never looks beyond its own length.
 */
type Spine = {
  readonly chunks: Chunk[]
  readonly nodeStarts: number[]
  readonly messageStarts: number[]
  nodes: number
}

/** What `session.messages` is: the derived messages in order. It never changes; later states are other sequences. */
export class MessageSequence implements Iterable<Message> {
  /** Number of messages. */
  readonly length: number
  readonly #spine: Spine
  readonly #nodes: number

  private constructor(spine: Spine, length: number) {
    this.#spine = spine
    this.#nodes = spine.nodes
    this.length = length
  }

  static readonly empty: MessageSequence = new MessageSequence(
    { chunks: [], nodeStarts: [], messageStarts: [], nodes: 0 },
    0,
  )

  /** The message at `index`; negative counts from the end; `undefined` outside. */
  at(index: number): Message | undefined {
    const wanted = index < 0 ? this.length + index : index
    if (!(wanted >= 0 && wanted < this.length)) return undefined
    const { chunks, messageStarts } = this.#spine
    const position = lastAtMost(messageStarts, wanted)
    const chunk = chunks[position] as Chunk
    let left = wanted - (messageStarts[position] as number)
    if (chunk.messages === chunk.nodes.length) return chunk.nodes[left] as Message
    for (const node of chunk.nodes) {
      if (node !== null && left-- === 0) return node
    }
    return undefined
  }

  /** Messages `start` (inclusive) to `end` (exclusive) as a new array; negative counts from the end. */
  slice(start = 0, end: number = this.length): Message[] {
    const position = (index: number) => Math.min(Math.max(0, index < 0 ? this.length + index : index), this.length)
    const result: Message[] = []
    for (let index = position(start); index < position(end); index += 1) result.push(this.at(index) as Message)
    return result
  }

  /** The message of the surface node at `position`; null when that node contributes none. */
  atNode(position: number): Message | null {
    if (!(position >= 0 && position < this.#nodes)) return null
    const index = lastAtMost(this.#spine.nodeStarts, position)
    const chunk = this.#spine.chunks[index] as Chunk
    return chunk.nodes[position - (this.#spine.nodeStarts[index] as number)] as Message | null
  }

  *[Symbol.iterator](): Iterator<Message> {
    let left = this.#nodes
    for (const chunk of this.#spine.chunks) {
      for (let index = 0; index < chunk.nodes.length; index += 1) {
        if (left-- === 0) return
        const node = chunk.nodes[index] as Message | null
        if (node !== null) yield node
      }
    }
  }

  /** The messages as a new array that never grows. */
  toArray(): Message[] {
    const result: Message[] = []
    let left = this.#nodes
    for (const chunk of this.#spine.chunks) {
      for (let index = 0; index < chunk.nodes.length && left > 0; index += 1, left -= 1) {
        const node = chunk.nodes[index] as Message | null
        if (node !== null) result.push(node)
      }
    }
    return result
  }

  /** This sequence with one more node at its end. */
  append(message: Message | null): MessageSequence {
    const spine = this.#spine.nodes === this.#nodes && this !== MessageSequence.empty ? this.#spine : this.#copySpine()
    let chunk = spine.chunks.at(-1)
    if (chunk === undefined || chunk.nodes.length >= CHUNK) {
      chunk = { nodes: [], messages: 0 }
      spine.chunks.push(chunk)
      spine.nodeStarts.push(spine.nodes)
      spine.messageStarts.push(this.length)
    }
    chunk.nodes.push(message)
    spine.nodes += 1
    if (message === null) return new MessageSequence(spine, this.length)
    chunk.messages += 1
    return new MessageSequence(spine, this.length + 1)
  }

  /** This sequence with the nodes at positions `from` to `to` (both included) replaced by one. */
  replace(from: number, to: number, message: Message | null): MessageSequence {
    const old = this.#ownChunks()
    const first = lastAtMost(this.#spine.nodeStarts, from)
    const last = lastAtMost(this.#spine.nodeStarts, to)
    const before = (old[first] as Chunk).nodes.slice(0, from - (this.#spine.nodeStarts[first] as number))
    const after = (old[last] as Chunk).nodes.slice(to - (this.#spine.nodeStarts[last] as number) + 1)
    const merged = [...before, message, ...after]
    const chunks = old.slice(0, first)
    for (let start = 0; start < merged.length; start += CHUNK) chunks.push(chunkOf(merged.slice(start, start + CHUNK)))
    for (let index = last + 1; index < old.length; index += 1) chunks.push(old[index] as Chunk)
    return MessageSequence.#of(chunks)
  }

  /** The chunks up to this sequence's end, the last one copied: its owner may go on pushing into the original. */
  #ownChunks(): Chunk[] {
    const { chunks, nodeStarts } = this.#spine
    const last = lastAtMost(nodeStarts, this.#nodes - 1)
    const own = chunks.slice(0, last + 1)
    const tail = own[last]
    if (tail !== undefined) own[last] = chunkOf(tail.nodes.slice(0, this.#nodes - (nodeStarts[last] as number)))
    return own
  }

  #copySpine(): Spine {
    return MessageSequence.#of(this.#ownChunks()).#spine
  }

  static #of(chunks: Chunk[]): MessageSequence {
    const spine: Spine = { chunks, nodeStarts: [], messageStarts: [], nodes: 0 }
    let messages = 0
    for (const chunk of chunks) {
      spine.nodeStarts.push(spine.nodes)
      spine.messageStarts.push(messages)
      spine.nodes += chunk.nodes.length
      messages += chunk.messages
    }
    return new MessageSequence(spine, messages)
  }

  /** The sequence of the given nodes, in surface order. */
  static from(nodes: Iterable<Message | null>): MessageSequence {
    let sequence = MessageSequence.empty
    for (const node of nodes) sequence = sequence.append(node)
    return sequence
  }
}

function chunkOf(nodes: (Message | null)[]): Chunk {
  let messages = 0
  for (const node of nodes) if (node !== null) messages += 1
  return { nodes, messages }
}

/** Position of the last element that is at most `wanted`, in an ascending array; −1 when there is none. */
function lastAtMost(starts: readonly number[], wanted: number): number {
  let low = 0
  let high = starts.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((starts[middle] as number) <= wanted) low = middle + 1
    else high = middle
  }
  return low - 1
}

/** The derived messages as a fold: one projection function for every reader. */
export const messagesFold: Fold<MessageSequence> = {
  key: 'messages',
  version: 1,
  on: 'surface',
  initial: () => MessageSequence.empty,
  evolve(state, { event, surfaceChange }) {
    switch (surfaceChange.kind) {
      case 'none':
        return state
      case 'append':
        return state.append(projectMessage(event))
      case 'replace':
        return state.replace(surfaceChange.from, surfaceChange.to, projectMessage(event))
      case 'project':
        return surfaceChange.projected.reduce(
          (sequence, { at, message }) => sequence.replace(at, at, contribution(message)),
          state,
        )
    }
  },
  // Nothing to store: the surface nodes and their events say it all.
  toJSON: () => null,
  fromJSON: (_json, { nodes, projected, eventAt }) =>
    MessageSequence.from(
      nodes.map(seq => {
        const message = projected.get(seq)
        if (message !== undefined) return contribution(message)
        const event = eventAt(seq)
        return event === undefined ? null : projectMessage(event)
      }),
    ),
}
