/** What stops a command before a log is accepted or refused: its arguments, or a file (exit code 3). */
import { PalimpsestError } from '../core/errors.ts'

export type CommandErrorCode =
  /** No such command, option or number of files. */
  | 'usage'
  /** The file cannot be read. */
  | 'input'
  /** The result cannot be written. */
  | 'output'

export class CommandError extends PalimpsestError<CommandErrorCode> {
  override readonly name = 'CommandError'
}

/** The code of an error of the system; a text even where there is none. */
export const systemCode = (error: unknown): string =>
  typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : ''

const words: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EISDIR: 'it is a directory',
  ENOTDIR: 'a part of its path is no directory',
  EACCES: 'it may not be opened',
  EPERM: 'it may not be opened',
  EEXIST: 'it is there already',
  ELOOP: 'its links lead in a circle',
  ENAMETOOLONG: 'its name is too long',
  ENOSPC: 'no space is left',
  EROFS: 'it is on a file system that cannot be written',
}

/** What the system says is wrong with a file. */
export const systemWords = (error: unknown): string =>
  words[systemCode(error)] ?? (error instanceof Error ? error.message : String(error))
