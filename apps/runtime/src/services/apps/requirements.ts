/** What must be there before an app is deployed, beyond what each of its containers needs. */
import { RpcError, readSettings } from '@selvedge/protocol'
import type { Owner } from '../deployments/ownership.ts'
import type { Engine } from '../engines/engine.ts'
import { haveCommon } from './member-names.ts'
import { type ReleaseMember, refused } from './members.ts'
import type { Release, StoredApps } from './stored-apps.ts'

/** The engine that runs members. */
export type JoiningEngine = Pick<Engine, 'missingForNames' | 'removeData'>

/** Apps of a project and of the device, with those that former accounts left; and characters of the record of each. */
const maxApps = { ofProject: 50, onDevice: 200, characters: 65_536 } as const

/** @throws RpcError `limit_exceeded` if there is no room for the record of an app */
export function expectAppRoom(value: StoredApps, key: string, owner: Owner, release: Release): void {
  const refuse = (detail: string, hint: string) => {
    throw new RpcError('limit_exceeded', detail, { hint })
  }
  const { length } = JSON.stringify(release)
  if (length > maxApps.characters)
    refuse(
      `the names and networks of the members have ${length} characters; the limit is ${maxApps.characters}`,
      'Use fewer networks and aliases.',
    )
  if (Object.hasOwn(value, key)) return
  const all = Object.values(value)
  const own = all.filter(
    ({ accountId, clientId }) => accountId === owner.account_id && clientId === owner.client_id,
  )
  if (own.length >= maxApps.ofProject)
    refuse(
      `the project has ${own.length} apps; the limit is ${maxApps.ofProject}`,
      'Remove one, with removeApp.',
    )
  if (all.length >= maxApps.onDevice)
    refuse(
      `the device has ${all.length} apps; the limit is ${maxApps.onDevice}`,
      'Another project, or a former account with "wipe", has to remove some.',
    )
}

/**
 * A volume that one member has is data of its container: it would be lost if another member got it, or shared it.
 *
 * @throws RpcError `conflict`
 */
export function expectSameVolumes(
  before: Release | null | undefined,
  { members, appVolumes = [] }: Release,
): void {
  const former = new Map(
    (before?.members ?? []).flatMap((each) => each.volumes.map((name) => [name, each.service])),
  )
  for (const volume of appVolumes) {
    const owner = former.get(volume)
    if (owner !== undefined)
      throw new RpcError(
        'conflict',
        `the volume ${JSON.stringify(volume)} has the data of ${owner}, which others would not get by sharing it`,
        { hint: `Leave it with ${owner}, and share a volume with another name.` },
      )
  }
  for (const { service, volumes } of members)
    for (const volume of volumes) {
      const owner = former.get(volume)
      if (owner !== undefined && owner !== service)
        throw new RpcError(
          'conflict',
          `the volume ${JSON.stringify(volume)} has the data of ${owner}, which ${service} would not get`,
          { hint: `Leave it with ${owner}, or give ${service} a volume with another name.` },
        )
    }
}

/**
 * Members with a common network find each other by name: each needs a network of its own, with rules.
 *
 * @param kindOf the engine of a member; undefined if its image is not there
 * @throws RpcError `invalid_params` for a member that cannot be on a network; `engine_unavailable` with what the device lacks
 */
export async function expectNetworks(
  { members: stored }: Release,
  members: readonly ReleaseMember[],
  kindOf: (member: ReleaseMember) => 'function' | 'oci' | undefined,
  engine: JoiningEngine,
): Promise<void> {
  const joined = stored.filter((one) => stored.some((other) => other !== one && haveCommon(one, other)))
  if (joined.length === 0) return
  for (const [at, each] of members.entries()) {
    const { spec, stored: member } = each
    if (!joined.includes(member)) continue
    const path = `services[${at}]`
    if (kindOf(each) === 'function')
      throw refused(
        `${path}.networks`,
        `${member.service} is a function, which is on no network`,
        'Remove its networks: others reach it through the gateway.',
      )
    if (readSettings(spec.env)['MCM.NETWORK'] !== 'isolated')
      throw refused(
        `${path}.env["MCM.NETWORK"]`,
        `${member.service} has networks of the app; expected "isolated"`,
      )
  }
  const missing = await engine.missingForNames()
  if (missing === undefined) return
  throw new RpcError(
    'engine_unavailable',
    `members of an app do not find each other on this device: ${missing}`,
    {
      hint: 'Give each member a network of its own if they do not call each other; else see selvedge doctor.',
    },
  )
}
