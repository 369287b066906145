/** `verify`: whether a log opens, and what that takes. */
import { adviceFor, placeInWords } from './advice.ts'
import type { Command } from './command.ts'
import { print } from './io.ts'
import type { Opening } from './open.ts'
import { reportOf, type VerifyReport } from './report.ts'
import { columns, count, inLine, plainJson } from './text.ts'

/** Findings shown to people; programs get all. */
const MOST = 20

export const verify: Command = async (opening, { json, recover }, io) => {
  const report = reportOf(opening)
  await print(io.stdout, json ? [`${plainJson(JSON.stringify(report))}\n`] : inWords(opening, report, recover))
}

function* inWords(opening: Opening, report: VerifyReport, recover: boolean): Generator<string> {
  const { outcome, version, events, surface, closers, findings } = report
  const words = { accepted: 'accepted', repaired: 'accepted with repairs', refused: 'refused' }
  yield `${inLine(opening.file)}: ${words[outcome]}\n`
  if (opening.refusal !== null) {
    const { refusal } = opening
    const place = placeInWords(refusal)
    yield columns([
      ['version', version === null ? 'none' : String(version)],
      ['events', `${events} before it`],
      ['refusal', place === '' ? refusal.code : `${refusal.code} at ${place}`],
      ['', inLine(refusal.message)],
      ['', adviceFor(opening, recover)],
    ])
    return
  }
  const { log, session } = opening
  yield columns([
    [
      'version',
      version === session.header.version ? String(version) : `${version}, opened as ${session.header.version}`,
    ],
    ['events', events === log.events.length ? String(events) : `${events}, opened as ${log.events.length}`],
    ['surface', `${count(surface.length, 'event')}, ${count(session.messages.length, 'message')}`],
    ...log.repairs.map(repair => ['repaired', told(repair.code, placeInWords(repair), repair.message)] as const),
    ...closers.map(({ type, code }) => ['closed with', code === undefined ? type : inLine(`${type} ${code}`)] as const),
  ])
  if (findings.length === 0) return
  yield `${count(findings.length, 'finding')} beside that; the log opens all the same:\n`
  yield columns(
    findings.slice(0, MOST).map(({ code, seq, opened, line, message }) => {
      const place = placeInWords({ ...(line === undefined ? {} : { line }), ...(seq === undefined ? {} : { seq }) })
      return [code, told(opened === undefined ? place : `seq ${opened} when opened`, '', message)] as const
    }),
  )
  if (findings.length > MOST) yield `  … and ${findings.length - MOST} more (--json has all)\n`
}

const told = (what: string, place: string, message: string): string =>
  [what, place, inLine(message)].filter(part => part !== '').join(': ')
