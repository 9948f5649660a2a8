/** The runtime: its documents, its key, deployments, images, what functions store, and lists of revoked tokens. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createIdentityClient, createRuntimeClient, type RuntimeClient } from '@selvedge/client'
import { type AppPlan, mcmPaths } from '@selvedge/protocol'
import { type DocumentStore, openDocument, openStateFolder } from '@selvedge/service-kit/store'
import { openLeaseRecord } from '../../../../apps/runtime/src/device/leases/lease-record.ts'
import { openNodeKey } from '../../../../apps/runtime/src/device/node/node-key.ts'
import { type RuntimeState, stateFormat } from '../../../../apps/runtime/src/device/state.ts'
import { openLists } from '../../../../apps/runtime/src/device/tokens/revocations.ts'
import { openStoredApps } from '../../../../apps/runtime/src/services/apps/stored-apps.ts'
import { schema } from '../../../../apps/runtime/src/services/containers/storage-items.ts'
import {
  blobsOf,
  type Deployments,
  deploymentsFormat,
} from '../../../../apps/runtime/src/services/deployments/deployments.ts'
import { type HeldPath, openHeldPaths } from '../../../../apps/runtime/src/services/deployments/held-paths.ts'
import { keyOf } from '../../../../apps/runtime/src/services/deployments/ownership.ts'
import { openBlobs } from '../../../../apps/runtime/src/services/images/blobs.ts'
import { damages } from '../../../../apps/runtime/src/services/images/stored-upload.ts'
import { openUploadNotes } from '../../../../apps/runtime/src/services/images/upload-notes.ts'
import {
  type HandledTimes,
  openHandledTimes,
} from '../../../../apps/runtime/src/services/schedules/handled-times.ts'
import { openSecrets } from '../../../../apps/runtime/src/services/secrets/secrets.ts'
import { openStoredSecrets } from '../../../../apps/runtime/src/services/secrets/stored-secrets.ts'
import { functionImage, writeFile } from '../../../harness/archives.ts'
import { accessToken, allScopes, createProject, type Developer } from '../../../harness/flow.ts'
import { stepLimitMs, testLimitMs } from '../../../harness/limits.ts'
import type { Part, PartView, Subject, View } from '../subject.ts'
import { readDatabase } from './database.ts'
import { type Recorded, recordDaemon } from './record-daemon.ts'
import { startOn } from './start.ts'
import { type Parties, withIdentity } from './with-identity.ts'

interface StatePart {
  readonly nodeId: string
  readonly value: RuntimeState
}

/** The runtime's own folder, made as the runtime makes it. */
const folderOf = (folder: string): string =>
  openStateFolder(join(folder, 'state'), 'runtime', () => undefined)

const ownsFile =
  (...names: readonly string[]) =>
  (path: string): boolean =>
    names.some((name) => path.startsWith(`state/runtime/${name}`))

const detailsOf = ({ notices }: DocumentStore<unknown>): string[] => notices.map(({ detail }) => detail)

async function readDocuments(folder: string): Promise<PartView> {
  const own = folderOf(folder)
  const store = await openDocument(join(own, 'state'), stateFormat)
  try {
    const { nodeId } = await openNodeKey(join(own, 'node-key.json'), store.value.nodeId)
    const facts: StatePart = { nodeId, value: store.value }
    return { facts, whole: JSON.stringify(store.value), alarms: detailsOf(store) }
  } finally {
    await store.close()
  }
}

async function readLists(folder: string): Promise<PartView> {
  const store = await openLists(folderOf(folder))
  await store.close()
  return { facts: store.value, whole: JSON.stringify(store.value), alarms: detailsOf(store) }
}

async function readLeases(folder: string): Promise<PartView> {
  const store = await openLeaseRecord(folderOf(folder))
  await store.close()
  return { facts: store.value, whole: JSON.stringify(store.value), alarms: detailsOf(store) }
}

async function readDeployed(folder: string): Promise<PartView> {
  const path = join(folderOf(folder), 'deployments')
  const store = await openDocument(path, deploymentsFormat)
  await store.close()
  return { facts: store.value, whole: JSON.stringify(store.value), alarms: detailsOf(store) }
}

async function readHeldPaths(folder: string): Promise<PartView> {
  const store = await openHeldPaths(folderOf(folder))
  await store.close()
  return { facts: store.value, whole: JSON.stringify(store.value), alarms: detailsOf(store) }
}

