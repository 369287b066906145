/** The family of a session: where it came from and what branched off, in the list and one step from each other. */
import type { Page } from '@playwright/test'
import { Demo, expect, test } from './demo.ts'
import { look, openAt, type Width } from './look.ts'

test.use({ viewport: { width: 1440, height: 900 } })

type Forkable = {
  readonly fork: (how: { readonly id: string; readonly after?: number }) => Promise<unknown>
}

/** Branches off from the session on the page, as the library does it, and leaves the child to whoever opens it. */
async function fork({ page }: Demo, id: string, after?: number): Promise<void> {
  await page.evaluate(
    async how => {
      const session = window.palimpsestDemo.session() as unknown as Forkable | null
      await session?.fork(how)
    },
    { id, ...(after === undefined ? {} : { after }) },
  )
}

const strip = (page: Page) => page.getByRole('navigation', { name: 'Branches' })
const members = (page: Page) => strip(page).locator('.member')
const current = (page: Page) => strip(page).locator('[aria-current="true"]')
const open = (page: Page) => strip(page).locator('summary').click()

/** A session of two turns with a child of the first one, and a child of that. Shows the last. */
async function openFamily(demo: Demo): Promise<{ readonly first: string; readonly ids: readonly string[] }> {
  const first = demo.id
  await demo.ask('Where is the harbour? [fast]')
  const end = (await demo.stored()).find(({ type }) => type === 'turn/end')?.seq
  await demo.ask('And the lighthouse? [fast]')
  const ids = ['child', 'grandchild'].map(name => `${name}-${first}`) as [string, string]
  await fork(demo, ids[0], end)
  await demo.open({ id: ids[0] })
  await demo.ask('And the pier? [fast]')
  await fork(demo, ids[1])
  await demo.open({ id: ids[1] })
  return { first, ids }
}

test('[W22] a session alone shows no family; a branch says where it came from', async ({ demo, page }) => {
  await demo.open()
  await demo.ask('Where is the harbour? [fast]')
  await expect(strip(page)).toHaveCount(0)
  const entry = page.locator('#sessions .session')
  await expect(entry.locator('.branch-mark')).toHaveCount(0)
  const shared = (await demo.stored()).length
  await fork(demo, 'a-branch')
  // It is told at once, on the page it left.
  await expect(strip(page).locator('summary')).toHaveText('Branches2 sessions')
  await expect(entry.filter({ has: page.locator('.branch-mark') })).toHaveText(
    'Where is the harbour?branch of Where is the harbour?',
  )
  await open(page)
  await members(page).nth(1).click()
  await expect.poll(() => demo.id).toBe('a-branch')
  await expect(strip(page).locator('summary')).toHaveText('Branch of “Where is the harbour?”2 sessions')
  await expect(current(page)).toContainText(`after #${shared - 1} · `)
  await expect(demo.rows.first()).toBeVisible()
})

test('[W22] one moves between the members of a family by click and by keys, also after a reload', async ({
  demo,
  page,
}) => {
  await demo.open()
  const { first, ids } = await openFamily(demo)
  await expect(strip(page).locator('summary')).toContainText('3 sessions')
  await open(page)
  await expect(members(page)).toHaveCount(3)
  await expect(strip(page).locator('li')).toHaveCount(3)
  expect(
    await strip(page)
      .locator('li')
      .evaluateAll(all => all.map(each => each.dataset['level'])),
  ).toEqual(['0', '1', '2'])
  await expect(current(page)).toHaveCount(1)
  await expect(members(page).nth(2)).toHaveAttribute('aria-current', 'true')

  await members(page).nth(0).click()
  await expect.poll(() => demo.id).toBe(first)
  await expect(page.locator('#rows')).toContainText('And the lighthouse?')
  await expect(page.locator('#rows')).not.toContainText('And the pier?')
  await expect(members(page).nth(0)).toHaveAttribute('aria-current', 'true')
  await expect(strip(page).locator('summary')).toHaveText('Branches3 sessions')

  // Where the focus is it stays, and what was open stays open.
  await expect(members(page).nth(0)).toBeFocused()
  await page.keyboard.press('ArrowDown')
  await expect(members(page).nth(1)).toBeFocused()
  await page.keyboard.press('Enter')
  await expect.poll(() => demo.id).toBe(ids[0])
  await expect(page.locator('#rows')).toContainText('And the pier?')
  await expect(page.locator('#rows')).not.toContainText('And the lighthouse?')
  await expect(members(page).nth(1)).toBeFocused()
  await page.keyboard.press('End')
  await page.keyboard.press('Enter')
  await expect.poll(() => demo.id).toBe(ids[1])
  await page.keyboard.press('Home')
  await expect(members(page).nth(0)).toBeFocused()
  await page.keyboard.press('ArrowUp')
  await expect(members(page).nth(0)).toBeFocused()

  await demo.reload()
  await open(page)
  await expect(members(page)).toHaveCount(3)
  await expect(members(page).nth(2)).toHaveAttribute('aria-current', 'true')
  // A branch is a session as any other: what is said in it is in no other.
  await demo.ask('Only here. [fast]')
  expect(JSON.stringify(await demo.stored(first))).not.toContain('Only here.')
  expect(JSON.stringify(await demo.stored(ids[0]))).not.toContain('Only here.')
})

