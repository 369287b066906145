/**
 * The code that lays answers out is a quarter of the page's. It is loaded right after the start, not before it: a person
 * can write while it comes. What is shown before, or without it, is plain text.
 */
import { useSyncExternalStore } from 'react'
import type { Markdown, plainText } from './code.ts'

type MarkdownCode = { readonly Markdown: typeof Markdown; readonly plainText: typeof plainText }

/** How long a conversation waits for it before it is shown as plain text, ms: what is laid out at once does not jump. */
const PATIENCE_MS = 1_000

let code: MarkdownCode | null = null
let isSettled = false
let loading: Promise<void> | null = null
const listeners = new Set<() => void>()

/** Loads it unless it is here; after a failure, again. */
export function loadMarkdown(): void {
  loading ??= import('./code.ts').then(
    loaded => {
      code = loaded
      settle()
    },
    () => {
      loading = null
      settle()
    },
  )
  if (!isSettled) setTimeout(settle, PATIENCE_MS)
}

function settle(): void {
  isSettled = true
  for (const listener of [...listeners]) listener()
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => {
    listeners.delete(listener)
  }
}

/** Null while it is not here. */
export const useMarkdown = (): MarkdownCode['Markdown'] | null =>
  useSyncExternalStore(subscribe, () => code?.Markdown ?? null)

/** It is here, could not be loaded, or takes long. */
export const useMarkdownSettled = (): boolean => useSyncExternalStore(subscribe, () => isSettled)

/** What an answer says, without its markup where that can be told apart. */
export const spokenMarkdown = (text: string): string => code?.plainText(text) ?? text
