import { type Device, describeState } from '@selvedge/protocol/console'
import { Copy } from '../../parts/copy.tsx'
import { Card, Empty } from '../../parts/view.tsx'

const chipOf = (state: string): string =>
  `chip ${describeState(state).isServing ? 'online' : state === 'failed' ? 'blocked' : 'away'}`

export function Microservices({ services }: Pick<Device, 'services'>) {
  return (
    <Card title="Microservices">
      {services.length === 0 ? (
        <Empty>
          <p>None yet. On the device:</p>
          <Copy
            label="Commands that start a service"
            text={'npx selvedge init function my-service\nnpx selvedge dev my-service'}
          />
        </Empty>
      ) : (
        <ul class="plain">
          {services.map(({ id, name: service, image, state }) => (
            <li key={id}>
              <span>
                <strong>{service}</strong> of <code>{image}</code>
              </span>
              <span class={chipOf(state)} title={describeState(state).meaning}>
                {state}
              </span>
            </li>
          ))}
        </ul>
      )}
    </Card>
  )
}