async function readApps(folder: string): Promise<PartView> {
  const store = await openStoredApps(folderOf(folder))
  await store.close()
  return { facts: store.value, whole: JSON.stringify(store.value), alarms: detailsOf(store) }
}

async function readSchedules(folder: string): Promise<PartView> {
  const store = await openHandledTimes(folderOf(folder))
  await store.close()
  return { facts: store.value, whole: JSON.stringify(store.value), alarms: detailsOf(store) }
}

/** The values, by the key of the secret. */
async function readSecrets(folder: string): Promise<PartView> {
  const own = folderOf(folder)
  const secrets = await openSecrets(own, { now: () => 0 })
  await secrets.close()
  const store = await openStoredSecrets(own)
  await store.close()
  const facts = Object.fromEntries(
    Object.entries(store.value).map(([key, { accountId, clientId, name }]) => {
      const [opened] = readable(() => secrets.open({ accountId, clientId }, [{ name, file: undefined }]))
      return [key, opened?.value.toString() ?? null]
    }),
  )
  return { facts, whole: JSON.stringify(facts), alarms: secrets.notices.map(({ detail }) => detail) }
}

function readable<T>(read: () => readonly T[]): readonly T[] {
  try {
    return read()
  } catch {
    return []
  }
}

/** Digests of the blobs that are there and whole. */
async function readImages(folder: string): Promise<PartView> {
  const own = join(folderOf(folder), 'images')
  const blobs = await openBlobs(own)
  const facts: string[] = []
  for (const name of readdirSync(join(own, 'sha256'))) {
    const digest = `sha256:${name}`
    try {
      for await (const _ of blobs.read(digest));
      facts.push(digest)
    } catch {
      // It is not what its name says: who refers to it will miss it.
    }
  }
  return { facts, alarms: [] }
}

/** Bytes of each upload, by its handle, if they are those that were sent. */
async function readUploads(folder: string): Promise<PartView> {
  const uploads = await openUploadNotes(join(folderOf(folder), 'images/uploads'), true).read()
  for (const each of uploads) await each.check()
  const whole = uploads.filter(({ damage }) => damage === undefined)
  // A cut within a removal leaves a note without its file.
  const alarms = uploads.flatMap(({ damage = damages.missing }) =>
    damage === damages.missing ? [] : [damage],
  )
  return { facts: Object.fromEntries(whole.map(({ handle, bytes }) => [handle, bytes])), alarms }
}

/** What is stored, by container and key. */
async function readStored(folder: string): Promise<PartView> {
  const read = readDatabase(join(folderOf(folder), 'storage.db'), schema, true)
  const rows = read.facts.items ?? []
  const facts = Object.fromEntries(rows.map(({ container, key, value }) => [`${container} ${key}`, value]))
  return { ...read, facts }
}

const parts: readonly Part[] = [
  { name: 'state', owns: ownsFile('state.', 'node-key.json'), read: readDocuments },
  { name: 'lists', owns: ownsFile('revocations.'), read: readLists },
  { name: 'leases', owns: ownsFile('leases.'), read: readLeases },
  { name: 'deployments', owns: ownsFile('deployments.'), read: readDeployed },
  { name: 'paths', owns: ownsFile('held-paths.'), read: readHeldPaths },
  { name: 'apps', owns: ownsFile('apps.'), read: readApps },
  { name: 'schedules', owns: ownsFile('schedules.'), read: readSchedules },
  { name: 'secrets', owns: ownsFile('secrets.', 'secrets-key.json'), read: readSecrets },
  { name: 'images', owns: ownsFile('images/sha256', 'images/incoming'), read: readImages },
  { name: 'uploads', owns: ownsFile('images/uploads'), read: readUploads },
  { name: 'storage', owns: ownsFile('storage.db'), read: readStored },
]

/** The key of a thing of the developer on the device. */
const ownKey = ({ accountId, clientId }: Developer, name: string): string =>
  keyOf({ account_id: accountId, client_id: clientId }, name)

const stateOf = (view: View) => view.state as StatePart
const pathsOf = (view: View) => view.paths as readonly HeldPath[]
const schedulesOf = (view: View) => view.schedules as HandledTimes
const secretsOf = (view: View) => view.secrets as Readonly<Record<string, string | null>>
const deployedOf = (view: View) => view.deployments as Deployments
const uploadsOf = (view: View) => view.uploads as Readonly<Record<string, number>>

