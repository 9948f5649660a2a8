import type { ConsoleProject, ShownTrustedIssuer } from '@selvedge/protocol/console'
import { useState } from 'preact/hooks'
import { api } from '../../api.ts'
import { Copy } from '../../parts/copy.tsx'
import { Guarded } from '../../parts/guarded.tsx'
import { Icon } from '../../parts/icon.tsx'
import { Time } from '../../parts/time.tsx'
import { Bones, Card, Empty, Notice } from '../../parts/view.tsx'
import { useCall } from '../../state/use-call.ts'
import { useHome } from '../../state/viewer.ts'
import { AddIssuer } from './add-issuer.tsx'
import { IssuerPeople } from './issuer-people.tsx'
import { TestToken } from './test-token.tsx'

/** The issuers that this project trusts, with a button to add one. */
export default function ProjectIssuers({ project }: { project: ConsoleProject }) {
  const { viewer } = useHome()
  const { clientId } = project
  const { data: rules, error, reload } = useCall(() => api['issuer.list']({ clientId }), [clientId])
  const [isOpen, setOpen] = useState(false)
  const isOwner = viewer.role === 'owner'
  const add = isOwner && (
    <button type="button" class="btn primary" onClick={() => setOpen(true)}>
      <Icon name="plus" />
      Trust an issuer
    </button>
  )
  return (
    <>
      {error && <Notice kind="bad" icon="triangle-alert" title={error} />}
      {!rules && !error && <Bones />}
      {rules?.length === 0 && (
        <Card>
          <Empty
            icon="shield-check"
            title="No trusted issuers yet"
            text="CI systems and identity providers give their jobs and people ID tokens. Trust an issuer, and its tokens work here in place of a developer token: nothing secret is stored."
          >
            {add}
          </Empty>
        </Card>
      )}
      {rules && rules.length > 0 && (
        <Card
          title="Trusted issuers"
          about="A token must meet all conditions of one rule."
          action={add}
          flush
        >
          <ul class="rows">
            {rules.map((rule) => (
              <Rule key={rule.issuerId} rule={rule} isOwner={isOwner} onChanged={reload} />
            ))}
          </ul>
        </Card>
      )}
      {rules && <GitHubExample clientId={clientId} />}
      {!isOwner && <p class="faint">Only owners can change which issuers are trusted.</p>}
      {isOpen && <AddIssuer project={project} onClose={() => setOpen(false)} onAdded={reload} />}
    </>
  )
}

interface RuleProps {
  readonly rule: ShownTrustedIssuer
  readonly isOwner: boolean
  readonly onChanged: () => Promise<void>
}

function Rule({ rule, isOwner, onChanged }: RuleProps) {
  const { issuer, audiences, conditions, scopes, as, algorithms, subjects, warnings } = rule
  const [last] = subjects
  return (
    <li>
      <div>
        <strong>
          <code>{issuer}</code>
        </strong>
        <small>
          {as === 'workload' ? 'Workloads' : 'People'} with {scopes.join(' ')} · audience{' '}
          {audiences.join(' or ')} · {algorithms.join(' or ')}
        </small>
        <span class="line tight">
          {conditions.map(({ claim, value }) => (
            <span key={claim + value} class="tag">
              {claim}={value}
            </span>
          ))}
        </span>
        {warnings.map((each) => (
          <small key={each}>{each}</small>
        ))}
        <small>
          <Keys rule={rule} />{' '}
          {last?.lastUsedAt ? (
            <>
              Last used by {last.subject}, <Time of={last.lastUsedAt} />.
            </>
          ) : (
            'Not used yet.'
          )}
        </small>
        {as === 'person' && <IssuerPeople rule={rule} isOwner={isOwner} onChanged={onChanged} />}
      </div>
      {isOwner && <Actions rule={rule} onChanged={onChanged} />}
    </li>
  )
}

function Keys({ rule: { keys } }: { rule: ShownTrustedIssuer }) {
  if (keys.problem !== null)
    return (
      <span class="badge bad">
        Keys not fetched: {keys.problem}
        {keys.validUntil && (
          <>
            . The stored keys stop working <Time of={keys.validUntil} />
          </>
        )}
      </span>
    )
  if (keys.fetchedAt === null) return <>Keys are fetched with the first token.</>
  return (
    <>
      {keys.count} {keys.count === 1 ? 'key' : 'keys'}, fetched <Time of={keys.fetchedAt} />.
    </>
  )
}

function Actions({ rule: { clientId, issuerId, issuer }, onChanged }: Omit<RuleProps, 'isOwner'>) {
  return (
    <span class="line tight">
      <TestToken clientId={clientId} issuerId={issuerId} issuer={issuer} />
      <Guarded
        kind="quiet"
        label={`Revoke tokens of ${issuer}`}
        title={`Revoke every token of ${issuer}?`}
        consequence="Every access token that was issued by this rule until now ends. ID tokens from before are refused; newer ones are accepted after a minute."
        run={async () => {
          await api['issuer.revoke']({ clientId, issuerId, subject: null })
          await onChanged()
        }}
      >
        Revoke tokens
      </Guarded>
      <Guarded
        kind="quiet"
        label={`Remove ${issuer}`}
        title={`Stop trusting ${issuer}?`}
        consequence="The rule is removed, and every access token that was issued by it ends."
        run={async () => {
          await api['issuer.remove']({ clientId, issuerId })
          await onChanged()
        }}
      >
        Remove
      </Guarded>
    </span>
  )
}

/** How a job of GitHub Actions deploys without a stored secret. */
function GitHubExample({ clientId }: { clientId: string }) {
  const workflow = `permissions:
  id-token: write
steps:
  - run: |
      curl -sS -H "Authorization: Bearer $ACTIONS_ID_TOKEN_REQUEST_TOKEN" \\
        "$ACTIONS_ID_TOKEN_REQUEST_URL&audience=${clientId}" | jq -r .value > id.jwt
  - run: selvedge deploy . --client-id ${clientId} --developer-token-file id.jwt`
  return (
    <Card
      title="Example: GitHub Actions"
      about={
        <>
          Trust <code>https://token.actions.githubusercontent.com</code> with the condition{' '}
          <code>repository=your-org/your-repo</code>. Then a job on a runner that reaches the device deploys
          like this.
        </>
      }
    >
      <Copy label="Steps of a workflow" text={workflow} />
    </Card>
  )
}
