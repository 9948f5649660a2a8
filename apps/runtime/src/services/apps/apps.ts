/**
 * Apps on the device: containers that are deployed and removed as one. A deployment is written down before it begins, and happens in
 * one change of the deployments: at the next start, these decide whether it did.
 */
import { type AppPlan, type AppRecord, appContainerName, RpcError } from '@selvedge/protocol'
import { isoTime } from '@selvedge/service-kit/clock'
import { idOf, isKeyOf, isOwnedBy, keyOf, type Owner } from '../deployments/ownership.ts'
import type { OwnedName } from '../secrets/secrets.ts'
import { createTurns } from '../turns.ts'
import type { AppParts } from './app-parts.ts'
import type { AppSecretValues } from './app-secret-values.ts'
import { type Attempts, createAttempts } from './attempts.ts'
import { redeployApp, rollBackApp } from './deploy-again.ts'
import { deployApp } from './deploy-app.ts'
import { settle } from './deploy-release.ts'
import { dropSecret, dropUnused, removeSecrets } from './left-behind.ts'
import { memberKey } from './member-names.ts'
import { type AppPull, pullImages } from './pull-images.ts'
import { appOfSecret } from './recovery.ts'
import { leftBy } from './releases.ts'
import { dataOfApp } from './shared-data.ts'
import { type AppStore, ownerOf, type Release, type StoredApp } from './stored-apps.ts'

export interface Apps {
  /**
   * Resolves when all members serve.
   *
   * @param values of secrets of the plan; they are removed again if the deployment fails
   * @param options what is pulled before, and the ID of the deployment: a call with the ID of an earlier one joins it
   * @throws RpcError with the member that failed: then the app is as before; StoreError
   */
  deploy(owner: Owner, plan: AppPlan, values?: AppSecretValues, options?: DeployOptions): Promise<AppRecord>
  /** How deployments of an owner proceed. */
  deployments: Attempts['of']
  list(owner: Owner): Promise<AppRecord[]>
  /** @throws RpcError `not_found` */
  get(owner: Owner, name: string): Promise<AppRecord>
  /**
   * Starts the members that do not run, in the order of the plan. Resolves when all of them serve.
   *
   * @throws RpcError `not_found`; with the member that failed: then the app is as before; StoreError
   */
  start(owner: Owner, name: string): Promise<AppRecord>
  /**
   * Stops all members, in reverse order; they stay stopped when the device restarts.
   *
   * @throws RpcError `not_found`; StoreError
   */
  stop(owner: Owner, name: string): Promise<AppRecord>
  /**
   * Starts all members again, with the present images and the settings that they have.
   *
   * @throws as `deploy`; RpcError `not_found`
   */
  redeploy(owner: Owner, name: string): Promise<AppRecord>
  /**
   * Deploys the release before the present one again: images, settings, files and secrets of that time. What a removed volume had is gone.
   *
   * @throws as `deploy`; RpcError `not_found`, also without a former release
   */
  rollBack(owner: Owner, name: string): Promise<AppRecord>
  /** @throws RpcError `not_found`, `engine_unavailable`; StoreError */
  remove(owner: Owner, name: string): Promise<{ name: string }>
  /** Removes secrets that `recoverApps` returned, if no deployment of this run has them. Never rejects. */
  dropSecrets(left: readonly OwnedName[]): Promise<void>
  /** Removes files and releases that no app uses, such as those of a deployment that a power cut interrupted. Never rejects. */
  dropConfigs(): Promise<void>
  /** Removes the records and the files of the apps of an account. @throws StoreError */
  forget(accountId: string): Promise<void>
}

interface DeployOptions {
  readonly pulls?: readonly AppPull[] | undefined
  readonly deployment?: string | undefined
}

/** Maximum changes of one app that wait for each other. */
const maxQueue = 16

