/**
 * For tests only: a log as a whole program writes it – turns, tools, failed calls and retries, stops, prompts that change,
 * compactions, prunes, crashes and repairs. Takes numbers, not a random source, so that a property test can shrink what it
 * found; where they run out, the plainest thing happens.
 */
import {
  append,
  assistant,
  called,
  counter,
  type Draft,
  header,
  over,
  prompted,
  said,
  stepEnd,
  stepStart,
  storedEvents,
  textBlock,
  toolCall,
  toolResult,
  turnStart,
} from '../builders.ts'
import type { ContentBlock, FinishReason, StreamChunk, StreamRecord, ToolResultMessage } from '../events.ts'
import type { Invariant } from '../invariant.ts'
import { requestFold } from '../request-header.ts'
import { Session } from '../session.ts'
import { packStream } from '../stream-records.ts'
import { turnsFold } from '../turns.ts'

export type HistoryOptions = {
  /** Asked while the log is written. */
  readonly invariants?: readonly Invariant[]
  /** The program dies now and then, and the log is opened again and repaired. */
  readonly crashes?: boolean
}

class Crash extends Error {}

export const streamOf = (chunks: readonly StreamChunk[]): readonly StreamRecord[] =>
  packStream(chunks.map((chunk, position) => ({ time: 5_000 + position * 3, chunk })))

const failure = { code: 'SERVER', message: 'no' }
export const finishOf = (kind: FinishReason['kind']): StreamChunk => ({
  type: 'finish',
  reason: kind === 'error' || kind === 'aborted' ? { kind, failure } : { kind },
})

/** The chunks of whole blocks. */
export const chunksOf = (blocks: readonly ContentBlock[]): StreamChunk[] =>
  blocks.flatMap((block, index): StreamChunk[] => {
    const end: StreamChunk = { type: 'block-end', index, block }
    if (block.type === 'tool-call') {
      const { id, name, arguments: text } = block
      return [{ type: 'tool-call-delta', index, id, name, argumentsDelta: text }, end]
    }
    if (block.type !== 'text' && block.type !== 'reasoning') return [end]
    const part = (text: string): StreamChunk => ({ type: `${block.type}-delta`, index, text })
    const cut = block.text.length >> 1
    const start: StreamChunk = { type: 'block-start', index, blockType: block.type }
    return [start, part(block.text.slice(0, cut)), part(block.text.slice(cut)), end]
  })

const usage = { inputTokens: 3, outputTokens: 4 }

/** An answer with the stream that yields it. */
export function streamed(
  blocks: readonly ContentBlock[],
  { turn, step }: { readonly turn: number; readonly step: number },
  finish: FinishReason['kind'] = 'stop',
  withUsage = false,
): Draft {
  const chunks = [...chunksOf(blocks), ...(withUsage ? [{ type: 'usage' as const, usage }] : []), finishOf(finish)]
  const content = finish === 'max-tokens' ? blocks.filter(block => block.type !== 'tool-call') : blocks
  const message = assistant(content)
  const stream = streamOf(chunks)
  return {
    type: 'assistant/message',
    data: { turn, step, message, stream, ...(withUsage ? { usage } : {}) },
    surfaceOp: 'append',
  }
}

