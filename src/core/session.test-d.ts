/** The types of the core. Compiled by `tsc`, never run: each `@ts-expect-error` fails the build once it compiles. */
import { expectTypeOf, test } from 'vitest'
import { defineEvent, isEventOf } from './event-definition.ts'
import { assistant, toolResult, user } from './builders.ts'
import type { EventData, EventOf, Message, SessionEvent, SurfaceEventType, ToolResultMessage } from './events.ts'
import { CallId, LogId, MessageId, SessionId, SessionSeq } from './ids.ts'
import type { MessageSequence } from './messages.ts'
import type { Session } from './session.ts'
import type { AppendableEventType } from './session-options.ts'
import { isAppendSurfaceEvent, isReplaceSurfaceEvent, isSurfaceEvent } from './surface.ts'
import { turnsFold, type TurnsState } from './turns.ts'

declare const session: Session
declare const event: SessionEvent
const surfaceOp = 'append'
const sourceEventSeqs = [SessionSeq(0)]
const settled: EventData['assistant/message'] = { turn: 1, step: 1, message: assistant('x'), stream: [] }

test('[S1] a surface type demands its marker', () => {
  session.append('user/message', user('x'), { surfaceOp: 'append' })
  session.append('user/message', user('x'), { surfaceOp: 'append', sourceEventSeqs })
  session.append('tool/result', { turn: 1, step: 1, message: toolResult('c') }, { surfaceOp, sourceEventSeqs })
  // @ts-expect-error no intent
  session.append('user/message', user('x'))
  // @ts-expect-error no intent
  session.append('tool/result', { turn: 1, step: 1, message: toolResult('c') })
  // @ts-expect-error no intent
  session.append('assistant/message', settled)
  // @ts-expect-error no marker in the intent
  session.append('user/message', user('x'), {})
  // @ts-expect-error undefined is no marker
  session.append('user/message', user('x'), { surfaceOp: undefined })
  // @ts-expect-error an unknown key
  session.append('user/message', user('x'), { surfaceOp: 'append', other: 1 })
})

test('[S1] a log-only type refuses a marker and sources', () => {
  session.append('turn/start', { turn: 1 })
  // @ts-expect-error a marker
  session.append('turn/start', { turn: 1 }, { surfaceOp: 'append' })
  // @ts-expect-error sources
  session.append('turn/start', { turn: 1 }, { sourceEventSeqs })
})

test('[S2] the marker is append or a whole replacement of seqs', () => {
  const seq = SessionSeq(0)
  session.append('user/message', user('x'), { surfaceOp: { op: 'replace', startSeq: seq, endSeq: seq } })
  // @ts-expect-error old names
  session.append('user/message', user('x'), { surfaceOp: { op: 'replace', start: seq, end: seq } })
  // @ts-expect-error one end only
  session.append('user/message', user('x'), { surfaceOp: { op: 'replace', startSeq: seq } })
  // @ts-expect-error plain numbers
  session.append('user/message', user('x'), { surfaceOp: { op: 'replace', startSeq: 0, endSeq: 0 } })
  // @ts-expect-error another word
  session.append('user/message', user('x'), { surfaceOp: 'prepend' })
})

test('[S3] assistant/message refuses sources', () => {
  session.append('assistant/message', settled, { surfaceOp })
  // @ts-expect-error sources
  session.append('assistant/message', settled, { surfaceOp, sourceEventSeqs })
})

test('[L6, L7] session/end-seed and unknown types are not appendable', () => {
  expectTypeOf<'session/end-seed'>().not.toExtend<AppendableEventType>()
  expectTypeOf<'turn/start'>().toExtend<AppendableEventType>()
  // @ts-expect-error reserved
  session.append('session/end-seed', {})
  // @ts-expect-error unknown
  session.append('other/thing', {})
})

test('[L9] data has the shape of its type', () => {
  // @ts-expect-error the data of another type
  session.append('turn/start', user('x'))
  // @ts-expect-error a role of another type
  session.append('user/message', assistant('x'), { surfaceOp })
  // @ts-expect-error no stream
  session.append('assistant/message', { turn: 1, step: 1, message: assistant('x') }, { surfaceOp })
})

