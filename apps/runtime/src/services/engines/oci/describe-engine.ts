/** What a person should know of the engine for images with a root file system. */
import type { RpcError } from '@selvedge/protocol'
import type { EngineReport } from '../engine.ts'
import * as answers from './answers.ts'
import { findEngine } from './engine-api.ts'
import type { HostGuard } from './host-guard.ts'
import type { Reach } from './networks.ts'

/** The layers that every container of this engine is given; `own network` unless the deployment sets another. */
const layers = ['namespaces', 'read-only root', 'no capabilities', 'no new privileges', 'cgroup']

export const isolationOf = ({ network }: Reach): readonly string[] =>
  network === undefined ? layers : [...layers, 'own network']

/** By its socket: engines answer this API under each other's names. */
const nameOf = (socketPath: string): string =>
  ['Podman', 'Docker', 'balenaEngine'].find((each) =>
    socketPath.toLowerCase().includes(each.toLowerCase()),
  ) ?? 'Container engine'

/** @param socket of the engine; empty: the first that is found. Never rejects */
export async function describeEngine(socket: string, { missing }: HostGuard): Promise<EngineReport> {
  try {
    const api = findEngine(socket)
    const { ServerVersion, SecurityOptions } = await api.read('/info', answers.info)
    const isRootless = SecurityOptions?.some((each) => each.includes('rootless')) ?? false
    const version = ServerVersion && `${nameOf(api.socketPath)} ${ServerVersion}`
    const detail = `${api.socketPath}, version ${ServerVersion}${isRootless ? ', rootless' : ''}`
    const hints =
      missing === undefined || isRootless
        ? []
        : [`Containers reach programs of this device that listen on all addresses: ${missing}.`]
    return {
      available: true,
      ...(version && { version }),
      detail,
      isolation: [...layers, 'own network'],
      hints,
    }
  } catch (cause) {
    const { message, hint = '' } = cause as RpcError
    return { available: false, detail: message, isolation: [], hints: hint === '' ? [] : [hint] }
  }
}
