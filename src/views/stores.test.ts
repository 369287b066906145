import fc from 'fast-check'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { append, called, type Draft, newSession, returned, said, toolCall, turnStart } from '../core/builders.ts'
import type { SessionEvent } from '../core/events.ts'
import { localSource } from './local-source.ts'
import { statusView } from './status-view.ts'
import type { ViewStore } from './store.ts'
import { surfaceFrom } from './surface.ts'
import { surfaceView } from './surface-view.ts'
import { foldTranscript } from './transcript.ts'
import { type TranscriptView, transcriptView } from './transcript-view.ts'
import { usageView } from './usage-view.ts'
import {
  answer,
  ended,
  endFrame,
  eventsOf,
  itemsOf,
  plain,
  settled,
  startFrame,
  talk,
  TestError,
  TestSource,
  textFrame,
} from './view-kit.ts'

const gone = new TestError('gone', 'gone')
const opened = (...drafts: readonly Draft[]): TestSource => new TestSource(newSession(...drafts))
const talked = (count: number): TestSource =>
  opened(...Array.from({ length: count }, (_, n) => (n % 4 === 0 ? turnStart(n / 4 + 1) : said(String(n)))))
/** A listener that notes each snapshot it is told of. */
const noting = <State>(store: ViewStore<State>): { readonly told: State[]; readonly stop: () => void } => {
  const told: State[] = []
  return { told, stop: store.subscribe(() => told.push(store.getSnapshot())) }
}
const read = async (source: TestSource, index: number): Promise<void> => {
  await settled()
  source.reads[index]?.let()
  await settled()
}
const seqs = (view: TranscriptView): unknown[] =>
  itemsOf(view.getSnapshot().transcript).map(item => ('seq' in item ? item.seq : item.resultSeq))

afterEach(() => void vi.useRealTimers())