/** A log of about as many events as there are choices, in the session it was written to. */
export function validHistory(choices: readonly number[], options: HistoryOptions = {}): Session {
  const { invariants = [], crashes = false } = options
  const now = counter()
  let session = Session.create({ id: 'test', header: { createdAt: 1 }, now, invariants })
  let next = 0
  const pick = (below: number): number => (choices[next++] ?? 0) % below
  const hit = (oneIn: number): boolean => pick(oneIn) === oneIn - 1
  let names = 0
  const fresh = (what: string): string => `${what}-${(names += 1)}`
  const put = (draft: Draft): number => {
    const { seq } = append(session, draft)
    if (crashes && hit(24)) throw new Crash()
    return seq
  }
  const typeAt = (seq: number | undefined): string | undefined =>
    seq === undefined ? undefined : session.eventAt(seq)?.type
  /** A span of the surface that leaves the head alone; null when there is none. */
  const span = (): readonly number[] | null => {
    const { nodes } = session.surface
    const first = typeAt(nodes[0]) === 'system/message' ? 1 : 0
    if (nodes.length <= first) return null
    const from = first + pick(nodes.length - first)
    return nodes.slice(from, from + 1 + pick(nodes.length - from))
  }
  const shadow = (seqs: readonly number[]): object => ({
    shadowedSeqs: seqs,
    shadowedRange: { start: seqs[0], end: seqs.at(-1) },
    shadowedTokenCount: seqs.length,
  })
  const replacing = (draft: Draft, seqs: readonly number[]): Draft =>
    over(draft, seqs[0] as number, seqs.at(-1) as number, seqs)

  const compact = (turn: number | null): void => {
    const seqs = span()
    if (seqs === null) return
    const id = fresh('compaction')
    const base = { compactionId: id, ...(hit(3) ? { sourceCommandId: fresh('command') } : {}) }
    put({ type: 'compaction/start', data: { ...base, turn } })
    const fate = pick(6)
    if (hit(4)) put({ type: 'session/title', data: { title: id } })
    if (fate < 5) {
      const summary = [textBlock(id)]
      put({ type: 'compaction/summary', data: { ...base, ...shadow(seqs), summary, provider: 'demo', model: 'm' } })
    }
    if (fate < 4) {
      const { data, ...rest } = said(id)
      const source = { kind: 'plugin', plugin: 'compact', ...base }
      put(replacing({ ...rest, data: { ...(data as object), source } }, seqs))
    }
    put({ type: 'compaction/end', data: { ...base, turn, ...(fate < 3 ? {} : { error: 'it failed' }) } })
  }

  /** Needs an open turn. */
  const prune = (): void => {
    const results = session.surface.nodes.filter(seq => typeAt(seq) === 'tool/result')
    const seq = results[pick(Math.max(results.length, 1))]
    const event = seq === undefined ? undefined : session.eventAt(seq)
    if (event?.type !== 'tool/result') return
    const [block] = event.data.message.content
    const message = { ...event.data.message, content: [{ ...block, content: [textBlock(fresh('pruned'))] }] }
    put({ type: 'compaction/prune', data: shadow([event.seq]) })
    put(replacing({ type: 'tool/result', data: { ...event.data, message } }, [event.seq]))
  }

  const writePrompt = (place: { turn: number; step: number }): void => {
    const { nodes } = session.surface
    const head = nodes.find(seq => typeAt(seq) === 'system/message')
    const draft = prompted(hit(3) ? '' : fresh('prompt'), place.turn, place.step)
    if (head === undefined || hit(8)) put(draft)
    else if (hit(6)) put(replacing(draft, [head]))
  }

  const writeHeader = (): void => {
    const logged = session.fold(requestFold).header
    if (logged !== null && !hit(4)) return
    const provider = hit(3) ? 'other' : 'demo'
    const reason = logged === null ? 'initial' : 'change'
    put({ type: 'request/header', data: { header: { config: { provider, model: 'm' } }, reason } })
    if (hit(2)) put({ type: 'request/context', data: { provider, model: 'm', contextWindow: 9 } })
  }

  /** Failed calls, each tried again; true when somebody stopped a wait. */
  const fail = (place: { turn: number; step: number }): boolean => {
    const provider = session.fold(requestFold).header?.data.header.config.provider
    for (const policyKey of hit(2) ? ['server', 'rate'] : ['server']) {
      const retryId = fresh('retry')
      const mode = hit(2) ? { mode: 'always' } : { mode: 'normal', maxRetries: 5 }
      for (let retry = 1; retry <= 1 + pick(2); retry += 1) {
        const torn: StreamChunk[] = [{ type: 'text-delta', index: 0, text: 'Hel' }, finishOf('error')]
        put({ type: 'assistant/attempt', data: { ...place, stream: streamOf(torn.slice(0, pick(3))) } })
        const plan = { retryId, ...place, provider, policyKey, retry, delayMs: pick(500), failure, ...mode }
        put({ type: 'llm/retry', data: plan })
        if (hit(6)) return true
        put({ type: 'llm/retry-started', data: { retryId, ...place, retry } })
      }
    }
    return false
  }

  const runTools = (ids: readonly string[], place: { turn: number; step: number }): void => {
    for (const id of ids) {
      const error = (code: string): Draft => {
        const message: ToolResultMessage = toolResult(id, code, fresh('result'))
        const content = [{ ...message.content[0], isError: true }]
        const data = { ...place, message: { ...message, content }, error: { name: 'ToolError', code } }
        return { type: 'tool/result', data, surfaceOp: 'append' }
      }
      const fate = pick(8)
      if (fate === 7) return // The scheduler failed: the rest stays without an answer.
      if (fate === 6) {
        put(error('TOOL_NOT_STARTED'))
        continue
      }
      const call = put(called(id, place.turn, place.step))
      const ok: Draft = {
        type: 'tool/result',
        data: { ...place, message: toolResult(id, id, fresh('result')) },
        surfaceOp: 'append',
      }
      put({ ...(fate === 5 ? error('ABORTED') : ok), sourceEventSeqs: [call] })
    }
  }

  /** True when the turn goes on. */
  const runStep = (place: { turn: number; step: number }): boolean => {
    put(stepStart(place.turn, place.step))
    writePrompt(place)
    if (place.step === 1 || hit(5)) put(said(fresh('question')))
    writeHeader()
    if (hit(4) && fail(place)) return false
    const answer = textBlock(fresh('answer'))
    const fate = pick(10)
    switch (fate) {
      case 6: {
        const stream = streamOf(chunksOf([answer]).slice(0, 3))
        const data = { ...place, message: assistant([answer]), stream, interrupted: true }
        put({ type: 'assistant/message', data, surfaceOp: 'append' })
        return false
      }
      case 7:
        put({ type: 'assistant/attempt', data: { ...place, stream: streamOf([]) } })
        return false
      case 8:
        put(streamed([answer, toolCall(fresh('call'))], place, 'max-tokens', true))
        return false
      case 9: {
        const data = { ...place, message: assistant([answer]), stream: [] }
        put({ type: 'assistant/message', data, surfaceOp: 'append' })
        return false
      }
      default: {
        const ids = Array.from({ length: pick(4) }, () => fresh('call'))
        const blocks = [...(hit(3) ? [{ type: 'reasoning' as const, text: 'hm' }] : []), answer]
        const kind = ids.length > 0 ? 'tool-calls' : 'stop'
        put(streamed([...blocks, ...ids.map(id => toolCall(id))], place, kind, hit(2)))
        runTools(ids, place)
        if (hit(3)) prune()
        return ids.length > 0
      }
    }
  }

  const runTurn = (): void => {
    const turn = session.fold(turnsFold).lastTurn + 1
    put(turnStart(turn))
    for (let step = 1, goesOn = !hit(9); goesOn && step < 6; step += 1) {
      if (hit(6)) compact(turn)
      goesOn = runStep({ turn, step })
      put(stepEnd(turn, step))
    }
    put({ type: 'turn/end', data: { turn, reason: { kind: hit(3) ? 'blocked' : 'completed' } } })
  }

  while (next < choices.length) {
    try {
      if (hit(4)) compact(null)
      runTurn()
    } catch (error) {
      if (!(error instanceof Crash)) throw error
      const events = storedEvents(session)
      session = Session.fromRestore({ header: header(), events, now, invariants, repair: true })
    }
  }
  return session
}
