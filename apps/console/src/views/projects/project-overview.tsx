import type { ConsoleProject } from '@selvedge/protocol/console'
import { duration, Time } from '../../parts/time.tsx'
import { Card } from '../../parts/view.tsx'
import { Connect } from './connect/connect.tsx'

export default function ProjectOverview({ project }: { project: ConsoleProject }) {
  return (
    <div class="two">
      <Connect project={project} />
      <Details project={project} />
    </div>
  )
}

function Details({ project }: { project: ConsoleProject }) {
  const { accessLifetime, developerLifetime, dpop, offline, createdAt, scopes } = project
  return (
    <Card title="Details">
      <dl class="kv">
        <dt>Access token</dt>
        <dd>{duration(accessLifetime)}</dd>
        <dt>Developer token</dt>
        <dd>{duration(developerLifetime)}</dd>
        <dt>Bound to a key</dt>
        <dd>{{ off: 'Never', optional: 'Optional', required: 'Always' }[dpop]}</dd>
        <dt>Work offline</dt>
        <dd>{offline.maxDays === 0 ? 'No' : `${offline.maxDays} days: ${offline.scopes.join(', ')}`}</dd>
        <dt>Created</dt>
        <dd>
          <Time of={createdAt} />
        </dd>
      </dl>
      <div class="line tight">
        {scopes.map((scope) => (
          <span key={scope} class="tag">
            {scope}
          </span>
        ))}
      </div>
    </Card>
  )
}
