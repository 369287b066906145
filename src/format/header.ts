/**
 * The first line of a stored log. Its version is looked at before anything else of it, so that a log of a newer build is
 * never called damaged (SPEC F3).
 */
import { SESSION_FORMAT_VERSION } from '../core/events.ts'
import { isSafeNonNegativeInteger } from '../core/ids.ts'
import { FormatError, shown } from './errors.ts'
import type { StoredHeader } from './stored.ts'

type Check = (value: unknown) => boolean
type Members = { readonly [name: string]: readonly [check: Check, expected: string, optional?: true] }

const text: Check = value => typeof value === 'string'
const count: Check = value => isSafeNonNegativeInteger(value) && value < Number.MAX_SAFE_INTEGER

const common: Members = {
  id: [value => text(value) && value !== '', 'a non-empty string'],
  createdAt: [count, 'a safe integer of at least 0'],
  cwd: [text, 'a string', true],
  parentSession: [text, 'a string', true],
  origin: [value => value === 'subagent', "'subagent'", true],
  delegationDepth: [count, 'a safe integer of at least 0'],
  agentPreset: [text, 'a string', true],
}
const withLength: Members = { ...common, seedLength: [count, 'a safe integer of at least 0', true] }
const withFlag: Members = { ...common, isSeeded: [value => typeof value === 'boolean', 'a boolean'] }

/** The members of a header, by version. */
const members: readonly Members[] = [withLength, withLength, withFlag, withFlag]

/**
 * Parses the first line of a log and says which version it is, without a look at any event.
 *
 * @throws {FormatError} `newer-version`, `no-route`, `malformed-version`, `foreign-header`; all before the shape.
 */
export function readHeader(line: string): StoredHeader {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    // What the parser says quotes the line: nothing of a file nobody knows goes into an error.
    throw new FormatError('foreign-header', 'The first line is not the header of a session: it is not JSON', AT)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new FormatError('foreign-header', 'The first line is not the header of a session: it is no object', AT)
  }
  return checkVersion(value)
}

const AT = { line: 1 }

/**
 * Looks at the version of a header, and at nothing else of it.
 *
 * @throws {FormatError} `newer-version`, `no-route`, `malformed-version`, `foreign-header`.
 */
export function checkVersion(header: object): StoredHeader {
  const { type, version, id } = header as Record<string, unknown>
  const sessionId = typeof id === 'string' ? id : undefined
  if (typeof version === 'number' && version > SESSION_FORMAT_VERSION) {
    const what = `This log has format version ${version}; this build reads 0 to ${SESSION_FORMAT_VERSION}. It was written by a newer build: use that one. Nothing was changed.`
    throw new FormatError('newer-version', what, {
      ...AT,
      sessionId,
      expected: SESSION_FORMAT_VERSION,
      actual: version,
    })
  }
  if (type !== 'session' || !Object.hasOwn(header, 'version')) {
    throw new FormatError('foreign-header', 'The first line is not the header of a session', AT)
  }
  if (typeof version !== 'number') {
    throw new FormatError(
      'malformed-version',
      `Expected a number as the version of the log; found ${kindOf(version)}`,
      {
        ...AT,
        sessionId,
      },
    )
  }
  if (members[version] === undefined || Object.is(version, -0)) {
    const what = `There is no way from format version ${version} to ${SESSION_FORMAT_VERSION}`
    throw new FormatError('no-route', what, { ...AT, sessionId, expected: SESSION_FORMAT_VERSION, actual: version })
  }
  return header as StoredHeader
}

/**
 * Checks the members of a header of a version that can be read, and takes its `type` off. `mend` is told of a member the
 * version does not have, which is left out then, and of a missing one that says nothing by being there; without it both
 * are refused.
 *
 * @throws {FormatError} `header` with the path of what is wrong.
 */
export function checkStoredHeader(
  header: StoredHeader,
  mend?: (member: string, is: 'surplus' | 'missing') => void,
): StoredHeader {
  const known = members[header.version] as Members
  const sessionId = typeof header.id === 'string' ? header.id : undefined
  const fail = (name: string, expected: string): never => {
    const what = `The header of a log of version ${header.version} should have ${expected} at $.${shown(name)}`
    throw new FormatError('header', what, { ...AT, sessionId, path: `$.${name}` })
  }
  const checked: Record<string, unknown> = { version: header.version }
  for (const [name, [check, expected, optional]] of Object.entries(known)) {
    if (!Object.hasOwn(header, name)) {
      if (optional === true) continue
      if (name !== 'delegationDepth' || mend === undefined) fail(name, expected)
      mend?.(name, 'missing')
      continue
    }
    if (!check(header[name])) fail(name, expected)
    checked[name] = header[name]
  }
  for (const name of Object.keys(header)) {
    if (name === 'type' || name === 'version' || Object.hasOwn(known, name)) continue
    if (mend === undefined) fail(name, 'nothing')
    else mend(name, 'surplus')
  }
  return checked as StoredHeader
}

const kindOf = (value: unknown): string =>
  value === null
    ? 'null'
    : Array.isArray(value)
      ? 'an array'
      : typeof value === 'object'
        ? 'an object'
        : `a ${typeof value}`
