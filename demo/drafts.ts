/** Unsent text, kept for each session of this tab until it is sent. */

const keyOf = (sessionId: string) => `palimpsest-demo-draft:${sessionId}`

/** The kept draft, or the empty text. */
export function readDraft(sessionId: string): string {
  return sessionStorage.getItem(keyOf(sessionId)) ?? ''
}

/** Keeps a draft; one that is too long for the store stays in the field only. */
export function keepDraft(sessionId: string, text: string): void {
  try {
    if (text === '') sessionStorage.removeItem(keyOf(sessionId))
    else sessionStorage.setItem(keyOf(sessionId), text)
  } catch {
    sessionStorage.removeItem(keyOf(sessionId))
  }
}
