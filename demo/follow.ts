/** Keeps a scrolled view at its end while the reader is there, and leaves it alone otherwise. */

const NEAR = 32

export class Follow {
  readonly #view: HTMLElement
  readonly #jump: HTMLButtonElement | null
  #atEnd = true
  /** The view shows something to be read from its start. */
  #held = false
  /** Where the view was when it was last looked at. */
  #top = 0

  /** `jump` is shown while the reader is elsewhere, and leads back. */
  constructor(view: HTMLElement, jump: HTMLButtonElement | null = null) {
    this.#view = view
    this.#jump = jump
    view.addEventListener('scroll', () => this.#look(), { passive: true })
    view.addEventListener('toggle', () => this.#look(), true) // who opens something wants to read that
    new ResizeObserver(() => this.keep()).observe(view)
    jump?.addEventListener('click', () => {
      this.toEnd()
      view.focus({ preventScroll: true })
    })
  }

  /** After a change of the content. */
  keep(): void {
    if (this.#held) return
    // A reader who has just scrolled up is told apart before the scroll event comes: it may be later than this change.
    if (this.#view.scrollTop < this.#top - 1 && this.#toEnd() >= NEAR) this.#atEnd = false
    if (this.#atEnd) this.#view.scrollTop = this.#view.scrollHeight
    this.#look()
  }

  /** Shows the beginning until `toEnd` is called. */
  hold(): void {
    this.#held = true
    this.#view.scrollTop = 0
    if (this.#jump !== null) this.#jump.hidden = true
  }

  /** Goes to the end and stays there. */
  toEnd(): void {
    this.#held = false
    this.#atEnd = true
    this.#top = 0
    this.keep()
  }

  #toEnd(): number {
    const { scrollHeight, scrollTop, clientHeight } = this.#view
    return scrollHeight - scrollTop - clientHeight
  }

  #look(): void {
    if (this.#held) return
    this.#top = this.#view.scrollTop
    this.#atEnd = this.#toEnd() < NEAR
    if (this.#jump !== null) this.#jump.hidden = this.#atEnd
  }
}
