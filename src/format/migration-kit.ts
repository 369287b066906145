/** For tests: logs written down shortly, and one step run over a whole one. */
import type { Repair, Migration } from './migration.ts'
import type { StoredEvent, StoredHeader } from './stored.ts'

export type MigrationRun = {
  readonly header: StoredHeader
  readonly events: readonly StoredEvent[]
  /** Seq in the newer log by seq in the older one; null for what became part of another event. */
  readonly map: readonly (number | null)[]
  /** For each event of the newer log, the older seq it was made of or put beside. */
  readonly origins: readonly number[]
  readonly inherited: number | null
  readonly repairs: readonly Repair[]
}

export type MigrationRunOptions = {
  readonly header: StoredHeader
  readonly events: readonly StoredEvent[]
  readonly sha256: (text: string) => string
  readonly inherited?: number | null
  readonly mayRepair?: boolean
}

export function runMigration(
  migration: Migration,
  { header, events, sha256, inherited = null, mayRepair }: MigrationRunOptions,
): MigrationRun {
  const out: StoredEvent[] = []
  const origins: number[] = []
  const map: (number | null)[] = events.map(() => null)
  const repairs: Repair[] = []
  const stage = migration.open({
    header,
    sha256,
    repair: mayRepair === true ? repair => repairs.push(repair) : null,
    emit(event, from, isGenerated) {
      out.push(event)
      origins.push(from)
      if (isGenerated !== true) map[from] = event.seq
    },
  })
  for (const event of events) stage.push(event)
  const newInherited = stage.end(inherited)
  return { header: migration.header(header), events: out, map, origins, inherited: newInherited, repairs }
}

/** Type, payload and what else the envelope has. */
export type Entry = readonly [type: string, data?: unknown, envelope?: Partial<StoredEvent>]

/** Events of a log, ten ms apart. */
export const logOf = (...entries: readonly Entry[]): readonly StoredEvent[] =>
  entries.map(([type, data = {}, envelope], seq) => ({ type, seq, time: 1000 + seq * 10, data, ...envelope }))

export const turnStart = (turn = 1): Entry => ['turn/start', { turn }]
export const turnEnd = (turn = 1): Entry => ['turn/end', { turn, reason: { kind: 'completed' } }]
export const stepStart = (turn = 1, step = 1): Entry => ['step/start', { turn, step }]
export const stepEnd = (turn = 1, step = 1): Entry => ['step/end', { turn, step }]
export const todo: Entry = ['todo/write', { todos: [] }]
export const endSeed = (data: object = {}): Entry => ['session/end-seed', data]

export const userMessage = (id: string, more: object = {}): object => ({
  id,
  role: 'user',
  content: [{ type: 'text', text: id }],
  source: { kind: 'user' },
  ...more,
})
export const user = (id: string, more?: object, envelope?: Partial<StoredEvent>): Entry => [
  'user/message',
  userMessage(id, more),
  { surfaceOp: 'append', ...envelope },
]
export const queued = (messages: readonly object[], target = 'next-turn'): Entry => [
  'agent/inbox/spliced',
  { target, start: 0, inserted: messages },
]
export const delta = (text: string, turn = 1, step = 1): Entry => [
  'assistant/chunk',
  { turn, step, chunk: { type: 'text-delta', index: 0, text } },
]
export const finish = (turn = 1, step = 1): Entry => [
  'assistant/chunk',
  { turn, step, chunk: { type: 'finish', reason: { kind: 'stop' } } },
]
export const answer = (id: string, more: object = {}, envelope?: Partial<StoredEvent>): Entry => [
  'assistant/message',
  {
    turn: 1,
    step: 1,
    message: { id, role: 'assistant', content: [], source: { kind: 'model', provider: 'p', model: 'm' } },
    ...more,
  },
  { surfaceOp: 'append', ...envelope },
]
export const requestHeader = (system?: string, more: object = {}): Entry => [
  'request/header',
  {
    header: { config: { provider: 'p', model: 'm' }, ...(system === undefined ? {} : { system }), ...more },
    reason: 'change',
  },
]
