/** The notes: a small database of their own, written by the agent's tools and listed by the page. */
import { type DBSchema, type IDBPDatabase, openDB } from 'idb'

export type Note = {
  readonly id: string
  readonly title: string
  readonly text: string
  /** Epoch ms. */
  readonly writtenAt: number
}

interface NotesDb extends DBSchema {
  notes: { key: string; value: Note }
}

let database: Promise<IDBPDatabase<NotesDb>> | undefined

function open(): Promise<IDBPDatabase<NotesDb>> {
  database ??= openDB<NotesDb>('palimpsest-demo-notes', 1, {
    upgrade: db => void db.createObjectStore('notes', { keyPath: 'id' }),
    blocking: (_current, _blocked, event) => {
      ;(event.target as IDBDatabase).close()
      database = undefined
    },
    terminated: () => {
      database = undefined
    },
  })
  database.catch(() => {
    database = undefined
  })
  return database
}

/** All notes, newest first. */
export async function listNotes(): Promise<readonly Note[]> {
  const notes = await (await open()).getAll('notes')
  return notes.sort((left, right) => right.writtenAt - left.writtenAt)
}

/** Stores a note; one with the same id is replaced, so that a repeated call writes it once. */
export async function putNote(note: Note): Promise<void> {
  await (await open()).put('notes', note)
}

/** Deletes the notes with this title; answers how many there were. */
export async function deleteNotes(title: string): Promise<number> {
  const transaction = (await open()).transaction('notes', 'readwrite')
  const doomed = (await transaction.store.getAll()).filter(note => note.title === title)
  for (const { id } of doomed) await transaction.store.delete(id)
  await transaction.done
  return doomed.length
}

/** Notes that contain one of the words of `query`, in the singular or plural, best match first. */
export async function findNotes(query: string): Promise<readonly Note[]> {
  const words = (query.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).map(word => word.replace(/(?<=.{2})s$/, ''))
  const scored = (await listNotes()).map(note => {
    const text = `${note.title} ${note.text}`.toLowerCase()
    return { note, score: words.filter(word => text.includes(word)).length }
  })
  return scored
    .filter(({ score }) => score > 0)
    .sort((left, right) => right.score - left.score)
    .map(({ note }) => note)
}
