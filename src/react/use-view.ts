/** Any view of a session as a hook: no tearing, and a render only when the selected part changed (SPEC X1). */
import { type RefObject, useCallback, useEffect, useMemo, useRef, useSyncExternalStore } from 'react'

/** The part of a view store the hook reads; any store of this shape fits. */
export type ReadableStore<State> = {
  getSnapshot(): State
  getServerSnapshot(): State
  subscribe(listener: () => void): () => void
}

const whole = <State>(state: State): State => state

/**
 * The state of `store`, or what `select` takes from it. The component renders again when that changes by `isEqual`
 * (default: `Object.is`).
 */
export function useView<State>(store: ReadableStore<State>): State
export function useView<State, Selected>(
  store: ReadableStore<State>,
  select: (state: State) => Selected,
  isEqual?: (left: Selected, right: Selected) => boolean,
): Selected
export function useView<State, Selected>(
  store: ReadableStore<State>,
  select: (state: State) => Selected = whole as never,
  isEqual: (left: Selected, right: Selected) => boolean = Object.is,
): Selected {
  /** What was last on the screen: a new selector that selects an equal value keeps the reference. */
  const shown = useRef<Shown<Selected> | null>(null)
  const selection = useMemo(() => new Selection(store, select, isEqual, shown), [store, select, isEqual])
  // Of the store alone: a selector made anew in each render must not stop and start the store.
  const subscribe = useCallback((listener: () => void) => store.subscribe(listener), [store])
  const value = useSyncExternalStore(subscribe, selection.getSnapshot, selection.getServerSnapshot)
  useEffect(() => {
    shown.current = { value }
  }, [value])
  return value
}

type Shown<Selected> = { readonly value: Selected }

/** What one selector takes from one store; worked out once for each state. */
class Selection<State, Selected> {
  readonly #store: ReadableStore<State>
  readonly #select: (state: State) => Selected
  readonly #isEqual: (left: Selected, right: Selected) => boolean
  readonly #shown: RefObject<Shown<Selected> | null>
  #last: (Shown<Selected> & { readonly state: State }) | null = null

  constructor(
    store: ReadableStore<State>,
    select: (state: State) => Selected,
    isEqual: (left: Selected, right: Selected) => boolean,
    shown: RefObject<Shown<Selected> | null>,
  ) {
    this.#store = store
    this.#select = select
    this.#isEqual = isEqual
    this.#shown = shown
  }

  readonly getSnapshot = (): Selected => this.#of(this.#store.getSnapshot())
  readonly getServerSnapshot = (): Selected => this.#of(this.#store.getServerSnapshot())

  #of(state: State): Selected {
    const last = this.#last
    if (last !== null && Object.is(last.state, state)) return last.value
    const before = last ?? this.#shown.current
    const selected = this.#select(state)
    const value = before !== null && this.#isEqual(before.value, selected) ? before.value : selected
    this.#last = { state, value }
    return value
  }
}
