/** What a compaction and a prune must say and in which order (SPEC I5–I7). */
import { type CompactionBracket, compactionFold } from '../compaction-fold.ts'
import type { EventOf } from '../events.ts'
import { isSafeNonNegativeInteger, type SessionSeq } from '../ids.ts'
import type { Invariant } from '../invariant.ts'
import { turnsFold } from '../turns.ts'
import { expected, type Fields, fieldsOf, isText } from './payload.ts'

export const compactionInvariant: Invariant = {
  key: 'compaction',
  folds: [compactionFold],
  problem({ event }, log) {
    const { open } = log.fold(compactionFold)
    const data = fieldsOf(event.data)
    switch (event.type) {
      case 'compaction/start':
        return startProblem(data, open, log.fold(turnsFold).openTurn)
      case 'compaction/summary':
        return bracketProblem(data, open) ?? summaryProblem(open) ?? spanProblem(data, log.nodes)
      case 'compaction/end':
        return bracketProblem(data, open) ?? endProblem(data, open)
      case 'compaction/prune':
        return spanProblem(data, log.nodes)
      case 'user/message':
        return isCheckpoint(event) ? idProblem(event.data.source['compactionId'], open) : null
      case 'turn/start':
        return closedProblem(open)
      case 'turn/end':
        // Repair's: the one who opened the bracket is gone, and the event that says so comes after.
        return event.data.reason.kind === 'interrupted' ? null : closedProblem(open)
      default:
        return null
    }
  },
}

const isCheckpoint = ({ data: { source }, surfaceOp }: EventOf<'user/message'>): boolean =>
  surfaceOp !== 'append' && source.kind === 'plugin' && source.plugin === 'compact'

const closedProblem = (open: CompactionBracket | null): string | null =>
  open === null ? null : `expected no open compaction, found ${open.compactionId}`

function startProblem(
  { compactionId, sourceCommandId, turn }: Fields,
  open: CompactionBracket | null,
  openTurn: number | null,
): string | null {
  if (open !== null) return closedProblem(open)
  if (!isText(compactionId)) return expected('a compactionId', compactionId)
  if (sourceCommandId !== undefined && !isText(sourceCommandId)) {
    return expected('a sourceCommandId or nothing', sourceCommandId)
  }
  return turn === openTurn ? null : expected(`turn ${openTurn}`, turn)
}

function idProblem(compactionId: unknown, open: CompactionBracket | null): string | null {
  if (open === null) return 'expected an open compaction, found none'
  return compactionId === open.compactionId ? null : expected(`compactionId ${open.compactionId}`, compactionId)
}

function bracketProblem({ compactionId, sourceCommandId }: Fields, open: CompactionBracket | null): string | null {
  const problem = idProblem(compactionId, open)
  const wanted = open?.sourceCommandId ?? undefined
  if (problem !== null || sourceCommandId === wanted) return problem
  return expected(wanted === undefined ? 'no sourceCommandId' : `sourceCommandId ${wanted}`, sourceCommandId)
}

const summaryProblem = (open: CompactionBracket | null): string | null =>
  open?.hasSummary === true ? 'expected one summary, found another' : null

function endProblem({ turn, error }: Fields, open: CompactionBracket | null): string | null {
  if (turn !== open?.turn) return expected(`turn ${open?.turn}`, turn)
  if (error !== undefined) return typeof error === 'string' ? null : expected('an error in words or none', error)
  return open?.hasSummary === true ? null : 'expected a summary before an end without error, found none'
}

/** What is said to be shadowed must be a span of the surface as it is now, node by node. */
function spanProblem(
  { shadowedRange, shadowedSeqs: seqs, shadowedTokenCount: tokens }: Fields,
  nodes: readonly SessionSeq[],
): string | null {
  if (!isSafeNonNegativeInteger(tokens)) return expected('a shadowedTokenCount of at least 0', tokens)
  if (!Array.isArray(seqs) || seqs.length === 0) return expected('shadowedSeqs', seqs)
  const [first, last] = [seqs[0] as SessionSeq, seqs.at(-1) as SessionSeq]
  const { start, end } = fieldsOf(shadowedRange)
  const from = nodes.lastIndexOf(first)
  if (from === -1) return expected('shadowedSeqs[0] on the surface', first)
  const wrong = seqs.findIndex((seq, position) => seq !== nodes[from + position])
  if (wrong !== -1) return expected(`shadowedSeqs[${wrong}] to be ${nodes[from + wrong] ?? 'none'}`, seqs[wrong])
  if (start !== first) return expected(`shadowedRange.start ${first}`, start)
  return end === last ? null : expected(`shadowedRange.end ${last}`, end)
}
