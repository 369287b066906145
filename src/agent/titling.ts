/** Naming a session after what is said in it (SPEC A27). */
import type { SessionSeq } from '../core/ids.ts'
import type { UserMessage } from '../core/message.ts'
import type { Session } from '../core/session.ts'
import { titleFold, titleText } from '../sessions/title.ts'
import { orAborted } from './or-aborted.ts'
import type { AgentSetup } from './setup.ts'

/** Logs and keeps a title that was made from the messages at `messageSeqs`. */
export type SessionTitling = (title: string, messageSeqs: readonly SessionSeq[]) => Promise<void>

/** Asks for a title, unless the session has one by then. */
export async function proposeTitle(
  session: Session,
  title: NonNullable<AgentSetup['title']>,
  setTitle: SessionTitling,
  signal: AbortSignal,
): Promise<void> {
  const isNamed = () => session.fold(titleFold).title !== null
  if (isNamed()) return
  const prompts: UserMessage[] = []
  const seqs: SessionSeq[] = []
  for (const seq of session.surface.nodes) {
    const event = session.eventAt(seq)
    if (event?.type !== 'user/message' || event.data.source.kind !== 'user') continue
    prompts.push(event.data)
    seqs.push(seq)
  }
  const proposed = await orAborted(Promise.resolve(title({ prompts, signal })), signal)
  const text = titleText(proposed ?? '')
  if (text !== '' && !signal.aborted && !isNamed()) await setTitle(text, seqs)
}
