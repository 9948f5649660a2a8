import type { Device } from '@selvedge/protocol/console'
import { Copy } from '../../parts/copy.tsx'
import { Icon } from '../../parts/icon.tsx'
import { ServiceState } from '../../parts/state.tsx'
import { Card, Empty } from '../../parts/view.tsx'

export function Services({ services }: Pick<Device, 'services'>) {
  return (
    <Card title="Services" flush>
      {services.length === 0 ? (
        <Empty icon="box" title="No services yet" text="Run this on the device.">
          <Copy
            isCommand
            label="Commands that start a service"
            text={'npx selvedge init function my-service\nnpx selvedge dev my-service'}
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
              </div>
              <ServiceState state={state} />
            </li>
          ))}
        </ul>
      )}
    </Card>
  )
}