describe('transcriptView', () => {
  it('[V10] is loading, then ready with the newest page', async () => {
    const source = talked(10)
    const view = transcriptView(source, { pageSize: 3 })
    expect(view.getSnapshot()).toMatchObject({
      state: 'loading',
      error: null,
      hasEarlier: false,
      loadingEarlier: false,
    })
    expect(view.getServerSnapshot()).toBe(view.getSnapshot())
    const { told } = noting(view)
    await read(source, 0)
    expect(source.reads).toMatchObject([{ from: 7, to: 10 }])
    expect(told).toHaveLength(1)
    expect(view.getSnapshot()).toMatchObject({ state: 'ready', hasEarlier: true })
    expect(seqs(view)).toEqual([7, 9])
    expect(view.getSnapshot()).toBe(told[0])
  })

  it('[V10] applies what arrives while it reads after it, in order and once', async () => {
    const source = talked(3)
    const view = transcriptView(source)
    const { told } = noting(view)
    source.append(said('before the read begins'))
    await settled()
    source.append(said('while it reads'), said('and more'))
    source.stream(startFrame('m'), textFrame('m', 'He'))
    expect(told).toEqual([])
    await read(source, 0)
    expect(source.reads).toMatchObject([{ from: 0, to: 4 }])
    expect(seqs(view)).toEqual([1, 2, 3, 4, 5])
    expect(view.getSnapshot().transcript.live?.blocks[0]?.text).toBe('He')
    expect(told).toHaveLength(1)
  })

  it('[V10] tells its listeners once for each update, and not when nothing changed', async () => {
    const source = talked(3)
    const view = transcriptView(source)
    const { told } = noting(view)
    await read(source, 0)
    const entries = talk([9, 8, 7, 6, 5, 4, 3, 2, 1]).entries.slice(3, 6)
    expect(entries).toHaveLength(3)
    source.tell({ kind: 'committed', entries })
    expect(told).toHaveLength(2)
    const last = view.getSnapshot()
    source.tell({ kind: 'committed', entries })
    source.tell({ kind: 'frames', frames: [textFrame('nobody', 'x')] })
    source.say({ ...source.status })
    expect(told).toHaveLength(2)
    expect(view.getSnapshot()).toBe(last)
  })

  it('[V5, V10] never shows an answer twice', async () => {
    const source = opened(turnStart(1), said('hi'))
    source.stream(startFrame('a'), textFrame('a', 'yes'))
    const view = transcriptView(source)
    const { told } = noting(view)
    await read(source, 0)
    expect(view.getSnapshot().transcript.live?.blocks[0]?.text).toBe('yes')
    source.append(answer('yes', { id: 'a' }))
    source.stream(endFrame('a'))
    expect(told.map(({ transcript }) => [transcript.live !== null, itemsOf(transcript).length])).toEqual([
      [true, 1],
      [false, 2],
    ])
    // Between the message and its end frame the source still holds the frames.
    source.stream(startFrame('b'), textFrame('b', 'no'))
    source.append(answer('no', { id: 'b' }))
    const late = transcriptView(source)
    noting(late)
    await read(source, 1)
    expect(late.getSnapshot().transcript.live).toBeNull()
  })

  it('[V11] reads nothing for who comes and goes within one tick, and once for who comes again', async () => {
    const source = talked(3)
    const view = transcriptView(source)
    view.subscribe(() => undefined)()
    const { told } = noting(view)
    source.append(said('x'))
    await read(source, 0)
    expect(source.reads).toHaveLength(1)
    expect(source.listeners).toBe(1)
    expect(seqs(view)).toEqual([1, 2, 3])
    expect(told).toHaveLength(1)
    transcriptView(source).subscribe(() => undefined)()
    await settled()
    expect([source.reads.length, source.listeners]).toEqual([1, 1])
  })

  it('[V11] two listeners share one read; the last one stops it', async () => {
    const source = talked(3)
    const view = transcriptView(source)
    const [first, second] = [noting(view), noting(view)]
    await read(source, 0)
    expect([source.reads.length, first.told.length, second.told.length]).toEqual([1, 1, 1])
    first.stop()
    first.stop()
    source.append(said('x'))
    expect([first.told.length, second.told.length, source.listeners]).toEqual([1, 2, 1])
    second.stop()
    expect(source.listeners).toBe(0)
  })

  it('[V11] nothing is applied after the last one left', async () => {
    const source = talked(3)
    const view = transcriptView(source)
    noting(view).stop()
    const { told, stop } = noting(view)
    await settled()
    stop()
    const before = view.getSnapshot()
    await read(source, 0)
    source.append(said('x'))
    expect(told).toEqual([])
    expect(view.getSnapshot()).toBe(before)
    expect(before.state).toBe('loading')
  })

  it('[V11] shows what it had when somebody comes again, and catches up', async () => {
    const source = talked(3)
    const view = transcriptView(source, { pageSize: 3 })
    const first = noting(view)
    await read(source, 0)
    const turn = view.getSnapshot().transcript.turns.at(0)
    source.stream(startFrame('m'))
    first.stop()

    // Nothing happened: nothing is read.
    source.stream(endFrame('m'))
    const second = noting(view)
    await settled()
    expect(source.reads).toHaveLength(1)
    expect(view.getSnapshot()).toMatchObject({ state: 'ready', transcript: { live: null, to: 3 } })
    second.stop()

    // A little happened: that is read.
    source.append(ended(1), said('x'))
    const third = noting(view)
    expect(view.getSnapshot().state).toBe('ready')
    source.append(said('y'))
    await read(source, 1)
    expect(source.reads[1]).toMatchObject({ from: 3, to: 6 })
    expect(view.getSnapshot().transcript.turns.at(0)?.items.at(0)).toBe(turn?.items.at(0))
    expect(seqs(view)).toEqual([1, 2, 4, 5])
    third.stop()

    // Much happened: it begins anew from the end.
    source.append(said('1'), said('2'), said('3'), said('4'))
    noting(view)
    await read(source, 2)
    expect(source.reads[2]).toMatchObject({ from: 7, to: 10 })
    expect(seqs(view)).toEqual([7, 8, 9])
  })

  it('[V10] loads earlier pages until everything is here', async () => {
    const source = talked(8)
    const view = transcriptView(source, { pageSize: 3 })
    const { told } = noting(view)
    expect(await view.loadEarlier()).toBe(false)
    await read(source, 0)
    const load = view.loadEarlier()
    const same = view.loadEarlier()
    expect(view.getSnapshot()).toMatchObject({ loadingEarlier: true, state: 'ready' })
    source.append(said('meanwhile'))
    await read(source, 1)
    expect(await Promise.all([load, same])).toEqual([true, true])
    expect(source.reads).toHaveLength(2)
    expect(view.getSnapshot()).toMatchObject({
      loadingEarlier: false,
      hasEarlier: true,
      transcript: { from: 2, to: 9 },
    })
    const last = view.loadEarlier()
    await read(source, 2)
    expect(await last).toBe(true)
    expect(view.getSnapshot()).toMatchObject({ hasEarlier: false, transcript: { from: 0 } })
    expect(await view.loadEarlier()).toBe(false)
    const events = Array.from({ length: 9 }, (_, seq) => source.session.eventAt(seq) as SessionEvent)
    expect(plain(view.getSnapshot().transcript)).toEqual(plain(foldTranscript(events)))
    expect(told).toHaveLength(6)
  })

  it('[V12] a first read that fails is a state, and is tried again', async () => {
    const source = talked(3)
    const view = transcriptView(source)
    const { told } = noting(view)
    await settled()
    source.reads[0]?.fail(gone)
    await settled()
    expect(view.getSnapshot()).toMatchObject({ state: 'failed', error: gone })
    source.append(said('meanwhile'))
    const retry = view.loadEarlier()
    expect(view.getSnapshot()).toMatchObject({ state: 'loading', error: null })
    source.append(said('and more'))
    await read(source, 1)
    expect(await retry).toBe(true)
    expect(view.getSnapshot()).toMatchObject({ state: 'ready', error: null })
    expect(seqs(view)).toEqual([1, 2, 3, 4])
    expect(told).toHaveLength(3)
  })

  it('[V12] an earlier page that fails is a state; what is shown stays and goes on', async () => {
    const source = talked(8)
    const view = transcriptView(source, { pageSize: 3 })
    noting(view)
    await read(source, 0)
    const load = view.loadEarlier()
    await settled()
    source.reads[1]?.fail(gone)
    expect(await load).toBe(false)
    expect(view.getSnapshot()).toMatchObject({ state: 'failed', error: gone, loadingEarlier: false, hasEarlier: true })
    source.append(said('x'))
    expect(seqs(view)).toEqual([5, 6, 7, 8])
    const retry = view.loadEarlier()
    expect(view.getSnapshot()).toMatchObject({ state: 'ready', error: null })
    await read(source, 2)
    expect(await retry).toBe(true)
    expect(view.getSnapshot()).toMatchObject({ state: 'ready', transcript: { from: 2 } })
  })

  it('[V12] a page that lacks events is a failed read', async () => {
    const source = talked(4)
    vi.spyOn(source, 'readEvents').mockImplementation(async function* () {
      yield source.session.eventAt(0) as SessionEvent
    })
    const view = transcriptView(source)
    noting(view)
    await settled()
    expect(view.getSnapshot()).toMatchObject({ state: 'failed', error: { name: 'SessionError', code: 'seq' } })
  })

  it('[V12] missing updates are a failure, and reading anew mends it', async () => {
    const source = talked(3)
    const view = transcriptView(source)
    noting(view)
    await read(source, 0)
    const entry = { event: { ...(source.session.eventAt(2) as SessionEvent), seq: 9 as never } }
    source.tell({ kind: 'committed', entries: [{ ...entry, surfaceChange: { kind: 'none' } }] })
    expect(view.getSnapshot()).toMatchObject({ state: 'failed', error: { code: 'seq' } })
    expect(seqs(view)).toEqual([1, 2])
    source.append(said('x'))
    const retry = view.loadEarlier()
    await read(source, 1)
    expect(await retry).toBe(true)
    expect(seqs(view)).toEqual([1, 2, 3])
  })

  it('[V12] a page that comes after that does not hide it', async () => {
    const source = talked(8)
    const view = transcriptView(source, { pageSize: 3 })
    noting(view)
    await read(source, 0)
    const load = view.loadEarlier()
    await settled()
    const event = { ...(source.session.eventAt(2) as SessionEvent), seq: 99 as never }
    source.tell({ kind: 'committed', entries: [{ event, surfaceChange: { kind: 'none' } }] })
    await read(source, 1)
    expect(await load).toBe(false)
    expect(view.getSnapshot()).toMatchObject({ state: 'failed', error: { code: 'seq' }, loadingEarlier: false })
    const retry = view.loadEarlier()
    await read(source, 2)
    expect(await retry).toBe(true)
    expect(view.getSnapshot()).toMatchObject({ state: 'ready', error: null, transcript: { from: 5, to: 8 } })
  })

  it('[V11] a page that comes too late is not applied, and does not hinder the next', async () => {
    const source = talked(8)
    const view = transcriptView(source, { pageSize: 3 })
    const first = noting(view)
    await read(source, 0)
    const load = view.loadEarlier()
    await settled()
    first.stop()
    expect(view.getSnapshot().loadingEarlier).toBe(false)
    noting(view)
    await settled()
    const next = view.loadEarlier()
    await settled()
    source.reads[1]?.let()
    expect(await load).toBe(false)
    expect(view.getSnapshot()).toMatchObject({ loadingEarlier: true, transcript: { from: 5 } })
    await read(source, 2)
    expect(await next).toBe(true)
    expect(view.getSnapshot()).toMatchObject({ loadingEarlier: false, transcript: { from: 2 } })
  })

  it('[V11] an ended session stays as it was', async () => {
    const source = talked(3)
    source.stream(startFrame('m'))
    const view = transcriptView(source)
    const { told, stop } = noting(view)
    await read(source, 0)
    expect(view.getSnapshot().transcript.live).not.toBeNull()
    source.tell({ kind: 'ended', error: gone })
    expect(view.getSnapshot()).toMatchObject({ state: 'ended', error: gone, transcript: { live: null, to: 3 } })
    expect(told).toHaveLength(2)
    expect(await view.loadEarlier()).toBe(false)
    stop()
    noting(view)
    await settled()
    expect(source.reads).toHaveLength(1)
    expect(view.getSnapshot().state).toBe('ended')
  })

  it.each(['let', 'fail'] as const)('[V11] a session may end while it is read (%s)', async outcome => {
    const source = talked(3)
    const view = transcriptView(source)
    noting(view)
    await settled()
    source.tell({ kind: 'ended', error: gone })
    expect(view.getSnapshot()).toMatchObject({ state: 'ended', error: gone })
    source.reads[0]?.[outcome](new TestError('late', 'late'))
    await settled()
    expect(view.getSnapshot()).toMatchObject({ state: 'ended', error: gone })
    expect(seqs(view)).toEqual(outcome === 'let' ? [1, 2] : [])
    expect(await view.loadEarlier()).toBe(false)
  })

  it('[V10] a listener that fails stops nobody', async () => {
    const source = talked(3)
    const view = transcriptView(source)
    noting(view)
    await read(source, 0)
    vi.useFakeTimers()
    view.subscribe(() => {
      throw gone
    })
    const { told } = noting(view)
    source.append(said('x'))
    expect(told).toHaveLength(1)
    expect(() => vi.runAllTimers()).toThrow(gone)
  })

  it('[V10, V11, V12] whatever happens in whatever order, it ends up with the whole log', async () => {
    const choices = fc.array(fc.nat({ max: 1 << 16 }), { maxLength: 40, size: 'max' })
    const steps = fc.array(fc.constantFrom('append', 'append', 'let', 'let', 'fail', 'earlier', 'leave', 'come'), {
      maxLength: 40,
    })
    await fc.assert(
      fc.asyncProperty(choices, steps, fc.integer({ min: 1, max: 9 }), async (each, what, pageSize) => {
        const events = eventsOf(talk(each).entries)
        const source = opened()
        const view = transcriptView(source, { pageSize })
        let stop: (() => void) | null = null
        let next = 0
        const grow = () => {
          const event = events[next++]
          if (event === undefined) return
          const { type, data, seq: _, time: __, ...intent } = event
          append(source.session, { type, data, ...intent })
        }
        for (const step of what) {
          if (step === 'append') grow()
          else if (step === 'let') source.reads.splice(0, 1)[0]?.let()
          else if (step === 'fail') source.reads.splice(0, 1)[0]?.fail(gone)
          else if (step === 'earlier') void view.loadEarlier()
          else if (step === 'come') stop ??= view.subscribe(() => undefined)
          else {
            stop?.()
            stop = null
          }
          await Promise.resolve()
        }
        stop ??= view.subscribe(() => undefined)
        while (next < events.length) grow()
        for (let round = 0; round < 400; round += 1) {
          for (const waiting of source.reads.splice(0)) waiting.let()
          await settled()
          const { state, hasEarlier } = view.getSnapshot()
          if (state === 'ready' && !hasEarlier && source.reads.length === 0) break
          void view.loadEarlier()
        }
        const all = Array.from({ length: source.length }, (_, seq) => source.session.eventAt(seq) as SessionEvent)
        expect(plain(view.getSnapshot().transcript)).toEqual(plain(foldTranscript(all)))
        stop()
        expect(source.listeners).toBe(0)
      }),
      { numRuns: 60 },
    )
  })
})

