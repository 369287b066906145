/** Every invariant of the format, in the order they are asked (SPEC I2–I9). */
import type { Invariant } from '../invariant.ts'
import { compactionInvariant } from './compaction-invariant.ts'
import { retryInvariant } from './retry-invariant.ts'
import { sessionInvariant } from './session-invariant.ts'
import { streamInvariant } from './stream-invariant.ts'

export const allInvariants: readonly Invariant[] = [
  sessionInvariant,
  compactionInvariant,
  retryInvariant,
  streamInvariant,
]
