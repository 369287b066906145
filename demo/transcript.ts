/** The conversation: what was said, once and for ever, and the answer that is arriving. */
import type { AssistantStreamFrame } from 'palimpsest'
import { type EventOf, isAppendSurfaceEvent, type SessionEvent } from 'palimpsest/core'
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
    this.#follow.toEnd()
  }

  /** Adds what was committed. */
  commit(events: readonly SessionEvent[]): void {
    const added = document.createDocumentFragment()
    for (const event of events) {
      const element = this.#rowOf(event)
      if (element !== null) added.append(element)
    }
    this.#rows.append(added)
    this.#follow.keep()
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
        return null
      case 'turn/end':
        this.#endLive()
        return endingRow(event, this.#prompt, this.#actions)
      default:
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
