#!/usr/bin/env node
/** `palimpsest/cli`: the command line, as a program and as a function. */
import { runAsProgram } from './cli/program.ts'

export { run } from './cli/run.ts'
export type { CliIo, CliOutput } from './cli/io.ts'
export type { Outcome, ReportedFinding, VerifyReport } from './cli/report.ts'
export type { Stats, ToolStats } from './cli/stats.ts'

runAsProgram(import.meta.url)
