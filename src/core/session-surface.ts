import type { SessionSeq } from './ids.ts'
import type { SurfaceState } from './surface.ts'

/** The surface as others see it: what the model reads now. Every read throws once an interpreter is withdrawn (SPEC M3). */
export class SessionSurface {
  readonly #read: () => SurfaceState
  #copy: readonly SessionSeq[] = Object.freeze([])
  #copyGeneration = 0

  /** `read` gives the state, or throws when it may not be read any more. */
  constructor(read: () => SurfaceState) {
    this.#read = read
  }

  /** Number of nodes. */
  get length(): number {
    return this.#read().nodes.length
  }

  /** Seqs of the nodes in reading order: a copy, made when asked for after a change. `at` and `length` cost nothing. */
  get nodes(): readonly SessionSeq[] {
    const { nodes, replaceGeneration } = this.#read()
    if (this.#copy.length !== nodes.length || this.#copyGeneration !== replaceGeneration) {
      this.#copy = Object.freeze([...nodes])
      this.#copyGeneration = replaceGeneration
    }
    return this.#copy
  }

  /** The seq at `position`; negative counts from the end. */
  at(position: number): SessionSeq | undefined {
    return this.#read().nodes.at(position)
  }

  /** Whether a projection changed what the node `seq` says. */
  isProjected(seq: SessionSeq): boolean {
    return this.#read().projected.has(seq)
  }

  /** +1 for each replacement. */
  get replaceGeneration(): number {
    return this.#read().replaceGeneration
  }

  /** +1 for each replacement and each message projection. */
  get contentGeneration(): number {
    return this.#read().contentGeneration
  }
}
