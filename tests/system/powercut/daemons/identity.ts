/** The identity service on SQLite: its keys, people and projects, nodes, sign-ins, and what was revoked. */
import { join } from 'node:path'
import { createIdentityClient } from '@selvedge/client'
import { identityPaths } from '@selvedge/protocol'
import { openStateFolder } from '@selvedge/service-kit/store'
import { migrations } from '../../../../apps/identity/src/storage/schema.ts'
import { createSeal, readSealKeys } from '../../../../apps/identity/src/storage/secrets/seal.ts'
import { adminOf, allScopes, createDeveloper, type Developer, runtimeOf } from '../../../harness/flow.ts'
import { stepLimitMs } from '../../../harness/limits.ts'
import { type Program, startProgram, temporaryFolder } from '../../../harness/processes.ts'
import type { PartView, Subject, View } from '../subject.ts'
import { readDatabase, type Tables } from './database.ts'
import { type Recorded, recordDaemon } from './record-daemon.ts'
import { startOn } from './start.ts'

/** In the order of the daemon's start. @throws Error where a secret can't be opened with the keys that are there */
async function read(folder: string): Promise<PartView> {
  const own = openStateFolder(join(folder, 'state'), 'identity', () => undefined)
  const seal = createSeal(await readSealKeys(join(own, 'secret-keys'), {}, true))
  const view = readDatabase(join(own, 'identity.db'), migrations)
  for (const { name, value } of view.facts.settings ?? []) seal.open(value as string, `secret ${name}`)
  return view
}

const rows = (view: View, table: string) => (view.identity as Tables)[table] ?? []
const has = (table: string, column: string, value: unknown) => (view: View) =>
  rows(view, table).some((row) => row[column] === value)

interface Bench extends Recorded {
  readonly device: Program
  readonly client: ReturnType<typeof createIdentityClient>
  /** Checks the health: what was done before the response is acknowledged. */
  readonly probe: () => Promise<void>
}

export const createIdentitySubject = (extent: { readonly rounds: number }): Subject => ({
  name: 'identity',
  parts: [{ name: 'identity', owns: (path) => path.startsWith('state/identity/'), read }],
  contradictions: () => [],
  record: (life) => recordDaemon('identity', { ...life }, (recorded) => work(recorded, extent.rounds)),
  start: (folder) =>
    startOn('identity', folder, async (url) => {
      const answer = await fetch(url + identityPaths.jwks)
      const { keys } = (await answer.json()) as { keys: unknown[] }
      return keys.length >= 2 ? [] : [`it publishes ${keys.length} keys`]
    }),
})

async function work(recorded: Recorded, rounds: number): Promise<void> {
  const { url, witness, state } = recorded
  const get = async (path: string) =>
    witness.fetch(url + path, {
      method: 'GET',
      headers: {},
      signal: AbortSignal.timeout(stepLimitMs),
      redirect: 'error',
    })
  const probe = async () => void (await get(identityPaths.health))
  const { keys } = JSON.parse(await (await get(identityPaths.jwks)).text()) as { keys: { kid: string }[] }
  await witness.acknowledged('the signing keys', 'first keys', (view) =>
    keys.every(({ kid }) => has('signing_keys', 'kid', kid)(view)),
  )
  const services = await temporaryFolder()
  const device = await startProgram('runtime', {
    SELVEDGE_STATE: services.path,
    SELVEDGE_RUNTIME_PORT: '0',
    SELVEDGE_IDENTITY_URL: url,
    SELVEDGE_DISCOVERY_URL: 'http://127.0.0.1:9',
  })
  try {
    const client = createIdentityClient({ url, fetch: witness.fetch, timeoutMs: stepLimitMs })
    const bench: Bench = { ...recorded, device, client, probe }
    for (let round = 1; round <= rounds; round++) {
      const developer = await enrol(bench)
      await signIn(bench, developer)
      if (round % 2 === 0) await rotateKeys(state, bench)
    }
  } finally {
    await device.stop()
    await services.remove()
  }
}

/** An account, a project, a developer ID token; and a node that is known. */
async function enrol({ state, witness, probe, device }: Bench): Promise<Developer> {
  const developer = await createDeveloper(state, { scopes: [...allScopes.split(' '), 'offline_access'] })
  const { accountId, clientId, jti } = developer
  await witness.acknowledged(
    `account ${accountId}`,
    accountId,
    has('accounts', 'account_id', accountId),
    probe,
  )
  await witness.acknowledged(`project ${clientId}`, clientId, has('projects', 'client_id', clientId), probe)
  await witness.acknowledged(`developer token ${jti}`, jti, has('developer_tokens', 'jti', jti), probe)
  const { nodeId } = await runtimeOf({ runtime: device }).getMe()
  await runtimeOf({ runtime: device }).getEdgeIdToken()
  await witness.acknowledged('a node', 'node', has('nodes', 'node_id', nodeId), probe)
  return developer
}

/** A sign-in whose refresh token is turned a few times; then one of its tokens is revoked. */
async function signIn({ witness, device, client }: Bench, developer: Developer): Promise<void> {
  const { clientId, idToken: developerIdToken } = developer
  const { id_token: edgeIdToken } = await runtimeOf({ runtime: device }).getEdgeIdToken()
  const scope = `${allScopes} offline_access`
  let tokens = await client.exchange({ clientId, developerIdToken, edgeIdToken, scope })
  const turned = (count: number) => (view: View) =>
    rows(view, 'sign_ins').some((row) => row.client_id === clientId && Number(row.generation) >= count)
  await witness.acknowledged(`a sign-in of ${clientId}`, `sign-in ${clientId}`, turned(0))
  for (let count = 1; count <= 3; count++) {
    tokens = await client.refresh({ clientId, refreshToken: tokens.refresh_token! })
    await witness.acknowledged(`turn ${count} of ${clientId}`, `sign-in ${clientId}`, turned(count))
  }
  const { jti } = JSON.parse(Buffer.from(tokens.access_token.split('.')[1]!, 'base64url').toString())
  await client.revoke({ clientId, token: tokens.access_token })
  await witness.acknowledged(`token ${jti} is revoked`, `token ${jti}`, has('revocations', 'subject', jti))
}

async function rotateKeys(state: string, { witness, probe }: Bench): Promise<void> {
  const admin = adminOf(state)
  await admin['keys.rotate']({})
  const keys = (await admin['keys.list']({})) as readonly { kid: string; state: string }[]
  const active = keys.find((each) => each.state === 'active')!.kid
  await witness.acknowledged(
    `key ${active} is active`,
    'active key',
    (view) => rows(view, 'signing_keys').find((row) => row.state === 'active')?.kid === active,
    probe,
  )
}
