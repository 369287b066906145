/** Directives: words in square brackets a person puts into a prompt to choose pace, length and failure of the answer. */

export const failures = ['rate-limit', 'server', 'overflow', 'cut', 'cut-tool', 'close', 'length', 'stall'] as const
export type Failure = (typeof failures)[number]

export type Directives = {
  /** The prompt without its directives. */
  readonly text: string
  readonly failure: Failure | null
  readonly pace: 'normal' | 'slow' | 'fast'
  readonly isLong: boolean
}

/** Where in its turn a request stands: what `once` and `later` ask about. */
export type Moment = {
  /** How often this very request was sent before. */
  readonly attempt: number
  /** True when this turn has tool results already. */
  readonly isLater: boolean
}

/** Reads the directives of a prompt. `[fail:once:X]` fails first attempts only, `[fail:later:X]` only after a tool ran. */
export function readDirectives(prompt: string, moment: Moment): Directives {
  const words = [...prompt.matchAll(/\[([a-z:-]+)\]/g)].map(match => match[1] ?? '')
  const isNow = (when: string): boolean =>
    when === 'once' ? moment.attempt === 0 : when === 'later' ? moment.isLater : true
  const failure = words.flatMap(word => {
    const [, when = '', name] = /^fail:(?:(once|later):)?(.+)$/.exec(word) ?? []
    return failures.filter(known => known === name && isNow(when))
  })[0]
  return {
    text: prompt
      .replace(/\[(?:fail:[a-z:-]+|slow|fast|long)\]/g, ' ')
      .replace(/\s+/g, ' ')
      .trim(),
    failure: failure ?? null,
    pace: words.includes('slow') ? 'slow' : words.includes('fast') ? 'fast' : 'normal',
    isLong: words.includes('long'),
  }
}
