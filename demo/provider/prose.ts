/** The embedded model's small talk: sentences chosen by the history's number, so the same request gets the same words. */
import { hashText } from './chat-request.ts'

const bank = [
  'A palimpsest is a page that was written over while the older writing stayed legible underneath.',
  'Nothing in this conversation is erased: what you see is one reading of a log that only grows.',
  'I am an embedded model, so I answer from patterns and from the history I was sent, not from the world.',
  'Ask me to remember something and I will write it down with a tool; ask me to find it later and I will look.',
  'If the network goes away in the middle of this sentence, the words that arrived so far are kept.',
  'You can change the page to dark or light by saying so, and I will call the tool that does it.',
  'Each answer is streamed word by word, and every word is recorded before it is shown as finished.',
  'When the history grows too long for my window, older messages are condensed and the originals stay in the log.',
  'The list of messages I read and the list you read are allowed to differ, and the inspector shows where they do.',
  'Tools run in your browser; I only ask for them, and their results come back to me as messages.',
  'Stopping me is safe at any moment, because a half-finished answer is still an honest record of what was said.',
  'Opening an old session costs little, since only what I read now has to be brought back into memory.',
  'Two tabs may look at the same session, but only one of them writes at any time.',
  'A question about your own notes is the kind I answer best, because then I have something to quote.',
]

export const wordCount = (text: string): number => text.split(/\s+/).filter(Boolean).length

/** Prose that starts with `opening` and goes on until it has about `words` words; ends with a whole sentence. */
export function prose(opening: string, words: number, seed: number): string {
  const sentences = [opening]
  const start = hashText(opening, seed) % bank.length
  let count = wordCount(opening)
  for (let index = 0; count < words; index++) {
    const sentence = bank[(start + index) % bank.length] ?? ''
    const isNewRound = index > 0 && index % bank.length === 0
    sentences.push(
      isNewRound ? `To go over it once more: ${sentence.charAt(0).toLowerCase()}${sentence.slice(1)}` : sentence,
    )
    count += wordCount(sentences.at(-1) ?? '')
  }
  return sentences.join(' ')
}
