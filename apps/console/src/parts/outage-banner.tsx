import { api } from '../api.ts'
import { useOutage } from '../state/outage.ts'
import { Notice } from './view.tsx'

const probe = () => api['session.get']()

/** On every page while the service does not answer. Part of the first file: during an outage, nothing more can be loaded. */
export function OutageBanner() {
  if (!useOutage(probe)) return null
  return (
    <div class="outage" role="alert">
      <Notice kind="bad" icon="wifi-off" title="Can’t reach the server." text="What you see may be old.">
        <button type="button" class="btn" onClick={() => void probe().catch(() => undefined)}>
          Try again
        </button>
      </Notice>
    </div>
  )
}
