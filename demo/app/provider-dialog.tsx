/** Which model the agent talks to, in a dialog. What is in it is loaded when it is opened. */
import { type ComponentType, type ReactElement, type Ref, useImperativeHandle, useRef, useState } from 'react'
import type { ProviderConfig } from '../providers/config.ts'
import type { KeyStore } from '../providers/key-store.ts'
import type { ProviderPanelProps } from '../providers/provider-panel.tsx'

export type ProviderControl = {
  readonly config: ProviderConfig
  /** The provider in a few words. */
  readonly label: string
  readonly keys: KeyStore
  /** Resolves once the next message goes there. */
  readonly use: (config: ProviderConfig, how: { readonly remember: boolean }) => Promise<void>
}

export type ProviderDialogHandle = { readonly open: () => void }

const NOT_LOADED = 'This part of the page could not be loaded. Check the network, or reload the page.'

export function ProviderDialog({
  ref,
  control,
}: {
  readonly ref: Ref<ProviderDialogHandle>
  readonly control: ProviderControl
}): ReactElement {
  const dialog = useRef<HTMLDialogElement>(null)
  const [loaded, setLoaded] = useState<{ readonly Panel: ComponentType<ProviderPanelProps> } | null>(null)
  const [said, setSaid] = useState('')
  useImperativeHandle(
    ref,
    () => ({
      open: () => {
        dialog.current?.showModal()
        setSaid('Loading…')
        import('../providers/provider-panel.tsx').then(
          ({ ProviderPanel }) => setLoaded({ Panel: ProviderPanel }),
          () => setSaid(NOT_LOADED),
        )
      },
    }),
    [],
  )
  return (
    <dialog ref={dialog} id="provider" aria-labelledby="provider-title">
      <div className="dialog-head">
        <h2 id="provider-title">Provider</h2>
        <form method="dialog">
          <button className="quiet">Close</button>
        </form>
      </div>
      {loaded === null ? (
        <p role="status">{said}</p>
      ) : (
        <loaded.Panel config={control.config} keyStore={control.keys} onUse={control.use} />
      )}
    </dialog>
  )
}
