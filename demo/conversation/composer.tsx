/** Where a person writes. A draft leaves the field only when its prompt was taken. */
import type { Prompt } from 'palimpsest'
import { wellFormedText } from 'palimpsest/core'
import {
  type ClipboardEvent,
  type KeyboardEvent,
  type ReactElement,
  type ReactNode,
  type Ref,
  useCallback,
  useImperativeHandle,
  useLayoutEffect,
  useRef,
  useState,
} from 'react'
import { AttachingFiles } from './attaching-files.tsx'
import type { Blobs } from './blobs.ts'
import { keepDraft, readDraft } from './drafts.ts'
import { useAttaching } from './use-attaching.ts'
import { errorFacts, refusalWords } from '../app/words.ts'

export type ComposerHandle = {
  readonly focus: () => void
  /** Says why a prompt was not taken. */
  readonly refuse: (text: string, error: unknown) => void
  readonly say: (words: string) => void
  /** Files to go along with the next message. */
  readonly attach: (files: readonly File[]) => void
}

export type ComposerProps = {
  readonly ref: Ref<ComposerHandle>
  readonly sessionId: string
  /** False while no session is open. */
  readonly isOpen: boolean
  /** The session was open and is not any more: who sends something is told so. */
  readonly isEnded: boolean
  readonly isRunning: boolean
  /** Resolve once the prompt is taken. */
  readonly send: (prompt: Prompt) => Promise<void>
  readonly steer: (prompt: Prompt) => Promise<void>
  readonly attach: Blobs['attach']
  readonly stop: () => void
  /** The person's last prompt, for the arrow up. */
  readonly lastPrompt: () => string | null
  /** What stands above the field. */
  readonly above: ReactNode
  /** What stands beside the buttons. */
  readonly beside: ReactNode
}

/** How long after the last key a draft is kept, ms. */
const KEEP_AFTER = 200

type Notice = { readonly words: string; readonly broken: string | null }

