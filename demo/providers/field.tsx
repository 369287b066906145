/** A labelled field with its hint and what is wrong with it. */
import type { ReactElement, ReactNode } from 'react'

/** What the control needs so that label, hint and error belong to it. */
export type ControlProps = {
  readonly id: string
  readonly name: string
  readonly 'aria-invalid': true | undefined
  readonly 'aria-describedby': string | undefined
}

export type FieldProps = {
  readonly id: string
  readonly name: string
  readonly label: string
  readonly error?: string | undefined
  readonly hint?: ReactNode
  readonly children: (control: ControlProps) => ReactNode
}

export function Field({ id, name, label, error, hint, children }: FieldProps): ReactElement {
  const described = [error === undefined ? null : `${id}-error`, hint === undefined ? null : `${id}-hint`]
  return (
    <div className="provider-field">
      <label htmlFor={id}>{label}</label>
      {children({
        id,
        name,
        'aria-invalid': error === undefined ? undefined : true,
        'aria-describedby': described.filter(Boolean).join(' ') || undefined,
      })}
      {error !== undefined && (
        <p id={`${id}-error`} className="provider-error">
          {error}
        </p>
      )}
      {hint !== undefined && (
        <p id={`${id}-hint`} className="about">
          {hint}
        </p>
      )}
    </div>
  )
}
