/** Parsing as text comes, in steps that leave the page time for everything else. */
import { useEffect, useEffectEvent, useState } from 'react'
import { type Block, type MarkdownBlocks, markdownBlocks } from './blocks.ts'
import { nextStepEnd } from './cost.ts'

/** An open part that costs more is not parsed at each change while it streams. */
const QUICK_COST = 8_000
const MS_PER_COST = 0.02

/** The blocks of `text`, or of its beginning while it is not yet `complete`. */
export function useBlocks(text: string, streaming: boolean): { blocks: readonly Block[]; complete: boolean } {
  const [parsed, setParsed] = useState<MarkdownBlocks>(() => markdownBlocks(firstStep(text)))
  const complete = parsed.text === text
  const isNext = text.startsWith(parsed.text) && nextStepEnd(text, parsed.text.length) === text.length
  // A short addition is shown at once: the state follows the text within this render.
  if (!complete && isNext && parsed.openCost <= QUICK_COST) setParsed(markdownBlocks(text, parsed))
  const step = useEffectEvent(() => setParsed(nextStep(text, parsed)))
  const wait = streaming ? Math.ceil(parsed.openCost * MS_PER_COST) : 0
  useEffect(() => {
    if (complete) return
    const timer = setTimeout(step, wait)
    return () => clearTimeout(timer)
    // A text that changes while it waits does not make it wait longer.
  }, [complete, wait, parsed])
  return { blocks: parsed.blocks, complete }
}

const firstStep = (text: string): string => text.slice(0, nextStepEnd(text, 0))

function nextStep(text: string, parsed: MarkdownBlocks): MarkdownBlocks {
  if (!text.startsWith(parsed.text)) return markdownBlocks(firstStep(text), parsed)
  // What is left may all be plain text, which costs nothing.
  const end = parsed.parts.at(-1)?.plain === true ? text.length : nextStepEnd(text, parsed.text.length)
  return markdownBlocks(text.slice(0, end), parsed)
}
