/** How a device is, as it states it: its words are shown as its own, and never in place of what this service or a person states. */
import type { Vitals } from '@selvedge/protocol/console'
import type { ComponentChildren } from 'preact'
import { Meter } from '../../parts/meter.tsx'
import { duration, Time } from '../../parts/time.tsx'
import { Card } from '../../parts/view.tsx'

/** Load, memory, storage, uptime. */
export function Stats({ vitals: { load, cores, memory, disk, uptimeSeconds } }: { vitals: Vitals }) {
  return (
    <div class="four">
      <Stat label="Load" value={number(load)} unit={cores === 1 ? 'on 1 core' : `on ${cores} cores`}>
        <Meter label="Load" share={load / Math.max(1, cores)} />
      </Stat>
      <Use label="Memory" usage={memory} />
      {disk && <Use label="Storage" usage={disk} />}
      <Stat label="Uptime" value={duration(roughly(uptimeSeconds))} unit="" />
    </div>
  )
}

function Use({ label, usage: { usedBytes, totalBytes } }: { label: string; usage: Vitals['memory'] }) {
  const unit = totalBytes >= 1e9 ? ([1e9, 'GB'] as const) : ([1e6, 'MB'] as const)
  const [size, name] = unit
  return (
    <Stat label={label} value={number(usedBytes / size)} unit={`of ${number(totalBytes / size)} ${name}`}>
      <Meter label={label} share={totalBytes === 0 ? 0 : usedBytes / totalBytes} />
    </Stat>
  )
}

function Stat(props: { label: string; value: string; unit: string; children?: ComponentChildren }) {
  const { label, value, unit, children } = props
  return (
    <div class="card stat">
      <span class="soft">{label}</span>
      <span class="value">
        {value} <small class="soft">{unit}</small>
      </span>
      {children}
    </div>
  )
}

const clocks = {
  trusted: 'Confirmed by the identity service',
  held: 'Plausible, not confirmed',
  unknown: 'Not known',
} as const

/** Operating system, engines, addresses, time. */
export function System({ vitals }: { vitals: Vitals }) {
  const { system, arch, engines, addresses, clock, revocationsAgeSeconds: age, statedAt } = vitals
  return (
    <Card
      title="System"
      about={
        <>
          As the device stated it <Time of={statedAt} />
        </>
      }
    >
      <dl class="kv">
        <dt>System</dt>
        <dd>{[system, arch].filter(Boolean).join(', ')}</dd>
        {engines?.map(({ kind, version, isolation }) => (
          <Engine key={kind} kind={kind} version={version} isolation={isolation} />
        ))}
        <dt>Addresses</dt>
        <dd>
          {addresses.length === 0
            ? '—'
            : addresses.map((each) => (
                <span key={each} class="mono">
                  {each}
                </span>
              ))}
        </dd>
        <dt>Clock</dt>
        <dd>{clocks[clock]}</dd>
        <dt>Revoked tokens</dt>
        <dd>{age === null ? 'No list yet' : `List was ${duration(roughly(age))} old`}</dd>
      </dl>
    </Card>
  )
}

const kinds: Readonly<Record<string, string>> = { function: 'Functions', oci: 'Containers' }

function Engine({ kind, version, isolation }: NonNullable<Vitals['engines']>[number]) {
  return (
    <>
      <dt>{kinds[kind] ?? kind}</dt>
      <dd>
        {version}
        <small class="soft">{isolation.join(', ')}</small>
      </dd>
    </>
  )
}

const number = (value: number): string =>
  new Intl.NumberFormat('en', { maximumFractionDigits: value < 100 ? 1 : 0 }).format(value)

/** In whole units of the largest one that fits. */
function roughly(seconds: number): number {
  const unit = [86_400, 3600, 60].find((each) => seconds >= each) ?? 1
  return Math.floor(seconds / unit) * unit
}
