/** The containers of an app, from its plan. What the runtime cannot do is refused by its path. */
import { hash } from 'node:crypto'
import { type AppPlan, type ContainerSpec, planPathText, RpcError, readAppPlan } from '@selvedge/protocol'
import type { FormerImage } from '../containers/deploy.ts'
import { ownArchitecture } from '../images/manifest.ts'
import type { StoredMember } from './stored-apps.ts'

export interface Member {
  readonly spec: ContainerSpec
  readonly stored: StoredMember
  /** How often it is started again after a failure, if it runs once; null for a service. */
  readonly retries: number | null
  /** Volumes that it shares with other members. */
  readonly appVolumes: readonly string[]
}

/** A member as a release has it. */
export interface ReleaseMember extends Pick<Member, 'spec' | 'stored' | 'retries'> {
  /** In place of the present image with the name in its spec. */
  readonly former?: FormerImage
}

export const refused = (path: string, why: string, hint?: string): RpcError =>
  new RpcError(
    'invalid_params',
    `plan${path === '' ? '' : `.${path}`}: ${why}`,
    hint === undefined ? {} : { hint },
  )

/**
 * @param secretNames names under which secrets of the plan are stored, where a release has values of its own
 * @param appVolumes volumes that belong to the app already
 * @returns in the order of the plan
 * @throws RpcError `invalid_params` with the path of the first value that is not possible, or does not fit the others
 */
export function readMembers(
  plan: AppPlan,
  secretNames: ReadonlyMap<string, string> = new Map(),
  appVolumes: readonly string[] = [],
): Member[] {
  const { members, problems } = readAppPlan(plan, {
    sha256: (content) => hash('sha256', content, 'hex'),
    platform: `linux/${ownArchitecture()}`,
    secretNames,
    appVolumes,
  })
  const [first] = problems
  if (first) throw refused(planPathText(first.path), first.why, first.hint)
  return members.map(({ spec, networks, dependsOn, volumes, appVolumes: shared, retries }, at) => ({
    spec,
    retries,
    appVolumes: shared,
    stored: {
      service: plan.services[at]!.name,
      networks,
      dependsOn: [...dependsOn],
      volumes: [...volumes],
    },
  }))
}