describe('surfaceView', () => {
  it('[V10] reads the surface and applies what arrived meanwhile, once', async () => {
    const source = opened(said('a'), said('b'))
    const view = surfaceView(source)
    expect(view.getServerSnapshot()).toBe(view.getSnapshot())
    const { told } = noting(view)
    await settled()
    source.append(said('c'))
    await read(source, 0)
    source.append(turnStart(1), said('d'))
    const { nodes, length } = await localSource(source.session).readSurface()
    const { surface, state } = view.getSnapshot()
    expect([state, told.length]).toEqual(['ready', 3])
    expect({ ...surface, nodes: [...surface.nodes] }).toEqual({
      ...surfaceFrom(nodes, length),
      nodes: [...surfaceFrom(nodes, length).nodes],
    })
  })

  it('[V11] reads anew only when something was missed', async () => {
    const source = opened(said('a'))
    const view = surfaceView(source)
    const first = noting(view)
    await read(source, 0)
    first.stop()
    const second = noting(view)
    await settled()
    expect(source.reads).toHaveLength(1)
    second.stop()
    source.append(said('b'))
    noting(view)
    await read(source, 1)
    expect(view.getSnapshot().surface).toMatchObject({ length: 2, messages: 2 })
  })

  it('[V12] a read that fails is a state, and is tried again', async () => {
    const source = opened(said('a'))
    const view = surfaceView(source)
    expect(await view.retry()).toBe(false)
    noting(view)
    await settled()
    source.reads[0]?.fail(gone)
    await settled()
    expect(view.getSnapshot()).toMatchObject({ state: 'failed', error: gone })
    const retry = view.retry()
    await read(source, 1)
    expect(await retry).toBe(true)
    expect(await view.retry()).toBe(false)
    expect(view.getSnapshot()).toMatchObject({ state: 'ready', error: null, surface: { messages: 1 } })
    source.tell({ kind: 'ended', error: gone })
    expect(view.getSnapshot()).toMatchObject({ state: 'ended', error: gone, surface: { messages: 1 } })
  })
})

