/** The conversation: what was said, once and for ever, and the answer that is arriving. */
import type { AssistantStreamFrame } from 'palimpsest'
import { type EventOf, isAppendSurfaceEvent, isReplaceSurfaceEvent, type SessionEvent } from 'palimpsest/core'
import { h } from './dom.ts'
import { endingRow, type EndingActions } from './ending-row.ts'
import type { Follow } from './follow.ts'
import { LiveAnswer } from './live-answer.ts'
import { assistantRow, attemptRow, row, systemRow, userRow } from './message-row.ts'
import { contentText, ToolCard } from './tool-card.ts'

export class Transcript {
  readonly #rows: HTMLElement
  readonly #liveBox: HTMLElement
  readonly #follow: Follow
  readonly #actions: EndingActions
  readonly #cards = new Map<string, ToolCard>()
  #live: LiveAnswer | null = null
  /** Ids of answers that are rows already. */
  readonly #answered = new Set<string>()
  /** The prompt of the running turn. */
  #prompt: string | null = null
  /** What the last turn offers to do about its failure. */
  #offers: HTMLElement | null = null

  constructor(rows: HTMLElement, liveBox: HTMLElement, follow: Follow, actions: EndingActions) {
    this.#rows = rows
    this.#liveBox = liveBox
    this.#follow = follow
    this.#actions = actions
  }

  /** Empties the view, for another session. */
  reset(...content: readonly Node[]): void {
    this.#rows.replaceChildren(...content)
    this.#liveBox.replaceChildren()
    this.#cards.clear()
    this.#answered.clear()
    this.#live = null
    this.#prompt = null
    this.#offers = null
    if (content.length > 0) this.#follow.hold()
    else this.#follow.toEnd()
  }

  /** Adds what was committed. A turn that starts now is one the reader wants to see. */
  commit(events: readonly SessionEvent[], isHistory: boolean): void {
    const added = document.createDocumentFragment()
    for (const event of events) {
      const element = this.#rowOf(event)
      if (element !== null) added.append(element)
    }
    this.#rows.append(added)
    if (!isHistory && events.some(event => event.type === 'turn/start')) this.#follow.toEnd()
    else this.#follow.keep()
  }

  /** Adds what arrived of the running answer. */
  stream(frames: readonly AssistantStreamFrame[]): void {
    for (const frame of frames) {
      if (frame.kind === 'start') this.#startLive(frame)
      else if (frame.kind === 'chunk') this.#live?.push(frame.chunk)
      else this.#endLive()
    }
    this.#follow.keep()
  }

  #rowOf(event: SessionEvent): HTMLElement | null {
    switch (event.type) {
      case 'tool/call':
        this.#cards.get(event.data.callId)?.start(event)
        return null
      case 'assistant/attempt':
        this.#endLive()
        return attemptRow(event)
      case 'turn/start':
        this.#prompt = null
        this.#settleOffers()
        return null
      case 'turn/end':
        this.#endLive()
        return this.#endingRow(event)
      default:
        if (isReplaceSurfaceEvent(event)) this.#settleOffers(`The model reads a shortened version since #${event.seq}.`)
        return isAppendSurfaceEvent(event) ? this.#saidRow(event) : null
    }
  }

  /** A row for something that was said; rewritten versions are not part of a conversation. */
  #saidRow(
    event: EventOf<'system/message' | 'user/message' | 'assistant/message' | 'tool/result'>,
  ): HTMLElement | null {
    switch (event.type) {
      case 'system/message':
        return systemRow(event)
      case 'user/message':
        if (event.data.source.kind === 'user') this.#prompt = contentText(event.data.content)
        return userRow(event)
      case 'assistant/message':
        return this.#answerRow(event)
      case 'tool/result':
        return this.#resultRow(event)
    }
  }

  #answerRow(event: EventOf<'assistant/message'>): HTMLElement {
    const element = assistantRow(event, (callId, card) => this.#cards.set(callId, card))
    if (this.#live?.showsReasoning === true) {
      for (const details of element.querySelectorAll<HTMLDetailsElement>('details.reasoning')) details.open = true
    }
    this.#answered.add(event.data.message.id)
    this.#endLive()
    return element
  }

  #endingRow(event: EventOf<'turn/end'>): HTMLElement | null {
    const element = endingRow(event, this.#prompt, this.#actions)
    this.#offers = element?.querySelector<HTMLElement>('.actions') ?? null
    return element
  }

  /** What a failed turn offered is out of date. */
  #settleOffers(instead?: string): void {
    this.#offers?.replaceWith(...(instead === undefined ? [] : [h('p', { class: 'detail' }, instead)]))
    this.#offers = null
  }

  /** A result belongs to the card of its call; one without a call stands alone. */
  #resultRow(event: EventOf<'tool/result'>): HTMLElement | null {
    const { callId } = event.data.message.source
    const card = this.#cards.get(callId) ?? new ToolCard('unknown tool', '')
    const isKnown = this.#cards.has(callId)
    card.settle(event)
    return isKnown ? null : row('agent', 'Tool', event.seq, card.element)
  }

  #startLive(frame: AssistantStreamFrame & { kind: 'start' }): void {
    this.#endLive()
    if (this.#answered.has(frame.messageId)) return
    this.#live = new LiveAnswer(frame)
    this.#liveBox.append(this.#live.element)
  }

  #endLive(): void {
    this.#live?.element.remove()
    this.#live = null
  }
}
