/**
 * A property that fails is shrunk to a small counterexample, which can take longer than anybody waits, and no test runner
 * can interrupt it: from here on it is told as it is.
 */
import fc from 'fast-check'

const times = Number(process.env.PALIMPSEST_FUZZ ?? 1)
fc.configureGlobal({ interruptAfterTimeLimit: 60_000 * times, markInterruptAsFailure: true })
