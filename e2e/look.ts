/** Looks at the page in both schemes, on small and large screens: pictures, and every rule of axe. */
import { copyFile, mkdir } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { AxeBuilder } from '@axe-core/playwright'
import type { Page } from '@playwright/test'
import { type Demo, expect } from './demo.ts'

const sizes = { 360: { width: 360, height: 740 }, 1440: { width: 1440, height: 900 } } as const
export type Width = keyof typeof sizes
type Scheme = 'light' | 'dark'

const kept = fileURLToPath(new URL('./screenshots/', import.meta.url))
/** Pictures of the page for people, in the repository: made anew with PALIMPSEST_SCREENSHOTS=1 only. */
const isKeeping = Boolean(process.env['PALIMPSEST_SCREENSHOTS'])
/** The states whose pictures are kept, in a scheme and a width each. */
const keptPictures: ReadonlySet<string> = new Set([
  ...(['light', 'dark'] as const).flatMap(scheme =>
    (['empty', 'finished', 'streaming'] as const).flatMap(state => [
      `${state}-${scheme}-1440`,
      `${state}-${scheme}-360`,
    ]),
  ),
  'condensed-light-1440',
  'condensed-dark-1440',
  'queue-light-1440',
  'queue-dark-360',
  'sessions-light-360',
  'inspector-dark-360',
  'provider-light-1440',
  'provider-dark-360',
  'help-dark-1440',
  'undo-light-1440',
  'deleted-light-1440',
  'deleted-dark-360',
  'deleted-address-dark-1440',
  'drop-light-1440',
  'reading-dark-1440',
  'refusal-light-1440',
  'refusal-dark-360',
  'repairs-light-1440',
  'repairs-dark-360',
  'approval-light-1440',
  'approval-dark-360',
  'attaching-dark-360',
  'attached-light-1440',
  'editing-dark-1440',
  'retrying-light-1440',
])

/** Looks at the page as it is: no violation of any rule, and a picture. Between the schemes only colours differ. */
export async function look(page: Page, state: string, width: Width): Promise<void> {
  for (const scheme of ['light', 'dark'] satisfies Scheme[]) {
    await page.emulateMedia({ colorScheme: scheme, reducedMotion: 'reduce' })
    const name = `${state}-${scheme}-${width}`
    const path = `test-results/screenshots/${name}.png`
    await page.screenshot({ path })
    if (isKeeping && keptPictures.has(name)) {
      await mkdir(kept, { recursive: true })
      await copyFile(path, `${kept}${name}.png`)
    }
    // It has a Playwright of its own, so the types of the page differ.
    const axe = new AxeBuilder({ page: page as never }).options({ resultTypes: ['violations'] })
    const { violations } = await (scheme === 'light' ? axe : axe.withRules(['color-contrast'])).analyze()
    const found = violations.flatMap(({ id, nodes }) => nodes.map(node => `${id}: ${node.html.slice(0, 160)}`))
    expect(found, `${name} has violations`).toEqual([])
  }
  // Nothing is cut off at the side.
  const overflow = await page.evaluate(
    () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
  )
  expect(overflow, `${state} at ${width} px is wider than its window`).toBeLessThanOrEqual(0)
}

export async function openAt(demo: Demo, width: Width): Promise<void> {
  await demo.page.setViewportSize(sizes[width])
  await demo.page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' })
  await demo.open()
}
