/** The rules between events by example: each broken once and kept once, whichever way the event reaches the log. */
import { describe, expect, it } from 'vitest'
import {
  answered,
  called,
  citing,
  counter,
  type Draft,
  header,
  log,
  over,
  prompted,
  returned,
  said,
  stepEnd,
  stepStart,
  textBlock,
  throughJson,
  toolCall,
  toolResult,
  turnEnd,
  turnStart,
  user,
} from '../core/builders.ts'
import { tried } from '../core/invariants/kit.ts'
import { repairLog } from '../core/repair.ts'
import { Session } from '../core/session.ts'
import { added, entriesOf, idTable, valueOf } from './id-table.ts'
import { commandsFold, nestedFold } from './plugin-relations.ts'
import { askedFold, pairInvariant, relationInvariant } from './relations.ts'

const relations = relationInvariant({ sessionId: 'test', inheritedEventCount: 0 })
const pairs = (...before: readonly Draft[]) => ({ try: (draft: Draft) => tried(pairInvariant, before, draft) })
const after = (...before: readonly Draft[]) => ({ try: (draft: Draft) => tried(relations, before, draft) })

/** Seqs 0 to 3. */
const open = [turnStart(1), stepStart(1, 1), prompted('p'), said('hi')]
const asked = (...ids: readonly string[]): Draft => answered(ids.map(id => toolCall(id)))

/** What repair answers for a call that was not started, with something else about it. */
function unstarted(
  callId: string,
  more: { id?: string; error?: object; block?: object; sources?: number[] } = {},
): Draft {
  const { id = `interrupted-tool-result-${callId}-9`, block = {}, sources } = more
  const message = toolResult(callId, 'It did not run.', id)
  const error = { name: 'ToolNotStartedError', code: 'TOOL_NOT_STARTED', ...more.error }
  const content = [{ ...message.content[0], isError: true, ...block }]
  const draft = returned(callId, 'x', { message: { ...message, content }, error })
  return sources === undefined ? draft : citing(draft, sources)
}

describe('calls and their answers', () => {
  it('[F9, 8.6] a result answers a call that a message asks for, once', () => {
    const wanted = (found: string) =>
      `expected the id of a call that a message asks for and nothing has answered, found "${found}"`
    expect(pairs(...open, asked('a'), called('a')).try(returned('a'))).toBe('accepted')
    expect(pairs(...open, asked('a'), called('a')).try(returned('b'))).toBe(wanted('b'))
    expect(pairs(...open, asked('a'), called('a'), returned('a')).try(returned('a'))).toBe(wanted('a'))
    expect(pairs(...open, called('a')).try(returned('a'))).toBe(wanted('a'))
    expect(pairs(turnStart(1)).try(returned('a'))).toBe('accepted') // it stands in no step
    const rewrite = over(returned('a', 'shorter'), 6, 6, [6])
    expect(pairs(...open, asked('a'), called('a'), returned('a')).try(rewrite)).toBe('accepted')
  })

  it('[F9, 8.6] no step and no turn ends with a call that was asked for or started and not answered', () => {
    for (const end of [stepEnd(1, 1), turnEnd(1)]) {
      expect(pairs(...open, asked('a'), called('a'), returned('a')).try(end)).toBe('accepted')
      expect(pairs(...open, asked('a')).try(end)).toBe('expected every call to be answered, found "a" open')
      expect(pairs(...open, asked('a', 'b'), called('b'), called('c')).try(end)).toBe(
        'expected every call to be answered, found "a" and 2 more open',
      )
    }
  })

  it('[F9, 8.6] a call is started as the message of its step asks for it, once', () => {
    const wanted = 'expected the id of a call that a message of this step asks for, found "a"'
    expect(after(...open, asked('a')).try(called('a'))).toBe('accepted')
    expect(after(...open).try(called('a'))).toBe(wanted)
    expect(after(...open, asked('a'), called('a')).try(called('a'))).toBe(
      'expected call "a" to be started once, found it at seq 5',
    )
    expect(after(...open, asked('a'), called('a'), returned('a')).try(called('a'))).toBe(wanted)
    const other = (more: object): Draft => ({ ...called('a'), data: { ...(called('a').data as object), ...more } })
    expect(after(...open, asked('a')).try(other({ name: 'write' }))).toBe(
      'expected the name that the message asks for, found another',
    )
    expect(after(...open, asked('a')).try(other({ arguments: '{ }' }))).toBe(
      'expected the arguments that the message asks for, found another',
    )
    // Of another step: where it stands is wrong, which is another rule's business.
    expect(after(...open, asked('a')).try(called('a', 1, 2))).toBe('accepted')
  })

  it('[F9, 8.6] an id is asked for again only when it was answered', () => {
    expect(after(...open).try(asked('a', 'b'))).toBe('accepted')
    expect(after(...open).try(asked('a', 'a'))).toBe('expected each call to be asked for once, found "a" again')
    expect(after(...open, asked('a')).try(asked('b', 'a'))).toBe(
      'expected each call to be asked for once, found "a" again',
    )
    const again = answered([toolCall('a', '{"n":2}')])
    expect(after(...open, asked('a'), called('a'), returned('a')).try(again)).toBe('accepted')
    // What counts then is what it was asked for last.
    expect(after(...open, asked('a'), called('a'), returned('a'), again).try(called('a'))).toBe(
      'expected the arguments that the message asks for, found another',
    )
  })

  it('[F9, 8.6] a call that was not started is answered exactly as repair answers it', () => {
    const refused = 'expected call "a", which was not started, to be answered as repair does, found another result'
    const before = after(...open, asked('a'))
    expect(before.try(unstarted('a'))).toBe('accepted')
    const closers = repairLog(log(...open, asked('a', 'b'), called('b')))
    const { type, data, surfaceOp } = closers[0] as Draft
    const unnumbered = { type, data, surfaceOp }
    expect(closers.map(({ type: each }) => each)).toEqual(['tool/result', 'tool/result', 'step/end', 'turn/end'])
    expect(after(...open, asked('a', 'b'), called('b')).try(unnumbered)).toBe('accepted')
    const two = { content: [textBlock('x'), textBlock('y')] }
    const wrong = [
      returned('a'),
      unstarted('a', { error: { name: 'ToolError' } }),
      unstarted('a', { error: { code: 'TOOL_OUTCOME_UNKNOWN' } }),
      unstarted('a', { sources: [4] }),
      unstarted('a', { id: 'interrupted-tool-result-a-09' }),
      unstarted('a', { id: 'interrupted-tool-result-b-9' }),
      unstarted('a', { id: 'interrupted-tool-result-a-' }),
      unstarted('a', { block: two }),
      unstarted('a', { block: { content: [] } }),
      unstarted('a', { block: { content: [{ type: 'reasoning', text: 'x' }] } }),
    ]
    for (const draft of wrong) expect(before.try(draft)).toBe(refused)
    // Of one that was started anything may be said.
    expect(after(...open, asked('a'), called('a')).try(unstarted('a', { id: 'r', sources: [5] }))).toBe('accepted')
  })
})

