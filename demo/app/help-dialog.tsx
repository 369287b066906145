/** Every key, listed. */
import { type ReactElement, type Ref } from 'react'

const keys: readonly (readonly [string, string])[] = [
  ['/', 'write a message'],
  ['Enter', 'send it; while a turn runs: queue it'],
  ['Ctrl Enter', 'while a turn runs: steer it'],
  ['↑', 'in an empty field: your last message'],
  ['Esc', 'let go of a selection; otherwise stop the running turn'],
  ['j  k', 'next and previous message'],
  ['s', 'select the message: it lights up in every view'],
  ['o', 'open or close what is folded in it'],
  ['m', 'say it otherwise, where a turn began with it; Esc gives up'],
  ['w', 'to what waits for you: whether a tool may run'],
  ['g l', 'go to the log entry of the selected message'],
  ['e', 'go to the end'],
  ['i', 'inspector'],
  ['1  2', 'surface alone, log alone'],
  ['b', 'sessions'],
  ['n', 'new session'],
  [',', 'provider'],
  ['?', 'these keys'],
]

export function HelpDialog({ ref }: { readonly ref: Ref<HTMLDialogElement> }): ReactElement {
  return (
    <dialog ref={ref} id="help" aria-labelledby="help-title">
      {/* The button is at the top: it has the focus, and what has the focus is in sight. */}
      <div className="dialog-head">
        <h2 id="help-title">Keys</h2>
        <form method="dialog">
          <button className="quiet">Close</button>
        </form>
      </div>
      <dl className="keys">
        {keys.map(([key, what]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
    </dialog>
  )
}
