/** `migrate`: the log as canonical text of the current version, without what only opening it adds. */
import { isKnownEventType } from '../core/vocabulary.ts'
import { eventLine, headerLine } from '../format/write-log.ts'
import type { OpenedCommand } from './command.ts'
import { print, say } from './io.ts'
import type { Opened } from './open.ts'
import { writeWhole } from './output.ts'
import { count, inLine, plainJson } from './text.ts'

export const migrate: OpenedCommand = async (opened, { output, force }, io) => {
  const { events } = opened.log
  // Before a line is written: what an event nobody knows says of its sources may be impossible to write.
  for (const event of events) {
    if ('sourceEventSeqs' in event && !isKnownEventType(event.type)) eventLine(event)
  }
  if (output === null) return print(io.stdout, io.stdout.isTTY === true ? plainLines(opened) : linesOf(opened))
  await writeWhole(output, linesOf(opened), { force, mode: opened.mode })
  say(io, `palimpsest: wrote ${count(events.length, 'event')} to ${inLine(output)}\n`)
}

/** For a terminal: the same values, though not the same bytes. */
function* plainLines(opened: Opened): Generator<string> {
  for (const line of linesOf(opened)) yield plainJson(line)
}

function* linesOf({ session, log }: Opened): Generator<string> {
  yield headerLine(session.header)
  for (const event of log.events) yield eventLine(event)
}