describe('the system head', () => {
  const wanted = (type: string) =>
    `expected the surface to be empty or to begin with a system/message, found ${type} at seq 0`

  it('[F9, 8.6] a prompt stands on a surface that is empty or begins with one', () => {
    const inStep = [turnStart(1), stepStart(1, 1)]
    expect(after(...inStep).try(prompted('p'))).toBe('accepted')
    expect(after(...open).try(prompted('q'))).toBe('accepted')
    expect(after(...open).try(over(prompted('q'), 2, 2, [2]))).toBe('accepted')
    expect(after(said('hi'), ...inStep).try(prompted('p'))).toBe(wanted('user/message'))
    expect(after(said('hi'), ...inStep).try(over(prompted('p'), 0, 0, [0]))).toBe(wanted('user/message'))
  })

  it('[F9, 8.6] its payload has the members it needs and no others', () => {
    const inStep = after(turnStart(1), stepStart(1, 1))
    const data = prompted('p').data as { message: object }
    // Not even admitted: no reader of the format takes it.
    const refused = { code: 'payload' }
    for (const draft of [
      { ...prompted('p'), data: { ...data, extra: 1 } },
      { ...prompted('p'), data: { ...data, message: { ...data.message, more: 1 } } },
      prompted('p', 0, 1),
      prompted('p', 1, 0),
    ]) {
      expect(() => inStep.try(draft)).toThrow(expect.objectContaining(refused) as Error)
    }
    expect(inStep.try(prompted('p'))).toBe('accepted')
  })

  it('[F9, 8.6] no compaction and no prune takes the head off the surface', () => {
    const shadow = (...seqs: readonly number[]) => ({ shadowedSeqs: seqs })
    for (const type of ['compaction/summary', 'compaction/prune']) {
      expect(after(...open).try({ type, data: shadow(3) })).toBe('accepted')
      expect(after(...open).try({ type, data: shadow(2, 3) })).toBe(
        'expected shadowedSeqs without the system head, found 2',
      )
      expect(after(said('hi')).try({ type, data: shadow(0) })).toBe('accepted')
      expect(after().try({ type, data: null })).toBe('accepted')
    }
  })
})

