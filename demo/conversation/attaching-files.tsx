/** What will go along with the next message: chips above the field. */
import type { ReactElement } from 'react'
import { Visible } from '../text/visible-text.tsx'
import { FileFacts } from './attachments.tsx'
import type { Attaching } from './use-attaching.ts'

export function AttachingFiles({ files, remove }: Pick<Attaching, 'files' | 'remove'>): ReactElement {
  const troubles = files.filter(({ trouble }) => trouble !== null)
  const storing = files.filter(({ isStored, trouble }) => !isStored && trouble === null)
  return (
    <>
      {files.length > 0 && (
        <ul className="attaching plain" aria-label="Attached to this message">
          {files.map(({ key, name, size, url, trouble, isStored }) => (
            <li key={key} className={trouble === null ? 'chip' : 'chip failed'}>
              {url !== null && <img src={url} alt="" width={28} height={28} />}
              <FileFacts name={name} size={size} />
              {!isStored && trouble === null && <span className="about">attaching…</span>}
              <button type="button" className="quiet" aria-label={`Remove ${name}`} onClick={() => remove(key)}>
                Remove
              </button>
            </li>
          ))}
        </ul>
      )}
      <div role="alert">
        {troubles.map(({ key, name, trouble }) => (
          <p key={key} className="notice">
            “<Visible text={name} />” {trouble}
          </p>
        ))}
      </div>
      <p role="status" className="unseen">
        {files.length === 0 ? '' : storing.length > 0 ? 'Attaching' : `${files.length - troubles.length} attached`}
      </p>
    </>
  )
}
