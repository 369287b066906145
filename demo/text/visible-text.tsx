/** Text with what is hidden in it shown, kept from turning the text around it. */
import { Fragment, type ReactElement } from 'react'
import { type Mark, revealHidden, type Segment } from './visible.ts'

/** A label that stands for hidden characters. */
export function HiddenMark({ mark, name }: Omit<Mark, 'source'>): ReactElement {
  return (
    <span className="hidden-mark" dir="ltr" title={`${mark}, ${name}: a hidden character`}>
      {mark}
    </span>
  )
}

/** `text` inline, with hidden characters as marks and with a direction of its own. */
export function Visible({ text }: { text: string }): ReactElement {
  return (
    <span className="visible" dir="auto">
      <Segments segments={revealHidden(text)} />
    </span>
  )
}

/** Segments, without an element around them. */
export function Segments({ segments }: { segments: readonly Segment[] }): ReactElement {
  return (
    <>
      {segments.map((segment, index) => (
        <Fragment key={index}>
          {'text' in segment ? segment.text : <HiddenMark mark={segment.mark} name={segment.name} />}
        </Fragment>
      ))}
    </>
  )
}
