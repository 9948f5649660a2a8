import type { ConsoleProject } from '@selvedge/protocol/console'
import { useState } from 'preact/hooks'
import { Copy } from '../../../parts/copy.tsx'
import { Icon } from '../../../parts/icon.tsx'
import { lazyView } from '../../../parts/lazy-view.tsx'
import { Link } from '../../../parts/link.tsx'
import { Card } from '../../../parts/view.tsx'
import { useHome } from '../../../state/viewer.ts'
import { type Platform, platforms, type Step, stepsOf } from './commands.ts'
import { useArrival } from './use-arrival.ts'
import './steps.css'

/** Loaded when a person chooses it. */
const WithCurl = lazyView(() => import('./with-curl.tsx'))

const ways = [...platforms, 'curl'] as const

/** The commands from a project to a device that runs a service, for what is installed on the device. */
export function Connect({ project }: { project: ConsoleProject }) {
  const [way, setWay] = useState<(typeof ways)[number]>(platforms[0])
  return (
    <Card title="Connect a device">
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset has a border and a legend. */}
      <div class="seg" role="group" aria-label="What is installed on the device">
        {ways.map((each) => (
          <button key={each} type="button" aria-pressed={each === way} onClick={() => setWay(each)}>
            {each}
          </button>
        ))}
      </div>
      {way === 'curl' ? <WithCurl project={project} /> : <WithCommands platform={way} project={project} />}
      <p class="soft">
        Many devices? <Link to="/devices/join-keys">Join keys</Link> connect them by themselves.
      </p>
    </Card>
  )
}

function WithCommands({ platform, project }: { platform: Platform; project: ConsoleProject }) {
  const { device, done } = useArrival(project.clientId)
  return (
    <>
      <ol class="steps">
        {stepsOf(platform, useHome(), project).map((step, index) => (
          <StepItem key={step.title} number={index + 1} step={step} isDone={done.has(step.until)} />
        ))}
      </ol>
      <p class="soft" aria-live="polite">
        {device ? (
          <>
            <Link to={`/devices/${device.nodeId}`}>{device.label || device.name}</Link> is connected.
          </>
        ) : (
          'Waiting for a new device. Steps are marked here as they happen.'
        )}
      </p>
    </>
  )
}

function StepItem({ number, step, isDone }: { number: number; step: Step; isDone: boolean }) {
  const { title, about, commands } = step
  return (
    <li>
      <span class={isDone ? 'n good-text' : 'n'} aria-hidden="true">
        {isDone ? <Icon name="check" /> : number}
      </span>
      <div class="in">
        <h3>
          {title}
          {isDone && <span class="unseen"> (done)</span>}
        </h3>
        {about && <p>{about}</p>}
        <Copy isCommand label={`Commands: ${title}`} text={commands} />
      </div>
    </li>
  )
}
