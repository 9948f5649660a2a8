import { useEffect, useRef } from 'preact/hooks'
import { api } from '../api.ts'
import { nowMs } from '../parts/time.tsx'
import type { DeviceQuery } from './device-query.ts'
import { withNews } from './presence.ts'
import { useCall } from './use-call.ts'
import { type News, useNews } from './use-news.ts'
import { usePlaces } from './use-places.ts'

/** Milliseconds from a change of a device that is not on the page to another load: a large fleet changes all the time. */
const reloadMs = (total: number) => (total > 1000 ? 10_000 : 300)

/** A page of the devices of the account, and the locations of all of them, updated while the view is open. */
export function useDevices(query: DeviceQuery) {
  const { data, error, reload, set } = useCall(() => api['device.list'](query), [JSON.stringify(query)])
  const places = usePlaces()
  const asking = useRef(0)
  const current = useRef(reload)
  current.current = reload
  useEffect(() => () => clearTimeout(asking.current), [])

  const take = (news: News) => {
    places.take(news)
    const nodeId = news.device?.nodeId
    const known = data?.devices.some((each) => each.nodeId === nodeId)
    // A device was added or removed, or its state changed: load the list again, but once for many changes.
    if (nodeId !== undefined && asking.current === 0 && (news.isOwn === false || !known)) {
      const load = () => {
        asking.current = 0
        void current.current()
      }
      asking.current = setTimeout(load, reloadMs(data?.total ?? 0)) as unknown as number
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
  return { ...data, places: places.all, error, isLive, reload }
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
