/** Deploys a release of an app again: the present one with the present images, or the former one as it was. */
import { RpcError } from '@selvedge/protocol'
import { keyOf, type Owner } from '../deployments/ownership.ts'
import type { AppParts } from './app-parts.ts'
import type { Progress } from './attempts.ts'
import { deployRelease } from './deploy-release.ts'
import type { ReleaseMember } from './members.ts'
import type { ReleaseFile } from './release-files.ts'
import type { Release, StoredApp } from './stored-apps.ts'

const unseen: Progress = {
  member: () => undefined,
  pulling: () => undefined,
  pulled: () => undefined,
}

/** @throws as `Apps.redeploy` */
export async function redeployApp(parts: AppParts, owner: Owner, app: StoredApp): Promise<void> {
  const { current, key } = presentOf(owner, app)
  const file = parts.releases.read(key, current.revision)
  if (!file)
    throw new RpcError(
      'not_found',
      `the settings of the app ${app.name} are not stored: a runtime before this version deployed it`,
      { hint: 'Deploy its file again.' },
    )
  const members = membersOf(file).map(({ former: _, ...member }) => member)
  await deploy(parts, owner, app, { ...file.release, ...nextOf(parts, current) }, members, 'redeployApp')
}

/** @throws as `Apps.rollBack` */
export async function rollBackApp(parts: AppParts, owner: Owner, app: StoredApp): Promise<void> {
  const { current, key } = presentOf(owner, app)
  const former = parts.releases.former(key, current.revision)
  const file = former && parts.releases.read(key, former.revision)
  if (!file)
    throw new RpcError('not_found', `the device has no former version of the app ${app.name}`, {
      hint: 'Deploy the file of the version that you want: it was not deployed here, or made room for other images.',
    })
  await deploy(
    parts,
    owner,
    app,
    { ...file.release, ...nextOf(parts, current) },
    membersOf(file),
    'rollbackApp',
  )
}

const deploy = (
  parts: AppParts,
  owner: Owner,
  before: StoredApp,
  release: Release,
  members: readonly ReleaseMember[],
  rule: 'redeployApp' | 'rollbackApp',
): Promise<void> =>
  deployRelease(parts, owner, {
    ...{ name: before.name, key: keyOf(owner, before.name), before, release, members, rule },
    ...{ progress: unseen, isRenewed: rule === 'redeployApp' },
  })

/** @throws RpcError `not_found` for an app that is being deployed for the first time */
function presentOf(owner: Owner, app: StoredApp): { readonly current: Release; readonly key: string } {
  if (app.current) return { current: app.current, key: keyOf(owner, app.name) }
  throw new RpcError('not_found', `the app ${JSON.stringify(app.name)} was not deployed yet`)
}

/** What a release that is deployed again has of its own. Volumes of the app stay its volumes. */
const nextOf = (
  { clock }: AppParts,
  { revision, appVolumes }: Release,
): Pick<Release, 'revision' | 'deployedAt' | 'completed' | 'appVolumes'> => ({
  ...{ revision: revision + 1, deployedAt: clock.now(), completed: [] },
  ...(appVolumes && { appVolumes }),
})

const membersOf = ({ release, containers }: ReleaseFile): ReleaseMember[] =>
  containers.map(({ name, image, imageKey, env, retries, content }, at) => ({
    ...{ spec: { name, image, env }, stored: release.members[at]!, retries },
    former: { image, imageKey, content },
  }))
