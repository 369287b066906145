/** On narrow screens one part of the page shows at a time; these buttons choose it. Also the `/` key. */
import { byId } from './dom.ts'

/** Makes the view buttons and the keyboard work. */
export function initViews(): void {
  const buttons = [...document.querySelectorAll<HTMLButtonElement>('button[data-show]')]
  const show = (view: string) => {
    document.body.dataset['view'] = view
    for (const button of buttons) button.setAttribute('aria-pressed', String(button.dataset['show'] === view))
  }
  for (const button of buttons) button.addEventListener('click', () => show(button.dataset['show'] ?? 'conversation'))
  addEventListener('hashchange', () => show('conversation'))
  document.addEventListener('keydown', event => {
    const isTyping = event.target instanceof Element && event.target.closest('input, textarea, dialog') !== null
    if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return
    event.preventDefault()
    show('conversation')
    byId('prompt').focus()
  })
}
