/** The notes the agent's tools wrote. */
import { type ReactElement, useEffect, useState } from 'react'
import { onChange } from '../app/channel.ts'
import { listNotes, type Note } from './notes.ts'
import { Visible } from '../text/visible-text.tsx'

export function NotesPanel(): ReactElement {
  const [notes, setNotes] = useState<readonly Note[] | string>([])
  useEffect(() => {
    let isGone = false
    const read = () => {
      listNotes().then(
        list => {
          if (!isGone) setNotes(list)
        },
        () => {
          if (!isGone) setNotes('The notes cannot be read now.')
        },
      )
    }
    read()
    const stop = onChange('notes', read)
    return () => {
      isGone = true
      stop()
    }
  }, [])
  return (
    <section aria-labelledby="notes-title">
      <div className="heading">
        <h2 id="notes-title">Notes</h2>
      </div>
      <p className="about">Written, searched and deleted by the agent's tools, kept in this browser.</p>
      <ul id="notes" className="plain">
        {typeof notes === 'string' ? (
          <li className="about">{notes}</li>
        ) : notes.length === 0 ? (
          <li className="about">None yet.</li>
        ) : (
          notes.map(({ id, title, text }) => (
            <li key={id} className="note">
              <b>
                <Visible text={title} />
              </b>
              <div>
                <Visible text={text.length > 300 ? `${text.slice(0, 300)}…` : text} />
              </div>
            </li>
          ))
        )}
      </ul>
    </section>
  )
}
