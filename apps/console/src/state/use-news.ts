import type { Device } from '@selvedge/protocol/console'
import { useEffect, useRef, useState } from 'preact/hooks'
import { followEvents } from '../session/events.ts'

type Fix = NonNullable<Device['fix']> & { readonly nodeId: string }

/** Live events of the service: changes of a device, or new locations of some devices. */
export interface News {
  /** What it states; what people call it does not change by itself. */
  readonly device?: Omit<Device, 'fix' | 'label' | 'tags'>
  readonly isOwn?: boolean
  readonly fixes?: readonly Fix[]
}

/** Milliseconds between two full polls, which show what causes no event, such as a device that went offline. */
const pollIntervalMs = 30_000

/**
 * Listens while the view is open. Gives whether news come as they happen.
 *
 * @param look called when the line is up, since something may have happened while it was down; and now and then
 */
export function useNews(take: (news: News) => void, look: () => void): boolean {
  const [isLive, setLive] = useState(false)
  const current = useRef({ take, look })
  current.current = { take, look }
  useEffect(() => {
    const unfollow = followEvents('/console/events', {
      opened: () => {
        setLive(true)
        current.current.look()
      },
      lost: () => setLive(false),
      received: (data) => current.current.take(JSON.parse(data)),
    })
    const timer = setInterval(() => current.current.look(), pollIntervalMs)
    return () => {
      unfollow()
      clearInterval(timer)
    }
  }, [])
  return isLive
}
