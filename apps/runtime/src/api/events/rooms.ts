/** Which streams follow which channel. A channel exists while a stream follows it. */
import type { TopicName } from '@selvedge/protocol'
import type { AccessClaims } from '@selvedge/protocol/tokens'
import { safely } from '@selvedge/service-kit/safely'
import type { Signals } from '../../device/signals.ts'
import type { Channel } from './channel.ts'
import type { Source, Sources } from './sources.ts'

/** A channel with its streams. */
export interface Room<Stream> {
  readonly channel: Channel
  readonly source: Source
  readonly streams: Set<Stream>
}

export interface Rooms<Stream> {
  /** Lets a stream follow a topic. The channel is of the account of the owner, and also of its client if the topic declares that. */
  enter(stream: Stream, owner: AccessClaims, name: TopicName): Room<Stream>
  leave(stream: Stream, room: Room<Stream>): void
  /** Reads what may have changed. @returns the streams that follow it */
  refresh(): Set<Stream>
  /** From now on everything may have changed. */
  markAll(): void
  /** @param listener called when something may have changed */
  onNews(listener: () => void): void
  close(): void
}

export function createRooms<Stream>(sources: Sources, signals: Signals): Rooms<Stream> {
  const rooms = new Map<string, Room<Stream>>()
  const stale = new Set<Room<Stream>>()
  let announce = (): void => undefined
  // A source that fails keeps its last state, and is read again a second later.
  const refreshOne = safely('events.refresh', ({ channel }: Room<Stream>) => channel.refresh())

  function mark(room: Room<Stream>): void {
    stale.add(room)
    announce()
  }
  const unfollow = signals.follow((signal) => {
    for (const room of rooms.values()) if (room.source.signals.includes(signal)) mark(room)
  })

  function open(key: string, source: Source, owner: AccessClaims): Room<Stream> {
    const streams = new Set<Stream>()
    const onChange = () => {
      const room = rooms.get(key)
      if (room?.streams === streams) mark(room)
    }
    const room = { source, streams, channel: source.open(owner, onChange) }
    rooms.set(key, room)
    return room
  }

  return {
    enter(stream, owner, name) {
      const source = sources[name]
      const { account_id, client_id } = owner
      const key = JSON.stringify([name, account_id, ...(source.isOfClient ? [client_id] : [])])
      const known = rooms.get(key)
      known?.channel.refresh()
      const room = known ?? open(key, source, owner)
      room.streams.add(stream)
      return room
    },
    leave(stream, room) {
      room.streams.delete(stream)
      if (room.streams.size > 0) return
      stale.delete(room)
      for (const [key, each] of rooms) if (each === room) rooms.delete(key)
      room.channel.close()
    },
    refresh() {
      const streams = new Set<Stream>()
      for (const room of stale) {
        refreshOne(room)
        for (const stream of room.streams) streams.add(stream)
      }
      stale.clear()
      return streams
    },
    markAll() {
      for (const room of rooms.values()) mark(room)
    },
    onNews(listener) {
      announce = listener
    },
    close: unfollow,
  }
}
