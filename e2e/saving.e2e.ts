/** What the page says about saving is true. */
import { type Demo, expect, test } from './demo.ts'

const SAVED = /\bsaved\b/

/** The status line and the length of the log, at one moment. */
const said = ({ page }: Demo) =>
  page.evaluate(() => ({
    text: document.querySelector('#status')?.textContent ?? '',
    length: window.palimpsestDemo.session()?.length ?? 0,
  }))

test('[E5] whenever the page says saved, the database has every event', async ({ demo }) => {
  await demo.open()
  await demo.send('Think, and remember that the tide is high at noon.')
  let checks = 0
  while (checks < 5 || (await demo.turnEnds.count()) === 0) {
    const { text, length } = await said(demo)
    if (!SAVED.test(text)) continue
    expect((await demo.stored()).length).toBeGreaterThanOrEqual(length)
    checks += 1
  }
  await demo.ended(1)
  expect(await demo.stored()).toHaveLength((await said(demo)).length)
})

test('[E5] while the database makes a write wait, the page does not say saved', async ({ demo, page }) => {
  await demo.open()
  await demo.ask('Hello. [fast]')
  const texts = await page.evaluateHandle(holdStorage)
  await demo.send('Still there? [fast]')
  await expect(demo.status).toHaveText(/ · saving, \d+ unsaved$/)
  const seen = await texts.evaluate(({ release, seen }) => {
    release()
    return [...seen]
  })
  expect(seen.filter(text => /\bsaved\b/.test(text))).toEqual([])
  await demo.ended(2)
  expect(await demo.stored()).toHaveLength((await said(demo)).length)
})

test('[E5] a session that cannot be saved when it is left is named, kept, and saved once there is room', async ({
  demo,
  page,
  baseURL,
}) => {
  const cdp = await page.context().newCDPSession(page)
  const origin = baseURL as string
  // Before the page uses storage: the browser looks at its quota now and then only.
  await cdp.send('Storage.overrideQuotaForOrigin', { origin, quotaSize: 1_000_000 })
  const first = await demo.open()
  await demo.ask('Precious words. [fast]')
  await page.evaluate(append, 'too much')
  await expect(demo.status).toHaveText(/^Idle · storage trouble, 1 unsaved: /)
  await demo.startSession()
  const notice = page.locator('#unsaved')
  await expect(notice).toContainText('“Precious words.” could not be saved: the browser’s storage is full.')
  await notice.getByRole('button', { name: 'Open it' }).click()
  await expect(page.locator('#rows')).toContainText('too much')
  await expect(notice).toBeEmpty()
  await expect(demo.status).toHaveText(/^Idle · storage trouble, 1 unsaved: /)
  await demo.startSession()
  await expect(notice).toContainText('It is kept in memory')

  // With room again, the next switch saves it.
  await cdp.send('Storage.overrideQuotaForOrigin', { origin })
  await page.getByRole('button', { name: 'New session' }).first().click()
  await expect(notice).toBeEmpty()
  expect(JSON.stringify(await demo.stored(first))).toContain('too much')
})

test('[E6] a prompt for a session that was deleted is refused in true words, and the draft is kept', async ({
  demo,
  page,
}) => {
  const id = await demo.open()
  await demo.ask('Hello. [fast]')
  await page.evaluate(deleted => window.palimpsestDemo.palimpsest.sessions.delete(deleted), id)
  await demo.prompt.fill('Too late?')
  await demo.prompt.press('Enter')
  await expect(demo.notice).toHaveText(/^This session was closed or deleted, so nothing was sent\./)
  await expect(demo.prompt).toHaveValue('Too late?')
  expect(await demo.stored(id)).toEqual([])
})

/** Runs in the page: adds a message of 2 MB that cannot be compressed. */
async function append(text: string): Promise<void> {
  const part = () => Array.from(crypto.getRandomValues(new Uint32Array(16_000)), String).join(' ')
  const random = Array.from({ length: 12 }, part).join(' ')
  await window.palimpsestDemo.session()?.append(
    'user/message',
    {
      id: text,
      role: 'user',
      content: [{ type: 'text', text: `${text} ${random}` }],
      source: { kind: 'user' },
    },
    { surfaceOp: 'append' },
  )
}

/**
 * Runs in the page: keeps a transaction open that every write of the library has to wait for, until it is released, and
 * notes what the status line says meanwhile.
 */
async function holdStorage(): Promise<{ readonly seen: string[]; readonly release: () => void }> {
  const db = await new Promise<IDBDatabase>((resolve, reject) => {
    const request = indexedDB.open('palimpsest')
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error ?? new Error('IndexedDB failed'))
  })
  const store = db.transaction(['sessions', 'segments'], 'readwrite').objectStore('sessions')
  const seen: string[] = []
  let isHeld = true
  const status = document.querySelector('#status') as Element
  const observer = new MutationObserver(() => seen.push(status.textContent))
  await new Promise<void>(resolve => {
    const spin = () => {
      resolve()
      if (isHeld) store.count().onsuccess = spin
      else db.close()
    }
    store.count().onsuccess = spin
  })
  observer.observe(status, { childList: true, characterData: true, subtree: true })
  const release = () => {
    isHeld = false
    observer.disconnect()
  }
  return { seen, release }
}
