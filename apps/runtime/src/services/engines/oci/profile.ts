/**
 * What a container may do. In a user namespace, root in the container is no user of the device: there it gets the capabilities that
 * container engines give by default, without `NET_RAW`, `MKNOD`, `AUDIT_WRITE` and `SYS_CHROOT`. Where root in the container is root of
 * the device, it gets the few with which the programs of public images give up root, and which act on its own files and processes only.
 */
import type { ContainerSettings } from '@selvedge/protocol'
import type { EngineTraits } from './engine-traits.ts'
import type { IdRange } from './id-ranges.ts'

/** Which users of the device the users in a container are. */
export type Users =
  /** 65,536 IDs of its own. */
  | { readonly kind: 'own'; readonly range: IdRange }
  /** Those of the user namespace that the whole engine is in. */
  | { readonly kind: 'engine' }
  /** The same ones. */
  | { readonly kind: 'device' }

const fewCapabilities = ['CHOWN', 'FOWNER', 'KILL', 'NET_BIND_SERVICE', 'SETGID', 'SETUID'] as const
const defaultCapabilities = [...fewCapabilities, 'DAC_OVERRIDE', 'FSETID', 'SETFCAP', 'SETPCAP'] as const

export const capabilitiesOf = ({ kind }: Users): readonly string[] =>
  kind === 'device' ? fewCapabilities : defaultCapabilities

const usersLayer: Record<Users['kind'], readonly string[]> = {
  own: ['user namespace', 'default capabilities'],
  engine: ['user namespace of the engine', 'default capabilities'],
  device: ['few capabilities'],
}

/** The layers that hold a container. */
export function layersOf(
  { kind }: Pick<Users, 'kind'>,
  { hasSeccomp, hasQuota }: Pick<EngineTraits, 'hasSeccomp' | 'hasQuota'>,
  settings: Pick<ContainerSettings, 'MCM.ROOT' | 'MCM.NETWORK'>,
): readonly string[] {
  return [
    'namespaces',
    ...usersLayer[kind],
    'no new privileges',
    ...(hasSeccomp ? ['seccomp'] : []),
    'cgroup',
    settings['MCM.ROOT'] === 'read-only' ? 'read-only root' : hasQuota ? 'root quota' : 'root watch',
    ...(settings['MCM.NETWORK'] === 'isolated' ? ['own network'] : []),
  ]
}
