import type { Device, DeviceAttention } from '@selvedge/protocol/console'
import { useEffect, useRef } from 'preact/hooks'
import { api } from '../api.ts'
import { type DeviceQuery, selectionOf } from './device-query.ts'
import { withNews } from './presence.ts'
import { useCall } from './use-call.ts'
import { type News, useNews } from './use-news.ts'
import { usePlaces } from './use-places.ts'

/** Milliseconds from a change of a device that is not on the page to another load: a large fleet changes all the time. */
const reloadMs = (total: number) => (total > 1000 ? 10_000 : 300)

/** A page of the devices of the account, and the locations of all of them, updated while the view is open. */
export function useDevices(query: DeviceQuery) {
  const { data, error, reload, set } = useCall(() => load(query), [JSON.stringify(query)])
  const selection = new URLSearchParams(selectionOf(query)).toString()
  const places = usePlaces(selection && `?${selection}`)
  const asking = useRef(0)
  const current = useRef(reload)
  current.current = reload
  useEffect(() => () => clearTimeout(asking.current), [])

  const take = (news: News) => {
    places.take(news, data?.onlineSeconds ?? 0)
    const nodeId = news.device?.nodeId
    const known = data?.devices.find((each) => each.nodeId === nodeId)
    // A device was added or removed, or its state changed: load the list again, but once for many changes.
    if (news.device && asking.current === 0 && (news.isOwn === false || !isSame(known, news.device))) {
      const load = () => {
        asking.current = 0
        void current.current()
        places.look()
      }
      asking.current = setTimeout(load, reloadMs(data?.total ?? 0)) as unknown as number
    }
    set((before) => ({
      ...before,
      devices: before.devices.map((each) => withNews(each, news)),
      hasPlaces: before.hasPlaces || (news.fixes?.length ?? 0) > 0,
    }))
  }
  const isLive = useNews(take, () => {
    void reload()
    places.look()
  })
  return { ...data, places: places.all, error, isLive, reload }
}

/** Whether the counts, the filters and the strip have the device as it is. */
const isSame = (one: Device | undefined, other: NonNullable<News['device']>): boolean =>
  JSON.stringify([one?.state, one?.services]) === JSON.stringify([other.state, other.services])

/** A page of devices, and the strip above the map where something needs attention: its code is loaded only then. */
async function load(query: DeviceQuery) {
  const [list, attention] = await Promise.all([
    api['device.list'](query),
    api['device.attention']().catch(() => undefined),
  ])
  const Strip = attention && needsAttention(attention) ? await loadStrip().catch(() => undefined) : undefined
  return { ...list, attention, Strip }
}

const loadStrip = async () => (await import('../views/devices/attention.tsx')).default

const needsAttention = ({ away, needs }: DeviceAttention): boolean =>
  away > 0 || Object.values(needs).some((count) => count > 0)
