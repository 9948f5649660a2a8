import type { ConsoleProject } from '@selvedge/protocol/console'
import type { ComponentChildren } from 'preact'
import { useId, useState } from 'preact/hooks'
import { Copy } from '../../parts/copy.tsx'
import { inClone } from '../../parts/in-clone.tsx'
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
      about={way === 'curl' ? undefined : <>Run these on the device. {inClone}</>}
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
  return (
    <ol class="steps">
      <Step number={1} title="Sign in and connect" about="Shows a code; approve it here in the console.">
        <Copy isCommand label="Command that connects the device" text="selvedge up" />
      </Step>
      <Step number={2} title="Report a location">
        <Copy
          isCommand
          label="Command that reports a location"
          text="selvedge gps update --longitude -123.115 --latitude 49.25 --speed 0 --bearing 0"
        />
      </Step>
      <Step number={3} title="Deploy a first service">
        <Copy
          isCommand
          label="Commands that deploy a service"
          text={'selvedge init function hello\nselvedge dev hello'}
        />
        <p>
          This service belongs to the command line. For a service that this project’s programs can manage,
          sign in for the project first:
        </p>
        <Copy
          isCommand
          label="Command that signs in for the project"
          text={`selvedge login --client-id ${clientId}`}
        />
      </Step>
    </ol>
  )
}

interface StepProps {
  number: number
  title: string
  about?: string
  children: ComponentChildren
}

const Step = ({ number, title, about, children }: StepProps) => (
  <li>
    <span class="n" aria-hidden="true">
      {number}
    </span>
    <div class="in">
      <h3>{title}</h3>
      {about && <p>{about}</p>}
      {children}
    </div>
  </li>
)

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
