import { MessageId, Session, type SessionEvent } from 'palimpsest/core'
import { localSource, type SessionSource } from 'palimpsest/views'
import { describe, expect, test } from 'vitest'
import { filterOf } from './log-filter.ts'
import { LogWindow, MOST, PAGE } from './log-window.ts'

function sessionWith(count: number): Session {
  const session = Session.create({ id: 's', now: () => 0 })
  for (let index = 0; index < count; index += 1) say(session, `m${index}`)
  return session
}
function say(session: Session, id: string): void {
  session.append(
    'user/message',
    { id: MessageId(id), role: 'user', content: [{ type: 'text', text: id }], source: { kind: 'user' } },
    { surfaceOp: 'append' },
  )
}
const settled = () => new Promise(resolve => setTimeout(resolve, 5))

/** A window that is watched, after its first read. */
async function open(source: SessionSource): Promise<{ readonly log: LogWindow; readonly range: () => string }> {
  const log = new LogWindow(source)
  log.subscribe(() => {})
  await log.toEnd()
  const range = () => {
    const { events, from, length } = log.getSnapshot()
    events.forEach((event, index) => expect(event.seq).toBe(from + index))
    return `${from}…${from + events.length} of ${length}`
  }
  return { log, range }
}

describe('the window on the log', () => {
  test('[demo] starts with the newest events and goes on with the log', async () => {
    const session = sessionWith(450)
    const { range } = await open(localSource(session))
    expect(range()).toBe('250…450 of 450')
    say(session, 'new')
    expect(range()).toBe('250…451 of 451')
  })

  test('[demo] reads back page by page, and forth again', async () => {
    const session = sessionWith(2_000)
    const { log, range } = await open(localSource(session))
    await log.earlier()
    expect(range()).toBe('1600…2000 of 2000')
    for (let step = 0; step < 5; step += 1) await log.earlier()
    // Never more than its most: the newest are left out then, and are read again on demand.
    expect(range()).toBe(`600…${600 + MOST} of 2000`)
    say(session, 'unseen')
    expect(range()).toBe(`600…${600 + MOST} of 2001`)
    await log.later()
    expect(log.getSnapshot().events.at(-1)?.seq).toBe(600 + MOST + PAGE - 1)
    await log.toEnd()
    expect(log.getSnapshot().events.at(-1)?.seq).toBe(2_000)
  })

  test('[demo] shows an event that is far away, with its neighbours', async () => {
    const { log, range } = await open(localSource(sessionWith(1_000)))
    await log.show(42)
    expect(range()).toBe('0…200 of 1000')
    await log.show(500)
    expect(range()).toBe('400…600 of 1000')
    await log.show(450)
    expect(range()).toBe('400…600 of 1000')
  })

  test('[demo] misses nothing that is committed while it reads', async () => {
    const session = sessionWith(300)
    const slow = delayed(localSource(session))
    const log = new LogWindow(slow)
    log.subscribe(() => {})
    const read = log.toEnd()
    await settled()
    say(session, 'meanwhile')
    await read
    await log.toEnd()
    expect(log.getSnapshot().events.at(-1)?.seq).toBe(300)
    const back = log.earlier()
    say(session, 'once more')
    await back
    expect(log.getSnapshot().events.at(-1)?.seq).toBe(301)
    expect(log.getSnapshot().events.length).toBe(302)
  })

  test('[demo] says why it could not read, keeps what it has, and can try again', async () => {
    const source = localSource(sessionWith(500))
    let isBroken = false
    const broken: SessionSource = Object.create(source, {
      readEvents: {
        value: (range: { from: number; to: number }) => {
          if (isBroken) throw new Error('gone')
          return source.readEvents(range)
        },
      },
    }) as SessionSource
    const { log, range } = await open(broken)
    isBroken = true
    await log.earlier()
    expect(log.getSnapshot().error).toMatchObject({ message: 'gone' })
    expect(range()).toBe('300…500 of 500')
    isBroken = false
    await log.earlier()
    expect(log.getSnapshot().error).toBeNull()
    expect(range()).toBe('100…500 of 500')
  })
})

/** The same source with slow reads. */
function delayed(source: SessionSource): SessionSource {
  return Object.create(source, {
    readEvents: {
      value: async function* (range: { from: number; to: number }): AsyncGenerator<SessionEvent> {
        await settled()
        await settled()
        yield* source.readEvents(range)
      },
    },
  }) as SessionSource
}

test('[demo] filters admit groups and single types', () => {
  const of = (type: string, more: object = {}) =>
    ({ type, seq: 0, time: 0, data: {}, ...more }) as unknown as SessionEvent
  expect(filterOf('tools').admits(of('tool/call'))).toBe(true)
  expect(filterOf('tools').admits(of('turn/start'))).toBe(false)
  expect(filterOf('messages').admits(of('tool/result'))).toBe(true)
  expect(filterOf('rewrites').admits(of('user/message', { surfaceOp: 'append' }))).toBe(false)
  expect(filterOf('rewrites').admits(of('user/message', { surfaceOp: { op: 'replace' } }))).toBe(true)
  expect(filterOf('llm/retry').admits(of('llm/retry'))).toBe(true)
  expect(filterOf('llm/retry').admits(of('tool/call'))).toBe(false)
})
