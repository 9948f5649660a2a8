/**
 * Deploys a container. A new revision has to start and pass its health check before it gets requests: until then, and if it
 * fails, the revision before it serves.
 */
import { type ContainerRecord, type ContainerSpec, RpcError, readSettings } from '@selvedge/protocol'
import { inBackground } from '@selvedge/service-kit/safely'
import {
  type Content,
  type Deployments,
  type HistoryItem,
  type StoredContainer,
  withHistory,
  withImageUsed,
} from '../deployments/deployments.ts'
import { askedKey, idOf, keyOf, type Owner } from '../deployments/ownership.ts'
import { separator } from '../engines/last-output.ts'
import type { ChangeParts } from './changes.ts'
import type { Entry } from './entries.ts'
import { lastWords, linesOfReason } from './history.ts'
import type { Running } from './instances.ts'
import { expectOfAccount, findOwned } from './owned.ts'
import {
  expectFiles,
  expectFree,
  expectRoom,
  expectScheduling,
  expectUnreserved,
  findImage,
} from './requirements.ts'
import type { Service } from './service.ts'

const rule = 'a new version must start and pass its health check'

export interface Deployment {
  readonly key: string
  readonly owner: Owner
  /** The revision that runs now, if the container exists. */
  readonly before: StoredContainer | undefined
  readonly next: StoredContainer
  /** Of the image of `next`. */
  readonly content: Content
  /** Whether it is a former version: its image may have been replaced or removed meanwhile. */
  readonly isFormer?: boolean
  /** What the history shows. */
  readonly happened: { readonly event: string; readonly rule: string }
}

type Deploy = (owner: Owner, spec: ContainerSpec) => Promise<ContainerRecord>

export interface Deploys {
  readonly deploy: Deploy
  /**
   * Deploys a container of the owner again, with its settings and the present image with the name of its own.
   *
   * @throws what `deploy` throws; RpcError `not_found`
   */
  redeploy(owner: Owner, idOrName: string): Promise<ContainerRecord>
  /**
   * Starts the next revision of a container with the same image and settings, in its turn; it replaces the present one when it is healthy.
   *
   * @param rule why, for the history
   * @throws what `deploy` throws
   */
  renew(key: string, entry: Entry, rule: string): Promise<void>
}

/** An image as it was when a container was deployed from it. */
export interface FormerImage extends Pick<StoredContainer, 'image' | 'imageKey'> {
  readonly content: Content
}

/** What every deployment consists of. */
export interface DeploySteps {
  /**
   * @param former in place of the present image with the name
   * @throws RpcError `not_found` for an image that is not there
   */
  plan(owner: Owner, key: string, spec: ContainerSpec, rule: string, former?: FormerImage): Deployment
  /**
   * Called again when the document is changed: other containers may have been deployed while this one started.
   *
   * @throws RpcError if the container cannot be deployed on the device as it is
   */
  expectDeployable(value: Deployments, deployment: Deployment): void
  /** The service of the entry, unless the new revision needs another engine. */
  serviceFor(deployment: Deployment): Service
  happened(deployment: Deployment): HistoryItem
}

export function createDeploySteps(parts: ChangeParts): DeploySteps {
  const { store, clock, entries, history } = parts

  function plan(
    ...[owner, key, { name, image, env }, rule, former]: Parameters<DeploySteps['plan']>
  ): Deployment {
    const before = store.value.containers[key]
    const found = former
      ? { image: former.image, imageKey: former.imageKey, digest: former.content.config.digest }
      : findImage(store.value, owner, image)
    const next: StoredContainer = {
      clientId: owner.client_id,
      accountId: owner.account_id,
      name,
      ...found,
      dataKey: before?.dataKey ?? key,
      env,
      created: before?.created ?? clock.now(),
      wanted: 'running',
      failed: null,
      note: null,
      revision: (before?.revision ?? 0) + 1,
      restarts: 0,
    }
    const happened = { event: before ? 'redeployed' : 'deployed', rule }
    const content = former?.content ?? store.value.contents[next.digest]!
    return { key, owner, before, next, content, happened, ...(former && { isFormer: true }) }
  }

  function expectDeployable(value: Deployments, { key, next, content, isFormer }: Deployment): void {
    expectOfAccount(next, parts.accountId())
    const settings = readSettings(next.env)
    expectScheduling(settings, content)
    expectFiles(settings, content)
    entries.expectAllowed(next)
    expectRoom(value, key, next)
    expectUnreserved(next)
    expectFree(value, parts.paths.held(), key, next)
    parts.ports.expectFree(value, key, next, content.kind)
    if (!isFormer && !Object.hasOwn(value.images, next.imageKey))
      throw new RpcError('conflict', `the image ${next.image} was removed meanwhile`)
  }

  function serviceFor({ key, before, next, content }: Deployment): Service {
    return before && store.value.contents[before.digest]?.kind === content.kind
      ? entries.serviceOf(key, before)
      : entries.makeService(key, next)
  }

  function happened({ owner, next, happened: { event, rule } }: Deployment): HistoryItem {
    const image = `revision ${next.revision}, image ${idOf({ ...next, name: next.image })} ${next.digest}`
    const download = parts.describeDownload(next.imageKey)
    return history.item(event, rule, [image, ...(download === '' ? [] : [download])].join('; '), owner)
  }

  return { plan, expectDeployable, serviceFor, happened }
}

