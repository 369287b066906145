/** Files on their way into a prompt: stored at once, so that what goes wrong is said before anything is sent. */
import type { FileBlock, ImageBlock } from 'palimpsest/core'
import { useCallback, useEffect, useRef, useState } from 'react'
import { bytes } from '../app/format.ts'
import { notAttachedWords } from '../app/words.ts'
import type { Blobs } from './blobs.ts'

/** Largest file that is taken. A prompt with larger ones takes longer than anybody waits, and most providers refuse it. */
const MOST_BYTES = 20_000_000

export type AttachingFile = {
  readonly key: number
  readonly name: string
  readonly size: number
  /** Of a picture. */
  readonly url: string | null
  /** Why it was not attached; null when it is, or will be. */
  readonly trouble: string | null
  readonly isStored: boolean
}

type Stored = { readonly key: number; readonly block: ImageBlock | FileBlock }

export type Attaching = {
  readonly files: readonly AttachingFile[]
  readonly add: (files: readonly File[]) => void
  readonly remove: (key: number) => void
  /** Waits until all are stored; null when one could not be. */
  readonly collect: () => Promise<readonly Stored[] | null>
}

const isPicture = ({ type }: File): boolean => /^image\/(?:png|jpeg|gif|webp)$/.test(type)

export function useAttaching(attach: Blobs['attach']): Attaching {
  const [files, setFiles] = useState<readonly AttachingFile[]>([])
  const storing = useRef(new Map<number, { readonly url: string | null; readonly stored: Promise<Stored | null> }>())
  const lastKey = useRef(0)

  const change = useCallback((key: number, changes: Partial<AttachingFile>) => {
    setFiles(before => before.map(each => (each.key === key ? { ...each, ...changes } : each)))
  }, [])
  const add = useCallback(
    (given: readonly File[]) => {
      for (const file of given) {
        const key = (lastKey.current += 1)
        const { name, size } = file
        const url = isPicture(file) ? URL.createObjectURL(file) : null
        const work =
          size > MOST_BYTES ? Promise.reject(tooLarge()) : attach(file).then((block): Stored => ({ key, block }))
        const stored = work.then(
          done => {
            change(key, { isStored: true })
            return done
          },
          (error: unknown) => {
            change(key, { trouble: notAttachedWords(error) })
            return null
          },
        )
        storing.current.set(key, { url, stored })
        setFiles(before => [...before, { key, name, size, url, trouble: null, isStored: false }])
      }
    },
    [attach, change],
  )
  const remove = useCallback((key: number) => {
    const url = storing.current.get(key)?.url ?? null
    if (url !== null) URL.revokeObjectURL(url)
    storing.current.delete(key)
    setFiles(before => before.filter(each => each.key !== key))
  }, [])
  const collect = useCallback(async () => {
    const all = await Promise.all([...storing.current.values()].map(each => each.stored))
    const stored = all.filter(each => each !== null)
    return stored.length < all.length ? null : stored
  }, [])
  useEffect(() => {
    const { current } = storing
    return () => {
      for (const { url } of current.values()) if (url !== null) URL.revokeObjectURL(url)
    }
  }, [])
  return { files, add, remove, collect }
}

const tooLarge = (): Error =>
  Object.assign(new Error(`is too large to attach: ${bytes(MOST_BYTES)} is the most.`), { code: 'too-large' })
