import { type AuditRecord, auditWords } from '@selvedge/protocol/console'
import { useState } from 'preact/hooks'
import { api } from '../api.ts'
import { Action } from '../parts/action.tsx'
import { download } from '../parts/download.ts'
import { Icon, type IconName } from '../parts/icon.tsx'
import { type Happening, Timeline } from '../parts/timeline.tsx'
import { Bones, Empty, View } from '../parts/view.tsx'
import { useQuery } from '../state/route.ts'
import { useCall } from '../state/use-call.ts'
import './audit.css'

const pageSize = 100

/** Beginnings of actions, and what they are about. */
const areas: readonly (readonly [action: string, text: string])[] = [
  ['', 'All events'],
  ['device.', 'Devices'],
  ['project.', 'Projects'],
  ['developer_token.', 'Developer tokens'],
  ['member.', 'Members'],
  ['session.', 'Sign-ins'],
  ['device_request.', 'Terminals'],
  ['authorization.', 'Apps'],
  ['passkey.', 'Passkeys'],
  ['share.', 'Shared services'],
  ['issuer.', 'Issuers'],
]
const outcomes: readonly (readonly [outcome: string, text: string])[] = [
  ['', 'All results'],
  ['ok', 'Done'],
  ['refused', 'Refused'],
]

/** What is shown, as in the query of the address: a link to it shows the same. */
function useFilter() {
  const [query, change] = useQuery()
  const known = (name: string, all: readonly (readonly [string, string])[]) =>
    all.find(([value]) => value !== '' && value === query.get(name))?.[0]
  const search = (query.get('search') ?? '').trim().slice(0, 64)
  const action = known('action', areas)
  const outcome = known('outcome', outcomes) as AuditRecord['outcome'] | undefined
  const filter = { ...(action && { action }), ...(outcome && { outcome }), ...(search && { search }) }
  return { filter, change }
}

export default function AuditView() {
  const { filter, change } = useFilter()
  const { data, error, set } = useCall(
    async () => ({ entries: await api['audit.list']({ before: null, ...filter }), isWhole: false }),
    [JSON.stringify(filter)],
  )
  const entries = data?.entries
  return (
    <View
      title="Audit log"
      about="Who did what, from where."
      actions={
        <Action
          icon="download"
          run={() => download('/console/audit.jsonl', 'selvedge-audit.jsonl', 'the audit log')}
        >
          Export JSONL
        </Action>
      }
      error={error}
    >
      <section class="card" aria-label="Entries of the audit log">
        <Filters filter={filter} onChange={change} />
        {!entries && !error && <Bones of="rows" />}
        {entries?.length === 0 && <NoEntry />}
        {entries && <Timeline happenings={entries.map(happeningOf)} />}
      </section>
      {data && data.entries.length >= pageSize && !data.isWhole && (
        <div>
          <Action
            run={async () => {
              const more = await api['audit.list']({ before: data.entries.at(-1)!.id, ...filter })
              set((before) => ({ entries: [...before.entries, ...more], isWhole: more.length < pageSize }))
            }}
          >
            Load older
          </Action>
        </div>
      )}
    </View>
  )
}

const NoEntry = () => <Empty icon="scroll-text" title="No entry matches" text="Choose other filters." />

function Filters(props: {
  filter: ReturnType<typeof useFilter>['filter']
  onChange: (members: Readonly<Record<string, string>>) => void
}) {
  const { filter, onChange } = props
  const [typed, setTyped] = useState(filter.search ?? '')
  return (
    <form
      class="tools"
      onSubmit={(event) => {
        event.preventDefault()
        onChange({ search: typed })
      }}
    >
      <div class="search">
        <Icon name="search" />
        <input
          class="input"
          type="search"
          aria-label="Search the audit log"
          placeholder="Person, device or detail"
          maxLength={64}
          value={typed}
          onInput={({ currentTarget }) => setTyped(currentTarget.value)}
          onChange={() => onChange({ search: typed })}
        />
      </div>
      <Choice label="Events" all={areas} chosen={filter.action} onChoose={(action) => onChange({ action })} />
      <Choice
        label="Results"
        all={outcomes}
        chosen={filter.outcome}
        onChoose={(outcome) => onChange({ outcome })}
      />
    </form>
  )
}

function Choice(props: {
  label: string
  all: readonly (readonly [value: string, text: string])[]
  chosen: string | undefined
  onChoose: (value: string) => void
}) {
  const { label, all, chosen = '', onChoose } = props
  return (
    <select
      class="input choice"
      aria-label={label}
      value={chosen}
      onChange={({ currentTarget }) => onChoose(currentTarget.value)}
    >
      {all.map(([value, text]) => (
        <option key={value} value={value}>
          {text}
        </option>
      ))}
    </select>
  )
}

const icons: readonly (readonly [start: string, icon: IconName])[] = [
  ['device_request', 'terminal'],
  ['device', 'cpu'],
  ['project', 'layers'],
  ['member', 'users'],
  ['group', 'users'],
  ['share', 'users'],
  ['company', 'users'],
  ['passkey', 'fingerprint'],
  ['password', 'lock'],
  ['recovery', 'life-buoy'],
  ['session', 'monitor'],
]

function happeningOf(entry: AuditRecord): Happening {
  const { id, at, actor, address, outcome, subject } = entry
  const { verb, target, about, changes } = auditWords(entry)
  const icon = icons.find(([start]) => entry.action.startsWith(start))?.[1] ?? 'key-round'
  const isRefused = outcome === 'refused'
  return {
    ...{ id, at, icon, tone: isRefused ? 'bad' : '' },
    text: (
      <span title={subject}>
        <strong>{actor}</strong> {verb} {target && <strong>{target}</strong>}
        {isRefused && <span class="badge bad">Refused</span>}
      </span>
    ),
    about: (
      <>
        {changes.map(([what, before, after]) => (
          <span key={what}>
            {what && `${what}: `}
            <s>{before}</s> → {after} ·{' '}
          </span>
        ))}
        {about && <span>{about} · </span>}
        {address ? `from ${address}` : 'by the service itself'}
      </>
    ),
  }
}
