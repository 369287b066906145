import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { append, type Draft, newSession, over, prompted, said, textBlock } from './builders.ts'
import type { EventOf } from './events.ts'
import { MessageId } from './ids.ts'
import type { Session } from './session.ts'
import {
  planSystemPrompt,
  SYSTEM_PROMPT_PLUGIN,
  type SystemPromptCommit,
  SystemPromptProjection,
  type SystemPromptSituation,
  systemMessage,
} from './system-prompt.ts'

const replacing = { inHistory: false, startsSeries: false }
const continuing = { inHistory: true, startsSeries: false }
const newSeries = { inHistory: true, startsSeries: true }

const systemNodes = (session: Session): EventOf<'system/message'>[] =>
  session.surface.nodes
    .map(seq => session.eventAt(seq))
    .filter((event): event is EventOf<'system/message'> => event?.type === 'system/message')
/** Plans and commits, as the loop does. */
const commit = (session: Session, prompt: string, situation: SystemPromptSituation): readonly SystemPromptCommit[] => {
  const commits = planSystemPrompt(systemNodes(session), prompt, situation)
  for (const { text, ...intent } of commits) {
    const message = systemMessage(MessageId(`s${session.length}`), text)
    append(session, { type: 'system/message', data: { turn: 1, step: 1, message }, ...intent })
  }
  return commits
}
const replaced = (seq: number, text: string): unknown => ({
  text,
  surfaceOp: { op: 'replace', startSeq: seq, endSeq: seq },
  sourceEventSeqs: [seq],
})
const roles = (session: Session): string[] => session.deriveMessages().map(({ role }) => role)
/** The prompt the model obeys: the latest system message that says something. */
const effective = (session: Session): string => {
  const [block] = session.deriveMessages().findLast(({ role }) => role === 'system')?.content ?? []
  return block?.type === 'text' ? block.text : ''
}

describe('planSystemPrompt', () => {
  it('[P1] the first step reserves node 0, even with an empty prompt', () => {
    for (const situation of [replacing, continuing, newSeries]) {
      expect(planSystemPrompt([], 'v1', situation)).toEqual([{ text: 'v1', surfaceOp: 'append' }])
      expect(planSystemPrompt([], '', situation)).toEqual([{ text: '', surfaceOp: 'append' }])
    }
  })

  it('[P2, case 63] a replacing route keeps one node', () => {
    const session = newSession()
    expect(commit(session, 'v1', replacing)).toEqual([{ text: 'v1', surfaceOp: 'append' }])
    append(session, said('q'))
    expect(commit(session, 'v1', replacing)).toEqual([])
    expect(commit(session, 'v2', replacing)).toEqual([replaced(0, 'v2')])
    expect(roles(session)).toEqual(['system', 'user'])
    expect(commit(session, '', replacing)).toEqual([replaced(2, '')])
    expect(roles(session)).toEqual(['user'])
    expect(commit(session, '', replacing)).toEqual([])
  })

  it('[P3, case 65] a capable route appends the new prompt while the series goes on', () => {
    const session = newSession(prompted('v1'), said('q'))
    expect(commit(session, 'v2', continuing)).toEqual([{ text: 'v2', surfaceOp: 'append' }])
    expect(roles(session)).toEqual(['system', 'user', 'system'])
    expect(session.surface.contentGeneration).toBe(0)
    expect(commit(session, 'v2', continuing)).toEqual([])
    expect(commit(session, 'v1', continuing)).toEqual([{ text: 'v1', surfaceOp: 'append' }])
  })

  it('[P2, case 66] a new series moves the prompt to the head', () => {
    const session = newSession(prompted("v1'"), said('q'), prompted('v3'))
    expect(commit(session, 'v4', newSeries)).toEqual([replaced(2, ''), replaced(0, 'v4')])
    expect(commit(session, 'v4', continuing)).toEqual([])
    expect(commit(session, 'v4', newSeries)).toEqual([])
    expect(roles(session)).toEqual(['system', 'user'])
  })

  it('[P2, case 67] an empty prompt empties every node, the later ones first', () => {
    const session = newSession(prompted('v1'), said('q'), prompted('v2'))
    expect(commit(session, '', continuing)).toEqual([replaced(2, ''), replaced(0, '')])
    expect(roles(session)).toEqual(['user'])
    expect(session.surface.length).toBe(3)
  })

  it('[P2, case 69] a node that is not one text differs from everything', () => {
    const two = prompted([textBlock('a'), textBlock('b')])
    const thought = prompted([{ type: 'reasoning', text: 'hm' }])
    const session = newSession(two, said('q'), thought)
    expect(commit(session, '', replacing)).toEqual([replaced(2, ''), replaced(0, '')])
    expect(commit(session, '', replacing)).toEqual([])
    const again = newSession(two)
    expect(commit(again, 'a', replacing)).toEqual([replaced(0, 'a')])
    const capable = newSession(prompted('hm'), thought)
    expect(commit(capable, 'hm', continuing)).toEqual([{ text: 'hm', surfaceOp: 'append' }])
  })

  it('[P2] several later nodes are emptied in surface order, empty ones left alone', () => {
    const session = newSession(prompted('v1'), prompted('v2'), prompted(''), prompted('v3'))
    expect(commit(session, 'v1', newSeries)).toEqual([replaced(1, ''), replaced(3, '')])
  })

  it('[P3] empty later nodes are dormant: the latest text before them counts', () => {
    const session = newSession(prompted('v1'), prompted('v2'), over(prompted(''), 1, 1, [1]))
    expect(commit(session, 'v1', continuing)).toEqual([])
    expect(commit(session, 'v2', continuing)).toEqual([{ text: 'v2', surfaceOp: 'append' }])
  })

  it('[P3] an empty head alone counts as empty', () => {
    expect(commit(newSession(prompted('')), 'v1', continuing)).toEqual([{ text: 'v1', surfaceOp: 'append' }])
    expect(commit(newSession(prompted('')), '', continuing)).toEqual([])
  })

  it('[P1] white space is a prompt', () => {
    const session = newSession(prompted('v1'))
    expect(commit(session, ' ', replacing)).toEqual([replaced(0, ' ')])
    expect(session.deriveMessages()[0]?.content).toEqual([textBlock(' ')])
  })

  it('[P1–P3] whatever was planned may be appended, makes the prompt effective and is stable', () => {
    const move = fc.record({
      prompt: fc.constantFrom('', 'v1', 'v2', 'v3'),
      inHistory: fc.boolean(),
      startsSeries: fc.boolean(),
      says: fc.boolean(),
    })
    fc.assert(
      fc.property(fc.array(move, { maxLength: 20 }), moves => {
        const session = newSession()
        for (const { prompt, says, ...situation } of moves) {
          commit(session, prompt, situation)
          expect(effective(session)).toBe(prompt)
          expect(commit(session, prompt, situation)).toEqual([])
          expect(session.eventAt(session.surface.at(0) as number)?.type).toBe('system/message')
          if (!situation.inHistory)
            expect(roles(session).filter(role => role === 'system')).toHaveLength(prompt ? 1 : 0)
          if (says) append(session, said('q'))
        }
      }),
    )
  })
})

