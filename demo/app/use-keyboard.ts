/** The keys of the page. They leave alone whoever is writing, and dialogs. */
import { useEffect, useRef } from 'react'
import { select } from './selection.ts'

export type KeyActions = {
  readonly write: () => void
  /** One step back: what is open, then what is selected, then what runs. */
  readonly back: () => void
  readonly toggleInspector: () => void
  readonly toggleSessions: () => void
  /** Shows the nth view of the inspector, from 0. */
  readonly showTab: (index: number) => void
  readonly goToLog: () => void
  readonly goToEnd: () => void
  readonly newSession: () => void
  readonly openProvider: () => void
  readonly help: () => void
}

/** How long the first key of `g l` waits for the second, ms. */
const CHORD_MS = 1_200

export function useKeyboard(actions: KeyActions): void {
  const latest = useRef(actions)
  useEffect(() => {
    latest.current = actions
  })
  useEffect(() => {
    let goAt = 0
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return
      const target = event.target instanceof Element ? event.target : null
      if (target !== null && target.closest('dialog') !== null) return
      const isTyping = target !== null && target.closest('input, textarea, select') !== null
      if (event.key === 'Escape') return latest.current.back()
      // A key held down repeats what moves, not what opens or starts something.
      if (isTyping || (event.repeat && !/^[jk]$/.test(event.key))) return
      const isChord = event.timeStamp - goAt < CHORD_MS
      goAt = 0
      const done = pressed(event, isChord, latest.current, () => {
        goAt = event.timeStamp
      })
      if (done) event.preventDefault()
    }
    document.addEventListener('keydown', onKeyDown)
    return () => document.removeEventListener('keydown', onKeyDown)
  }, [])
}

/** Carries out a key; false when it means nothing here. */
function pressed(event: KeyboardEvent, isChord: boolean, actions: KeyActions, startChord: () => void): boolean {
  const { key } = event
  if (isChord && key === 'l') actions.goToLog()
  else if (key === 'g') startChord()
  else if (key === '/') actions.write()
  else if (key === '?') actions.help()
  else if (key === 'i') actions.toggleInspector()
  else if (key === 'b') actions.toggleSessions()
  else if (key === 'n') actions.newSession()
  else if (key === 'e') actions.goToEnd()
  else if (key === ',') actions.openProvider()
  else if (key === 'j' || key === 'k') moveRow(key === 'j' ? 1 : -1)
  else if (key === 's') return toggleCurrentRow()
  else if (key === 'o') return pressInRow('summary')
  else if (key === 'm') return pressInRow('.edit-prompt')
  else if (key === 'w') return goToQuestion()
  else if (/^[1-9]$/.test(key)) actions.showTab(Number(key) - 1)
  else return false
  return true
}

const rows = (): HTMLElement[] => [...document.querySelectorAll<HTMLElement>('#rows [data-row]')]

const currentRow = (): HTMLElement | null => document.activeElement?.closest<HTMLElement>('#rows [data-row]') ?? null

/** Moves the focus through the messages; from outside it starts at the last one. */
function moveRow(step: 1 | -1): void {
  const all = rows()
  const current = currentRow()
  const at = current === null ? all.length : all.indexOf(current)
  const next = all[current === null ? all.length - 1 : at + step]
  next?.focus({ preventScroll: true })
  next?.scrollIntoView({ block: 'nearest' })
}

/** To the call that waits for an answer. */
function goToQuestion(): boolean {
  const button = document.querySelector<HTMLElement>('#rows .approval button')
  button?.focus()
  return button !== null
}

/** Presses something in the current message. */
function pressInRow(selector: string): boolean {
  const element = currentRow()?.querySelector<HTMLElement>(selector) ?? null
  element?.click()
  return element !== null
}

/** Presses the handle of the current message; a tool that is folded shows none. */
function toggleCurrentRow(): boolean {
  if (pressInRow('button.seq')) return true
  const seq = currentRow()?.dataset['seq']
  if (seq !== undefined) select(Number(seq))
  return seq !== undefined
}

/** Selects the current message unless it is selected. */
export function selectCurrentRow(): void {
  if (currentRow() !== null && currentRow()?.dataset['lit'] !== 'selected') toggleCurrentRow()
}
