/** Runs the files in `rows/` one after the other against the built page; a file that fails does not stop the others. */
import type { Row } from '../harness.ts'
import { BrowserBench, type BrowserRows } from './bench.ts'
import { Browser } from './browser.ts'
import { bulkRows } from './rows/bulk.ts'
import { diskRows } from './rows/disk.ts'
import { floodRows } from './rows/flood.ts'
import { forkRows } from './rows/fork.ts'
import { heapRows } from './rows/heap.ts'
import { loneRows } from './rows/lone.ts'
import { openRows } from './rows/open.ts'
import { pageRows } from './rows/page.ts'
import { reloadRows } from './rows/reload.ts'
import { restoreRows } from './rows/restore.ts'
import { streamRows } from './rows/stream.ts'
import { serveFolder } from './server.ts'

export { toMarkdown } from './report.ts'

/** In this order: what reads the same stored logs comes after each other. */
const files: Readonly<Record<string, BrowserRows>> = {
  lone: loneRows,
  flood: floodRows,
  bulk: bulkRows,
  reload: reloadRows,
  disk: diskRows,
  page: pageRows,
  open: openRows,
  fork: forkRows,
  heap: heapRows,
  restore: restoreRows,
  stream: streamRows,
}

/** Origins the page is served from. */
const ORIGINS = 3

const pathOf = (name: string): string => `e2e/bench/browser/rows/${name}.ts`

export const filesWith = (filter: string): readonly string[] =>
  Object.keys(files)
    .map(pathOf)
    .filter(path => path.includes(filter))

export type RunOptions = {
  /** Where the built page is. */
  readonly folder: string
  readonly filter: string
  readonly quick: boolean
  readonly onFile: (file: string) => void
  readonly onFailure: (file: string, message: string) => void
}

export type RunResult = {
  readonly browser: string
  readonly rows: readonly (Row & { readonly file: string })[]
  readonly failures: readonly { readonly file: string; readonly message: string }[]
}

/** `stop` ends the browser and forgets its profiles; the run then fails. */
export function startRun(options: RunOptions): { readonly result: Promise<RunResult>; stop(): Promise<void> } {
  const browser = new Browser()
  return { result: run(options, browser), stop: () => browser.end() }
}

async function run({ folder, filter, quick, onFile, onFailure }: RunOptions, browser: Browser): Promise<RunResult> {
  const served = await serveFolder(folder, ORIGINS)
  const bench = new BrowserBench({ quick, browser, origins: served.origins })
  const rows: (Row & { file: string })[] = []
  const failures: { file: string; message: string }[] = []
  try {
    for (const [name, measure] of Object.entries(files)) {
      const file = pathOf(name)
      if (!file.includes(filter)) continue
      onFile(file)
      try {
        rows.push(...(await measure(bench)).map(row => ({ file, ...row })))
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error)
        failures.push({ file, message })
        onFailure(file, message)
      }
    }
  } finally {
    await browser.end()
    await served.close()
  }
  return { browser: `Chromium ${browser.version}`, rows, failures }
}
