import { characterStart } from '../text/cut.ts'

/** Longest message that is shown: it may quote what a file holds. */
const LONGEST = 600

/** A message that may hold anything, short enough to be read. */
export const clipped = (message: string): string =>
  message.length <= LONGEST ? message : `${message.slice(0, characterStart(message, LONGEST))}…`
