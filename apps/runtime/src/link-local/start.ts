/** The local network, once the runtime has started and nobody waits. */
import { type NodeRecord, RpcError } from '@selvedge/protocol'
import type { LinkLocal, LinkLocalParts } from './link-local.lazy.ts'

/** Milliseconds from the start: announcing is not what anybody starts a runtime for. */
const after = 1000

export interface LateLinkLocal {
  /** @throws RpcError `not_found` where it is switched off */
  neighbours(): Promise<readonly NodeRecord[]>
  restate(): void
  close(): Promise<void>
}

export function startLinkLocal(enabled: boolean, parts: LinkLocalParts): LateLinkLocal {
  let opened: Promise<LinkLocal> | undefined
  const open = () => {
    opened ??= import('./link-local.lazy.ts').then(({ openLinkLocal }) => openLinkLocal(parts))
    return opened
  }
  const timer = enabled ? setTimeout(open, after) : undefined
  return {
    async neighbours() {
      if (enabled) return (await open()).neighbours()
      throw new RpcError('not_found', 'this runtime does not listen on the local network', {
        hint: 'Set "linkLocal.enabled" in its configuration.',
      })
    },
    restate: () => void opened?.then((linkLocal) => linkLocal.restate()),
    async close() {
      clearTimeout(timer)
      await (await opened)?.close()
    },
  }
}