export function createDeploy(parts: ChangeParts, steps: DeploySteps): Deploys {
  const { store, clock, entries, history, inTurn } = parts
  const { expectDeployable, serviceFor } = steps

  async function storeRevision(deployment: Deployment): Promise<void> {
    const { key, next, content } = deployment
    await history.put(
      key,
      content,
      (value) => {
        expectDeployable(value, deployment)
        return next
      },
      steps.happened(deployment),
    )
  }

  async function run(deployment: Deployment, entry: Entry): Promise<ContainerRecord> {
    const { key, next } = deployment
    const service = serviceFor(deployment)
    const running = await service.prepare(entries.planOf(key, next)).catch(async (cause: RpcError) => {
      throw await recordFailure(parts, deployment, entry, cause)
    })
    try {
      await storeRevision(deployment)
    } catch (cause) {
      await service.discard(running)
      throw cause
    }
    await switchTo(running, service, entry)
    store.updateLazily((value) => withImageUsed(value, next.imageKey, clock.now()))
    parts.onChange()
    // A time that comes after the answer counts, also if the power is cut right then.
    if (running.plan.settings['MCM.CRON'].length > 0) await parts.schedules.refresh()
    return entries.record(key)
  }

  const start = (deployment: Deployment, entry: Entry) =>
    parts.hold(contentsOf(store.value, deployment), () =>
      withPorts(parts, deployment, () => run(deployment, entry)),
    )

  function deploySpec(owner: Owner, key: string, entry: Entry, spec: ContainerSpec, by: string) {
    expectNothingOfApp(spec)
    const deployment = steps.plan(owner, key, spec, by)
    expectDeployable(store.value, deployment)
    return start(deployment, entry)
  }

  return {
    deploy: (owner, spec) =>
      inTurn(keyOf(owner, spec.name), (entry, key) => {
        parts.expectSingle(key, 'deployApp changes it with the others')
        return deploySpec(owner, key, entry, spec, 'deployContainer')
      }),
    redeploy: (owner, idOrName) =>
      inTurn(askedKey(owner, idOrName), (entry) => {
        const [key, spec] = findOwned(store.value, owner, idOrName)
        parts.expectSingle(key, 'redeployApp changes it with the others')
        return deploySpec(owner, key, entry, spec, 'redeployContainer')
      }),
    async renew(key, entry, rule) {
      const before = store.value.containers[key]
      if (!before) return
      const { accountId, clientId } = before
      const next = { ...before, revision: before.revision + 1, note: null }
      const content = store.value.contents[before.digest]!
      const owner = { account_id: accountId, client_id: clientId }
      await start({ key, owner, before, next, content, happened: { event: 'renewed', rule } }, entry)
    },
  }
}

/** Settings that only a member of an app has, and what to do instead. */
const ofApps = {
  'MCM.CONFIGS': 'Deploy a Compose file with "configs", or put the files into the image.',
  'MCM.CONFIG_FOLDERS': 'Deploy a Compose file with a folder in "volumes", or put the files into the image.',
  'MCM.APP_VOLUMES': 'Deploy a Compose file with services that share a volume, or use MCM.VOLUMES.',
} as const

/** @throws RpcError `invalid_params` for files and volumes that only an app has */
function expectNothingOfApp({ env }: ContainerSpec): void {
  const settings = readSettings(env)
  for (const name of Object.keys(ofApps) as (keyof typeof ofApps)[])
    if (settings[name].length > 0)
      throw new RpcError('invalid_params', `env["${name}"] follows from the plan of an app`, {
        hint: ofApps[name],
      })
}

/** The ports of the new version are open while it starts. */
async function withPorts<T>(
  { ports }: Pick<ChangeParts, 'ports'>,
  { next }: Deployment,
  work: () => Promise<T>,
): Promise<T> {
  const release = await ports.claim(next)
  try {
    return await work()
  } finally {
    release()
  }
}

/** Content of both versions: the image may be deployed again meanwhile, and requests may start the version before. */
export function contentsOf({ contents }: Deployments, { before, content }: Deployment): Content[] {
  const former = before && contents[before.digest]
  return former ? [content, former] : [content]
}

/** Lets the new instance serve. If it runs in another service than the one before, the former service stops. */
export async function switchTo(running: Running, service: Service, entry: Entry): Promise<void> {
  const former = entry.service
  entry.service = service
  await service.switchTo(running)
  if (former && former !== service) inBackground('containers.stopFormer', former.stop())
}

/** Records why the new revision did not start. @returns the error for the caller */
export async function recordFailure(
  parts: ChangeParts,
  { key, owner, before, next, content }: Deployment,
  entry: Entry,
  cause: RpcError,
): Promise<RpcError> {
  const { store, history } = parts
  const { mask } = entry
  const detail = mask.hide(cause.message)
  const last = lastWords(detail, entry.log.tail(linesOfReason))
  const words = last.length > 0 ? ` Its last lines: ${last.join(separator)}` : ''
  const why = [detail, ...last].join(separator)
  const reason = cause.reason ?? 'container_failed'
  if (!before) {
    // An engine that does not answer made no volume.
    await parts.removeData(next.dataKey, content.kind).catch(() => undefined)
    const failed = history.item('deployment failed', rule, why, owner)
    await store.update((value) => withHistory(value, key, failed))
    return new RpcError(reason, detail, { cause, hint: `Nothing was stored.${words}` })
  }
  const note = `rolled back: ${detail}`
  await history.change(
    key,
    (container) => ({ ...container, note }),
    history.item('rolled back', rule, why, owner),
  )
  return new RpcError(reason, note, { cause, hint: `Revision ${before.revision} is untouched.${words}` })
}
