/**
 * A device that changes hands: A deploys and leaves, B joins, B leaves, A returns. Both use the same client (that of
 * `selvedge login`), so that only the account tells their things apart.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { cliClientId, methods, rpcPath } from '@selvedge/protocol'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { mcmRoutes } from '../../../apps/runtime/src/api/mcm/routes.ts'
import { nodesRoutes } from '../../../apps/runtime/src/api/rest/nodes-routes.ts'
import { forge, readIssuerKeys } from '../../attacks/forge.ts'
import { functionImage, sha256, writeFile } from '../../harness/archives.ts'
import { accessToken, adminOf, createDeveloper, type Developer } from '../../harness/flow.ts'
import { sampleOf } from '../../harness/samples.ts'
import { callUrl, type Services, startServices } from '../../harness/services.ts'

/** Stands in everything of A that B must not see. */
const secret = 'belongs-to-a'
/** Names of A, which B may use as well. */
const name = 'notes'

const noting = (mark: string) => `console.log('${mark} wrote this')
export default { fetch(request, env, ctx) {
  const { search } = new URL(request.url)
  if (search) ctx.storage.setItem('note', decodeURIComponent(search.slice(1)))
  return new Response(JSON.stringify({ note: ctx.storage.getItem('note') ?? null, password: env.PASSWORD ?? null }))
} }`

let services: Services
let a: Developer
let b: Developer
/** Tokens of the same client, each of its own account. */
let asA: string
let asB: string
let upload: Buffer

/** A token of an account for the client that every account has. */
const tokenOf = async (developer: Developer) =>
  forge(
    await accessToken(services.stack, developer),
    { name: '', payload: { client_id: cliClientId, azp: null }, expect: '' },
    readIssuerKeys(services.stack.state),
  )

const runtime = () => services.runtime()

async function associate(developer: Developer): Promise<string> {
  await runtime().associateAccount({ edgeAccessToken: await accessToken(services.stack, developer) })
  return tokenOf(developer)
}

async function deploy(token: string, mark: string, own: string, env: Record<string, string>) {
  const archive = functionImage(noting(mark), own)
  const source = writeFile(join(services.stack.state, 'archives'), `${mark}.tar`, archive)
  const { id: image } = await runtime().deployImage({ edgeAccessToken: token, source })
  return runtime().deployContainer({ edgeAccessToken: token, spec: { name: own, image, env } })
}

const call = async (token: string, path: string) => {
  const { status, text } = await callUrl(services.url() + path, { token })
  return {
    status,
    ...(status === 200 && (JSON.parse(text) as { note: string | null; password: string | null })),
  }
}

beforeAll(async () => {
  services = await startServices()
  a = services.developer
  b = await createDeveloper(services.stack.state)
  asA = await tokenOf(a)
  const env = { PASSWORD: `${secret}-password`, 'MCM.IDLE_SEC': '0', 'MCM.API_ALIAS': 'true' }
  await deploy(asA, secret, name, env)
  await deploy(asA, `${secret}-more`, `${secret}-only`, { ...env, 'MCM.ACCESS': 'public' })
  await deploy(asA, `${secret}-gone`, `${secret}-gone`, env)
  await runtime().removeContainer({ edgeAccessToken: asA, id: `${secret}-gone` })
  expect(await call(asA, `/${cliClientId}/${name}?${secret}-note`)).toMatchObject({ note: `${secret}-note` })
  upload = functionImage(noting(`${secret}-upload`), `${secret}-upload`)
  const sent = await callUrl(`${services.url()}/mcm/v1/uploads`, { method: 'POST', token: asA, body: upload })
  expect(sent.status).toBe(200)
})
afterAll(() => services?.stop())

/** Answers of everything that takes a token, asked with the names of what A has; what only repeats the name is left out. */
async function everythingAs(token: string): Promise<Record<string, string>> {
  const answers: Record<string, string> = {}
  const withoutName = (text: string, id: string) => text.replaceAll(id.replace(`${cliClientId}-`, ''), '')
  const ids = [
    name,
    `${cliClientId}-${name}`,
    `${secret}-only`,
    `${cliClientId}-${secret}-only`,
    `${secret}-gone`,
  ]
  const dangerous = ['unassociateAccount', 'associateAccount']
  for (const each of Object.keys(methods).filter((key) => !dangerous.includes(key)))
    for (const id of ids) {
      const sample = sampleOf(each, token)
      const spec = { name: 'copy', image: id, env: {} }
      const params = { ...sample, ...('id' in sample && { id }), ...('spec' in sample && { spec }) }
      const response = await fetch(services.url() + rpcPath, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: each, params }),
      })
      answers[`${each} ${id}`] = withoutName(await response.text(), id)
    }
  const tables = [mcmRoutes({} as never), nodesRoutes({} as never)]
  for (const key of tables.flatMap(({ table }) => Object.keys(table)))
    for (const id of ids) {
      const [method = '', path = ''] = key.split(' ')
      const url = `${services.url()}${path.replace('{id}', id)}`
      answers[`${key} ${id}`] = withoutName((await callUrl(url, { method, token })).text, id)
    }
  return answers
}