describe('usageView and statusView', () => {
  it('[V8, V10] usage is what the source says, told when it changes', () => {
    const source = opened(said('a'))
    const view = usageView(source)
    expect(view.getServerSnapshot()).toMatchObject({ calls: 0, provider: null })
    const { told, stop } = noting(view)
    source.append(said('b'))
    expect(told).toEqual([])
    source.append(answer('x', { usage: { inputTokens: 3, outputTokens: 1 } }))
    expect(told).toMatchObject([{ calls: 1, last: { inputTokens: 3 } }])
    expect(view.getSnapshot()).toBe(told[0])
    stop()
    source.append(answer('y'))
    expect([told.length, view.getSnapshot().calls, source.listeners]).toEqual([1, 2, 0])
  })

  it('[V13, V10] status is what the source says, told when it says something else', () => {
    const source = opened()
    const view = statusView(source)
    expect(view.getServerSnapshot().phase).toBe('opening')
    expect(view.getSnapshot()).toMatchObject({ phase: 'idle', saving: 'nothing', isDurable: false })
    expect(view.getSnapshot()).toBe(view.getSnapshot())
    const { told } = noting(view)
    source.append(said('a'))
    source.append(said('b'))
    source.say({ ...source.status, agent: { kind: 'thinking', turn: 1, step: 1 } })
    source.say({ ...source.status, agent: { kind: 'thinking', turn: 1, step: 1 } })
    source.tell({ kind: 'ended', error: gone })
    expect(told.map(({ phase, saving }) => [phase, saving])).toEqual([
      ['idle', 'saved'],
      ['thinking', 'saved'],
      ['ended', 'saved'],
    ])
    expect(told[2]?.ended).toBe(gone)
  })
})

describe('localSource', () => {
  it('[V10] shows a session of the core without a worker', async () => {
    const session = newSession(turnStart(1), said('hi'))
    const source = localSource(session)
    const transcript = transcriptView(source)
    const surface = surfaceView(source)
    noting(transcript)
    noting(surface)
    await settled()
    for (const draft of [answer([toolCall('c')]), called('c'), returned('c')]) append(session, draft)
    expect(itemsOf(transcript.getSnapshot().transcript).map(item => item.kind)).toEqual(['user', 'answer', 'tool'])
    expect(surface.getSnapshot().surface).toMatchObject({ length: 5, messages: 3 })
    expect(source).toMatchObject({ id: 'test', length: 5, frames: [], usage: { calls: 1 } })
    expect(source.usage).toBe(source.usage)
  })
})
