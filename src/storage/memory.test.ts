import { describe, expect, it } from 'vitest'
import { LogId, SessionId } from '../core/ids.ts'
import { storageCases } from './conformance.ts'
import { batch, newSession } from './conformance-kit.ts'
import { memoryStorage } from './memory.ts'

describe('memory storage', () => {
  it.each(storageCases)('$name', storageCase => storageCase.run(memoryStorage))

  it('W1 is called what it is', () => {
    expect(memoryStorage().kind).toBe('memory')
  })

  it('W1 what a reader does to a record is not stored', async () => {
    const storage = memoryStorage()
    await storage.append(batch('a', 0, 1, { create: newSession('a') }))
    const [listed] = await storage.list()
    Object.assign(listed ?? {}, { nextSeq: 7, logId: LogId('x') })
    expect(await storage.get(SessionId('a'))).toMatchObject({ nextSeq: 1, logId: 'a' })
  })

  it('W2 a header that cannot be kept is refused, and nothing is stored', async () => {
    const storage = memoryStorage()
    const create = { ...newSession('a'), header: { ...newSession('a').header, cwd: (() => '') as unknown as string } }
    await expect(storage.append(batch('a', 0, 1, { create }))).rejects.toMatchObject({ code: 'invalid-batch' })
    expect(await storage.list()).toEqual([])
    await storage.append(batch('a', 0, 1, { create: newSession('a') }))
  })
})
