import type { Device } from '@selvedge/protocol/console'
import { useEffect, useState } from 'preact/hooks'
import { api } from '../api.ts'
import { useCall } from './use-call.ts'

type Fix = NonNullable<Device['fix']>

/** What the service tells as it happens: something new of a device, or where it is now. */
interface News {
  readonly device?: Omit<Device, 'fix'>
  readonly isOwn?: boolean
  readonly fix?: Fix & { nodeId: string }
}

/** Milliseconds between two full looks: what nobody tells, such as that a device fell silent, shows then. */
const lookInterval = 30_000

/** The devices of the account, kept true while the view is open. `isLive`: news come as they happen. */
export function useDevices() {
  const { data, error, reload, set } = useCall(() => api['device.list']())
  const [isLive, setLive] = useState(false)

  useEffect(() => {
    const take = ({ device, isOwn, fix }: News) => {
      if (device && isOwn === false) void reload()
      set(({ devices, hasPlaces }) => {
        const nodeId = device?.nodeId ?? fix?.nodeId
        const known = devices.some((each) => each.nodeId === nodeId)
        // A device that came to the account: the list is asked for anew, place and all.
        if (!known) void reload()
        const changed = devices.map((each) => {
          if (each.nodeId !== nodeId) return each
          if (fix)
            return {
              ...each,
              fix,
              lastSeenAt: fix.fixedAt,
              state: each.state === 'away' ? ('online' as const) : each.state,
            }
          return { ...each, ...device }
        })
        return { devices: changed, hasPlaces: hasPlaces || fix !== undefined }
      })
    }
    const source = new EventSource('/console/events')
    source.onopen = () => {
      setLive(true)
      // What happened while the line was down.
      void reload()
    }
    source.onerror = () => setLive(false)
    source.onmessage = ({ data: text }) => take(JSON.parse(text))
    const timer = setInterval(reload, lookInterval)
    return () => {
      source.close()
      clearInterval(timer)
    }
  }, [reload, set])

  return { ...data, error, reload, isLive }
}
