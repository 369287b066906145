/** The version of this package. */
import { readFileSync } from 'node:fs'
import { CommandError } from './errors.ts'

/** Looks for the package this file is part of: built, it stands somewhere else. @throws {CommandError} `input`. */
export function packageVersion(): string {
  let folder = new URL('.', import.meta.url)
  for (;;) {
    try {
      const manifest = JSON.parse(readFileSync(new URL('package.json', folder), 'utf8')) as Record<string, unknown>
      if (manifest['name'] === 'palimpsest') return String(manifest['version'])
    } catch {
      // Not here.
    }
    const above = new URL('..', folder)
    if (above.href === folder.href) throw new CommandError('input', 'The package.json of palimpsest is not there')
    folder = above
  }
}
