import { expectTypeOf, test } from 'vitest'
import type { SessionSource } from '../views/source.ts'
import type { ClientSession } from './client-session.ts'
import type { ClientTurn, TakenMessage } from './client-turn.ts'

declare const session: ClientSession

test('[B7] a session of the page is a source for views', () => {
  expectTypeOf(session).toExtend<SessionSource>()
  expectTypeOf<ReturnType<ClientSession['readSurface']>>().toEqualTypeOf<ReturnType<SessionSource['readSurface']>>()
})

test('[B8] what is sent can be followed', () => {
  expectTypeOf(session.send({ text: '' })).toEqualTypeOf<ClientTurn>()
  expectTypeOf(session.steer({ text: '' })).toEqualTypeOf<ClientTurn>()
  expectTypeOf(session.send({ text: '' }).accepted).toEqualTypeOf<Promise<number>>()
  expectTypeOf(session.send({ text: '' }).taken).toEqualTypeOf<Promise<TakenMessage>>()
})
