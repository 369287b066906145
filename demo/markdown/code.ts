/** What needs the parser, in one part that is loaded on its own. */
export { Markdown } from './markdown.tsx'
export { plainText } from './plain.ts'
