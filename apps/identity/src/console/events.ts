/** What changes on the devices of an account, told to the pages that look at it. */
import type { AccountFix } from '@selvedge/protocol'
import type { Clock } from '@selvedge/service-kit/clock'
import { type EventStream, openEventStream } from '@selvedge/service-kit/http-app'
import { safely } from '@selvedge/service-kit/safely'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Nodes } from '../registry/nodes.ts'
import { describeDevice } from './handlers/devices.ts'
import type { Places } from './places.ts'

export interface Events {
  /** @param isStillAllowed asked now and then: a session that ends takes its stream with it */
  open(
    accountId: string,
    request: FastifyRequest,
    reply: FastifyReply,
    isStillAllowed: () => Promise<boolean>,
  ): void
  stop(): void
}

/** Milliseconds between two looks whether the session still lives. */
const lookInterval = 30_000
/** Milliseconds between two events with fixes, and most fixes of one. */
const tellInterval = 500
const fixesOfEvent = 500
/** Most streams of one account: tabs that were forgotten must not pile up. */
const maxStreams = 50

export function createEvents({
  nodes,
  places,
  clock,
}: {
  nodes: Nodes
  places: Places
  clock: Clock
}): Events {
  const streams = new Map<string, Set<EventStream>>()

  nodes.onChange((node) => {
    // A device that was removed from an account is told to all: they look again, and see what is theirs.
    const accounts = node.accountId === '' ? [node.removedAccount] : [node.accountId]
    for (const accountId of accounts) {
      for (const each of streams.get(accountId) ?? []) {
        each.send({ device: describeDevice(node, clock.now()), isOwn: node.accountId !== '' })
      }
    }
  })

  return {
    open(accountId, request, reply, isStillAllowed) {
      const own = streams.get(accountId) ?? new Set()
      streams.set(accountId, own)
      // The end takes it out of the set at once, whether or not its reader reads.
      if (own.size >= maxStreams) [...own][0]?.end()
      // Fixes are sent a few times a second, and only the newest of each node: a fleet of thousands would send too many.
      let news = new Map<string, AccountFix>()
      const timers: NodeJS.Timeout[] = []
      const unwatch = places.watch(accountId, (fix: AccountFix) => news.set(fix.nodeId, fix))
      const stream = openEventStream(request, reply, () => {
        for (const each of timers) clearInterval(each)
        unwatch()
        own.delete(stream)
        if (own.size === 0 && streams.get(accountId) === own) streams.delete(accountId)
      })
      own.add(stream)
      const check = async () => {
        if (!(await isStillAllowed())) stream.end()
      }
      const sendNews = () => {
        if (news.size === 0) return
        const all = [...news.values()]
        news = new Map()
        for (let at = 0; at < all.length; at += fixesOfEvent)
          stream.send({ fixes: all.slice(at, at + fixesOfEvent) })
      }
      const end = () => stream.end()
      // What cannot be checked is not allowed: the page connects again, and is asked to sign in if it must.
      timers.push(setInterval(safely('consoleEvents.check', check, end), lookInterval).unref())
      timers.push(setInterval(safely('consoleEvents.send', sendNews, end), tellInterval).unref())
    },
    stop() {
      for (const each of [...streams.values()].flatMap((own) => [...own])) each.end()
    },
  }
}