/** Everything that the deployments refer to is there, whole. */
function contradictions(view: View): string[] {
  const there = new Set(view.images as string[])
  const missing = [...blobsOf(deployedOf(view))].filter((digest) => !there.has(digest))
  return missing.map((digest) => `the deployments refer to ${digest}, which is not there or damaged`)
}

const storing = (version: number) => `export default { fetch(request, env, ctx) {
  const [, key, value] = new URL(request.url).search.match(/k=(.*)&v=(.*)/)
  ctx.storage.setItem(key, value)
  return new Response('${version}')
}, scheduled() {} }`

interface Bench extends Recorded, Parties {
  readonly client: RuntimeClient
  readonly token: string
  readonly isDiskFailing: boolean
}

export const createRuntimeSubject = (extent: { readonly rounds: number }): Subject => ({
  name: 'runtime',
  parts,
  contradictions,
  record: (life) =>
    withIdentity((parties) =>
      recordDaemon(
        'runtime',
        {
          ...life,
          env: { SELVEDGE_IDENTITY_URL: parties.identity.url },
          args: ['--revocations.interval=1'],
        },
        (recorded) => work(recorded, parties, extent.rounds, life?.failingSyncs !== undefined),
      ),
    ),
  start: (folder) =>
    startOn('runtime', folder, async (url) => {
      const me = await createRuntimeClient({ url, timeoutMs: stepLimitMs }).getMe()
      const wrong = (me.notices ?? []).filter(({ reason }) => /damaged|crashed|failure/.test(reason))
      return wrong.map(({ reason }) => `false alarm: the notice ${reason}`)
    }),
})

async function work(
  recorded: Recorded,
  parties: Parties,
  rounds: number,
  isDiskFailing: boolean,
): Promise<void> {
  const { url, witness } = recorded
  const plain = createRuntimeClient({ url, fetch: witness.fetch, timeoutMs: testLimitMs })
  const client = isDiskFailing ? repeating(plain) : plain
  const { nodeId } = await client.getMe()
  await witness.acknowledged('the node', 'node', (view) => stateOf(view).nodeId === nodeId)
  const token = await accessToken({ identity: parties.identity, runtime: { url } }, parties.developer)
  const bench: Bench = { ...recorded, ...parties, client, token, isDiskFailing }
  await associate(bench)
  const image = await deploy(bench, 1)
  await giveUp(bench, image)
  await deployApp(bench, image)
  for (let round = 1; round <= rounds; round++) {
    await move(bench, round * 10)
    await store(bench, round)
    await keepSecret(bench, round)
    await upload(bench, round)
    if (round % 3 === 0) await deploy(bench, round)
    if (round === 2) await revoke(bench)
  }
  await client.unassociateAccount({ edgeAccessToken: token })
  await witness.acknowledged(
    'the account is removed',
    'account',
    (view) => stateOf(view).value.accountId === '',
  )
  await witness.acknowledged('its uploads may be removed', 'upload', () => true)
  await witness.acknowledged('its fix is removed', 'fix', (view) => stateOf(view).value.fix === null)
}

async function associate({ client, token, developer, witness }: Bench): Promise<void> {
  await client.associateAccount({ edgeAccessToken: token })
  const { accountId } = developer
  await witness.acknowledged('the account', 'account', (view) => stateOf(view).value.accountId === accountId)
}

const mostCalls = 8

/** Calls again what the disk did not take: a change that failed is not acknowledged, and one that was is on the disk. */
const repeating = (client: RuntimeClient): RuntimeClient =>
  new Proxy(client, {
    get(target, name: keyof RuntimeClient) {
      const method = target[name] as (...given: unknown[]) => Promise<unknown>
      return async (...given: unknown[]) => {
        for (let left = mostCalls; ; left--) {
          try {
            return await method.apply(target, given)
          } catch (cause) {
            if (left === 0 || (cause as { reason?: string }).reason !== 'storage_failed') throw cause
          }
        }
      }
    },
  })

