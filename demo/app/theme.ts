/** The page's colour scheme: the system's until a person or the agent chooses one. */
import type { PageTool } from 'palimpsest'

export type Theme = 'dark' | 'light'

const STORED = 'palimpsest-demo-theme'
const isTheme = (value: unknown): value is Theme => value === 'dark' || value === 'light'

/** The scheme the page shows now. */
export function currentTheme(): Theme {
  const { theme } = document.documentElement.dataset
  if (isTheme(theme)) return theme
  return matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'
}

/** Switches the page and remembers it. */
export function setTheme(theme: Theme): void {
  document.documentElement.dataset['theme'] = theme
  document.dispatchEvent(new Event('themechange'))
  try {
    localStorage.setItem(STORED, theme)
  } catch {
    // The store is full or not allowed: the choice holds until the page is closed.
  }
}

/** Takes up the remembered scheme. */
export function initTheme(): void {
  try {
    const stored = localStorage.getItem(STORED)
    if (isTheme(stored)) document.documentElement.dataset['theme'] = stored
  } catch {
    // The store is not allowed: the system's scheme it is.
  }
}

/** Calls `listener` when the scheme changes, here or in the system; returns its remover. */
export function subscribeTheme(listener: () => void): () => void {
  const system = matchMedia('(prefers-color-scheme: dark)')
  document.addEventListener('themechange', listener)
  system.addEventListener('change', listener)
  return () => {
    document.removeEventListener('themechange', listener)
    system.removeEventListener('change', listener)
  }
}

/** The agent's tool for it: its body needs the page. */
export const setThemeTool: PageTool = {
  name: 'set_theme',
  description: 'Switches the colours of the page.',
  inputSchema: {
    type: 'object',
    properties: { theme: { type: 'string', enum: ['dark', 'light'] } },
    required: ['theme'],
    additionalProperties: false,
  },
  execute: ({ theme }: { theme: Theme }) => {
    setTheme(theme)
    return `The page is ${theme} now.`
  },
}