describe('events of plugins', () => {
  const run = (commandId: unknown = 'c'): Draft => ({ type: 'command/run', data: { commandId, name: 'n', source: {} } })
  const done = (more: object = {}): Draft => ({
    type: 'command/done',
    data: { commandId: 'c', kind: 'success', ...more },
  })

  it('[F9, 8.6] a command is run once under its id, and done after that', () => {
    expect(after().try(run())).toBe('accepted')
    expect(after(run()).try(run())).toBe('expected a commandId no other command has, found "c" of seq 0')
    expect(after(run(), done()).try(run())).toBe('expected a commandId no other command has, found "c" of seq 0')
    expect(after(run()).try(run('d'))).toBe('accepted')
    expect(after().try(run(7))).toBe('expected a commandId, found 7')
    expect(after(run()).try(done())).toBe('accepted')
    expect(after(run(), done()).try(done())).toBe('accepted')
    expect(after(run('d')).try(done())).toBe('expected the commandId of a command that was run, found "c"')
    expect(after(run()).try({ type: 'command/done', data: null })).toBe(
      'expected the commandId of a command that was run, found nothing',
    )
  })

  it('[F9, 8.6] only success names an event, and none about commands', () => {
    const before = after(said('hi'), run())
    expect(before.try(done({ sourceEventSeq: 0 }))).toBe('accepted')
    expect(before.try(done({ kind: 'error', sourceEventSeq: 0 }))).toBe(
      'expected no sourceEventSeq but on success, found 0',
    )
    for (const seq of [1, 2]) {
      expect(before.try(done({ sourceEventSeq: seq }))).toBe(
        `expected a sourceEventSeq of no event about commands, found ${seq}`,
      )
    }
    expect(before.try(done({ sourceEventSeq: -1 }))).toBe('expected a seq as sourceEventSeq, found -1')
  })

  const title = (messageSeqs: unknown, kind = 'fallback'): Draft => ({
    type: 'session/title',
    data: { title: 't', messageSeqs, source: { kind } },
  })

  it('[F9, 8.6] a title cites messages of people, and none exactly when a person set it', () => {
    const pluginSaid: Draft = { ...said('x'), data: { ...user('x'), source: { kind: 'plugin', plugin: 'p' } } }
    const before = after(...open, pluginSaid)
    expect(before.try(title([3]))).toBe('accepted')
    expect(before.try(title([], 'user'))).toBe('accepted')
    expect(before.try({ type: 'session/title', data: { title: 't' } })).toBe('accepted')
    expect(before.try({ type: 'session/title', data: 7 })).toBe('accepted')
    expect(before.try(title([]))).toBe('expected messageSeqs the title is made from, found a list of 0')
    expect(before.try(title([3], 'user'))).toBe(
      'expected no messageSeqs for a title that a person set, found a list of 1',
    )
    expect(before.try(title('all'))).toBe('expected a list of messageSeqs, found "all"')
    for (const seq of [0, 2, 4, 5, 99, -1, 'x']) {
      const found = JSON.stringify(seq)
      const words = `expected messageSeqs[1] to be an earlier message of a person, found ${found}`
      expect(before.try(title([3, seq]))).toBe(words)
      expect(before.try({ type: 'session/title-llm-request', data: { messageSeqs: [3, seq] } })).toBe(words)
    }
    expect(before.try({ type: 'session/title-llm-request', data: { messageSeqs: [3] } })).toBe('accepted')
  })

  const call = { rootCallId: 'a', parentCallId: 'a', subCallId: 's', name: 'read', arguments: { x: 1, y: [2] } }
  const start = (more: object = {}): Draft => ({ type: 'tool/ptc-dispatch-start', data: { ...call, ...more } })
  const settled = (more: object = {}): Draft => ({
    type: 'tool/ptc-dispatch',
    data: { ...call, isError: false, content: [], ...more },
  })
  const running = [...open, asked('a'), called('a')]

  it('[F9, 8.6] a nested call starts in a turn, under its own id, below a call of its root', () => {
    expect(after(...running).try(start())).toBe('accepted')
    expect(after().try(start())).toBe('expected an open turn, found none')
    expect(after(...running).try(start({ subCallId: '' }))).toBe('expected rootCallId, parentCallId and subCallId')
    expect(after(...running, start()).try(start())).toBe('expected a subCallId no other call has, found "s"')
    expect(after(...running, start(), settled()).try(start())).toBe('expected a subCallId no other call has, found "s"')
    expect(after(...running, start()).try(start({ subCallId: 't', parentCallId: 's' }))).toBe('accepted')
    expect(after(...running, start()).try(start({ subCallId: 't', parentCallId: 'z' }))).toBe(
      'expected a parentCallId that belongs to the root "a", found "z"',
    )
    expect(after(...running, start()).try(start({ subCallId: 't', parentCallId: 's', rootCallId: 'b' }))).toBe(
      'expected a parentCallId that belongs to the root "b", found "s"',
    )
  })

  it('[F9, 8.6] it settles once, as it was started', () => {
    const before = after(...running, start())
    expect(before.try(settled())).toBe('accepted')
    expect(before.try(settled({ arguments: { y: [2], x: 1 } }))).toBe('accepted')
    const changed = (what: string) => `expected call "s" to settle with the ${what} it was started with, found another`
    expect(before.try(settled({ name: 'write' }))).toBe(changed('name'))
    expect(before.try(settled({ arguments: { x: 2 } }))).toBe(changed('arguments'))
    expect(before.try(settled({ parentCallId: 'z' }))).toBe(changed('parentCallId'))
    expect(before.try(settled({ rootCallId: 'z' }))).toBe(changed('rootCallId'))
    expect(after(...running).try(settled())).toBe('expected the subCallId of a call that was started, found "s"')
    expect(after(...running, start(), settled()).try(settled())).toBe(
      'expected call "s" to settle once, found it settled',
    )
    expect(after(...running, start(), turnEnd(1)).try(settled())).toBe('expected an open turn, found none')
  })

  it('[F9, 8.6] a record of delivery names this session, unless it is inherited or older than names', () => {
    const delivered = (sessionId: string, sessionFormatVersion?: number): Draft => {
      const more = sessionFormatVersion === undefined ? {} : { sessionFormatVersion }
      return { type: 'session-log-deepseek/delivery-accepted', data: { sessionId, throughSeq: 0, ...more } }
    }
    expect(after(said('hi')).try(delivered('test', 3))).toBe('accepted')
    for (const version of [2, 3]) {
      expect(after(said('hi')).try(delivered('parent', version))).toBe('expected sessionId "test", found "parent"')
    }
    expect(after(said('hi')).try(delivered('parent'))).toBe('accepted')
    expect(after(said('hi')).try(delivered('parent', 1))).toBe('accepted')
    const child = relationInvariant({ sessionId: 'test', inheritedEventCount: 2 })
    expect(tried(child, [said('hi')], delivered('parent', 3))).toBe('accepted')
    expect(tried(child, [said('hi'), said('ho')], delivered('parent', 3))).toContain('expected sessionId')
  })
})