/** A few fixes. */
async function move({ client, token, witness }: Bench, first: number): Promise<void> {
  for (let speed = first; speed < first + 4; speed++) {
    const place = { longitude: '1', latitude: '2', speed: String(speed), bearing: '0' }
    await client.updateGps({ edgeAccessToken: token, ...place })
    await witness.acknowledged(
      `a fix with speed ${speed}`,
      'fix',
      (view) => Number(stateOf(view).value.fix?.signal.speed) === speed,
    )
  }
}

/** A container that is removed: no other project gets its path for a day. */
async function giveUp({ client, token, witness }: Bench, image: string): Promise<void> {
  const spec = { name: 'gone', image, env: { 'MCM.ACCESS': 'public' } }
  const { id } = await client.deployContainer({ edgeAccessToken: token, spec })
  await client.removeContainer({ edgeAccessToken: token, id })
  await witness.acknowledged('a path is held', 'path', (view) =>
    pathsOf(view).some(({ path }) => path.endsWith('/gone')),
  )
}

/** An app of two functions, which is deployed, changed and removed as one. */
async function deployApp({ client, token, developer, witness }: Bench, image: string): Promise<void> {
  const edgeAccessToken = token
  const named = (...names: string[]) => names.map((name) => ownKey(developer, `pair-${name}`))
  const isThere = (view: View, names: string[], others: string[]) => {
    const { containers } = deployedOf(view)
    return (
      named(...names).every((each) => Object.hasOwn(containers, each)) &&
      !named(...others).some((each) => Object.hasOwn(containers, each))
    )
  }
  const deploy = (...names: string[]) =>
    client.deployApp({ edgeAccessToken, plan: planOf('pair', names, image) })
  await deploy('one', 'two')
  await witness.acknowledged('an app', 'app', (view) => isThere(view, ['one', 'two'], []))
  await deploy('two', 'three')
  await witness.acknowledged('the next app', 'app', (view) => isThere(view, ['two', 'three'], ['one']))
  await client.removeApp({ edgeAccessToken, name: 'pair' })
  // A start removes the record of an app without containers, also one that a failed sync left with what it intended.
  await witness.acknowledged('no app', 'app', (view) => isThere(view, [], ['one', 'two', 'three']))
}

const planOf = (name: string, services: readonly string[], image: string): AppPlan => ({
  name,
  services: services.map((service) => ({
    ...{ name: service, image, pull: 'never', platform: null, hostname: null, isBehindGateway: false },
    ...{ env: {}, dependsOn: [], restart: 'always', maxRestarts: null, needsInit: false },
    ...{ addCapabilities: [], dropCapabilities: [], networks: [], volumes: [], secrets: [], configs: [] },
  })),
  ...{ networks: [], volumes: [], secrets: [], configs: [] },
})

/** An image of its own and a container of it, under the same names as before. @returns the ID of the image */
async function deploy(
  { client, token, services, developer, witness, isDiskFailing }: Bench,
  version: number,
): Promise<string> {
  const edgeAccessToken = token
  const source = writeFile(services, 'image.tar', functionImage(storing(version), 'store'))
  const image = await client.deployImage({ edgeAccessToken, source })
  await witness.acknowledged(
    `image ${version}`,
    'image',
    (view) => deployedOf(view).images[ownKey(developer, 'store')]?.digest === image.digest,
  )
  const cron = `${version} 0 1 1 *`
  const env = { VERSION: String(version), 'MCM.ACCESS': 'public', 'MCM.CRON': cron }
  await client.deployContainer({ edgeAccessToken, spec: { name: 'store', image: image.id, env } })
  await witness.acknowledged(
    `container ${version}`,
    'container',
    (view) => deployedOf(view).containers[ownKey(developer, 'store')]?.env.VERSION === String(version),
  )
  // With a disk that refuses writes the container is deployed, and its times count from the next start.
  if (!isDiskFailing)
    await witness.acknowledged(
      `the times of container ${version}`,
      'times',
      (view) => schedulesOf(view)[ownKey(developer, 'store')]?.cron === cron,
    )
  return image.id
}

