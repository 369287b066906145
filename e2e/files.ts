/** Files as a person gives them to the page, and logs to give. */
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { Page } from '@playwright/test'

export type GivenFile = { readonly name: string; readonly bytes: Buffer }

export const casePath = (name: string): string => fileURLToPath(new URL(`./cases/${name}`, import.meta.url))

/** A file of `e2e/cases`. */
export const caseFile = async (name: string): Promise<GivenFile> => ({
  name: name.split('/').at(-1) ?? name,
  bytes: await readFile(casePath(name)),
})

export const textFile = (name: string, text: string): GivenFile => ({ name, bytes: Buffer.from(text) })

/** Drags files over the page; with `isDropped`, drops them there. */
async function drag(page: Page, files: readonly GivenFile[], isDropped: boolean, on = '#transcript'): Promise<void> {
  const given = files.map(({ name, bytes }) => ({ name, base64: bytes.toString('base64') }))
  await page.evaluate(
    ([all, drops, place]) => {
      const dataTransfer = new DataTransfer()
      for (const { name, base64 } of all) {
        const bytes = Uint8Array.from(atob(base64), character => character.charCodeAt(0))
        dataTransfer.items.add(new File([bytes], name))
      }
      const target = document.querySelector(place) ?? document.body
      const types = ['dragenter', 'dragover', ...(drops ? ['drop'] : [])]
      for (const type of types) {
        target.dispatchEvent(new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true }))
      }
    },
    [given, isDropped, on] as const,
  )
}

export const hoverFiles = (page: Page, ...files: readonly GivenFile[]): Promise<void> => drag(page, files, false)
export const dropFiles = (page: Page, ...files: readonly GivenFile[]): Promise<void> => drag(page, files, true)

/** Drops files on a part of the page. */
export const dropFilesOn = (page: Page, on: string, ...files: readonly GivenFile[]): Promise<void> =>
  drag(page, files, true, on)

/** Ends a drag without a drop. */
export const leavePage = (page: Page): Promise<void> =>
  page.evaluate(() => void document.dispatchEvent(new DragEvent('dragleave', { bubbles: true })))

/** A log of the first version: so many turns of one prompt each. */
export function longLog(id: string, turns: number): string {
  const lines = [
    JSON.stringify({ type: 'session', version: 0, id, createdAt: 1788000000000, cwd: '/', delegationDepth: 0 }),
  ]
  const add = (type: string, data: object, more: object = {}) => {
    const seq = lines.length - 1
    lines.push(JSON.stringify({ type, seq, time: 1788000000000 + seq * 10, data, ...more }))
  }
  for (let turn = 1; turn <= turns; turn += 1) {
    const content = [{ type: 'text', text: `Question ${turn}` }]
    add('turn/start', { turn })
    add('step/start', { turn, step: 1 })
    add('user/message', { id: `u${turn}`, role: 'user', content, source: { kind: 'user' } }, { surfaceOp: 'append' })
    add('step/end', { turn, step: 1 })
    add('turn/end', { turn, reason: { kind: 'completed' } })
  }
  return `${lines.join('\n')}\n`
}
