/** The form for the provider: choose one, test it, use it. A typed key goes to the worker and leaves the page's fields. */
import { type ReactElement, type SubmitEvent, useEffect, useId, useRef, useState } from 'react'
import {
  anthropicBaseURL,
  anthropicModelIds,
  embeddedModelIds,
  type FieldErrors,
  originOf,
  type ProviderConfig,
  type ProviderKind,
  providerKinds,
  readForm,
} from './config.ts'
import { Field } from './field.tsx'
import type { KeyStore } from './key-store.ts'
import { testConnection, type Verdict } from './test-connection.ts'

export type ProviderPanelProps = {
  /** What is used now. Read when the form appears: give the form a new `key` to start over. */
  readonly config: ProviderConfig
  /** Hands the configuration to the worker. What is kept on the device is the panel's and the store's affair. */
  readonly onUse: (config: ProviderConfig, options: { readonly remember: boolean }) => Promise<void>
  readonly keyStore: KeyStore
  /** Default: a real test. */
  readonly test?: (config: ProviderConfig, options: { readonly signal: AbortSignal }) => Promise<Verdict>
}

type Fields = { readonly baseURL: string; readonly model: string }
type Said = { readonly tone: 'plain' | 'good' | 'bad'; readonly text: string; readonly hint?: string }

const kinds: Readonly<Record<ProviderKind, { readonly name: string; readonly about: string }>> = {
  embedded: { name: 'Embedded', about: 'Answers inside this page: no key, no network, no intelligence.' },
  'openai-compatible': { name: 'OpenAI-compatible', about: 'Any such address that lets pages use it.' },
  anthropic: { name: 'Anthropic', about: 'Claude, asked from this page with a key of yours.' },
}

const initialFields = (config: ProviderConfig): Readonly<Record<ProviderKind, Fields>> => ({
  embedded: { baseURL: '', model: embeddedModelIds[0] ?? '' },
  'openai-compatible': { baseURL: '', model: '' },
  anthropic: { baseURL: '', model: anthropicModelIds[0] ?? '' },
  [config.kind]: { baseURL: '', ...config } satisfies Fields,
})

