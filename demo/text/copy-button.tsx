/** A button that copies text and says whether that worked. */
import { type ReactElement, useEffect, useState } from 'react'

const SAID_FOR_MS = 2_000

/** `what` names the thing for people who do not see what the button belongs to: “Copy code”. */
export function CopyButton({ text, what }: { text: string; what: string }): ReactElement {
  const [said, say] = useState<{ words: string } | null>(null)
  useEffect(() => {
    if (said === null) return
    const timer = setTimeout(() => say(null), SAID_FOR_MS)
    return () => clearTimeout(timer)
  }, [said])
  const copy = async () => {
    try {
      // Without https there is no clipboard: that throws too, and is said.
      await navigator.clipboard.writeText(text)
      say({ words: 'Copied' })
    } catch {
      say({ words: 'Copying failed' })
    }
  }
  return (
    <span className="copy">
      <span role="status" className="copy-said">
        {said?.words ?? ''}
      </span>
      <button type="button" className="quiet" aria-label={`Copy ${what}`} onClick={() => void copy()}>
        Copy
      </button>
    </span>
  )
}
