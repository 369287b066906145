/** Reports to Node, in order. Of what is shown only the latest waits. */
import type { Report } from './protocol.ts'

export class Reporter {
  /** Page and scripts of a run are served below a path of its own. */
  readonly #run: string = /^\/run\/(\d+)\//.exec(globalThis.location.pathname)?.[1] ?? ''
  #waiting: Report[] = []
  #sending: Promise<void> | null = null

  say(report: Report): void {
    if (report.kind === 'shown') {
      this.#waiting = this.#waiting.filter(
        other => other.kind !== 'shown' || other.shown.messageId !== report.shown.messageId,
      )
    }
    this.#waiting.push(report)
    this.#sending ??= this.#send()
  }

  /** Resolves when Node has it. */
  async tell(report: Report): Promise<void> {
    this.say(report)
    while (this.#sending !== null) await this.#sending
  }

  /** Goes before all that waits. */
  async tellNow(report: Report): Promise<void> {
    await this.#post([report])
  }

  async #send(): Promise<void> {
    // What is said in the same moment goes along.
    await Promise.resolve()
    while (this.#waiting.length > 0) {
      const reports = this.#waiting
      this.#waiting = []
      await this.#post(reports)
    }
    this.#sending = null
  }

  async #post(reports: readonly Report[]): Promise<void> {
    await fetch(`/report?run=${this.#run}`, { method: 'POST', body: JSON.stringify(reports) })
  }
}

export const troubleOf = (error: unknown): string =>
  error instanceof Error ? `${error.name}: ${error.message}\n${error.stack ?? ''}` : String(error)

export const sleep = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))
