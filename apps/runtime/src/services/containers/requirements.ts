/** What must be there before a container is deployed. */
import { type ContainerSettings, RpcError } from '@selvedge/protocol'
import { isoTime } from '@selvedge/service-kit/clock'
import type { Content, Deployments, StoredContainer } from '../deployments/deployments.ts'
import type { HeldPath } from '../deployments/held-paths.ts'
import { askedKey, idOf, isOwnedBy, type Owned, type Owner, ofAccount } from '../deployments/ownership.ts'
import { findTaken } from './path-owners.ts'
import { prefixesOf } from './paths.ts'

/**
 * An image of an owner, by its ID or by its name, with or without a tag.
 *
 * @throws RpcError `not_found`, in the words that clients of this API family look for
 */
export function findImage(
  { images }: Deployments,
  owner: Owner,
  name: string,
): Pick<StoredContainer, 'image' | 'imageKey' | 'digest'> {
  const short = name.replace(/:[^/:]*$/, '')
  const imageKey = [askedKey(owner, name), askedKey(owner, short)].find((each) => Object.hasOwn(images, each))
  if (imageKey !== undefined)
    return { imageKey, image: images[imageKey]!.name, digest: images[imageKey]!.digest }
  const known = Object.values(images).filter((each) => isOwnedBy(each, owner))
  throw new RpcError('not_found', `cannot find image with name ${JSON.stringify(name)}`, {
    hint:
      known.length > 0
        ? `Deployed are: ${known.map((each) => each.name).join(', ')}.`
        : 'Deploy it first, with deployImage.',
  })
}

/**
 * Containers of a project, of an account, and of a device with those that former accounts left: what it is to run is one document,
 * which is written whole with each change. A project at its limit leaves room for the others of its account.
 */
const maxContainers = { ofProject: 200, ofAccount: 400, onDevice: 1000 } as const

/** @throws RpcError `limit_exceeded` if there is no room for another container of the owner */
export function expectRoom({ containers }: Deployments, key: string, { accountId, clientId }: Owned): void {
  if (Object.hasOwn(containers, key)) return
  const refuse = (detail: string, hint = 'Remove one that is not needed, with removeContainer.') => {
    throw new RpcError('limit_exceeded', detail, { hint })
  }
  const { ofProject, ofAccount: maxOfAccount, onDevice } = maxContainers
  const account = ofAccount(containers, accountId)
  const own = account.filter(([, each]) => each.clientId === clientId).length
  if (own >= ofProject) refuse(`the project has ${own} containers; the limit is ${ofProject}`)
  if (account.length >= maxOfAccount)
    refuse(`the account has ${account.length} containers; the limit is ${maxOfAccount}`)
  if (Object.keys(containers).length >= onDevice)
    refuse(
      `former accounts of the runtime left containers on it; with them it has ${onDevice}, which is the limit`,
      'A former account removes its containers when it leaves with "wipe"; or start with a new state folder.',
    )
}

/** Where the runtime itself serves JSON-RPC over WebSocket to old clients: no service answers there, or receives events. */
const reservedPath = '/ws/edge-service-api/v1'

/** @throws RpcError `conflict` for a container with a path that belongs to the runtime */
export function expectUnreserved(container: Parameters<typeof prefixesOf>[0]): void {
  const isReserved = (path: string) => path === reservedPath || path.startsWith(`${reservedPath}/`)
  for (const prefix of prefixesOf(container))
    if (isReserved(prefix) || isReserved(`/ws${prefix}`))
      throw new RpcError('conflict', `the path ${prefix} belongs to the runtime: it serves ${reservedPath}`, {
        hint: 'Choose another MCM.BASE_API_PATH.',
      })
}

/**
 * @param held paths that are held now
 * @throws RpcError `conflict` where another container of the account has its ID or its path, or another project a path at, above
 * or below one of its paths
 */
export function expectFree(
  value: Deployments,
  held: readonly HeldPath[],
  key: string,
  container: StoredContainer,
): void {
  const { containers } = value
  const wanted = prefixesOf(container)
  for (const [other, each] of ofAccount(containers, container.accountId)) {
    if (other === key) continue
    // Client IDs may begin with each other: `a-b` of the client `c`, `b` of the client `c-a`.
    if (idOf(each) === idOf(container))
      throw new RpcError(
        'conflict',
        `the ID ${idOf(each)} is taken by a container of the client ${each.clientId}`,
        {
          hint: 'Choose another name.',
        },
      )
    if (each.clientId !== container.clientId) continue
    const taken = prefixesOf(each).find((prefix) => wanted.includes(prefix))
    if (taken === undefined) continue
    throw new RpcError('conflict', `the path ${taken} is taken by ${idOf(each)}`, {
      hint: 'Choose another MCM.BASE_API_PATH.',
    })
  }
  const taken = findTaken(value, held, containers[key], container)
  if (!taken) return
  const { path, clientId, until } = taken
  const time = until === undefined ? '' : ` until ${isoTime(until)}: it gave the path up less than a day ago`
  throw new RpcError(
    'conflict',
    `the path ${path} is at, above or below a path of the client ${clientId}${time}`,
    { hint: 'Choose another MCM.BASE_API_PATH, or deploy without MCM.API_ALIAS.' },
  )
}

/** @throws RpcError `invalid_params` for a function that is to get files or volumes of its app */
export function expectFiles(
  settings: Pick<ContainerSettings, 'MCM.CONFIGS' | 'MCM.APP_VOLUMES'>,
  { kind }: Content,
): void {
  if (kind === 'oci') return
  if (settings['MCM.APP_VOLUMES'].length > 0)
    throw new RpcError('invalid_params', 'it is a function, which shares no volumes of its app', {
      hint: 'Remove its volumes: a function stores data with context.storage.',
    })
  if (settings['MCM.CONFIGS'].length === 0) return
  throw new RpcError('invalid_params', 'it is a function, which gets no files of its app (configs)', {
    hint: 'Bundle the files with the function, or use variables.',
  })
}

/** @throws RpcError `invalid_params` for times of something that can't get the event */
export function expectScheduling(
  settings: Pick<ContainerSettings, 'MCM.CRON'>,
  { kind, entry }: Content,
): void {
  if (settings['MCM.CRON'].length === 0 || kind === 'oci' || entry?.language === 'js') return
  throw new RpcError(
    'invalid_params',
    'env["MCM.CRON"] is for functions in JavaScript and OCI containers, and this is a function in WASM: it cannot get the event',
    { hint: 'Deploy a function in JavaScript that calls it at these times.' },
  )
}
