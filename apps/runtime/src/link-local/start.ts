/** The local network, once the runtime has started and nobody waits. */
import { type NodeRecord, RpcError } from '@selvedge/protocol'
import { type LinkLocal, type LinkLocalParts, openLinkLocal } from './link-local.ts'

/** Milliseconds from the start: announcing is not what anybody starts a runtime for. */
const after = 1000

export interface LateLinkLocal {
  /** @throws RpcError `not_found` where it is switched off */
  neighbours(): Promise<readonly NodeRecord[]>
  restate(): void
  close(): Promise<void>
}

export function startLinkLocal(enabled: boolean, parts: LinkLocalParts): LateLinkLocal {
  let opened: LinkLocal | undefined
  const open = () => {
    opened ??= openLinkLocal(parts)
    return opened
  }
  const timer = enabled ? setTimeout(open, after) : undefined
  return {
    async neighbours() {
      if (enabled) return open().neighbours()
      throw new RpcError('not_found', 'this runtime does not listen on the local network', {
        hint: 'Set "linkLocal.enabled" in its configuration.',
      })
    },
    restate: () => opened?.restate(),
    async close() {
      clearTimeout(timer)
      await opened?.close()
    },
  }
}
