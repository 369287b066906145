/** Numbers and times as people read them. */

/** `12,000`. By hand: the first number that is left to the browser's own formatter takes it some 50 ms. */
export const grouped = (count: number): string => String(count).replace(/\B(?=(?:\d{3})+$)/g, ',')

/** `3 events`, `1 event`, `12,000 events`. */
export const counted = (count: number, noun: string): string => `${grouped(count)} ${noun}${count === 1 ? '' : 's'}`

/** A time spent: `40 ms`, `1.4 s`, `2 min 5 s`. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1_000)} s`
}

/** Tokens: `0.4k`, `12k`; small counts as they are. */
export function tokens(count: number): string {
  if (count < 1_000) return String(count)
  return `${(count / 1_000).toFixed(count < 10_000 ? 1 : 0)}k`
}

/** An amount of data: `48 kB`, `1.2 MB`, `12 MB`. */
export function bytes(count: number): string {
  if (count < 1_000) return counted(count, 'byte')
  let [value, unit] = [count, 0]
  // What would round to a thousand of a unit is one of the next.
  while (value >= 999.5 && unit < 4) [value, unit] = [value / 1_000, unit + 1]
  return `${value.toFixed(value < 9.95 ? 1 : 0)} ${['byte', 'kB', 'MB', 'GB', 'TB'][unit]}`
}

/** A day and a time of this device: `today, 14:05`, `3 Dec, 14:05`. */
export function dayAndTime(time: number, now: number): string {
  const [date, today] = [new Date(time), new Date(now)]
  if (Number.isNaN(date.getTime())) return String(time)
  const hours = date.toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' })
  if (date.toDateString() === today.toDateString()) return `today, ${hours}`
  return `${date.getDate()} ${date.toLocaleDateString('en', { month: 'short' })}, ${hours}`
}

/** A time of the day with milliseconds, of this device. */
export function clock(time: number): string {
  const date = new Date(time)
  if (Number.isNaN(date.getTime())) return String(time)
  const two = (value: number) => String(value).padStart(2, '0')
  const ms = String(date.getMilliseconds()).padStart(3, '0')
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${ms}`
}

/** Seqs in a few words: `#4`, `#4…#9`, `#4, #7 and 12 more`. */
export function seqsInWords(seqs: readonly number[]): string {
  const [first = 0, second] = seqs
  if (second === undefined) return `#${first}`
  if (seqs.every((seq, index) => seq === first + index)) return `#${first}…#${seqs.at(-1) ?? first}`
  return seqs.length === 2 ? `#${first}, #${second}` : `#${first}, #${second} and ${seqs.length - 2} more`
}
