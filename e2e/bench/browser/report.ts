/** The report for people: Markdown of what the report for programs says. */
import type { Row } from '../harness.ts'

export type Report = {
  readonly date: string
  readonly machine: string
  readonly load: readonly number[]
  readonly quick: boolean
  readonly rows: readonly (Row & { readonly file: string })[]
  readonly failures: readonly { readonly file: string; readonly message: string }[]
}

const figure = (value: number): string => String(Number(value.toPrecision(3)))

export function toMarkdown({ date, machine, load, quick, rows, failures }: Report): string {
  const missed = rows.filter(row => !row.met).length
  const lines = [
    '# Benchmarks in a browser',
    '',
    `The last run of \`npm run bench:browser -- --report\`: ${date.slice(0, 10)}, ${machine}, load ${figure(load[0] ?? 0)} before.`,
    ...(quick ? ['', '**A quick look: no figures to quote.**'] : []),
    '',
    'Each figure is the median of samples in shuffled rounds, each in a fresh worker. Trust the ratios, not the milliseconds:',
    'contestants of one row ran side by side. `≥ 5×`: at least 5 times as fast as the other. `≤ 2×`: at most twice what the',
    'other takes. A row that is measured against a limit has the limit in the column "other".',
    '',
    `Goals: ${rows.length - missed} met, ${missed} missed. Files that did not run: ${failures.length}.`,
  ]
  for (const file of new Set(rows.map(row => row.file))) {
    lines.push('', `## ${file.replace(/^.*\//, '').replace(/\.ts$/, '')}`, '')
    lines.push('| | ours | other | ratio | goal | |', '| --- | ---: | ---: | ---: | ---: | --- |')
    for (const { name, ours, peer, ratio, goal, met } of rows.filter(row => row.file === file)) {
      lines.push(
        `| ${name} | ${figure(ours)} | ${figure(peer)} | ${figure(ratio)}× | ${goal} | ${met ? 'met' : '**missed**'} |`,
      )
    }
  }
  for (const { file, message } of failures) lines.push('', `${file} did not run: ${message.split('\n')[0]}`)
  return `${lines.join('\n')}\n`
}
