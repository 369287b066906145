/** Every version of the format this build reads, and the way from each to the current one (SPEC F2). */
import { SESSION_FORMAT_VERSION } from '../core/events.ts'
import { FormatError } from './errors.ts'
import type { Migration } from './migration.ts'
import { v0ToV1 } from './v0-to-v1.ts'
import { v1ToV2 } from './v1-to-v2.ts'
import { v2ToV3 } from './v2-to-v3.ts'

/**
 * Orders migrations by the version they start from.
 *
 * @throws {FormatError} `no-route` when two start from one version, or one leads anywhere but to the next: a mistake of this build.
 */
export function catalogOf(migrations: readonly Migration[], current: number): readonly Migration[] {
  const ordered = [...migrations].sort((left, right) => left.from - right.from)
  ordered.forEach(({ from, to }, index) => {
    if (from !== index || to !== index + 1)
      throw new FormatError('no-route', `Expected a migration from ${index} to ${index + 1}; found ${from} to ${to}`)
  })
  if (ordered.length !== current)
    throw new FormatError('no-route', `Expected migrations up to version ${current}; found ${ordered.length}`)
  return ordered
}

const catalog = catalogOf([v0ToV1, v1ToV2, v2ToV3], SESSION_FORMAT_VERSION)

/** The migrations from `version` to the current one; none for the current one. */
export const migrationsFrom = (version: number): readonly Migration[] => catalog.slice(version)
