import { type Device, describeState } from '@selvedge/protocol/console'
import { capital } from './capital.ts'
import { Icon } from './icon.tsx'
import './state.css'

type Kind = 'good' | 'warn' | 'bad' | ''

/** A dot and a word. The dots differ in shape as well as in colour. */
function State({ kind, title, children }: { kind: Kind; title?: string; children: string }) {
  return (
    <span class="state" title={title}>
      <span class={`dot ${kind}`} aria-hidden="true" />
      {children}
    </span>
  )
}

const kinds = { online: 'good', away: 'warn', blocked: 'bad' } as const

export const DeviceState = ({ state }: Pick<Device, 'state'>) => (
  <State kind={kinds[state]}>{capital(state)}</State>
)

/** @param isNow whether the device is online, so that the state is the present one */
export function ServiceState({ state, isNow }: { state: string; isNow: boolean }) {
  const { isServing, meaning } = describeState(state)
  if (state === 'failed')
    return (
      <span class="badge bad" title={meaning}>
        <Icon name="triangle-alert" />
        Failed
      </span>
    )
  return (
    <State kind={isServing && isNow ? 'good' : ''} title={meaning}>
      {capital(state)}
    </State>
  )
}