export function ProviderPanel({ config, onUse, keyStore, test = testConnection }: ProviderPanelProps): ReactElement {
  const id = useId()
  const [used, setUsed] = useState(() => {
    keyStore.keep(config)
    return config
  })
  const [kind, setKind] = useState(config.kind)
  const [fields, setFields] = useState(() => initialFields(config))
  const [remember, setRemember] = useState(() => keyStore.isRemembered(originOf(config)))
  const [errors, setErrors] = useState<FieldErrors>({})
  const [said, setSaid] = useState<Said | null>(null)
  const [offered, setOffered] = useState<readonly string[]>([])
  const [testing, setTesting] = useState<AbortController | null>(null)
  const form = useRef<HTMLFormElement>(null)
  const keyField = useRef<HTMLInputElement>(null)

  const { baseURL, model } = fields[kind]
  const origin = originOf({ kind, baseURL: baseURL.trim() })
  const hasKey = keyStore.keyFor(origin) !== ''

  useEffect(() => () => testing?.abort(), [testing])
  useEffect(() => {
    form.current?.querySelector<HTMLElement>('[aria-invalid]')?.focus()
  }, [errors])

  /** What was said belongs to what was in the fields. */
  const changed = () => {
    setTesting(null)
    setSaid(null)
    setErrors(before => (Object.keys(before).length === 0 ? before : {}))
  }
  const choose = (next: ProviderKind) => {
    changed()
    setKind(next)
    setOffered([])
    setRemember(keyStore.isRemembered(originOf({ kind: next, baseURL: fields[next].baseURL.trim() })))
  }
  const edit = (change: Partial<Fields>) => {
    changed()
    if (change.baseURL !== undefined) setOffered([])
    setFields(before => ({ ...before, [kind]: { ...before[kind], ...change } }))
  }

  /** The form as a configuration; null after saying what is wrong with it. */
  const read = (): ProviderConfig | null => {
    const key = keyField.current?.value ?? ''
    const reading = readForm({ kind, baseURL, model, key }, each => keyStore.keyFor(each))
    setErrors(reading.ok ? {} : reading.errors)
    setSaid(
      reading.ok
        ? null
        : {
            tone: 'bad',
            text:
              Object.values(reading.errors).length > 1
                ? 'Some fields need another look.'
                : 'One field needs another look.',
          },
    )
    return reading.ok ? reading.config : null
  }

  async function apply(next: ProviderConfig): Promise<void> {
    try {
      await onUse(next, { remember })
    } catch {
      setSaid({ tone: 'bad', text: 'Not changed: the agent’s worker is gone.' })
      return
    }
    const kept = keyStore.use(next, { remember })
    if (keyField.current) keyField.current.value = ''
    setUsed(next)
    setFields(before => ({ ...before, [next.kind]: { baseURL: '', ...next } }))
    setRemember(kept === 'remembered')
    setSaid({
      tone: 'good',
      text: 'Used from the next message on.',
      ...(kept === 'not-remembered'
        ? {
            hint: 'It could not be remembered: this browser stores nothing more for this page. It is gone after a reload.',
          }
        : {}),
    })
  }

  async function runTest(next: ProviderConfig): Promise<void> {
    const abort = new AbortController()
    setTesting(abort)
    setSaid({ tone: 'plain', text: 'Testing the connection…' })
    const verdict = await test(next, { signal: abort.signal }).catch((): null => null)
    if (abort.signal.aborted) return
    setTesting(null)
    if (verdict === null) setSaid({ tone: 'bad', text: 'The test itself failed.' })
    else if (verdict.ok) {
      setSaid({ tone: 'good', text: verdict.message })
      setOffered(verdict.models ?? [])
    } else setSaid({ tone: 'bad', text: verdict.message, hint: verdict.hint })
  }

  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault()
    setTesting(null)
    const next = read()
    if (next !== null) void apply(next)
  }
  const startOrCancelTest = () => {
    if (testing !== null) {
      testing.abort()
      setTesting(null)
      setSaid({ tone: 'plain', text: 'Test cancelled.' })
      return
    }
    const next = read()
    if (next !== null) void runTest(next)
  }
  const setRemembering = (isOn: boolean) => {
    setRemember(isOn)
    if (isOn) return
    keyStore.unremember(origin)
    if (used.kind === kind) keyStore.unremember(originOf(used))
  }
  const forget = () => {
    keyStore.forget(origin)
    setRemember(false)
    if (keyField.current) keyField.current.value = ''
    const isUsed = used.kind === kind && originOf(used) === origin
    setSaid({
      tone: 'good',
      text: isUsed ? 'Forgotten. The agent has it until you use another provider or reload the page.' : 'Forgotten.',
    })
  }

  return (
    <form ref={form} className="provider-panel" aria-label="Provider" autoComplete="off" noValidate onSubmit={submit}>
      <fieldset className="provider-kinds">
        <legend className="unseen">Provider</legend>
        {providerKinds.map(each => (
          <div key={each} className="provider-kind">
            <input
              type="radio"
              id={`${id}-${each}`}
              name={`${id}-kind`}
              checked={each === kind}
              aria-describedby={`${id}-${each}-about`}
              onChange={() => choose(each)}
            />
            <label htmlFor={`${id}-${each}`}>{kinds[each].name}</label>
            <p id={`${id}-${each}-about`} className="about">
              {kinds[each].about}
            </p>
          </div>
        ))}
      </fieldset>

      {kind !== 'embedded' && (
        <Field id={`${id}-url`} name="baseURL" label="Base URL" error={errors.baseURL}>
          {control => (
            <input
              {...control}
              type="url"
              value={baseURL}
              placeholder={kind === 'anthropic' ? anthropicBaseURL : 'https://api.example.com/v1'}
              spellCheck={false}
              onChange={event => edit({ baseURL: event.target.value })}
            />
          )}
        </Field>
      )}
      <Field id={`${id}-model`} name="model" label="Model" error={errors.model}>
        {control =>
          kind === 'embedded' ? (
            <select {...control} value={model} onChange={event => edit({ model: event.target.value })}>
              {embeddedModelIds.map(each => (
                <option key={each}>{each}</option>
              ))}
            </select>
          ) : (
            <>
              <input
                {...control}
                list={`${id}-models`}
                value={model}
                spellCheck={false}
                autoCapitalize="none"
                onChange={event => edit({ model: event.target.value })}
              />
              <datalist id={`${id}-models`}>
                {(offered.length === 0 && kind === 'anthropic' ? anthropicModelIds : offered).map(each => (
                  <option key={each} value={each} />
                ))}
              </datalist>
            </>
          )
        }
      </Field>
      {kind !== 'embedded' && (
        <>
          <Field
            key={kind}
            id={`${id}-key`}
            name="apiKey"
            label="Key"
            error={errors.apiKey}
            hint="Goes from this page to the provider's address and nowhere else."
          >
            {/* Not controlled: React would write the key into an attribute. */}
            {control => (
              <input
                {...control}
                ref={keyField}
                type="password"
                autoComplete="off"
                placeholder={hasKey ? 'set' : 'none'}
                onChange={changed}
              />
            )}
          </Field>
          <div className="provider-remember">
            <input
              type="checkbox"
              id={`${id}-remember`}
              checked={remember}
              aria-describedby={`${id}-remember-about`}
              onChange={event => setRemembering(event.target.checked)}
            />
            <label htmlFor={`${id}-remember`}>Remember on this device</label>
            <p id={`${id}-remember-about`} className="about">
              Address, model and key are then stored in this browser, readable to whoever uses it. Otherwise they are
              gone after a reload.
            </p>
            {hasKey && (
              <button type="button" className="quiet" onClick={forget}>
                Forget key
              </button>
            )}
          </div>
        </>
      )}
      <div className="provider-actions">
        <button type="button" onClick={startOrCancelTest}>
          {testing === null ? 'Test connection' : 'Cancel test'}
        </button>
        <button type="submit" className="primary">
          Use this provider
        </button>
      </div>
      <p className={`provider-said ${said?.tone ?? 'plain'}`} role="status">
        {said?.text}
        {said?.hint !== undefined && <span className="provider-hint"> {said.hint}</span>}
      </p>
    </form>
  )
}
