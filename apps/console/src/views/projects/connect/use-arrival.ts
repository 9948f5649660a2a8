import type { Device } from '@selvedge/protocol/console'
import { useEffect, useRef } from 'preact/hooks'
import { api } from '../../../api.ts'
import { useCall } from '../../../state/use-call.ts'
import { type News, useNews } from '../../../state/use-news.ts'
import { useHome } from '../../../state/viewer.ts'
import type { Step } from './commands.ts'

/** Milliseconds from news of devices to another load. */
const reloadMs = 500

/** The devices that the account had when the page was first opened in this tab; a reload of the page does not change them. */
function knownDevices(accountId: string, devices: readonly Device[]): ReadonlySet<string> {
  const key = `selvedge:connect ${accountId}`
  try {
    const stored: unknown = JSON.parse(sessionStorage.getItem(key) ?? 'null')
    if (Array.isArray(stored)) return new Set(stored.filter((each) => typeof each === 'string'))
    sessionStorage.setItem(key, JSON.stringify(devices.map(({ nodeId }) => nodeId)))
  } catch {
    // A browser that stores nothing forgets a new device when the page is loaded again.
  }
  return new Set(devices.map(({ nodeId }) => nodeId))
}

export interface Arrival {
  /** The device that was connected since the page was opened. */
  readonly device: Device | undefined
  readonly done: ReadonlySet<Step['until']>
}

/** Follows what the commands of the page cause, while it is open. */
export function useArrival(clientId: string): Arrival {
  const { accountId } = useHome().viewer
  const { data, reload } = useCall(() => api['device.list']({ page: 0, sort: 'added' }), [])
  const timer = useRef(0)
  const known = useRef<ReadonlySet<string>>(undefined)
  if (data && !known.current) known.current = knownDevices(accountId, data.devices)
  useEffect(() => () => clearTimeout(timer.current), [])
  const take = ({ device, fixes }: News) => {
    if (timer.current !== 0 || (!device && !fixes?.length)) return
    timer.current = setTimeout(() => {
      timer.current = 0
      void reload()
    }, reloadMs) as unknown as number
  }
  useNews(take, () => void reload())
  const device = data?.devices.find(({ nodeId }) => !known.current?.has(nodeId))
  const isDeployed = device?.services.some(({ id }) => id.startsWith(`${clientId}-`))
  const done = [
    ...(device ? (['connected'] as const) : []),
    ...(isDeployed ? (['deployed'] as const) : []),
    ...(device?.fix ? (['located'] as const) : []),
  ]
  return { device, done: new Set(done) }
}
