/**
 * Puts in the beginnings and ends of steps that old logs lack, as few as will do, so that version 3 can have the log
 * (SPEC F10). Only for opening a log that is refused otherwise: nothing is moved, changed or dropped.
 */
import { isSafeNonNegativeInteger } from '../core/ids.ts'
import { isInventoryType } from './inventory.ts'
import { type MapSeq, opaqueAt, withReferences } from './references.ts'
import type { Migration, Stage, StageContext } from './migration.ts'
import type { StoredEvent } from './stored.ts'
import { promptOf } from './v2-to-v3.ts'

export const stepBoundaries: Migration = {
  from: 2,
  to: 2,
  header: older => older,
  open: context => (context.repair === null ? unchanged(context) : new Boundaries(context)),
}

const unchanged = ({ emit }: StageContext): Stage => ({ push: event => emit(event, event.seq), end: count => count })

type StepName = { readonly turn: number; readonly step: number }
type Members = Readonly<Record<string, unknown>>

class Boundaries implements Stage {
  readonly #context: StageContext
  /** Seq in the newer log by seq in the older one. */
  readonly #targets: number[] = []
  readonly #map: MapSeq = seq => this.#targets[seq] ?? null
  #next = 0
  #turn: number | null = null
  #step: (StepName & { readonly isInserted: boolean }) | null = null
  /** The last step of the open turn; 0 before the first. */
  #lastStep = 0
  /** Whether the log had a step already. */
  #hadStep = false
  #prompt = ''
  /** An event that needs a step, and what came after it, until something says which step that is. */
  #waiting: StoredEvent[] = []

  constructor(context: StageContext) {
    this.#context = context
  }

  push(event: StoredEvent): void {
    if (this.#waiting.length === 0) return this.#take(event)
    const step = this.#stepBefore(event)
    if (step === null) {
      this.#waiting.push(event)
      return
    }
    this.#release(step)
    this.#take(event)
  }

  end(inherited: number | null): number | null {
    if (this.#waiting.length > 0) this.#release(this.#lastStep + 1)
    if (inherited === null) return null
    const shift = this.#next - this.#targets.length
    return this.#targets[inherited] ?? inherited + shift
  }

  #take(event: StoredEvent): void {
    const named = namedStep(event)
    switch (event.type) {
      case 'turn/start':
      case 'turn/end':
        this.#closeAny(event)
        this.#turn = event.type === 'turn/start' ? turnOf(event) : null
        this.#step = null
        this.#lastStep = 0
        break
      case 'step/start': {
        this.#closeAny(event)
        const { turn, step } = numbersOf(event) ?? { turn: 0, step: 0 }
        this.#beginStep({ turn, step, isInserted: false })
        break
      }
      case 'step/end':
        if (!isSame(this.#step, numbersOf(event))) this.#closeInserted(event)
        this.#step = null
        break
      default:
        if (named !== null && named.turn === this.#turn) {
          if (!isSame(this.#step, named)) this.#closeInserted(event)
          if (this.#step === null) this.#insertStart(event, named)
        } else if (this.#needsStep(event)) {
          this.#waiting.push(event)
          return
        }
    }
    this.#put(event)
  }

  /** Whether version 3 cannot have the event where it stands: no head before it, or none to put beside it. */
  #needsStep(event: StoredEvent): boolean {
    if (this.#turn === null || this.#step !== null) return false
    if (event.type === 'user/message') return !this.#hadStep
    return event.type === 'request/header' && promptOf(event) !== this.#prompt
  }

  /** The number of the step that the waiting events stand in, now that `event` comes next; null when it does not say. */
  #stepBefore(event: StoredEvent): number | null {
    switch (event.type) {
      case 'step/start':
        // Twice the same number rather than 0, which no reader of version 3 takes.
        return Math.max(1, (numbersOf(event)?.step ?? 1) - 1)
      case 'turn/start':
      case 'turn/end':
        return this.#lastStep + 1
      case 'step/end': {
        // An end without a beginning says it as well as an event inside; of another turn, it only says that one ended.
        const ended = numbersOf(event)
        return ended !== null && ended.turn === this.#turn ? ended.step : this.#lastStep + 1
      }
      default: {
        const named = namedStep(event)
        return named !== null && named.turn === this.#turn ? named.step : null
      }
    }
  }

  #release(step: number): void {
    const waiting = this.#waiting
    this.#waiting = []
    const first = waiting[0]
    if (first !== undefined && this.#turn !== null) this.#insertStart(first, { turn: this.#turn, step })
    for (const event of waiting) this.#put(event)
  }

  #insertStart(event: StoredEvent, { turn, step }: StepName): void {
    this.#emitBefore(event, 'step/start', { turn, step })
    this.#beginStep({ turn, step, isInserted: true })
    const message = `${event.type} at seq ${event.seq} stands in no step: step ${step} of turn ${turn} was put around it`
    this.#context.repair?.({ code: 'step-boundary', seq: event.seq, message })
  }

  #closeInserted(event: StoredEvent): void {
    if (this.#step?.isInserted === true) this.#close(event)
  }

  /** Ends what is open where a step can no longer be; one that was recorded and never ended is listed. */
  #closeAny(event: StoredEvent): void {
    if (this.#step === null) return
    const { turn, step, isInserted } = this.#step
    if (!isInserted && turn !== this.#turn) return
    this.#close(event)
    if (isInserted) return
    const message = `${event.type} at seq ${event.seq} comes where step ${step} of turn ${turn} never ended: its end was put in`
    this.#context.repair?.({ code: 'step-boundary', seq: event.seq, message })
  }

  #close(event: StoredEvent): void {
    const { turn, step } = this.#step as StepName
    this.#emitBefore(event, 'step/end', { turn, step })
    this.#step = null
  }

  #beginStep(step: StepName & { readonly isInserted: boolean }): void {
    this.#step = step
    this.#lastStep = step.step
    this.#hadStep = true
  }

  #emitBefore({ seq, time }: StoredEvent, type: string, data: StepName): void {
    this.#context.emit({ type, seq: this.#next, time, data }, seq, true)
    this.#next += 1
  }

  #put(event: StoredEvent): void {
    if (event.type === 'request/header') this.#prompt = promptOf(event)
    const seq = this.#next
    const isKnown = isInventoryType(event.type, 2)
    const moved = isKnown ? withReferences(event, seq, this.#map, 'start') : opaqueAt(event, seq, this.#map)
    this.#targets[event.seq] = seq
    this.#next += 1
    this.#context.emit(moved, event.seq)
  }
}

/** The step an event says it belongs to. What replaces an older result says so only because that one did. */
function namedStep(event: StoredEvent): StepName | null {
  switch (event.type) {
    case 'tool/result':
      return event.surfaceOp === 'append' ? numbersOf(event) : null
    case 'assistant/message':
    case 'assistant/attempt':
    case 'tool/call':
      return numbersOf(event)
    default:
      return null
  }
}

function numbersOf({ data }: StoredEvent): StepName | null {
  const { turn, step } = isMembers(data) ? data : {}
  return isSafeNonNegativeInteger(turn) && isSafeNonNegativeInteger(step) ? { turn, step } : null
}

function turnOf({ data }: StoredEvent): number | null {
  const { turn } = isMembers(data) ? data : {}
  return isSafeNonNegativeInteger(turn) ? turn : null
}

const isSame = (left: StepName | null, right: StepName | null): boolean =>
  left !== null && right !== null && left.turn === right.turn && left.step === right.step

const isMembers = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
