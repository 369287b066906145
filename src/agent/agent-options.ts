/** What an agent is made with. */
import type { AgentStatus, AssistantStreamFrame } from '../core/live.ts'
import type { LiveSession } from '../sessions/live-session.ts'
import type { Clock } from './clock.ts'
import type { ModelRequest } from './model.ts'
import type { Network } from './network.ts'
import type { ResumePolicy } from './open-step.ts'
import type { AgentSetup } from './setup.ts'
import type { SessionTitling } from './titling.ts'

export type AgentOptions = {
  readonly live: LiveSession
  readonly setup: () => AgentSetup
  /** A fresh unique id on each call. */
  readonly newId: () => string
  /** Default: the platform's. */
  readonly clock?: Clock
  /** In 0…1; for the jitter of retries. Default: `Math.random`. */
  readonly random?: () => number
  /** Default: there always is one. */
  readonly network?: Network
  /** Bytes of attachments; without it there are none. */
  readonly readBlob?: ModelRequest['readBlob']
  /** Stores bytes that tools attach to their results, and answers their `attachmentId`; without it none can. */
  readonly putBlob?: (data: Blob | Uint8Array) => Promise<string>
  /** Whether anybody is there who can be asked for an approval; default: nobody, so that calls which need one do not run. */
  readonly canAsk?: () => boolean
  /** What becomes of a turn that was cut off, once its session is open again; default `ask`. */
  readonly resume?: ResumePolicy
  /** Names the session. Without it, it is not named. */
  readonly setTitle?: SessionTitling
  readonly onFrame?: (frame: AssistantStreamFrame) => void
  readonly onStatus?: (status: AgentStatus) => void
  /** Told about failures that belong to no turn. */
  readonly onError?: (error: unknown) => void
}
