/** Which model the agent talks to, in a dialog. */
import { type ReactElement, type Ref } from 'react'
import type { ProviderConfig } from '../providers/config.ts'
import type { KeyStore } from '../providers/key-store.ts'
import { ProviderPanel } from '../providers/provider-panel.tsx'

export type ProviderControl = {
  readonly config: ProviderConfig
  /** The provider in a few words. */
  readonly label: string
  readonly keys: KeyStore
  /** Resolves once the next message goes there. */
  readonly use: (config: ProviderConfig, how: { readonly remember: boolean }) => Promise<void>
}

export function ProviderDialog({
  ref,
  control,
}: {
  readonly ref: Ref<HTMLDialogElement>
  readonly control: ProviderControl
}): ReactElement {
  return (
    <dialog ref={ref} id="provider" aria-labelledby="provider-title">
      <div className="dialog-head">
        <h2 id="provider-title">Provider</h2>
        <form method="dialog">
          <button className="quiet">Close</button>
        </form>
      </div>
      <ProviderPanel config={control.config} keyStore={control.keys} onUse={control.use} />
    </dialog>
  )
}