test('[S1] a widened union of types compiles without an intent; it is refused when it runs', () => {
  const widened = (type: AppendableEventType, data: EventData[AppendableEventType]): unknown =>
    session.append(type, data)
  expectTypeOf(widened).toBeFunction()
})

test('[L1] append returns the event of its type', () => {
  expectTypeOf(session.append('turn/start', { turn: 1 })).toEqualTypeOf<EventOf<'turn/start'>>()
  expectTypeOf(session.append('user/message', user('x'), { surfaceOp }).seq).toEqualTypeOf<SessionSeq>()
})

test('[L2] branded ids do not mix', () => {
  expectTypeOf<SessionSeq>().toExtend<number>()
  expectTypeOf<number>().not.toExtend<SessionSeq>()
  expectTypeOf<string>().not.toExtend<CallId>()
  expectTypeOf<CallId>().not.toExtend<MessageId>()
  expectTypeOf<MessageId>().not.toExtend<CallId>()
  expectTypeOf<SessionId>().not.toExtend<LogId>()
  expectTypeOf<LogId>().not.toExtend<SessionId>()
  expectTypeOf(CallId('c')).toEqualTypeOf<CallId>()
  expectTypeOf([MessageId('m'), SessionId('s'), LogId('l')] as const).toExtend<readonly string[]>()
})

test('[L4] events and messages are read-only', () => {
  // @ts-expect-error read-only
  event.seq = SessionSeq(1)
  // @ts-expect-error read-only
  user('x').content = []
  expectTypeOf(session.snapshotEvents()).toEqualTypeOf<readonly SessionEvent[]>()
  expectTypeOf(session.surface.nodes).toEqualTypeOf<readonly SessionSeq[]>()
})

test('[S1] a switch over the type narrows to the payload', () => {
  if (event.type === 'tool/result') expectTypeOf(event.data.message).toEqualTypeOf<ToolResultMessage>()
  if (isSurfaceEvent(event)) expectTypeOf(event.type).toEqualTypeOf<SurfaceEventType>()
  if (isAppendSurfaceEvent(event)) expectTypeOf(event.surfaceOp).toExtend<'append'>()
  if (isReplaceSurfaceEvent(event)) expectTypeOf(event.surfaceOp.startSeq).toEqualTypeOf<SessionSeq>()
})

test('[S10, L15] folds and messages have their types', () => {
  expectTypeOf(session.fold(turnsFold)).toEqualTypeOf<TurnsState>()
  expectTypeOf(session.messages).toEqualTypeOf<MessageSequence>()
  expectTypeOf(session.deriveMessages()).toEqualTypeOf<Message[]>()
})

test('[L18] a definition says what append takes and gives, and tells its events apart', () => {
  const noted = defineEvent<{ readonly text: string }>('acme/noted')
  expectTypeOf(session.append(noted, { text: 'x' }).data.text).toEqualTypeOf<string>()
  session.append(noted, { text: 'x' }, { ignorable: true })
  // @ts-expect-error another payload
  session.append(noted, { text: 1 })
  // @ts-expect-error never on the surface
  session.append(noted, { text: 'x' }, { surfaceOp: 'append' })
  if (isEventOf(noted, event as { readonly type: string })) {
    expectTypeOf(event).toExtend<{ readonly type: string }>()
  }
  const any: { readonly type: string } = event
  if (isEventOf(noted, any)) expectTypeOf(any.data.text).toEqualTypeOf<string>()
})

test('[L9] events of plugins have their payloads', () => {
  session.append('image/offload', { targets: [{ seq: SessionSeq(1), imageIndexes: [0] }] })
  // @ts-expect-error a number is no seq
  session.append('image/offload', { targets: [{ seq: 1, imageIndexes: [0] }] })
  // @ts-expect-error no such member
  session.append('todo/write', {})
  if (event.type === 'compaction/end') expectTypeOf(event.data.compactionId).toEqualTypeOf<string>()
})
