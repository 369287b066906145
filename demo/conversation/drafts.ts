/** Unsent text, kept for each session of this tab until it is sent. */

const keyOf = (sessionId: string) => `palimpsest-demo-draft:${sessionId}`

/** The kept draft, or the empty text. */
export function readDraft(sessionId: string): string {
  try {
    return sessionStorage.getItem(keyOf(sessionId)) ?? ''
  } catch {
    return '' // The store is not allowed.
  }
}

/** Keeps a draft; one that is too long for the store stays in the field only. */
export function keepDraft(sessionId: string, text: string): void {
  try {
    if (text === '') sessionStorage.removeItem(keyOf(sessionId))
    else sessionStorage.setItem(keyOf(sessionId), text)
  } catch {
    forget(sessionId)
  }
}

/** An older draft must not come back in place of the one that could not be kept. */
function forget(sessionId: string): void {
  try {
    sessionStorage.removeItem(keyOf(sessionId))
  } catch {
    // The store is not allowed: there is no older draft.
  }
}
