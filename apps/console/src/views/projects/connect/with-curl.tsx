import type { ConsoleProject } from '@selvedge/protocol/console'
import { useId, useState } from 'preact/hooks'
import { Copy } from '../../../parts/copy.tsx'
import { useHome } from '../../../state/viewer.ts'
import { flowOf } from '../flow.ts'

/** The requests of the whole flow, for a device without the command line. */
export default function WithCurl({ project }: { project: ConsoleProject }) {
  const { identityUrl } = useHome()
  const id = useId()
  const [runtimeUrl, setRuntimeUrl] = useState('http://127.0.0.1:8083')
  return (
    <>
      <p class="soft">
        Create a developer token first, and run these in the folder of the file <code>developer.token</code>.
      </p>
      <div class="field">
        <label for={id}>Runtime address</label>
        <input
          id={id}
          class="input"
          value={runtimeUrl}
          onInput={({ currentTarget }) => setRuntimeUrl(currentTarget.value)}
        />
      </div>
      <Copy label="Commands of the whole flow" text={flowOf({ runtimeUrl, identityUrl, project })} />
    </>
  )
}
