/** A prompt that is said otherwise, in its place. It is taken in a branch: what was said stays as it was. */
import { type ReactElement, useLayoutEffect, useRef, useState } from 'react'
import { branchRefusalWords } from '../app/words.ts'

export type PromptEditorProps = {
  readonly text: string
  /** Resolves once the other prompt is taken. */
  readonly save: (text: string) => Promise<void>
  readonly cancel: () => void
}

export function PromptEditor({ text, save, cancel }: PromptEditorProps): ReactElement {
  const field = useRef<HTMLTextAreaElement>(null)
  const [refusal, setRefusal] = useState('')
  const [isSaving, setSaving] = useState(false)
  useLayoutEffect(() => {
    const element = field.current
    if (element === null) return
    element.focus()
    element.setSelectionRange(element.value.length, element.value.length)
  }, [])
  const submit = async () => {
    if (isSaving) return
    setSaving(true)
    try {
      await save(field.current?.value ?? '')
    } catch (error) {
      setRefusal(branchRefusalWords(error))
    } finally {
      setSaving(false)
    }
  }
  return (
    <form
      className="prompt-editor"
      onSubmit={event => {
        event.preventDefault()
        void submit()
      }}
    >
      <textarea
        ref={field}
        aria-label="Your message, said otherwise"
        defaultValue={text}
        rows={2}
        dir="auto"
        onInput={() => setRefusal('')}
        onKeyDown={event => {
          if (event.nativeEvent.isComposing) return
          if (event.key === 'Enter' && !event.shiftKey) {
            event.preventDefault()
            void submit()
          } else if (event.key === 'Escape') {
            // Of the editor, not of the turn that may run.
            event.stopPropagation()
            cancel()
          }
        }}
      />
      {refusal !== '' && (
        <p role="alert" className="refusal">
          {refusal}
        </p>
      )}
      <div className="actions">
        <button type="submit" className="primary">
          Save
        </button>
        <button type="button" onClick={cancel}>
          Cancel
        </button>
        <span className="about">Goes on in a new branch; this one stays as it is.</span>
      </div>
    </form>
  )
}