/** Every second one is removed again. */
async function keepSecret({ client, token, developer, witness }: Bench, round: number): Promise<void> {
  const edgeAccessToken = token
  const value = `value of round ${round}`
  const key = ownKey(developer, 'db')
  await client.setSecret({ edgeAccessToken, name: 'db', value })
  await witness.acknowledged(`a secret of round ${round}`, 'secret', (view) => secretsOf(view)[key] === value)
  if (round % 2 === 1) return
  await client.removeSecret({ edgeAccessToken, name: 'db' })
  await witness.acknowledged(
    `no secret in round ${round}`,
    'secret',
    (view) => !Object.hasOwn(secretsOf(view), key),
  )
}

/** An archive in parts: each offset of an answer is on the disk. */
async function upload({ url, token, witness }: Bench, round: number): Promise<void> {
  const content = `bytes of round ${round} `.repeat(200)
  const ask = async (method: string, path: string, headers: Record<string, string>, body?: string) => {
    const all = { 'Tus-Resumable': '1.0.0', Authorization: `Bearer ${token}`, ...headers }
    const signal = AbortSignal.timeout(stepLimitMs)
    const init = { method, headers: all, signal, redirect: 'error' as const }
    const answer = await witness.fetch(url + path, { ...init, ...(body !== undefined && { body }) })
    // A disk that fails some syncs is no reason to stop.
    if (answer.status >= 300 && answer.status < 500)
      throw new Error(`${method} was answered with ${answer.status}: ${await answer.text()}`)
    return answer
  }
  let path: string | null = null
  while (path === null)
    path = (await ask('POST', mcmPaths.uploads, { 'Upload-Length': `${content.length}` })).headers.get(
      'location',
    )
  const place = path
  const handle = `upload:${place.split('/').at(-1)}`
  const isThere = (bytes: number) => (view: View) => (uploadsOf(view)[handle] ?? -1) >= bytes
  await witness.acknowledged(`an upload of round ${round}`, 'upload', isThere(0))
  for (let offset = 0; offset < content.length; ) {
    const type = 'application/offset+octet-stream'
    const headers = { 'Content-Type': type, 'Upload-Offset': `${offset}` }
    await ask('PATCH', place, headers, content.slice(offset, offset + 2000))
    // After a sync that failed, it is what was there before.
    offset = Number((await ask('HEAD', place, {})).headers.get('upload-offset'))
    await witness.acknowledged(`${offset} bytes of round ${round}`, 'upload', isThere(offset))
  }
}

/** What a function stores is safe when its answer is there. */
async function store({ url, developer, witness }: Bench, round: number): Promise<void> {
  for (let at = 0; at < 3; at++) {
    const value = `${round}.${at}`
    const query = `?k=key${at}&v=${value}`
    const answer = await witness.fetch(`${url}/${developer.clientId}/store/${query}`, {
      method: 'GET',
      headers: {},
      signal: AbortSignal.timeout(stepLimitMs),
      redirect: 'error',
    })
    if (answer.status !== 200)
      throw new Error(`the function answered ${answer.status}: ${await answer.text()}`)
    await witness.acknowledged(
      `what a function stored (${value})`,
      `stored ${at}`,
      (view) => (view.storage as Record<string, unknown>)[`${ownKey(developer, 'store')} key${at}`] === value,
    )
  }
}

/**
 * A revoked token is refused as soon as the list is there. The list is safe when getMe says that it was looked at: such a token
 * is refused after a cut, too.
 */
async function revoke(bench: Bench): Promise<void> {
  const { identity, services, developer, client, witness, url } = bench
  const other = await createProject(services, developer.email)
  const token = await accessToken({ identity, runtime: { url } }, other, allScopes)
  await createIdentityClient({ url: identity.url }).revoke({ token, clientId: other.clientId })
  await until('the revoked token is refused', async () => {
    const reason = await client.getImages({ edgeAccessToken: token }).then(
      () => undefined,
      (cause: { reason?: string }) => cause.reason,
    )
    return reason === 'token_revoked'
  })
  const refusedAt = Date.now()
  await until('the list was looked at', async () => {
    const { revocations } = await client.getMe()
    return Date.parse(revocations.checkedAt ?? '') > refusedAt
  })
  await witness.acknowledged('a revoked token', 'revoked', (view) => {
    const { lists } = view.lists as { lists: Record<string, { revoked: string[] }> }
    return Object.values(lists).some((list) => list.revoked.length > 0)
  })
}

async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  for (let attempt = 0; !(await isSo()); attempt++) {
    if (attempt === 200) throw new Error(`it never came that ${what}`)
    await sleep(100)
  }
}
