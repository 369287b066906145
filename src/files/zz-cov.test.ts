import { writeFileSync } from 'node:fs'
import { it } from 'vitest'
import { loadPeer } from '../../e2e/bench/peer.ts'
import { readLog, newLogReader } from './read-log.ts'
import { v0Log } from './v0-log-kit.ts'
import { linesOf } from './v0-lines-kit.ts'
import { validateLog } from '../format/validate.ts'
it('cov', async () => {
  const { Session } = await loadPeer()
  const dump: unknown[] = []
  const count: Record<string, number> = {}
  const inc = (k: string, n = 1) => (count[k] = (count[k] ?? 0) + n)
  let r = 777
  const rnd = (n: number) => {
    r = (r + 0x6d2b79f5) | 0
    let t = Math.imul(r ^ (r >>> 15), 1 | r)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) % n
  }
  for (let i = 0; i < 500; i += 1) {
    const choices = Array.from({ length: rnd(500) }, () => rnd(1 << 16))
    const log = v0Log(Session, choices)
    inc('logs')
    inc('events', log.events.length)
    inc('said', log.said.length)
    for (const e of log.events) {
      inc(e.type)
      if (typeof e.surfaceOp === 'object') inc(e.type + ' replace')
    }
    if (log.header['seedLength']) inc('forks')
    else if (log.header['seedLength'] === 0) inc('seed0')
    if (log.events.at(-1)?.type !== 'turn/end') inc('open end')
    const lines = linesOf(log.header, log.events, choices)
    inc('rows', lines.filter(l => /-chunks"/.test(l)).length)
    inc('ranges', lines.filter(l => /"sourceEventSeqs":\[.*\[/.test(l)).length)
    try {
      const out = await readLog(lines.join('\n') + '\n', {}, newLogReader())
      dump.push({ header: lines[0], rows: log.events, out })
      for (const e of out.events) inc('>' + e.type)
      if (validateLog(out).length) {
        inc('FINDINGS')
        console.log(validateLog(out)[0])
      }
      if (log.events.some((e, k) => e.type === 'turn/start' && log.events[k - 1]?.type === 'agent/inbox/spliced'))
        inc('maybe restart')
    } catch (e) {
      inc('REFUSED')
      console.log(String(e))
    }
  }
  writeFileSync('/tmp/v0dump.json', JSON.stringify(dump))
  console.log(count.logs)
}, 100000)
