/**
 * The surface as a list to show: what the model reads now, where each part comes from and how much of the window it
 * takes (SPEC V9). Read once as a whole, then advanced by what each event did to it.
 */
import type { Message, SurfaceEvent } from '../core/events.ts'
import type { Committed, ProjectedMessage } from '../core/fold.ts'
import type { SessionSeq } from '../core/ids.ts'
import { isReplaceSurfaceEvent } from '../core/surface.ts'
import { Sequence } from './sequence.ts'
import type { SurfaceNode } from './source.ts'
import { estimateTokens } from './tokens.ts'

/** `seqs`: the earlier events a node was made from and stands for. `projected`: its message is not its event's own. */
export type SurfaceOrigin =
  | { readonly kind: 'appended' }
  | { readonly kind: 'replaces'; readonly seqs: readonly SessionSeq[] }
  | { readonly kind: 'projected' }

export type SurfaceItem = {
  readonly seq: SessionSeq
  /** What it contributes; null when that is nothing. */
  readonly message: Message | null
  readonly origin: SurfaceOrigin
  /** Estimated; 0 without a message. */
  readonly tokens: number
}

/** Never changed: each event gives another one, which shares the nodes it did not touch. */
export type SurfaceView = {
  readonly nodes: Sequence<SurfaceItem>
  /** Length of the log it is as of. */
  readonly length: number
  /** Estimated tokens of all messages. */
  readonly tokens: number
  /** Nodes that contribute a message. */
  readonly messages: number
}

const APPENDED: SurfaceOrigin = Object.freeze({ kind: 'appended' })
const PROJECTED: SurfaceOrigin = Object.freeze({ kind: 'projected' })

export const emptySurface: SurfaceView = Object.freeze({ nodes: Sequence.empty, length: 0, tokens: 0, messages: 0 })

/** The view of a surface that was read as of a log of `length` events. */
export function surfaceFrom(nodes: readonly SurfaceNode[], length: number): SurfaceView {
  const items = nodes.map(({ seq, message, replaces, projected }) =>
    surfaceItem(
      seq,
      message,
      projected ? PROJECTED : replaces === null ? APPENDED : { kind: 'replaces', seqs: replaces },
    ),
  )
  const { tokens, messages } = sums(items)
  return { nodes: Sequence.from(items), length, tokens, messages }
}

/** The view after one more event; the same object when it has the event already. */
export function evolveSurface(state: SurfaceView, { event, surfaceChange }: Committed): SurfaceView {
  const { seq } = event
  if (seq < state.length) return state
  const length = seq + 1
  if (surfaceChange.kind === 'none') return { ...state, length }
  if (surfaceChange.kind === 'project') return projectNodes({ ...state, length }, surfaceChange.projected)
  const origin: SurfaceOrigin = isReplaceSurfaceEvent(event)
    ? { kind: 'replaces', seqs: event.sourceEventSeqs ?? [] }
    : APPENDED
  // Nothing else changes the surface.
  const { type, data } = event as SurfaceEvent
  const item = surfaceItem(seq, contribution(type === 'user/message' ? data : data.message), origin)
  const added = sums([item])
  if (surfaceChange.kind === 'append') {
    return {
      nodes: state.nodes.append(item),
      length,
      tokens: state.tokens + added.tokens,
      messages: state.messages + added.messages,
    }
  }
  const { from, to } = surfaceChange
  const removed = sums(state.nodes.slice(from, to + 1))
  return {
    nodes: state.nodes.splice(from, to, [item]),
    length,
    tokens: state.tokens - removed.tokens + added.tokens,
    messages: state.messages - removed.messages + added.messages,
  }
}

/** The view with other messages in the place of nodes' own. */
function projectNodes(state: SurfaceView, projected: readonly ProjectedMessage[]): SurfaceView {
  let { nodes, tokens, messages } = state
  for (const { at, seq, message } of projected) {
    const item = surfaceItem(seq, contribution(message), PROJECTED)
    const [added, removed] = [sums([item]), sums(nodes.slice(at, at + 1))]
    nodes = nodes.splice(at, at, [item])
    tokens += added.tokens - removed.tokens
    messages += added.messages - removed.messages
  }
  return { ...state, nodes, tokens, messages }
}

/**
 * The rule of SPEC S10 once more: a prompt or an answer without content says nothing. A law compares it with the core's,
 * which would bring the core's sequence of messages along into every page.
 */
const contribution = (message: Message): Message | null =>
  message.content.length === 0 && (message.role === 'system' || message.role === 'assistant') ? null : message

function surfaceItem(seq: SessionSeq, message: Message | null, origin: SurfaceOrigin): SurfaceItem {
  return { seq, message, origin, tokens: message === null ? 0 : estimateTokens(message) }
}

function sums(items: readonly SurfaceItem[]): { readonly tokens: number; readonly messages: number } {
  let tokens = 0
  let messages = 0
  for (const item of items) {
    tokens += item.tokens
    if (item.message !== null) messages += 1
  }
  return { tokens, messages }
}
