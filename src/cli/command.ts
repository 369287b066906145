/** What the command line is asked to do. */
import type { CliIo } from './io.ts'
import type { Opened, Opening } from './open.ts'

export type CommandName = 'verify' | 'migrate' | 'show' | 'stats'

export type Options = {
  readonly json: boolean
  readonly recover: boolean
  readonly progress: boolean
  /** Of `show`. */
  readonly messages: boolean
  readonly events: boolean
  /** Of `migrate`. */
  readonly output: string | null
  readonly force: boolean
}

/** Says what came of opening a file, refused or not. */
export type Command = (opening: Opening, options: Options, io: CliIo) => Promise<void>

/** Makes something of a log that opened. */
export type OpenedCommand = (opened: Opened, options: Options, io: CliIo) => Promise<void>
