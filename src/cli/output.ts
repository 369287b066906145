/** A file that is there as a whole or not at all. */
import { randomBytes } from 'node:crypto'
import { link, lstat, open, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { CommandError, systemCode, systemWords } from './errors.ts'

/** Characters written at once, about. */
const PIECE = 256_000

/** Refuses a place where `writeWhole` could not write. @throws {CommandError} `output`. */
export async function checkOutput(file: string, force: boolean): Promise<void> {
  const facts = await lstat(file).catch((error: unknown) => {
    if (systemCode(error) === 'ENOENT') return null
    throw unwritable(file, error)
  })
  if (facts === null) {
    const folder = await lstat(dirname(file)).catch(() => null)
    if (folder === null) throw new CommandError('output', `Cannot write ${file}: there is no such directory`)
    return
  }
  // A device or a link would be replaced, not written to.
  if (!facts.isFile()) throw new CommandError('output', `Cannot write ${file}: it is there, and not a plain file`)
  if (!force) throw taken(file)
}

/**
 * Writes texts to a file of their own beside `file`, which takes its place at the end.
 *
 * @throws {CommandError} `output`; then `file` is as it was.
 */
export async function writeWhole(
  file: string,
  texts: Iterable<string>,
  { force, mode = 0o666 }: { readonly force: boolean; readonly mode?: number | undefined },
): Promise<void> {
  const temporary = join(dirname(file), `.${basename(file)}.${randomBytes(6).toString('hex')}.tmp`)
  try {
    const handle = await open(temporary, 'wx', mode)
    try {
      let piece = ''
      for (const text of texts) {
        piece += text
        if (piece.length < PIECE) continue
        await handle.writeFile(piece)
        piece = ''
      }
      await handle.writeFile(piece)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await (force ? rename(temporary, file) : place(temporary, file))
  } catch (error) {
    throw systemCode(error) === 'EEXIST' ? taken(file) : unwritable(file, error)
  } finally {
    // What came of it is known by now, and says more than this could.
    await rm(temporary, { force: true }).catch(() => undefined)
  }
}

/** Gives the file its name, unless somebody took it meanwhile. */
async function place(temporary: string, file: string): Promise<void> {
  try {
    await link(temporary, file)
  } catch (error) {
    // Not every file system has links; then there is a moment in which the other one would be lost.
    if (!['EPERM', 'ENOTSUP', 'ENOSYS', 'EOPNOTSUPP'].includes(systemCode(error))) throw error
    await checkOutput(file, false)
    await rename(temporary, file)
  }
}

const taken = (file: string): CommandError =>
  new CommandError('output', `Cannot write ${file}: it is there already (--force overwrites it)`)

const unwritable = (file: string, error: unknown): Error =>
  error instanceof Error && systemCode(error).startsWith('E')
    ? new CommandError('output', `Cannot write ${file}: ${systemWords(error)}`, {}, { cause: error })
    : (error as Error)
