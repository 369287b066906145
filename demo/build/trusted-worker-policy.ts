/** Name of the only Trusted Types policy of the page. */
export const workerPolicy = 'palimpsest-worker'