test('[W22] an ancestor that was deleted is named as such, and one that is gone is not forgotten', async ({
  demo,
  page,
}) => {
  await demo.open()
  const { first, ids } = await openFamily(demo)
  const row = page.locator('#sessions .session[aria-current]')
  await expect(row).toHaveText('Where is the harbour?branch of Where is the harbour?')
  await page.evaluate(async id => {
    const { sessions } = window.palimpsestDemo.palimpsest as unknown as {
      sessions: { delete(id: string, how: object): Promise<void>; rename(id: string, title: string): Promise<void> }
    }
    await sessions.rename(id, 'The middle one')
    await sessions.delete(id, { undoable: true })
  }, ids[0] ?? '')
  await expect(strip(page).locator('summary')).toHaveText('Branch of “The middle one”, which was deleted3 sessions')
  await demo.reload()
  await expect(row).toHaveText('Where is the harbour?branch of The middle one, deleted')
  await open(page)
  await expect(members(page).nth(1)).toContainText('deleted')
  // It says so itself, and leads back.
  await members(page).nth(1).click()
  await expect(page.locator('#rows .ending')).toContainText('This session was deleted.')
  await expect(members(page)).toHaveCount(3)
  await members(page).nth(2).click()
  await expect(page.locator('#rows')).toContainText('And the pier?')

  await page.evaluate(async id => window.palimpsestDemo.palimpsest.sessions.delete(id), ids[0] ?? '')
  await expect(strip(page).locator('summary')).toContainText('Branch of a session that is gone')
  await expect(
    members(page).filter({ hasText: 'A session that was deleted for good, or never came here' }),
  ).toHaveCount(1)
  await page.evaluate(async id => window.palimpsestDemo.palimpsest.sessions.delete(id), first)
  await demo.reload()
  await expect(row).toHaveText('Where is the harbour?branch of a session that is gone')
  await expect(page.locator('#rows')).toContainText('And the pier?')
  await demo.ask('Still here? [fast]')
})

test('[W22] what another tab branches off, names and deletes is told in this one', async ({ demo, page, context }) => {
  await demo.open()
  const { first } = await openFamily(demo)
  await open(page)
  const other = new Demo(await context.newPage())
  await other.open({ id: first })
  await fork(other, `sibling-${first}`)
  await other.page.getByRole('button', { name: /^Rename / }).click()
  await other.page.getByRole('textbox', { name: /^New name of / }).fill('Where it began')
  await other.page.getByRole('textbox', { name: /^New name of / }).press('Enter')
  await expect(members(page).nth(0)).toContainText('Where it began')
  await expect(members(page)).toHaveCount(4)
})

for (const width of [360, 1440] as const satisfies readonly Width[]) {
  test(`[E12] a family can be read by everybody, ${width} px`, async ({ demo, page }) => {
    await openAt(demo, width)
    const { ids } = await openFamily(demo)
    await page.evaluate(async id => {
      const { sessions } = window.palimpsestDemo.palimpsest as unknown as {
        sessions: { rename(id: string, title: string): Promise<void> }
      }
      await sessions.rename(id, 'The harbour, the pier, and everything that lies between them at low tide')
    }, ids[0] ?? '')
    await expect(strip(page).locator('summary')).toContainText('between them')
    if (width === 1440) await look(page, 'branches-closed', width)
    await open(page)
    await expect(members(page)).toHaveCount(3)
    await look(page, 'branches', width)
    if (width === 360) {
      await page.getByRole('button', { name: 'Sessions', exact: true }).click()
      await look(page, 'branches-listed', width)
    }
  })
}
