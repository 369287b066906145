/** For this library's own tests: a model that says what a test has it say, while it is asked. */
import type { Model } from '../agent/model.ts'
import type { FinishReason, StreamChunk } from '../core/events.ts'
import { CallId } from '../core/ids.ts'

type Item = { readonly chunk: StreamChunk } | { readonly throws: unknown } | 'end'

type OpenBlock = { readonly type: 'text' | 'reasoning' | 'tool-call'; readonly id: string; text: string; name: string }

/** Answers one request, item by item. */
class Answer {
  readonly #items: Item[] = []
  #wake: (() => void) | null = null
  #index = -1
  #open: OpenBlock | null = null
  #isUsageTold = false
  isOver = false

  async *stream(): AsyncGenerator<StreamChunk, void, void> {
    for (;;) {
      const item = this.#items.shift()
      if (item === undefined) await new Promise<void>(resolve => (this.#wake = resolve))
      else if (item === 'end') return
      else if ('throws' in item) throw item.throws
      else yield item.chunk
    }
  }

  /** Whatever it is, it comes next. */
  push(chunk: StreamChunk): void {
    this.#put({ chunk })
  }

  /** A piece of a text block, the open one if it is of this type. */
  say(type: 'text' | 'reasoning', text: string): void {
    if (this.#open?.type !== type) this.#begin(type, '', '')
    const open = this.#open as OpenBlock
    open.text += text
    this.push({ type: `${type}-delta`, index: this.#index, text })
  }

  /** A call, whole or only begun. */
  call(id: string, name: string, text: string, isWhole: boolean): void {
    this.#begin('tool-call', id, name)
    const open = this.#open as OpenBlock
    const said = isWhole ? text : text.slice(0, 1)
    this.push({ type: 'tool-call-delta', index: this.#index, id, name, argumentsDelta: said })
    open.text = text
    if (isWhole) this.close()
  }

  /** Answers whether it was told before, as no model may. */
  usage(inputTokens: number): boolean {
    const wasTold = this.#isUsageTold
    this.#isUsageTold = true
    this.push({ type: 'usage', usage: { inputTokens, outputTokens: 1 } })
    return wasTold
  }

  /** Ends the open block. */
  close(): void {
    if (this.#open === null) return
    const { type, id, name, text } = this.#open
    this.#open = null
    const block = type === 'tool-call' ? { type, id: CallId(id), name, arguments: text } : { type, text }
    this.push({ type: 'block-end', index: this.#index, block })
  }

  /** The last chunk; without one the answer breaks off. */
  end(chunk?: StreamChunk): void {
    this.isOver = true
    this.#put(chunk === undefined ? 'end' : { chunk })
  }

  throw(error: unknown): void {
    this.isOver = true
    this.#put({ throws: error })
  }

  /** What no model may say: a delta of a block that has ended, or that was of another kind. */
  disorder(): void {
    this.say('text', 'x')
    this.close()
    this.push({ type: 'reasoning-delta', index: this.#index, text: 'too late' })
  }

  #put(item: Item): void {
    this.#items.push(item)
    this.#wake?.()
    this.#wake = null
  }

  #begin(type: OpenBlock['type'], id: string, name: string): void {
    this.close()
    this.#index += 1
    this.#open = { type, id, name, text: '' }
    this.push({ type: 'block-start', index: this.#index, blockType: type })
  }
}

export class PuppetModel {
  readonly model: Model
  /** Answers at once, from now on. */
  isAutomatic = false
  #answer: Answer | null = null
  #calls = 0

  constructor(options: Partial<Model> = {}) {
    const stream = (): AsyncIterable<StreamChunk> => {
      const answer = (this.#answer = new Answer())
      if (this.isAutomatic) this.finish()
      return answer.stream()
    }
    this.model = { config: { provider: 'puppet', model: 'puppet-1' }, ...options, stream }
  }

  /** The answer it is at; null when it is not asked, or done. */
  get answer(): Answer | null {
    return this.#answer?.isOver === false ? this.#answer : null
  }

  /** An id no other call has. */
  nextCallId(): string {
    return `call-${(this.#calls += 1)}`
  }

  end(reason: FinishReason): void {
    this.answer?.end({ type: 'finish', reason })
  }

  /** Ends the answer it is at as it should, whatever was said so far. */
  finish(): void {
    const { answer } = this
    if (answer === null) return
    answer.say('text', 'Fine.')
    answer.close()
    answer.end({ type: 'finish', reason: { kind: 'stop' } })
  }
}
