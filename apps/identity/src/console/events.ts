/** Sends changes of the devices of an account to the pages that show them. */
import type { AccountFix } from '@selvedge/protocol'
import type { Clock } from '@selvedge/service-kit/clock'
import { type EventStream, openEventStream } from '@selvedge/service-kit/http-app'
import { safely } from '@selvedge/service-kit/safely'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Changes } from '../changes/changes.ts'
import type { Nodes } from '../registry/nodes.ts'
import type { Viewer } from './context.ts'
import { describeDevice } from './handlers/devices.ts'
import type { Places } from './places.ts'

export interface Events {
  /** @param isStillAllowed asked now and then: a session that ends takes its stream with it */
  open(
    viewer: Pick<Viewer, 'membership' | 'person'>,
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
/** Maximum streams of one account: forgotten tabs must not accumulate. */
const maxStreams = 50

export function createEvents({
  nodes,
  places,
  clock,
  changes,
}: {
  nodes: Nodes
  places: Places
  clock: Clock
  changes: Pick<Changes, 'onChange'>
}): Events {
  const streams = new Map<string, Set<EventStream>>()
  /** Whom each stream is for, and how it is checked whether it may go on. */
  const viewings = new Set<{ readonly personId: string; readonly check: () => void }>()

  // A person was removed or signed out: the stream ends at once, whichever replica did it. "" if it is not known who.
  changes.onChange('person', (changed) => {
    for (const { personId, check } of viewings) if (changed === '' || changed === personId) check()
  })
  nodes.onChange((node) => {
    // All streams learn that a device was removed from an account: pages load the list again, and see their own devices.
    const accounts = node.accountId === '' ? [node.removedAccount] : [node.accountId]
    for (const accountId of accounts) {
      for (const each of streams.get(accountId) ?? []) {
        each.send({ device: describeDevice(node, clock.now()), isOwn: node.accountId !== '' })
      }
    }
  })

  return {
    open({ membership: { accountId }, person: { personId } }, request, reply, isStillAllowed) {
      const own = streams.get(accountId) ?? new Set()
      streams.set(accountId, own)
      // The end takes it out of the set at once, whether or not its reader reads.
      if (own.size >= maxStreams) [...own][0]?.end()
      // Fixes are sent a few times a second, and only the newest of each node: a fleet of thousands would send too many.
      let news = new Map<string, AccountFix>()
      const timers: NodeJS.Timeout[] = []
      const unwatch = places.watch(accountId, (fix: AccountFix) => news.set(fix.nodeId, fix))
      let opened: EventStream | undefined
      const end = () => opened?.end()
      const checkOnce = async () => {
        if (!(await isStillAllowed())) end()
      }
      // What cannot be checked is not allowed: the page connects again, and is asked to sign in if it must.
      const check = safely('consoleEvents.check', checkOnce, end)
      const viewing = { personId, check }
      const stream = openEventStream(request, reply, () => {
        for (const each of timers) clearInterval(each)
        unwatch()
        viewings.delete(viewing)
        own.delete(stream)
        if (own.size === 0 && streams.get(accountId) === own) streams.delete(accountId)
      })
      opened = stream
      own.add(stream)
      viewings.add(viewing)
      const sendNews = () => {
        if (news.size === 0) return
        const all = [...news.values()]
        news = new Map()
        for (let at = 0; at < all.length; at += fixesOfEvent)
          stream.send({ fixes: all.slice(at, at + fixesOfEvent) })
      }
      timers.push(setInterval(check, lookInterval).unref())
      timers.push(setInterval(safely('consoleEvents.send', sendNews, end), tellInterval).unref())
    },
    stop() {
      for (const each of [...streams.values()].flatMap((own) => [...own])) each.end()
    },
  }
}
