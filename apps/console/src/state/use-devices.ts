import type { Device } from '@selvedge/protocol/console'
import { useRef } from 'preact/hooks'
import { api } from '../api.ts'
import { useCall } from './use-call.ts'
import { type News, useNews } from './use-news.ts'
import { usePlaces } from './use-places.ts'

/** A device with its newest events. */
function withNews(device: Device, { device: news, fixes = [] }: News): Device {
  if (news?.nodeId === device.nodeId) return { ...device, ...news }
  const fix = fixes.find(({ nodeId }) => nodeId === device.nodeId)
  if (!fix) return device
  return { ...device, fix, lastSeenAt: fix.fixedAt, state: device.state === 'away' ? 'online' : device.state }
}

/** A page of the devices of the account, and the locations of all of them, updated while the view is open. */
export function useDevices(page: number, search: string) {
  const { data, error, reload, set } = useCall(() => api['device.list']({ page, search }), [page, search])
  const places = usePlaces()
  const asking = useRef(0)

  const take = (news: News) => {
    places.take(news)
    const nodeId = news.device?.nodeId
    const known = data?.devices.some((each) => each.nodeId === nodeId)
    // A device that came or went: the list is asked for anew, but not for each of a thousand.
    if (nodeId !== undefined && (news.isOwn === false || !known)) {
      clearTimeout(asking.current)
      asking.current = setTimeout(reload, 300) as unknown as number
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
  return { ...data, places: places.all, error, isLive }
}

/** One device, updated while the view is open. */
export function useDevice(nodeId: string) {
  const { data, error, reload, set } = useCall(() => api['device.get']({ nodeId }), [nodeId])
  useNews(
    (news) => {
      if (news.device?.nodeId === nodeId && news.isOwn === false) void reload()
      else set((before) => ({ ...before, device: withNews(before.device, news) }))
    },
    () => void reload(),
  )
  return { device: data?.device, error, reload }
}
