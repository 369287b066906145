/** The notes the agent wrote, newest first. */
import { onChange } from './channel.ts'
import { byId, h } from './dom.ts'
import { listNotes, type Note } from './notes.ts'

/** Shows the notes and keeps them up to date. */
export function initNotesPanel(): void {
  const list = byId('notes')
  const refresh = () => {
    listNotes().then(
      notes =>
        list.replaceChildren(...(notes.length === 0 ? [h('li', { class: 'about' }, 'None yet.')] : notes.map(item))),
      (error: unknown) =>
        list.replaceChildren(h('li', { class: 'about' }, `The notes cannot be read: ${String(error)}`)),
    )
  }
  onChange('notes', refresh)
  refresh()
}

function item({ title, text }: Note): HTMLElement {
  return h(
    'li',
    { class: 'note' },
    h('strong', {}, title),
    h('p', {}, text.length > 300 ? `${text.slice(0, 300)}…` : text),
  )
}