/** The field of one session: rendered with its id as key. */
export function Composer(props: ComposerProps): ReactElement {
  const { ref, sessionId, isOpen, isEnded, isRunning, send, steer, attach, stop, lastPrompt, above, beside } = props
  const field = useRef<HTMLTextAreaElement>(null)
  const chooser = useRef<HTMLInputElement>(null)
  const { files, add, remove, collect } = useAttaching(attach)
  const [notice, setNotice] = useState<Notice | null>(null)
  const stopButton = useRef<HTMLButtonElement>(null)
  const sending = useRef(false)
  const keeping = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)

  // The draft of the session that is shown. The field is the browser's: undo and long texts stay fast.
  useLayoutEffect(() => {
    const element = field.current
    if (element === null) return
    element.value = readDraft(sessionId)
    const keep = () => {
      clearTimeout(keeping.current)
      keepDraft(sessionId, element.value)
    }
    const onInput = () => {
      clearTimeout(keeping.current)
      keeping.current = setTimeout(keep, KEEP_AFTER)
    }
    element.addEventListener('input', onInput)
    addEventListener('pagehide', keep)
    return () => {
      keep()
      element.removeEventListener('input', onInput)
      removeEventListener('pagehide', keep)
    }
  }, [sessionId])

  // A button that cannot be used any more must not keep the focus.
  useLayoutEffect(() => {
    if (!isRunning && document.activeElement === stopButton.current) field.current?.focus()
  }, [isRunning])

  const refuse = useCallback((text: string, error: unknown) => {
    const isBroken = errorFacts(error).code === 'malformed-prompt'
    setNotice({ words: refusalWords(error), broken: isBroken ? text : null })
  }, [])
  useImperativeHandle(
    ref,
    () => ({
      focus: () => field.current?.focus(),
      refuse,
      say: words => setNotice({ words, broken: null }),
      attach: given => {
        add(given)
        field.current?.focus()
      },
    }),
    [refuse, add],
  )

  const submit = async (how: (prompt: Prompt) => Promise<void>) => {
    const text = field.current?.value ?? ''
    if (sending.current) return
    if (!isOpen && !isEnded) {
      setNotice({ words: 'Nothing was sent: the session is not open. Your draft is kept.', broken: null })
      return
    }
    sending.current = true
    keepDraft(sessionId, text)
    try {
      const stored = await collect()
      if (stored === null) {
        setNotice({ words: 'Nothing was sent: remove what could not be attached first.', broken: null })
        return
      }
      await how({ text, attachments: stored.map(({ block }) => block) })
      for (const { key } of stored) remove(key)
      if (readDraft(sessionId) === text) keepDraft(sessionId, '')
      if (field.current?.value === text) field.current.value = ''
      setNotice(null)
    } catch (error) {
      refuse(text, error)
    } finally {
      sending.current = false
    }
  }

  const replaceBroken = (text: string) => {
    if (field.current === null) return
    field.current.value = wellFormedText(text)
    keepDraft(sessionId, field.current.value)
    setNotice({ words: 'The broken characters are � now. Look it over, then send it.', broken: null })
    field.current.focus()
  }

  const onKeyDown = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    if (event.nativeEvent.isComposing) return
    if (event.key === 'ArrowUp' && event.currentTarget.value === '') {
      const last = lastPrompt()
      if (last === null) return
      event.preventDefault()
      event.currentTarget.value = last
    } else if (event.key === 'Enter' && !event.shiftKey) {
      event.preventDefault()
      void submit(isRunning && (event.ctrlKey || event.metaKey) ? steer : send)
    }
  }

  /** Pictures and files, unless there is text as well: then the text is meant. */
  const onPaste = (event: ClipboardEvent) => {
    const pasted = [...event.clipboardData.files]
    if (pasted.length === 0 || event.clipboardData.getData('text/plain') !== '') return
    event.preventDefault()
    add(pasted)
  }

  return (
    <form
      id="composer"
      className="composer"
      onSubmit={event => {
        event.preventDefault()
        void submit(send)
      }}
    >
      {above}
      {notice !== null && (
        <div id="notice" className="notice" role="alert">
          {notice.words}{' '}
          {notice.broken !== null && (
            <button type="button" onClick={() => replaceBroken(notice.broken ?? '')}>
              Replace them with �
            </button>
          )}
        </div>
      )}
      <AttachingFiles files={files} remove={remove} />
      <input
        type="file"
        id="attach-chooser"
        aria-label="Files to attach"
        multiple
        hidden
        ref={chooser}
        onChange={({ target }) => {
          add([...(target.files ?? [])])
          // The same file may be chosen again.
          target.value = ''
          field.current?.focus()
        }}
      />
      <label htmlFor="prompt" className="unseen">
        Message
      </label>
      <textarea
        id="prompt"
        ref={field}
        rows={2}
        placeholder={
          isRunning
            ? 'Enter queues it, Ctrl+Enter steers the running turn'
            : 'Message… (Enter sends, Shift+Enter starts a line)'
        }
        aria-describedby="status"
        dir="auto"
        onKeyDown={onKeyDown}
        onPaste={onPaste}
        onInput={() => setNotice(null)}
      />
      <div className="controls">
        {beside}
        <button
          type="button"
          id="attach"
          className="quiet"
          onClick={() => chooser.current?.click()}
          title="Pictures and files; they can also be pasted, or dropped here"
        >
          Attach
        </button>
        {isRunning && (
          <button
            type="button"
            id="steer"
            onClick={() => void submit(steer)}
            title="The agent reads it before its next step (Ctrl+Enter)"
          >
            Steer
          </button>
        )}
        <button
          type="button"
          id="stop"
          ref={stopButton}
          onClick={stop}
          disabled={!isRunning}
          aria-keyshortcuts="Escape"
        >
          Stop
        </button>
        <button
          type="submit"
          id="send"
          className="primary"
          disabled={!isOpen}
          title={isRunning ? 'Sent when this turn has ended (Enter)' : 'Enter'}
        >
          {isRunning ? 'Queue' : 'Send'}
        </button>
      </div>
    </form>
  )
}
