/** The command line: `verify`, `migrate`, `show` and `stats` (SPEC F17). */
import { PalimpsestError } from '../core/errors.ts'
import { FormatError } from '../format/errors.ts'
import { remarks } from './advice.ts'
import { readArguments, type Request } from './arguments.ts'
import type { CommandName, OpenedCommand } from './command.ts'
import { help } from './help.ts'
import { type CliIo, print, say } from './io.ts'
import { migrate } from './migrate.ts'
import { openFile } from './open.ts'
import { checkOutput } from './output.ts'
import { exitCodeOf } from './report.ts'
import { show } from './show.ts'
import { stats } from './stats.ts'
import { inLine } from './text.ts'
import { verify } from './verify.ts'
import { packageVersion } from './version.ts'

/** A log that opens and cannot be written: an event nobody knows holds what no line can. */
const REFUSED = 2
/** Arguments or a file that nothing can be done with. */
const UNUSABLE = 3

const commands: Readonly<Record<Exclude<CommandName, 'verify'>, OpenedCommand>> = { migrate, show, stats }

/**
 * Runs the command line and resolves to its exit code: 0 accepted, 1 accepted with repairs, 2 refused, 3 unusable
 * arguments or file. Never rejects.
 *
 * @param argv what stands behind the name of the program.
 * @param io `process`, or what stands for it.
 */
export async function run(argv: readonly string[], io: CliIo): Promise<number> {
  try {
    return await answer(readArguments(argv), io)
  } catch (error) {
    const { name, message } = error instanceof Error ? error : { name: 'Error', message: String(error) }
    const what =
      error instanceof PalimpsestError ? message : `Something went wrong that should not: ${name}: ${message}`
    say(io, `palimpsest: ${inLine(what)}\n`)
    return error instanceof FormatError ? REFUSED : UNUSABLE
  }
}

async function answer(request: Request, io: CliIo): Promise<number> {
  if (request.kind === 'help') {
    await print(io.stdout, [help])
    return 0
  }
  if (request.kind === 'version') {
    await print(io.stdout, [`${packageVersion()}\n`])
    return 0
  }
  const { command, file, options } = request
  if (options.output !== null) await checkOutput(options.output, options.force)
  const opening = await openFile(file, { ...options, purpose: command === 'migrate' ? 'store' : 'read' }, io)
  if (command === 'verify') await verify(opening, options, io)
  else {
    for (const remark of remarks(opening, options.recover)) say(io, remark)
    if (opening.refusal === null) await commands[command](opening, options, io)
  }
  return exitCodeOf(opening)
}
