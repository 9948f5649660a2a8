import { useRef } from 'preact/hooks'
import { api } from '../api.ts'
import { nowMs } from '../parts/time.tsx'
import type { DeviceQuery } from './device-query.ts'
import { withNews } from './presence.ts'
import { useCall } from './use-call.ts'
import { type News, useNews } from './use-news.ts'
import { usePlaces } from './use-places.ts'

/** A page of the devices of the account, and the locations of all of them, updated while the view is open. */
export function useDevices(query: DeviceQuery) {
  const { data, error, reload, set } = useCall(() => api['device.list'](query), [JSON.stringify(query)])
  const places = usePlaces()
  const asking = useRef(0)

  const take = (news: News) => {
    places.take(news)
    const nodeId = news.device?.nodeId
    const known = data?.devices.some((each) => each.nodeId === nodeId)
    // A device was added or removed: load the list again, but once for many changes.
    if (nodeId !== undefined && (news.isOwn === false || !known)) {
      clearTimeout(asking.current)
      asking.current = setTimeout(reload, 300) as unknown as number
    }
    set((before) => ({
      ...before,
      devices: before.devices.map((each) => withNews(each, news, nowMs())),
      hasPlaces: before.hasPlaces || (news.fixes?.length ?? 0) > 0,
    }))
  }
  const isLive = useNews(take, () => {
    void reload()
    places.look()
  })
  return { ...data, places: places.all, error, isLive }
}

/** One device, updated while the view is open. */
export function useDevice(nodeId: string) {
  const { data, error, reason, reload, set } = useCall(() => api['device.get']({ nodeId }), [nodeId])
  useNews(
    (news) => {
      if (news.device?.nodeId === nodeId && news.isOwn === false) void reload()
      else set((before) => ({ ...before, device: withNews(before.device, news, nowMs()) }))
    },
    () => void reload(),
  )
  return { device: data?.device, vitals: data?.vitals, error, isMissing: reason === 'not_found', reload }
}
