/** Switches between dark and light. */
import { type ReactElement, useSyncExternalStore } from 'react'
import { currentTheme, setTheme, subscribeTheme } from './theme.ts'

export function ThemeButton(): ReactElement {
  const other = useSyncExternalStore(subscribeTheme, currentTheme) === 'dark' ? 'light' : 'dark'
  return (
    <button
      type="button"
      id="theme"
      className="quiet"
      aria-label={`Switch to ${other}`}
      onClick={() => setTheme(other)}
    >
      <span className="wide-only">Switch to </span>
      {other}
    </button>
  )
}
