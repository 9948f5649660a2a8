/**
 * What a container may do. In a user namespace, root in the container is no user of the device: there it gets the capabilities that
 * container engines give by default, without `NET_RAW`, `MKNOD` and `AUDIT_WRITE`. Where root in the container is root of
 * the device, it gets the few with which the programs of public images give up root, and which act on its own files and processes only.
 * A program that does not start as root gets no capabilities: Podman would give it all of them, unlike Docker.
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
const defaultCapabilities = [
  ...fewCapabilities,
  ...(['DAC_OVERRIDE', 'FSETID', 'SETFCAP', 'SETPCAP', 'SYS_CHROOT'] as const),
] as const

/** Whether a program starts as root of its container. @param user as images have it: a name or a number, with or without a group */
export const isRoot = (user: string): boolean => /^(?:root|0+)?(?::|$)/.test(user)

/**
 * @param user that the program starts as
 * @param chosen those of `MCM.CAPABILITIES`; undefined: all of the profile
 */
export function capabilitiesOf(
  { kind }: Pick<Users, 'kind'>,
  user: string,
  chosen?: readonly string[],
): readonly string[] {
  if (!isRoot(user)) return []
  const all: readonly string[] = kind === 'device' ? fewCapabilities : defaultCapabilities
  return chosen ? all.filter((each) => chosen.includes(each)) : all
}

const usersLayer: Record<Users['kind'], readonly string[]> = {
  own: ['user namespace'],
  engine: ['user namespace of the engine'],
  device: [],
}
function capabilitiesLayer(
  users: Pick<Users, 'kind'>,
  user: string,
  chosen: readonly string[] | undefined,
): string {
  const { length } = capabilitiesOf(users, user, chosen)
  if (length === 0) return 'no capabilities'
  if (length < capabilitiesOf(users, user).length) return 'chosen capabilities'
  return users.kind === 'device' ? 'few capabilities' : 'default capabilities'
}

/** Of a container with a way out: the packet filter limits it. */
export const outboundLayer = 'packet filter'

/** The layers that hold a container. @param user that its program starts as */
export function layersOf(
  users: Pick<Users, 'kind'>,
  user: string,
  { hasSeccomp, hasCgroups, hasQuota }: Pick<EngineTraits, 'hasSeccomp' | 'hasCgroups' | 'hasQuota'>,
  settings: Pick<ContainerSettings, 'MCM.ROOT' | 'MCM.NETWORK' | 'MCM.CAPABILITIES'>,
): readonly string[] {
  return [
    'namespaces',
    ...usersLayer[users.kind],
    capabilitiesLayer(users, user, settings['MCM.CAPABILITIES']),
    'no new privileges',
    ...(hasSeccomp ? ['seccomp'] : []),
    ...(hasCgroups ? ['cgroup'] : []),
    settings['MCM.ROOT'] === 'read-only' ? 'read-only root' : hasQuota ? 'root quota' : 'root watch',
    ...(settings['MCM.NETWORK'] === 'isolated' ? ['own network'] : []),
  ]
}
