/** A channel in which each event has the whole state: only the newest one is stored. */
import type { TopicName } from '@selvedge/protocol'
import type { Channel, SharedEvent } from './channel.ts'

/**
 * @param read gives the current state
 * @param onClose called when the last reader left
 */
export function createStateChannel(
  topic: TopicName,
  read: () => unknown,
  onClose: () => void = () => undefined,
): Channel {
  let newest: SharedEvent = { topic, number: 1, data: JSON.stringify(read()) }
  return {
    refresh() {
      const data = JSON.stringify(read())
      if (data !== newest.data) newest = { topic, number: newest.number + 1, data }
    },
    next(number) {
      if (number === newest.number) return undefined
      return { event: newest, lost: number === undefined ? 0 : newest.number - number - 1 }
    },
    close: onClose,
  }
}
