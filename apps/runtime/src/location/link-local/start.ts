/** When link-local discovery runs: never before the runtime has its listeners, and not while it starts. */
import { type NodeRecord, RpcError } from '@selvedge/protocol'
import { safely } from '@selvedge/service-kit/safely'
import { type LinkLocal, type LinkLocalParts, openLinkLocal } from './link-local.ts'
import type { Viewer } from './show.ts'

/** Milliseconds from {@link LinkLocalService.start} until the sockets open: the first callers come first. */
const openAfterMs = 1000

export interface LinkLocalService {
  /** Starts announcing and listening. Call it once, when everything that `parts` reads exists; nothing is read before. */
  start(): void
  /**
   * The nodes on the local networks; empty before the start and after the end.
   *
   * @throws RpcError `not_found` if link-local discovery is disabled
   */
  neighbours(viewer: Viewer): Promise<readonly NodeRecord[]>
  /** The nodes of the account and others from what was received, without a query; empty if disabled. */
  heard(): readonly NodeRecord[]
  /** Announces the present statement. */
  restate(): void
  close(): Promise<void>
}

export function createLinkLocal(enabled: boolean, parts: LinkLocalParts): LinkLocalService {
  let state: 'created' | 'started' | 'closed' = 'created'
  let timer: NodeJS.Timeout | undefined
  let opened: LinkLocal | undefined
  const open = () => {
    if (state === 'started') opened ??= openLinkLocal(parts)
    return opened
  }
  return {
    start() {
      if (!enabled || state !== 'created') return
      state = 'started'
      timer = setTimeout(safely('link-local.open', open), openAfterMs)
    },
    async neighbours(viewer) {
      if (enabled) return (await open()?.neighbours(viewer)) ?? []
      throw new RpcError('not_found', 'this runtime does not listen on the local network', {
        hint: 'Set "linkLocal.enabled" in its configuration.',
      })
    },
    heard: () => opened?.heard('account') ?? [],
    restate: () => opened?.restate(),
    async close() {
      state = 'closed'
      clearTimeout(timer)
      await opened?.close()
    },
  }
}
