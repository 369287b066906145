import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { AssistantStreamFrame } from '../core/live.ts'
import type { SessionStatus } from '../views/source.ts'
import { readFrames } from './frame-text.ts'
import { Outbox } from './outbox.ts'
import type { FeedItem } from './protocol.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
})
afterEach(() => {
  vi.useRealTimers()
})

const status = (unsaved: number): SessionStatus => ({
  agent: { kind: 'idle' },
  storage: { kind: 'memory', state: 'idle', unsaved, lastError: null },
})
const start: AssistantStreamFrame = { kind: 'start', attemptId: 'a', messageId: 'm', revision: 1, turn: 1, step: 1 }
const chunk = (index: number, time: number): AssistantStreamFrame => ({
  kind: 'chunk',
  attemptId: 'a',
  revision: 1,
  index,
  time,
  chunk: { type: 'text-delta', index: 0, text: String(index) },
})

function outbox() {
  const posts: (readonly FeedItem[])[] = []
  let now = status(0)
  const box = new Outbox(
    items => posts.push(items),
    () => now,
  )
  return { box, posts, setStatus: (next: SessionStatus) => (now = next) }
}
const kinds = (posts: readonly (readonly FeedItem[])[]) => posts.map(items => items.map(({ kind }) => kind).join(' '))
const framesIn = (items: readonly FeedItem[] = []) =>
  items.flatMap(item => (item.kind === 'frames' ? readFrames(item.frames) : []))

describe('an outbox', () => {
  it('[B5] posts the commits of a job as one batch, and the status they end in once', async () => {
    const { box, posts, setStatus } = outbox()
    for (let seq = 0; seq < 100; seq += 1) {
      box.commit(seq, String(seq), { kind: 'none' } as never)
      setStatus(status(seq))
      box.statusChanged()
    }
    await Promise.resolve()
    expect(kinds(posts)).toEqual(['batch status'])
    expect(posts[0]?.[1]).toEqual({ kind: 'status', status: status(99) })
    box.statusChanged()
    await Promise.resolve()
    expect(kinds(posts)).toEqual(['batch status', 'status'])
  })

  it('[B6] posts frames at most sixty times a second, in order with commits', async () => {
    const { box, posts } = outbox()
    box.frame(start)
    for (let time = 1; time <= 1_000; time += 1) {
      box.frame(chunk(time - 1, time))
      vi.advanceTimersByTime(1)
    }
    expect(posts.length).toBeLessThanOrEqual(60)
    expect(posts.length).toBeGreaterThan(50)
    box.commit(0, '0', { kind: 'none' } as never)
    await Promise.resolve()
    expect(posts.flatMap(framesIn)).toEqual([start, ...Array.from({ length: 1_000 }, (_, at) => chunk(at, at + 1))])
    expect(kinds(posts).at(-1)).toBe('frames batch')
    expect(vi.getTimerCount()).toBe(0)
  })

  it('[B6] posts frames also while a job does not end, and the first ones no sooner than others', () => {
    const { box, posts } = outbox()
    for (const answer of [0, 10_000]) {
      box.frame(start)
      for (let at = 0; at < 60; at += 1) box.frame(chunk(at, answer + at))
      expect(posts.splice(0).map(items => framesIn(items).length)).toEqual([20, 19, 19])
      box.flush()
      expect(posts.splice(0)).toHaveLength(1)
    }
  })
})
