/** Production checks of a running runtime: time, revocations, isolation of services. */
import type { RuntimeClient } from '@selvedge/client'
import { type Check, checksOf, failed, fixable, passed } from './check.ts'

type Me = Awaited<ReturnType<RuntimeClient['getMe']>>
type Engines = Awaited<ReturnType<RuntimeClient['getEngines']>>

/** Seconds for which a list of revoked tokens may be unconfirmed. */
const maxListAgeSeconds = 600
/** Milliseconds by which the clock of the machine may differ from that of the runtime. */
const maxClockDifferenceMs = 5000

/** @param now of this machine, Unix milliseconds */
export function checkRuntime(me: Me, engines: Engines, now: number): readonly Check[] {
  return [checkTime(me, now), checkRevocations(me), ...checkIsolation(engines)]
}

function checkTime({ time }: Me, now: number): Check {
  const sync = ['timedatectl', 'set-ntp', 'true']
  if (time.state !== 'trusted')
    return fixable(
      'clock',
      `the time is not confirmed by the identity service (${time.state})`,
      sync,
      'The identity service confirms the time when it is reached: see the check "identity".',
    )
  const difference = Math.abs(Date.parse(time.now) - now)
  const detail = `the clock of the machine differs by ${Math.round(difference / 1000)} s from the confirmed time`
  return difference <= maxClockDifferenceMs ? passed('clock', detail) : fixable('clock', detail, sync)
}

function checkRevocations({ revocations, time }: Me): Check {
  const { checkedAt } = revocations
  const fix =
    'Make the identity service reachable (the check "identity" shows what is missing): until then, tokens that were revoked may be accepted.'
  if (checkedAt === null)
    return failed('revoked', 'the list of revoked tokens was not confirmed since the start', fix)
  const age = Math.round((Date.parse(time.now) - Date.parse(checkedAt)) / 1000)
  const detail = `the list of revoked tokens was confirmed ${age} s ago`
  return age <= maxListAgeSeconds ? passed('revoked', detail) : failed('revoked', detail, fix)
}

/** Layers of isolation that a device should give its functions. */
const wantedLayers = { namespaces: /namespaces/, cgroup: /cgroup|control group/ }

function checkIsolation({ function: functions, oci }: Engines): readonly Check[] {
  const missing = functions.available
    ? Object.entries(wantedLayers).filter(
        ([, layer]) => !functions.isolation.some((each) => layer.test(each)),
      )
    : []
  const fixes = functions.hints.join(' ')
  return [
    ...checksOf(
      'isolation',
      missing.map(([name]) =>
        failed(
          'isolation',
          `functions run without ${name === 'cgroup' ? 'control groups, so without limits of memory and CPU' : 'namespaces'}`,
          fixes ||
            'Install bubblewrap, and delegate control groups to the user of the runtime (Delegate=yes in its systemd unit).',
        ),
      ),
      functions.available ? `functions: ${functions.isolation.join(', ')}` : 'this machine runs no functions',
    ),
    oci.available && !/rootless|virtual machine/.test(oci.detail)
      ? failed(
          'engine',
          `the container engine runs as root: ${oci.detail}`,
          'Use rootless Podman: an image that escapes its container is then not root.',
        )
      : passed(
          'engine',
          oci.available
            ? `the container engine does not run as root of this machine: ${oci.detail}`
            : 'no container engine is used',
        ),
  ]
}
