/** What a running tool says of how far it is. */
import { describe, expect, it } from 'vitest'
import { agentKit, settled, tool } from '../testing/agent-kit.ts'
import { gate, scriptedModel } from '../testing/scripted-model.ts'
import type { ToolContext } from './tool.ts'

const calling = (name: string) => scriptedModel([{ toolCalls: [{ id: 'c', name }] }, { text: 'done' }])

async function progressOf(run: (context: ToolContext) => unknown) {
  const kit = await agentKit({ model: calling('work'), tools: [tool('work', (_input, context) => run(context))] })
  await kit.agent.send({ text: 'go' }).done
  return { kit, said: kit.statuses.flatMap(status => (status.kind === 'tool' ? [status.progress] : [])) }
}

describe('progress of a tool', () => {
  it('[A16] is part of the status, and not of the log', async () => {
    const { kit, said } = await progressOf(async ({ report }) => {
      report('half')
      await settled()
      report('almost')
      return 'ok'
    })
    expect(said).toEqual([undefined, 'half', 'almost'])
    expect(kit.statuses).toContainEqual({ kind: 'tool', turn: 1, step: 1, name: 'work', callId: 'c', progress: 'half' })
    expect(JSON.stringify(await kit.stored())).not.toContain('almost')
  })

  it.each([
    ['long text', 'x'.repeat(9_999), 'x'.repeat(200)],
    ['text of pairs', '🌍'.repeat(300), '🌍'.repeat(200)],
    ['half a pair', 'a\ud83d', 'a\ufffd'],
    ['nothing', '', ''],
  ])('[A16] is bounded and well-formed: %s', async (_what, text, shown) => {
    const { said } = await progressOf(({ report }) => report(text))
    expect(said).toEqual([undefined, shown])
  })

  it('[A16] is ignored once the call has ended, failed or been given up', async () => {
    const reports: ToolContext['report'][] = []
    const never = gate()
    const model = scriptedModel([
      { toolCalls: [{ id: 'a', name: 'ends' }] },
      { toolCalls: [{ id: 'b', name: 'fails' }] },
      { toolCalls: [{ id: 'c', name: 'hangs' }] },
    ])
    const tools = [
      tool('ends', (_input, { report }) => void reports.push(report)),
      tool('fails', (_input, { report }) => {
        reports.push(report)
        throw new Error('no')
      }),
      tool('hangs', (_input, { report }) => {
        reports.push(report)
        return never.opened
      }),
    ]
    const kit = await agentKit({ model, tools })
    const turn = kit.agent.send({ text: 'go' })
    await settled()
    for (const report of reports.slice(0, 2)) report('late')
    kit.agent.cancel()
    await turn.done
    for (const report of reports) report('late')
    expect(reports).toHaveLength(3)
    expect(kit.agent.status).toEqual({ kind: 'idle' })
    expect(JSON.stringify(kit.statuses)).not.toContain('late')
  })
})