export function createApps(parts: AppParts): Apps {
  const { store } = parts
  const turns = createTurns(maxQueue)
  const attempts = createAttempts(parts)
  const inTurn = <T>(owner: Owner, name: string, work: () => Promise<T>) =>
    turns.take(keyOf(owner, name), work)
  /** Keys of apps that are being deployed: their files are written before their records. */
  const deploying = new Set<string>()
  const keepApps = () => keepOnly(parts, [...Object.keys(store.value), ...deploying])
  const again = (owner: Owner, name: string, deploy: typeof redeployApp) =>
    inTurn(owner, name, () => deployAgain(parts, owner, name, deploy))
  return {
    deploy: (owner, plan, values = [], { pulls = [], deployment } = {}) => {
      const key = keyOf(owner, plan.name)
      return attempts.run(owner, plan, deployment, (progress) =>
        inTurn(owner, plan.name, async () => {
          deploying.add(key)
          try {
            await pullImages(parts, owner, plan, pulls, progress)
            await deployApp(parts, owner, plan, values, progress)
          } finally {
            deploying.delete(key)
            await dropUnused(parts, key)
          }
          return get(parts, owner, plan.name)
        }),
      )
    },
    deployments: attempts.of,
    list: (owner) =>
      Promise.all(
        Object.values(store.value).flatMap((app) =>
          app.current && isOwnedBy(app, owner) ? [recordOf(parts, app, app.current)] : [],
        ),
      ),
    get: (owner, name) => get(parts, owner, name),
    start: (owner, name) =>
      inTurn(owner, name, async () => {
        await parts.containers.startTogether(owner, membersOf(store, owner, name), 'startApp')
        return get(parts, owner, name)
      }),
    stop: (owner, name) =>
      inTurn(owner, name, async () => {
        await parts.containers.stopTogether(owner, membersOf(store, owner, name).toReversed(), 'stopApp')
        return get(parts, owner, name)
      }),
    redeploy: (owner, name) => again(owner, name, redeployApp),
    rollBack: (owner, name) => again(owner, name, rollBackApp),
    remove: (owner, name) => inTurn(owner, name, () => remove(parts, owner, name)),
    async dropSecrets(left) {
      // A deployment with the same value has the same secret.
      for (const { owner, name } of left)
        await inTurn(owner, appOfSecret(name), () => dropSecret(parts, owner, name)).catch(() => undefined)
    },
    async dropConfigs() {
      for (const app of Object.values(store.value)) {
        const owner = ownerOf(app)
        const drop = () => dropUnused(parts, keyOf(owner, app.name))
        await inTurn(owner, app.name, drop).catch(() => undefined)
      }
      await keepApps()
    },
    async forget(accountId) {
      attempts.forget(accountId)
      if (Object.keys(store.value).some((key) => isKeyOf(key, accountId)))
        await store.update((all) =>
          Object.fromEntries(Object.entries(all).filter(([key]) => !isKeyOf(key, accountId))),
        )
      await keepApps()
    },
  }
}

/** Removes the files and the releases of all other apps. */
async function keepOnly({ configs, releases }: AppParts, keys: readonly string[]): Promise<void> {
  await Promise.all([configs.keepApps(keys), releases.keepApps(keys)])
}

async function deployAgain(
  parts: AppParts,
  owner: Owner,
  name: string,
  deploy: typeof redeployApp,
): Promise<AppRecord> {
  const { key, app } = present(parts.store, owner, name)
  try {
    await deploy(parts, owner, app)
  } finally {
    await dropUnused(parts, key)
  }
  return get(parts, owner, name)
}

async function recordOf(
  { deployments, containers }: AppParts,
  app: StoredApp,
  { revision, deployedAt, members }: Release,
): Promise<AppRecord> {
  const owner = ownerOf(app)
  const shown = members.map(async (member) => ({
    service: member.service,
    names: [...new Set(member.networks.flatMap(({ aliases }) => aliases))],
    networks: member.networks.map(({ network }) => network),
    dependsOn: member.dependsOn,
    container: Object.hasOwn(deployments.value.containers, memberKey(app, member))
      ? await containers.get(owner, appContainerName(app.name, member.service))
      : null,
  }))
  const { clientId, name, created, note } = app
  const times = { revision, created, deployedAt: isoTime(deployedAt) }
  return { id: idOf(app), clientId, name, ...times, note, members: await Promise.all(shown) }
}

/** @throws RpcError `not_found` */
function present(
  { value }: Pick<AppStore, 'value'>,
  owner: Owner,
  name: string,
): { key: string; app: StoredApp } {
  const key = keyOf(owner, name)
  const app = Object.hasOwn(value, key) ? value[key] : undefined
  if (app) return { key, app }
  throw new RpcError('not_found', `there is no app ${JSON.stringify(name)} of client ${owner.client_id}`)
}

async function get(parts: AppParts, owner: Owner, name: string): Promise<AppRecord> {
  const { app } = present(parts.store, owner, name)
  if (app.current) return recordOf(parts, app, app.current)
  throw new RpcError('not_found', `the app ${JSON.stringify(name)} is being deployed for the first time`)
}

/** Names of the containers of an app, in the order of their start. @throws RpcError `not_found` */
const membersOf = (store: Pick<AppStore, 'value'>, owner: Owner, name: string): string[] =>
  (present(store, owner, name).app.current?.members ?? []).map(({ service }) =>
    appContainerName(name, service),
  )

async function remove(parts: AppParts, owner: Owner, name: string): Promise<{ name: string }> {
  const { store, deployments, containers } = parts
  const { key, app } = present(store, owner, name)
  const { revision = 0, secrets = [] } = app.current ?? {}
  const former = parts.releases.former(key, revision)
  const names = membersOf(store, owner, name).toReversed()
  const shared = dataOfApp(app)
  const [outcome] = await Promise.allSettled([containers.removeTogether(owner, names, 'removeApp', shared)])
  // What was removed is removed, even if its data is still there: the next start of the runtime removes that.
  const isGone = names.every((each) => !Object.hasOwn(deployments.value.containers, keyOf(owner, each)))
  if (isGone) await settle(store, key, () => undefined)
  if (outcome.status === 'rejected') throw outcome.reason
  await removeSecrets(parts, owner, leftBy([{ secrets }, former], []))
  await dropUnused(parts, key)
  return { name }
}
