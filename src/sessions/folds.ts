/** What is known of every session besides what its core folds: the agent and the lists ask for it. */
import { approvalsFold } from '../core/approvals.ts'
import type { EventDefinition } from '../core/event-definition.ts'
import type { Fold } from '../core/fold.ts'
import { retryFold } from '../core/invariants/retry-invariant.ts'
import { lastTurnFold, turnResumed } from '../core/last-turn.ts'
import { titleFold } from './title.ts'

export const sessionFolds: readonly Fold<unknown>[] = [approvalsFold, lastTurnFold, retryFold, titleFold]

/** What every session may log besides the format. */
export const sessionEventTypes: readonly EventDefinition[] = [turnResumed]
