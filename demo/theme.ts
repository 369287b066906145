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
  localStorage.setItem(STORED, theme)
  document.dispatchEvent(new Event('themechange'))
}

/** Takes up the remembered scheme and makes `button` switch it. */
export function initTheme(button: HTMLButtonElement): void {
  const stored = localStorage.getItem(STORED)
  if (isTheme(stored)) document.documentElement.dataset['theme'] = stored
  const other = (): Theme => (currentTheme() === 'dark' ? 'light' : 'dark')
  const label = () => {
    button.textContent = `Switch to ${other()}`
  }
  label()
  button.addEventListener('click', () => setTheme(other()))
  document.addEventListener('themechange', label)
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', label)
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
