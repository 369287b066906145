/** What a new session shows: the idea in one picture, and three examples that run. */
import type { ReactElement } from 'react'

type Example = { readonly title: string; readonly prompt: string; readonly shows: string }

const examples: readonly Example[] = [
  {
    title: 'Keep a note',
    prompt: 'Remember that the tide is high at noon on Sunday.',
    shows: 'a tool that writes to this browser',
  },
  {
    title: 'Have it ask you',
    prompt: 'Note that the ferry is late, then delete it.',
    shows: 'a tool that runs only when you allow it',
  },
  {
    title: 'Think, then act',
    prompt: 'Think, then make the page dark.',
    shows: 'reasoning, and a tool that runs on this page',
  },
]

/** `run` gets the chosen prompt. */
export function EmptyState({ run }: { readonly run: (prompt: string) => void }): ReactElement {
  return (
    <div className="empty">
      <p className="lead">One log, three readings of it.</p>
      <Picture />
      <p>
        The agent runs in this page and keeps its history in this browser. Nothing that was said is ever erased; what
        the model reads can be rewritten.
      </p>
      <h3 id="examples-title">Try one</h3>
      <ul className="examples plain" aria-labelledby="examples-title">
        {examples.map(({ title, prompt, shows }) => (
          <li key={title}>
            <button type="button" onClick={() => run(prompt)}>
              <b>{title}</b>
              <span>{prompt}</span>
              <small>{shows}</small>
            </button>
          </li>
        ))}
      </ul>
    </div>
  )
}

/** A message, its event, its node: the same fact three times, held together by its number. */
function Picture(): ReactElement {
  return (
    <figure className="picture">
      {/* Where the picture would be too small to read. */}
      <dl>
        <div>
          <dt>Conversation</dt>
          <dd>what was said, and stays as it was said</dd>
        </div>
        <div>
          <dt>Log</dt>
          <dd>every event behind it, numbered, for ever</dd>
        </div>
        <div>
          <dt>Surface</dt>
          <dd>what the model reads: newer writing over older, which stays under it</dd>
        </div>
      </dl>
      <svg viewBox="0 0 640 236" role="img" aria-labelledby="picture-title picture-about">
        <title id="picture-title">A message, its event and its node</title>
        <desc id="picture-about">
          The log in the middle holds every event, numbered. The conversation on the left shows what was said, event by
          event. The surface on the right shows what the model reads: a summary with the number 9 stands for the events
          1 to 4, which stay in the log and in the conversation.
        </desc>
        <g className="col">
          <text x="12" y="20" className="head">
            Conversation
          </text>
          <text x="12" y="38" className="sub">
            what was said
          </text>
          <rect x="12" y="50" width="168" height="34" rx="4" />
          <text x="22" y="71">
            You: high tide?
          </text>
          <rect x="12" y="92" width="168" height="34" rx="4" />
          <text x="22" y="113">
            Agent: at noon.
          </text>
          <rect x="12" y="176" width="168" height="34" rx="4" className="now" />
          <text x="22" y="197">
            You: and Sunday?
          </text>
        </g>
        <g className="col">
          <text x="236" y="20" className="head">
            Log
          </text>
          <text x="236" y="38" className="sub">
            every event, for ever
          </text>
          <rect x="236" y="50" width="168" height="34" rx="4" className="under" />
          <text x="246" y="71">
            <tspan className="num">#3</tspan> user/message
          </text>
          <rect x="236" y="92" width="168" height="34" rx="4" className="under" />
          <text x="246" y="113">
            <tspan className="num">#4</tspan> assistant/message
          </text>
          <rect x="236" y="134" width="168" height="34" rx="4" />
          <text x="246" y="155">
            <tspan className="num">#9</tspan> summary of #3, #4
          </text>
          <rect x="236" y="176" width="168" height="34" rx="4" className="now" />
          <text x="246" y="197">
            <tspan className="num">#10</tspan> user/message
          </text>
          <path className="provenance" d="M236 151h-10V67h8M226 109h8" />
        </g>
        <g className="col">
          <text x="460" y="20" className="head">
            Surface
          </text>
          <text x="460" y="38" className="sub">
            what the model reads
          </text>
          <rect x="460" y="134" width="168" height="34" rx="4" />
          <text x="470" y="155">
            <tspan className="num">#9</tspan> ▸ stands for 2
          </text>
          <rect x="460" y="176" width="168" height="34" rx="4" className="now" />
          <text x="470" y="197">
            <tspan className="num">#10</tspan> and Sunday?
          </text>
        </g>
        <path className="link" d="M180 67H236M180 109H226M180 193H236M404 151H460M404 193H460" />
      </svg>
      <figcaption>
        Press a number such as <span className="num">#10</span> anywhere, and the same fact lights up everywhere.
      </figcaption>
    </figure>
  )
}
