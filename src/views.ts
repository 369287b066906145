/** `palimpsest/views`: a session as people read it, kept up to date: transcript, surface, usage, status. */
export type { SessionSource, SessionStatus, SessionUpdate, SurfaceNode } from './views/source.ts'
export { usageFold } from './views/usage.ts'
export type { UsageState } from './views/usage.ts'
