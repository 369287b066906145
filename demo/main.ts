/** Wires the page: READ FIRST of the demo. Everything it knows comes from the worker through `palimpsest`. */
import { connect } from 'palimpsest'
import { onChange, tellChange } from './channel.ts'
import { Composer } from './composer.ts'
import { initialConfig } from './config.ts'
import { Conversation } from './conversation.ts'
import { addressedSession, Desk, goTo } from './desk.ts'
import { byId } from './dom.ts'
import { newId } from './new-id.ts'
import { initNotesPanel } from './notes-panel.ts'
import { initProviderForm } from './provider-form.ts'
import { initSelection } from './selection.ts'
import { SessionsPanel, titleFrom } from './sessions-panel.ts'
import { shortenLongest } from './shorten.ts'
import { initTestHook } from './test-hook.ts'
import { initTheme, setThemeTool } from './theme.ts'
import { UnsavedNotice } from './unsaved-notice.ts'
import { initViews } from './views.ts'
import { errorFacts } from './words.ts'

const config = initialConfig(location)
const worker = new Worker(new URL('./agent.worker.ts', import.meta.url), { type: 'module' })
const palimpsest = connect(worker, {
  config,
  tools: [setThemeTool],
  onLost: error => {
    conversation.lost(error)
    desk.lost()
  },
})

/** Resolves once the prompt is taken; rejects with why it was not. */
async function send(text: string): Promise<void> {
  const session = desk.session
  if (session === null) throw new Error('No session is open.')
  await session.send({ text }).accepted
  void name(session.id, text)
}

/** Names a session after its first prompt. */
async function name(id: string, prompt: string): Promise<void> {
  try {
    const known = (await palimpsest.sessions.list()).find(each => each.id === id)
    if (known?.title === null) await palimpsest.sessions.rename(id, titleFrom(prompt))
  } catch {
    // Without a name it is listed as untitled; trouble with the storage is in the status line.
  }
  sessions.refresh()
  tellChange('sessions')
}

async function remove(id: string): Promise<void> {
  await palimpsest.sessions.delete(id)
  tellChange('sessions')
  if (desk.id === id) goTo(newId())
  desk.leaveAgain()
}

const composer = new Composer({ send, stop: () => void desk.session?.cancel().catch(() => undefined) })
const conversation = new Conversation({
  send: text => {
    send(text).catch((error: unknown) => composer.refuse(text, error))
  },
  shorten: () => {
    const session = desk.session
    if (session !== null) shortenLongest(session).catch((error: unknown) => composer.say(errorFacts(error).message))
  },
  retryOpen: id => void desk.open(id),
  allow: (sending, stopping) => composer.allow(sending, stopping),
  turnEnded: () => sessions.refresh(),
})
const sessions = new SessionsPanel({ list: () => palimpsest.sessions.list(), open: goTo, remove })
const unsaved = new UnsavedNotice({ titleOf: id => sessions.titleOf(id), open: goTo })
const desk = new Desk(palimpsest, {
  state: state => {
    conversation.show(state)
    sessions.mark(state.id)
  },
  unsaved: left => unsaved.show(left),
})

function openAddressed(): void {
  let id = addressedSession()
  if (id === null) {
    id = newId()
    history.replaceState(null, '', `#session=${id}`)
  }
  composer.show(id)
  void desk.open(id)
}

initTheme(byId<HTMLButtonElement>('theme'))
initViews()
initSelection()
initNotesPanel()
initProviderForm(config, next => palimpsest.configure(next))
initTestHook(palimpsest, worker, () => desk.session)
onChange('sessions', () => sessions.refresh())
byId('reload').addEventListener('click', () => location.reload())
addEventListener('hashchange', openAddressed)
openAddressed()
composer.focus()

import.meta.hot?.dispose(() => {
  void palimpsest.close()
})