/** Rows of the storage of functions, and names of the blobs. */
function stored(): { items: unknown[]; blobs: string[] } {
  const folder = join(services.stack.state, 'runtime')
  const database = new DatabaseSync(join(folder, 'storage.db'), { readOnly: true })
  const items = database.prepare('SELECT * FROM items').all()
  database.close()
  return { items, blobs: readdirSync(join(folder, 'images', 'sha256')) }
}

describe('when A has left, B', () => {
  beforeAll(async () => {
    await runtime().unassociateAccount({ edgeAccessToken: asA })
    asB = await associate(b)
  })

  it('finds nothing of A through any method or route', async () => {
    const answers = await everythingAs(asB)
    expect(Object.keys(answers).length).toBeGreaterThan(100)
    const leaking = Object.entries(answers).filter(
      ([, text]) => text.includes(secret) || text.includes(a.accountId),
    )
    expect(leaking).toEqual([])
    expect(JSON.parse(answers[`getContainers ${name}`]!).result).toEqual([])
    expect(JSON.parse(answers[`getImages ${name}`]!).result).toEqual([])
    for (const id of [name, `${secret}-gone`])
      expect(JSON.parse(answers[`getContainerHistory ${id}`]!).error.data.reason).toBe('not_found')
  })

  it('finds nothing at the addresses of services of A, public ones included', async () => {
    for (const path of [name, `${secret}-only`])
      for (const prefix of [`/${cliClientId}`, '/api']) {
        const { status, text } = await callUrl(`${services.url()}${prefix}/${path}`, { token: asB })
        expect({ path, prefix, status }).toEqual({ path, prefix, status: 404 })
        expect(text).not.toContain(a.accountId)
      }
  })

  it('cannot use what A uploaded', async () => {
    const source = `upload:${sha256(upload)}`
    await expect(runtime().deployImage({ edgeAccessToken: asB, source })).rejects.toMatchObject({
      reason: 'not_found',
    })
  })

  it('is shown no service of A by the registry, and no other node is', async () => {
    const { nodeId } = await runtime().getMe()
    const known = async () => {
      const nodes = await adminOf(services.stack.state)['node.list']({})
      return JSON.stringify(nodes.find((each) => each.nodeId === nodeId))
    }
    await expect.poll(known).toContain(b.accountId)
    expect(await known()).not.toContain(secret)
    const listed = await runtime().getNodes({ edgeAccessToken: asB, cluster: 'account' })
    expect(JSON.stringify(listed)).not.toContain(secret)
  })

  it('may use the names of A, and gets storage, a log and a history of its own', async () => {
    const env = { PASSWORD: 'of-b', 'MCM.IDLE_SEC': '0', 'MCM.API_ALIAS': 'true' }
    const record = await deploy(asB, 'of-b', name, env)
    expect(record.id).toBe(`${cliClientId}-${name}`)
    expect(await call(asB, record.basePath)).toEqual({ status: 200, note: null, password: 'of-b' })
    expect(await call(asB, `/api/${name}?of-b`)).toMatchObject({ note: 'of-b' })
    const query = { edgeAccessToken: asB, id: record.id }
    const { history } = await runtime().getContainerHistory(query)
    expect(history.map(({ event }) => event)).toEqual(['deployed'])
    expect(JSON.stringify(await runtime().getContainerLogs({ ...query, tail: 100 }))).not.toContain(secret)
  })
})

describe('when A is back, A', () => {
  beforeAll(async () => {
    await runtime().unassociateAccount({ edgeAccessToken: asB })
    asA = await associate(a)
  })

  it('finds what A had, and nothing of B', async () => {
    const all = await runtime().getContainers({ edgeAccessToken: asA })
    expect(all.map((each) => each.name).toSorted()).toEqual([`${secret}-only`, name].toSorted())
    const found = () => call(asA, `/${cliClientId}/${name}`)
    await expect.poll(found).toEqual({ status: 200, note: `${secret}-note`, password: `${secret}-password` })
    const { history } = await runtime().getContainerHistory({ edgeAccessToken: asA, id: `${secret}-gone` })
    expect(history.map(({ event }) => event)).toEqual(['deployed', 'removed'])
  })

  it('leaves nothing on the device with `wipe`, and B still has what B had', async () => {
    await runtime().unassociateAccount({ edgeAccessToken: asA, wipe: true })
    const { items, blobs } = stored()
    expect(JSON.stringify(items)).not.toContain(secret)
    expect(JSON.stringify(items)).toContain('of-b')
    for (const blob of blobs) {
      const content = readFileSync(join(services.stack.state, 'runtime', 'images', 'sha256', blob), 'latin1')
      expect(content).not.toContain(secret)
    }
    asA = await associate(a)
    expect(await runtime().getContainers({ edgeAccessToken: asA })).toEqual([])
    expect(await runtime().getImages({ edgeAccessToken: asA })).toEqual([])
    await expect(
      runtime().getContainerHistory({ edgeAccessToken: asA, id: `${secret}-gone` }),
    ).rejects.toMatchObject({ reason: 'not_found' })
    await runtime().unassociateAccount({ edgeAccessToken: asA })
    asB = await associate(b)
    await expect.poll(() => call(asB, `/${cliClientId}/${name}`)).toMatchObject({ note: 'of-b' })
  })
})
