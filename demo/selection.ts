/** One event, many views: selecting its handle anywhere marks it and brings it into view everywhere. */

/** Makes the handles (`button.seq`) of the page work. */
export function initSelection(): void {
  document.addEventListener('click', event => {
    const handle = event.target instanceof Element ? event.target.closest('button.seq') : null
    const chosen = handle?.closest<HTMLElement>('[data-seq]')
    if (chosen?.dataset['seq'] === undefined) return
    event.preventDefault() // a handle in a summary selects, it does not open
    const wasSelected = chosen.classList.contains('selected')
    for (const old of document.querySelectorAll('.selected')) old.classList.remove('selected')
    if (wasSelected) return
    for (const kin of document.querySelectorAll(`[data-seq="${CSS.escape(chosen.dataset['seq'])}"]`)) {
      kin.classList.add('selected')
      if (kin !== chosen) kin.scrollIntoView({ block: 'nearest' })
    }
  })
}
