/** Sends changes of the devices of an account to the pages that show them. */
import type { AccountFix } from '@selvedge/protocol'
import { type EventStream, openEventStream } from '@selvedge/service-kit/http-app'
import { safely } from '@selvedge/service-kit/safely'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Nodes } from '../../registry/nodes/nodes.ts'
import type { Changes } from '../../storage/changes/changes.ts'
import type { Viewer } from './context.ts'
import type { DescribeDevice } from './describe-device.ts'
import type { Places } from './places.ts'

export interface Events {
  /** @param isStillAllowed called repeatedly: the stream ends with the session */
  open(
    viewer: Pick<Viewer, 'membership' | 'person'>,
    request: FastifyRequest,
    reply: FastifyReply,
    isStillAllowed: () => Promise<boolean>,
  ): void
}

/** Milliseconds between two checks of the session. */
const sessionCheckMs = 30_000
/** Milliseconds between two events with fixes. */
const fixIntervalMs = 500
/** Maximum fixes of one event. */
const maxFixes = 500
/** Maximum streams of one account: forgotten tabs must not accumulate. */
const maxStreams = 50

export function createEvents({
  nodes,
  places,
  describe,
  changes,
}: {
  nodes: Nodes
  places: Places
  describe: DescribeDevice
  changes: Pick<Changes, 'onChange'>
}): Events {
  const streams = new Map<string, Set<EventStream>>()
  /** The person of each stream, and the check of the person's session. */
  const viewings = new Set<{ readonly personId: string; readonly check: () => void }>()

  // A person was removed or signed out: the stream ends at once, also if another replica did it. "": the person is unknown.
  changes.onChange('person', (changed) => {
    for (const { personId, check } of viewings) if (changed === '' || changed === personId) check()
  })
  nodes.onChange((node) => {
    // All streams learn that a device was removed from an account: pages load the list again, and see their own devices.
    const accounts = node.accountId === '' ? [node.removedAccount] : [node.accountId]
    for (const accountId of accounts) {
      for (const each of streams.get(accountId) ?? []) {
        each.send({ device: describe(node), isOwn: node.accountId !== '' })
      }
    }
  })

  return {
    open({ membership: { accountId }, person: { personId } }, request, reply, isStillAllowed) {
      const own = streams.get(accountId) ?? new Set()
      streams.set(accountId, own)
      // Ending a stream removes it from the set at once, also if its reader does not read.
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
      // If the check fails, the stream ends: the page connects again, and shows the sign-in page if necessary.
      const check = safely('consoleEvents.check', checkOnce, end)
      const viewing = { personId, check }
      const stream = openEventStream(request, reply, () => {
        for (const each of timers) clearInterval(each)
        unwatch()
        viewings.delete(viewing)
        own.delete(stream)
        if (own.size === 0) streams.delete(accountId)
      })
      opened = stream
      own.add(stream)
      viewings.add(viewing)
      const sendNews = () => {
        const all = [...news.values()]
        news = new Map()
        for (let at = 0; at < all.length; at += maxFixes) stream.send({ fixes: all.slice(at, at + maxFixes) })
      }
      timers.push(setInterval(check, sessionCheckMs).unref())
      timers.push(setInterval(safely('consoleEvents.send', sendNews, end), fixIntervalMs).unref())
    },
  }
}
