import type { PalimpsestError } from '../core/errors.ts'

type Outcome<Value> = {
  readonly promise: Promise<Value>
  readonly resolve: (value: Value) => void
  readonly reject: (error: PalimpsestError) => void
}

/** Outcomes by key, in whichever order they come and are asked for. */
export class Outcomes<Key, Value> {
  readonly #outcomes = new Map<Key, Outcome<Value>>()
  #ended: PalimpsestError | null = null

  /** The outcome of `key`, once there is one. */
  of(key: Key): Promise<Value> {
    return this.#outcome(key).promise
  }

  resolve(key: Key, value: Value): void {
    this.#outcome(key).resolve(value)
  }

  reject(key: Key, error: PalimpsestError): void {
    this.#outcome(key).reject(error)
  }

  /** Nobody will ask for it any more. */
  forget(key: Key): void {
    this.#outcomes.delete(key)
  }

  /** No more outcomes come: whoever waits gets `error`, now and later. */
  end(error: PalimpsestError): void {
    this.#ended = error
    for (const { reject } of this.#outcomes.values()) reject(error)
  }

  #outcome(key: Key): Outcome<Value> {
    let outcome = this.#outcomes.get(key)
    if (outcome === undefined) {
      let settle: Pick<Outcome<Value>, 'resolve' | 'reject'> | undefined
      const promise = new Promise<Value>((resolve, reject) => {
        settle = { resolve, reject }
      })
      promise.catch(() => undefined) // told to whom asks
      outcome = { promise, ...(settle as NonNullable<typeof settle>) }
      if (this.#ended !== null) outcome.reject(this.#ended)
      this.#outcomes.set(key, outcome)
    }
    return outcome
  }
}
