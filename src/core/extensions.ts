/** What one session knows besides the format: event types and interpreters, registered at run time (SPEC L18, M2, M3). */
import { refusal, SessionError } from './errors.ts'
import type { EventDefinition } from './event-definition.ts'
import type { SessionEvent } from './events.ts'
import { isSafeNonNegativeInteger } from './ids.ts'
import type { JsonValue } from './json.ts'
import { inWords, type Interpreters, type MessageProjection, missingInterpreter } from './message-projection.ts'
import { isString, listOf } from './value-shapes.ts'
import { isKnownEventType, isProjectingEventType } from './vocabulary.ts'

export type ExtensionOptions = {
  /** Event types besides the format's. */
  readonly eventTypes?: readonly EventDefinition[]
  /** Interpreters of events that change messages, one for each type. */
  readonly projections?: readonly MessageProjection[]
}

export class Extensions implements Interpreters {
  readonly #definitions = new Map<string, EventDefinition>()
  readonly #projections = new Map<string, MessageProjection>()
  readonly #used = new Set<string>()
  readonly #types = new Set<string>()
  readonly #ignored = new Set<string>()
  /** The type whose interpreter was used and is gone. */
  #withdrawn: string | null = null

  constructor({ eventTypes = [], projections = [] }: ExtensionOptions) {
    for (const definition of eventTypes) this.define(definition)
    for (const projection of projections) this.register(projection)
  }

  /** Makes a type known. @throws {SessionError} `registration` when another definition has it. */
  define(definition: EventDefinition): void {
    const { type } = definition
    const known = this.#definitions.get(type)
    if (known === definition) return
    if (known !== undefined || isKnownEventType(type)) {
      throw new SessionError('registration', `Event type ${type} is already defined`)
    }
    // Its events were passed over so far: from now on they would not be, and a restore would say otherwise.
    if (this.#ignored.has(type)) {
      throw new SessionError('registration', `Event type ${type} must be defined before its events are read`)
    }
    this.#definitions.set(type, definition)
  }

  /**
   * @throws {SessionError} `registration` for a second interpreter of a type, a type that is not said to project, or a
   * version a keyframe could not keep.
   */
  register(projection: MessageProjection): () => void {
    const { type, version } = projection
    if (!isSafeNonNegativeInteger(version)) throw new SessionError('registration', `${type} has no version that counts`)
    if (!this.needs(type)) throw new SessionError('registration', `Event type ${type} is not defined as projecting`)
    if (this.#projections.has(type)) throw new SessionError('registration', `${type} has an interpreter already`)
    this.#projections.set(type, projection)
    let isRegistered = true
    return () => {
      // Once: it may be registered again, and that is not this one's to end.
      if (!isRegistered) return
      isRegistered = false
      this.#projections.delete(type)
      if (this.#used.has(type)) this.#withdrawn ??= type
    }
  }

  get(type: string): MessageProjection | undefined {
    return this.#projections.get(type)
  }

  needs(type: string): boolean {
    return isProjectingEventType(type) || this.#definitions.get(type)?.projects === true
  }

  /** Whether a type is in the vocabulary. Bound, so that it can be handed on. */
  readonly knows = (type: string): boolean => isKnownEventType(type) || this.#definitions.has(type)

  definition(type: string): EventDefinition | undefined {
    return this.#definitions.get(type)
  }

  /** Everything registered, as options for a session that should know the same. */
  get options(): ExtensionOptions {
    return { eventTypes: [...this.#definitions.values()], projections: [...this.#projections.values()] }
  }

  /** @throws {SessionError} `payload` when the definition of the event's type finds something wrong. */
  checkPayload(event: SessionEvent): void {
    if (this.#definitions.size === 0) return
    const problem = this.#definitions.get(event.type)?.problem
    if (problem === undefined) return
    let found: string | null | undefined
    try {
      found = problem(event.data as JsonValue)
    } catch (error) {
      throw refusal('payload', event, `could not be checked by its definition: ${inWords(error)}`, undefined, {
        cause: error,
      })
    }
    // Whatever else it answers, such as a promise, does not say that the payload is fine.
    if (found !== null && found !== undefined) {
      throw refusal('payload', event, `was refused by its definition: ${inWords(found)}`)
    }
  }

  /** Takes note of a committed event of a type the core does not own. */
  committed({ type, ignorable }: { readonly type: string; readonly ignorable?: true }, projects: boolean): void {
    if (this.#definitions.size === 0 && ignorable !== true && !projects) return
    if (projects) {
      this.#used.add(type)
      if (!this.#projections.has(type)) this.#withdrawn ??= type
    }
    if (this.#definitions.has(type)) this.#types.add(type)
    else if (ignorable === true && !isKnownEventType(type)) this.#ignored.add(type)
  }

  /** @throws {SessionError} `interpreter-withdrawn` when what the surface says cannot be told any more (SPEC M3). */
  checkInterpreters(): void {
    if (this.#withdrawn === null) return
    const type = this.#withdrawn
    const message = `The interpreter of ${type} was removed after it was used: open the session again with it`
    throw new SessionError('interpreter-withdrawn', message, { eventType: type })
  }

  /** What a keyframe has to say of extensions: what was used, what was seen, what was passed over. */
  toJSON(): ExtensionsSeen {
    const interpreters = [...this.#used].map(type => [type, (this.#projections.get(type) as MessageProjection).version])
    return {
      interpreters: Object.fromEntries(interpreters) as Record<string, number>,
      types: [...this.#types],
      ignored: [...this.#ignored],
    }
  }

  /**
   * Takes over what a keyframe says.
   *
   * @throws {SessionError} `interpreter-missing`; `keyframe` when a replay of the log would now come out differently.
   */
  restore({ interpreters, types, ignored }: ExtensionsSeen): void {
    if (![types, ignored].every(listOf(isString))) throw stale('it does not say which types there were')
    for (const [type, version] of Object.entries(interpreters)) {
      const projection = this.#projections.get(type)
      if (projection === undefined && this.needs(type)) throw missingInterpreter(type)
      if (projection?.version !== version) throw stale(`${type} was interpreted by another version of its interpreter`)
      this.#used.add(type)
    }
    for (const type of types) {
      if (!this.#definitions.has(type)) throw stale(`${type} is not defined any more`)
      if (this.needs(type) && !this.#used.has(type)) throw stale(`${type} was not interpreted`)
      this.#types.add(type)
    }
    for (const type of ignored) {
      if (this.knows(type)) throw stale(`${type} was not known`)
      this.#ignored.add(type)
    }
  }
}

export type ExtensionsSeen = {
  /** Version of the interpreter of each type that changed messages. */
  readonly interpreters: Readonly<Record<string, number>>
  /** Defined types of which there are events. */
  readonly types: readonly string[]
  /** Unknown types whose events said they may be ignored. */
  readonly ignored: readonly string[]
}

export const stale = (why: string): SessionError => new SessionError('keyframe', `The keyframe cannot be used: ${why}`)
