import { type Device, describeEndReason, type Vitals } from '@selvedge/protocol/console'
import { Copy } from '../../parts/copy.tsx'
import { Icon } from '../../parts/icon.tsx'
import { ServiceState } from '../../parts/state.tsx'
import { Time } from '../../parts/time.tsx'
import { Card, Empty } from '../../parts/view.tsx'

interface ServicesProps {
  readonly device: Pick<Device, 'state' | 'lastSeenAt' | 'services'>
  /** What the device states of those that were restarted, or did not start. */
  readonly stated: Vitals['services']
}

export function Services({ device: { state: ofDevice, lastSeenAt, services }, stated }: ServicesProps) {
  const isNow = ofDevice === 'online'
  return (
    <Card title="Services" flush>
      {!isNow && services.length > 0 && (
        <p class="body soft">
          As stated <Time of={lastSeenAt} />
        </p>
      )}
      {services.length === 0 ? (
        <Empty icon="box" title="No services yet" text="Run this on the device.">
          <Copy
            isCommand
            label="Commands that start a service"
            text={'selvedge init function my-service\nselvedge dev my-service'}
          />
        </Empty>
      ) : (
        <ul class="rows">
          {services.map(({ id, name, image, state }) => (
            <li key={id}>
              <span class="glyph">
                <Icon name="box" />
              </span>
              <div>
                <strong>{name}</strong>
                <small class="mono">{image}</small>
                <Ends of={stated.find((each) => each.id === id)} />
              </div>
              <ServiceState state={state} isNow={isNow} />
            </li>
          ))}
        </ul>
      )}
    </Card>
  )
}

/** How often a service was restarted, and why it last exited. */
function Ends({ of }: { of: Vitals['services'][number] | undefined }) {
  if (!of) return null
  const { restarts, lastEnd } = of
  const times = restarts === 0 ? '' : `Restarted ${restarts === 1 ? 'once' : `${restarts} times`}`
  const reason = lastEnd === undefined ? '' : `last end: ${describeEndReason(lastEnd) || lastEnd}`
  return <small>{[times, reason].filter(Boolean).join('; ')}</small>
}
