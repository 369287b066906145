/** Rows of benchmarks, for people. */

const figure = value => String(Number(value.toPrecision(3)))

/** `rows` are those of `--json`. */
export function printTable(rows) {
  const lines = [
    ['', 'ours', 'other', 'ratio', 'goal', ''],
    ...rows.map(row => [
      row.name,
      figure(row.ours),
      figure(row.peer),
      `${figure(row.ratio)}×`,
      row.goal,
      row.met ? 'met' : 'MISSED',
    ]),
  ]
  const widths = lines[0].map((_, column) => Math.max(...lines.map(line => line[column].length)))
  for (const line of lines) {
    console.log(line.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]) : cell.padStart(widths[i]))).join('  '))
  }
}
