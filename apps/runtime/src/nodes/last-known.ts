/** The last answers of the discovery service, for when it can't be reached: on the disk, since a device may start offline. */
import { type NodeList, nodeList } from '@selvedge/protocol'
import { type DocumentStore, openDocument } from '@selvedge/service-kit/store'
import * as z from 'zod'

const known = z.object({
  accountId: z.string(),
  answers: z.record(z.string(), z.object({ at: z.number(), list: nodeList })),
})

type Known = z.infer<typeof known>

export interface LastKnown {
  find(
    accountId: string,
    question: string,
  ): Promise<{ readonly at: number; readonly list: NodeList } | undefined>
  keep(accountId: string, question: string, at: number, list: NodeList): Promise<void>
  close(): Promise<void>
}

/** Most questions whose answers are kept. */
const most = 8
/** Milliseconds between two writes: whoever asks every second does not wear out the flash. */
const pause = 60_000

/** @param path of the document; it is opened when it is first needed */
export function createLastKnown(path: string): LastKnown {
  let opened: Promise<DocumentStore<Known>> | undefined
  let writtenAt = Number.NEGATIVE_INFINITY
  const open = () => {
    opened ??= openDocument<Known>(path, { accountId: '', answers: {} }, (json) => known.parse(json))
    return opened
  }
  return {
    async find(accountId, question) {
      const { value } = await open()
      return value.accountId === accountId ? value.answers[question] : undefined
    },
    async keep(accountId, question, at, list) {
      const store = await open()
      const change = (value: Known): Known => {
        const { [question]: _, ...others } = value.accountId === accountId ? value.answers : {}
        const recent = Object.entries(others).slice(1 - most)
        return { accountId, answers: { ...Object.fromEntries(recent), [question]: { at, list } } }
      }
      if (at - writtenAt < pause) return store.updateLazily(change)
      writtenAt = at
      // An answer that could not be kept is still an answer.
      await store.update(change).catch(() => undefined)
    },
    async close() {
      const store = await opened
      // What was kept in memory only goes with this.
      await store?.update((value) => value).catch(() => undefined)
      await store?.close()
    },
  }
}
