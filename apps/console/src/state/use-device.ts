import { api } from '../api.ts'
import { withNews } from './presence.ts'
import { useCall } from './use-call.ts'
import { useNews } from './use-news.ts'

/** One device, updated while the view is open. */
export function useDevice(nodeId: string) {
  const { data, error, reason, reload, set } = useCall(() => api['device.get']({ nodeId }), [nodeId])
  useNews(
    (news) => {
      // It stated more than the event has: its vitals, or it is not of this account any more.
      if (news.device?.nodeId === nodeId) void reload()
      else set((before) => ({ ...before, device: withNews(before.device, news) }))
    },
    () => void reload(),
  )
  return {
    device: data?.device,
    vitals: data?.vitals,
    error,
    isMissing: reason === 'not_found' || reason === 'invalid_params',
    reload,
  }
}
