/** What a new session shows: the idea in three lines, and prompts to try. */
import { h } from './dom.ts'

const examples = [
  'Remember that the tide is high at noon on Sunday.',
  'What do my notes say about the tide?',
  'Think, then make the page dark.',
]

/** The empty state; `use` gets the chosen example. */
export function emptyState(use: (prompt: string) => void): HTMLElement {
  const line = (term: string, text: string) => h('div', {}, h('dt', {}, term), h('dd', {}, text))
  return h(
    'div',
    { class: 'empty' },
    h('p', { class: 'lead' }, 'One log, three readings of it.'),
    h(
      'dl',
      {},
      line('Conversation', 'what was said, and stays as it was said'),
      line('Surface', 'what the model reads next, rewritten when it must be shorter'),
      line('Log', 'every fact behind both, never erased; #3 is the same fact everywhere'),
    ),
    h('p', {}, 'The agent runs in this page and keeps its history in this browser. Try:'),
    h(
      'ul',
      { class: 'examples' },
      ...examples.map(each => h('li', {}, h('button', { type: 'button', onclick: () => use(each) }, each))),
    ),
  )
}
