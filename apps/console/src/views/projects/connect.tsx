import type { ConsoleProject } from '@selvedge/protocol/console'
import { useId, useState } from 'preact/hooks'
import { Copy } from '../../parts/copy.tsx'
import { Card } from '../../parts/view.tsx'
import { useHome } from '../../state/viewer.ts'
import { flowOf } from './flow.ts'

const ways = ['Command line', 'curl'] as const

/** The commands from a project to a device that reports its location and runs a service. */
export function Connect({ project }: { project: ConsoleProject }) {
  const [way, setWay] = useState<(typeof ways)[number]>('Command line')
  return (
    <Card
      title="Connect a device"
      about={way === 'curl' ? undefined : 'Run these on the device.'}
      action={
        // biome-ignore lint/a11y/useSemanticElements: a fieldset has a border and a legend.
        <div class="seg" role="group" aria-label="How">
          {ways.map((each) => (
            <button key={each} type="button" aria-pressed={each === way} onClick={() => setWay(each)}>
              {each}
            </button>
          ))}
        </div>
      }
    >
      {way === 'curl' ? <WithCurl project={project} /> : <WithCli project={project} />}
    </Card>
  )
}

function WithCli({ project: { clientId } }: { project: ConsoleProject }) {
  const steps = [
    [
      'Sign in and connect',
      `npx selvedge login --client-id ${clientId}\nnpx selvedge account associate`,
      'Commands that connect the device',
    ],
    [
      'Report a location',
      'npx selvedge gps update --longitude -123.115 --latitude 49.25 --speed 0 --bearing 0',
      'Command that reports a location',
    ],
    [
      'Deploy a first service',
      'npx selvedge init function hello\nnpx selvedge dev hello',
      'Commands that deploy a service',
    ],
  ] as const
  return (
    <ol class="steps">
      {steps.map(([title, text, label], index) => (
        <li key={title}>
          <span class="n" aria-hidden="true">
            {index + 1}
          </span>
          <div class="in">
            <h3>{title}</h3>
            <Copy isCommand label={label} text={text} />
          </div>
        </li>
      ))}
    </ol>
  )
}

function WithCurl({ project }: { project: ConsoleProject }) {
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
