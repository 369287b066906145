/** Keeps a scrolled view at its end while the reader is there, and leaves it alone otherwise. */

const NEAR = 32

export class Follow {
  readonly #view: HTMLElement
  readonly #jump: HTMLButtonElement | null
  #atEnd = true

  /** `jump` is shown while the reader is elsewhere, and leads back. */
  constructor(view: HTMLElement, jump: HTMLButtonElement | null = null) {
    this.#view = view
    this.#jump = jump
    view.addEventListener('scroll', () => this.#look(), { passive: true })
    new ResizeObserver(() => this.keep()).observe(view)
    jump?.addEventListener('click', () => {
      this.toEnd()
      view.focus({ preventScroll: true })
    })
  }

  /** After a change of the content. */
  keep(): void {
    if (this.#atEnd) this.#view.scrollTop = this.#view.scrollHeight
    this.#look()
  }

  /** Goes to the end and stays there. */
  toEnd(): void {
    this.#atEnd = true
    this.keep()
  }

  #look(): void {
    const { scrollHeight, scrollTop, clientHeight } = this.#view
    this.#atEnd = scrollHeight - scrollTop - clientHeight < NEAR
    if (this.#jump !== null) this.#jump.hidden = this.#atEnd
  }
}