describe('states', () => {
  it('[F9, K1] go through a keyframe', () => {
    const drafts = [
      ...[...open, asked('a', 'b'), called('a')],
      { type: 'command/run', data: { commandId: 'c' } },
      { type: 'tool/ptc-dispatch-start', data: { rootCallId: 'a', parentCallId: 'a', subCallId: 's', name: 'n' } },
    ]
    const options = { header: header(), now: counter(), invariants: [pairInvariant, relations], readOnly: true }
    const session = Session.fromRestore({ ...options, events: log(...drafts) })
    const keyframe = throughJson(session.keyframe())
    const surfaceEvents = log(...drafts).filter(({ seq }) => session.surface.nodes.includes(seq))
    const again = Session.fromKeyframe({ ...options, keyframe, surfaceEvents, events: [] })
    expect(again.keyframe()).toEqual(keyframe)
    expect(again.fold(askedFold)).toEqual([toolCall('a'), toolCall('b')])
    expect(valueOf(again.fold(commandsFold), 'c')).toBe(6)
    expect(valueOf(again.fold(nestedFold).started, 's')).toMatchObject({ root: 'a', name: 'n' })
    for (const fold of [commandsFold, nestedFold, askedFold]) {
      expect(() => fold.fromJSON({}, { nodes: [], projected: new Map(), eventAt: () => undefined })).toThrow(TypeError)
    }
  })

  it('[F9] a table never changes for who holds it', () => {
    const empty = idTable<number>()
    const one = added(empty, 'a', 1)
    const two = added(one, 'b', 2)
    const other = added(one, 'c', 3)
    expect(
      [empty, one, two, other].map(table =>
        entriesOf(table)
          .map(([id]) => id)
          .join(''),
      ),
    ).toEqual(['', 'a', 'ab', 'ac'])
    expect([valueOf(one, 'b'), valueOf(two, 'b'), valueOf(other, 'b')]).toEqual([undefined, 2, undefined])
    expect(added(two, 'a', 9)).toBe(two)
    expect(added(one, 'b', 4)).not.toBe(two)
    expect(valueOf(added(one, 'b', 4), 'b')).toBe(4)
    expect(valueOf(two, 'b')).toBe(2)
  })
})
