/** The last answers of the discovery service, for when it can't be reached: on the disk, since a device may start offline. */
import { type NodeList, type NodeOptions, nodeLimits, nodeList } from '@selvedge/protocol'
import type { Log } from '@selvedge/service-kit/log'
import { reportFailure } from '@selvedge/service-kit/safely'
import { shareResult } from '@selvedge/service-kit/share'
import {
  createLearned,
  type DocumentFormat,
  expectKnownVersion,
  openDocument,
} from '@selvedge/service-kit/store'
import * as z from 'zod'

const known = z.strictObject({
  accountId: z.string(),
  answers: z.record(z.string(), z.strictObject({ at: z.number(), list: nodeList })),
})

type Known = z.infer<typeof known>

/** What the discovery service can be asked. */
interface Question extends NodeOptions {
  readonly cluster: 'account' | 'proximity'
}

interface Answer {
  /** When it was given, Unix milliseconds. */
  readonly at: number
  readonly list: NodeList
}

export interface LastKnown {
  /**
   * The newest stored answer that covers this question: to the same question, or to a wider one. Undefined when there is none,
   * or it cannot be read.
   */
  find(accountId: string, question: Question): Promise<Answer | undefined>
  /** Stores an answer: in memory at once, on the disk as soon as the disk accepts it. */
  keep(accountId: string, question: Question, at: number, list: NodeList): Promise<void>
  close(): Promise<void>
}

/** Maximum number of stored answers. */
const maxAnswers = 8
/** Minimum milliseconds between two writes: frequent searches must not wear out the flash. */
const writeIntervalMs = 60_000

const format: DocumentFormat<Known> = {
  version: 1,
  initial: { accountId: '', answers: {} },
  read: (json) => known.parse(json),
}

/**
 * @param path of the document; it is opened when it is first needed
 * @throws StoreError when a later version of the program wrote it
 */
export async function openLastKnown(path: string, log: Log): Promise<LastKnown> {
  await expectKnownVersion(path, format.version)
  const open = shareResult(async () => {
    const store = await openDocument(path, format)
    for (const { detail } of store.notices) log.warn('stored lists of nodes are damaged', { detail })
    return { store, learned: createLearned(store, { where: 'lastKnown.keep', log }) }
  })
  let writtenAt = Number.NEGATIVE_INFINITY
  return {
    async find(accountId, question) {
      const value = await open().then(
        ({ store }) => store.value,
        (cause) => reportFailure('lastKnown.open', cause),
      )
      if (!value || value.accountId !== accountId) return undefined
      const wider = Object.entries(value.answers).filter(([text]) => isWithin(question, read(text)))
      const [newest] = wider.map(([, answer]) => answer).sort((a, b) => b.at - a.at)
      return newest && { at: newest.at, list: cut(newest.list, question) }
    },
    async keep(accountId, question, at, list) {
      const change = (value: Known): Known => {
        const { [write(question)]: _, ...others } = value.accountId === accountId ? value.answers : {}
        const recent = Object.entries(others).slice(1 - maxAnswers)
        return { accountId, answers: { ...Object.fromEntries(recent), [write(question)]: { at, list } } }
      }
      try {
        const { store, learned } = await open()
        if (at - writtenAt < writeIntervalMs) return store.updateLazily(change)
        writtenAt = at
        learned.learn('answers', change)
      } catch (cause) {
        reportFailure('lastKnown.keep', cause)
      }
    },
    async close() {
      const opened = await open.present()?.catch(() => undefined)
      await opened?.learned.stop()
      // What was kept in memory only is written with this.
      await opened?.store.update((value) => value).catch(() => undefined)
      await opened?.store.close()
    },
  }
}

const write = ({ cluster, radius, limit, after }: Question): string =>
  JSON.stringify([cluster, radius, limit, after])

function read(text: string): Question {
  const [cluster, radius, limit, after] = JSON.parse(text)
  return { cluster, radius: radius ?? undefined, limit: limit ?? undefined, after: after ?? undefined }
}

const radiusOf = ({ radius = nodeLimits.radius.usual }: Question): number => radius
const limitOf = ({
  cluster,
  limit = nodeLimits[cluster === 'account' ? 'page' : 'nearest'].usual,
}: Question) => limit

/** Whether what is asked is a part of what another question asked. */
const isWithin = (asked: Question, other: Question): boolean =>
  asked.cluster === other.cluster &&
  asked.after === other.after &&
  radiusOf(asked) <= radiusOf(other) &&
  limitOf(asked) <= limitOf(other)

/** The part of a wider answer that was asked for. */
function cut(list: NodeList, asked: Question): NodeList {
  const isPage = asked.cluster === 'account'
  const all = isPage ? list.data : list.data.filter(({ distance }) => (distance ?? 0) <= radiusOf(asked))
  const data = all.slice(0, limitOf(asked))
  const isCut = isPage && data.length < all.length
  return { ...list, data, next: isCut ? data.at(-1)!.nodeId : list.next }
}
