/** The command line as a program. */
import { realpathSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { run } from './run.ts'

/** Runs the command line when the module at `url` is the program that was started, and not when it is imported. */
export function runAsProgram(url: string): void {
  if (!isProgram(url)) return
  // A pipe nobody reads any more is also told where it is written to.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined)
  void run(process.argv.slice(2), process).then(code => {
    process.exitCode = code
  })
}

function isProgram(url: string): boolean {
  const [, started] = process.argv
  if (started === undefined) return false
  try {
    // Packages are started through a link.
    return pathToFileURL(realpathSync(started)).href === url
  } catch {
    return false
  }
}
