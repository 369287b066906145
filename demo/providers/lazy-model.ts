/** A model whose code is loaded when it is first asked: a page starts without the providers it does not use. */
import { type Model, ModelFailure } from 'palimpsest/worker'

export type LazyModelOptions = Omit<Model, 'stream'> & {
  /** Loads the code and makes the model; called for each request, so that a failed load is tried again. */
  readonly load: () => Promise<Model>
  /** How long loading may take, ms. */
  readonly timeoutMs?: number
}

/** Wraps `load`. Code that does not arrive ends the call with a failure in words. */
export function lazyModel({ load, timeoutMs = 30_000, ...facts }: LazyModelOptions): Model {
  return {
    ...facts,
    async *stream(request) {
      const model = await loaded(load, timeoutMs)
      if (!request.signal.aborted) yield* model.stream(request)
    },
  }
}

function loaded(load: () => Promise<Model>, timeoutMs: number): Promise<Model> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(failure('TIMEOUT', 'took too long to load. Check the network, then try again.')),
      timeoutMs,
    )
    load()
      .then(resolve, (error: unknown) => {
        const words = 'could not be loaded. Check the network, or reload the page if it was updated meanwhile.'
        reject(failure('TRANSPORT', words, error))
      })
      .finally(() => clearTimeout(timer))
  })
}

function failure(code: string, words: string, cause?: unknown): ModelFailure {
  return new ModelFailure({ code, message: `The part of this page that talks to the provider ${words}` }, { cause })
}