describe('the projection of a session', () => {
  const tools = [{ name: 'read', inputSchema: {} }]
  const header = (more: object = {}) => ({
    header: { config: { provider: 'demo', model: 'm' }, ...more },
    reason: 'initial',
  })
  const capable = { prompt: 'v2', tools: [], systemPromptUpdate: 'in-history' } as const
  const opened = (...drafts: readonly Draft[]) => {
    const session = newSession(prompted('v1'), said('q'), ...drafts)
    return { session, projection: new SystemPromptProjection(session) }
  }
  const append2 = { text: 'v2', surfaceOp: 'append' }

  it('[P4] a model takes prompts in history only when the prepared call says so', () => {
    const { projection } = opened()
    expect(projection.plan({ prompt: 'v2', tools: [] })).toEqual([replaced(0, 'v2')])
    expect(projection.plan(capable)).toEqual([append2])
  })

  it('[P4] a series starts when somebody asks for one', () => {
    expect(opened().projection.plan({ ...capable, startsSeries: true })).toEqual([replaced(0, 'v2')])
  })

  it('[P4] a series starts when the tools are not the logged ones; before the first header there are none to differ', () => {
    const { session, projection } = opened()
    expect(projection.plan({ ...capable, tools })).toEqual([append2])
    append(session, { type: 'request/header', data: header({ tools }) })
    expect(projection.plan({ ...capable, tools })).toEqual([append2])
    expect(projection.plan(capable)).toEqual([replaced(0, 'v2')])
  })

  it('[P4] a series starts when the content of the surface moved since the last request, or since opening', () => {
    const { session, projection } = opened()
    expect(projection.contentMoved).toBe(false)
    append(session, over(said('sum'), 1, 1, [1]))
    expect(projection.contentMoved).toBe(true)
    expect(projection.plan(capable)).toEqual([replaced(0, 'v2')])
    projection.requestBuilt()
    expect(projection.plan(capable)).toEqual([append2])
    append(session, said('more'))
    expect(projection.plan(capable)).toEqual([append2])
    expect(new SystemPromptProjection(session).plan(capable)).toEqual([append2])
  })
})

describe('systemMessage', () => {
  it('[P1] holds one text, or nothing', () => {
    expect(systemMessage(MessageId('s'), 'v1')).toEqual({
      id: 's',
      role: 'system',
      content: [{ type: 'text', text: 'v1' }],
      source: { kind: 'plugin', plugin: SYSTEM_PROMPT_PLUGIN },
    })
    expect(systemMessage(MessageId('s'), '').content).toEqual([])
  })
})
