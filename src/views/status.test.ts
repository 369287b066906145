import { describe, expect, it } from 'vitest'
import type { SessionStatus } from './source.ts'
import { deriveStatus, type StatusView } from './status.ts'
import { TestError } from './view-kit.ts'

const lastError = { code: 'QUOTA', message: 'full' }
const status = (
  storage: Partial<SessionStatus['storage']> = {},
  agent: SessionStatus['agent'] = { kind: 'idle' },
): SessionStatus => ({ agent, storage: { kind: 'indexeddb', state: 'idle', unsaved: 0, lastError: null, ...storage } })
const derived = (of: SessionStatus | null, length = 1, previous?: StatusView): StatusView =>
  deriveStatus({ status: of, length, ended: null }, previous)

describe('deriveStatus', () => {
  it('[V13] is opening while nothing is known', () => {
    expect(derived(null)).toEqual({
      agent: { kind: 'idle' },
      phase: 'opening',
      saving: 'nothing',
      unsaved: 0,
      isDurable: false,
      error: null,
      ended: null,
    })
  })

  it.each<[string, Partial<SessionStatus['storage']>, string]>([
    ['nothing is unsaved and nothing is being written', {}, 'saved'],
    ['a write is under way', { state: 'writing', unsaved: 1 }, 'saving'],
    ['the last write is under way', { state: 'writing' }, 'saving'],
    ['events wait', { unsaved: 2 }, 'unsaved'],
    ['writing is paused', { state: 'paused' }, 'unsaved'],
    ['a write failed', { state: 'paused', unsaved: 2, lastError }, 'trouble'],
    ['a failed write is tried again', { state: 'writing', unsaved: 2, lastError }, 'trouble'],
    ['the session was lost', { state: 'lost', unsaved: 2, lastError }, 'lost'],
    ['the session was lost with nothing to save', { state: 'lost' }, 'lost'],
  ])('[V13] when %s, says so', (_, storage, saving) => {
    expect(derived(status(storage)).saving).toBe(saving)
  })

  it('[V13] says saved only when there is something', () => {
    expect(derived(status(), 0).saving).toBe('nothing')
    expect(derived(status({ unsaved: 1 }), 0).saving).toBe('unsaved')
  })

  it('[V13] says whether that survives the page', () => {
    expect(derived(status()).isDurable).toBe(true)
    expect(derived(status({ kind: 'memory' })).isDurable).toBe(false)
  })

  it('[V13] an ended session does nothing', () => {
    const ended = new TestError('gone', 'gone')
    const agent = { kind: 'thinking', turn: 1, step: 1 } as const
    expect(deriveStatus({ status: status({}, agent), length: 1, ended })).toMatchObject({
      phase: 'ended',
      agent: { kind: 'idle' },
      saving: 'saved',
      ended,
    })
  })

  it.each<SessionStatus['agent']>([
    { kind: 'idle' },
    { kind: 'idle', interrupted: true },
    { kind: 'maintenance' },
    { kind: 'offline', turn: null, step: null },
    { kind: 'offline', turn: 2, step: 1 },
    { kind: 'thinking', turn: 1, step: 1 },
    { kind: 'answering', turn: 1, step: 1 },
    { kind: 'tool', turn: 1, step: 1, name: 'read', callId: 'c' },
    { kind: 'approval', turn: 1, step: 1, name: 'mail', callId: 'c' },
    { kind: 'retrying', turn: 1, step: 1, retry: 2, maxRetries: null, until: 5000, code: 'RATE_LIMIT' },
  ])('[V13] the phase is what the agent does, told once: %j', agent => {
    const first = derived(status({}, agent))
    expect(first).toMatchObject({ phase: agent.kind, agent })
    expect(derived(status({}, { ...agent }), 1, first)).toBe(first)
    expect(deriveStatus({ status: status({}, agent), length: 1, ended: new TestError('gone', 'gone') })).toMatchObject({
      phase: 'ended',
      agent: { kind: 'idle' },
    })
  })

  it.each<[SessionStatus['agent'], SessionStatus['agent']]>([
    [{ kind: 'idle' }, { kind: 'idle', interrupted: true }],
    [
      { kind: 'offline', turn: null, step: null },
      { kind: 'offline', turn: 1, step: 1 },
    ],
    [
      { kind: 'approval', turn: 1, step: 1, name: 'mail', callId: 'c' },
      { kind: 'approval', turn: 1, step: 1, name: 'mail', callId: 'd' },
    ],
    [
      { kind: 'retrying', turn: 1, step: 1, retry: 1, maxRetries: 5, until: 5000, code: 'SERVER' },
      { kind: 'retrying', turn: 1, step: 1, retry: 1, maxRetries: 5, until: 6000, code: 'SERVER' },
    ],
  ])('[V13] the same phase with something else to say is another status: %j and %j', (before, after) => {
    const first = derived(status({}, before))
    const second = derived(status({}, after), 1, first)
    expect(second).not.toBe(first)
    expect(second).toMatchObject({ phase: before.kind, agent: after })
    expect(second.agent).toEqual(after)
    expect(derived(status({}, before), 1, second).agent).toEqual(before)
  })

  it('[V13] is the same object until it says something else', () => {
    const tool = (progress?: string) =>
      ({
        kind: 'tool',
        turn: 1,
        step: 1,
        name: 'read',
        callId: 'c',
        ...(progress === undefined ? {} : { progress }),
      }) as const
    const first = derived(status({ lastError }, tool()))
    expect(first.phase).toBe('tool')
    expect(derived(status({ lastError: { ...lastError } }, tool()), 5, first)).toBe(first)
    const second = derived(status({ lastError: { ...lastError } }, tool('half')), 5, first)
    expect(second).not.toBe(first)
    expect(second.error).toBe(first.error)
    const third = derived(status({ lastError, unsaved: 1 }, tool('half')), 5, second)
    expect(third.agent).toBe(second.agent)
  })
})
