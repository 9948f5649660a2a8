/**
 * The runtime is killed at every moment of deploying, redeploying and removing. Afterwards the state is the old one or the new
 * one, whole; what was acknowledged is there; no process, no file and no container is left over.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createNodeFetch } from '@selvedge/client/node'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { functionImage, savedImage, tarOf, writeFile } from '../../harness/archives.ts'
import { has, needs } from '../../harness/installed.ts'
import { instanceFolder, processesOf } from '../../harness/instances.ts'
import { stepLimitMs, testLimitMs } from '../../harness/limits.ts'
import { type Podman, podmanNeeds, startPodman } from '../../harness/podman.ts'
import { createChance } from '../../harness/seed.ts'
import { type Services, startServices } from '../../harness/services.ts'

interface Rounds {
  readonly least: number
  readonly most: number
  /** Milliseconds after which no round begins beyond the least number. */
  readonly withinMs: number
  /** Outcomes without which it does not end. */
  readonly until: readonly string[]
}
/** Seconds in which more rounds begin than the least number, for functions; OCI containers get half of them. */
const seconds = Number(process.env.SELVEDGE_KILL_SECONDS ?? 0)
const functionRounds: Rounds = {
  least: 6,
  most: 240,
  withinMs: seconds * 1000,
  until: ['deploy: old', 'deploy: new', 'redeploy: old', 'redeploy: new'],
}
const ociRounds: Rounds = { least: 4, most: 60, withinMs: seconds * 500, until: [] }

/** Rounds in turn: whether what is there is removed, and in which half of the time that a deployment needs the kill comes. */
const plan = [
  { removes: false, half: 0 },
  { removes: false, half: 1 },
  { removes: true, half: 1 },
  { removes: false, half: 0 },
  { removes: false, half: 1 },
  { removes: true, half: 0 },
] as const
/** Deployments that are timed before. */
const timed = 2

interface Wanted {
  /** VERSION of the container, or none. */
  version: string | undefined
}

interface Trial {
  readonly services: Services
  /** Of the container. */
  readonly name: string
  readonly image: (version: string) => Buffer
  /** What is left over beside what is wanted. */
  readonly leftovers: (version: string | undefined) => string[] | Promise<string[]>
}

const functionSource = (version: string) =>
  `export default { fetch(request, env, ctx) { ctx.storage.setItem('version', '${version}'); return new Response(env.VERSION + ' ${version}') } }`

async function runTrial(
  { services, name, image, leftovers }: Trial,
  { least, most, withinMs, until }: Rounds,
): Promise<Record<string, number>> {
  const begunAt = performance.now()
  const random = createChance()
  const outcomes: Record<string, number> = {}
  const id = `${services.developer.clientId}-${name}`
  const path = `/${services.developer.clientId}/${name}`
  const { token: edgeAccessToken } = services
  const wanted: Wanted = { version: undefined }

  async function deploy(version: string): Promise<void> {
    const source = writeFile(services.stack.state, 'trial.tar', image(version))
    const { id: imageId } = await services.runtime().deployImage({ edgeAccessToken, source })
    const spec = { name, image: imageId, env: { VERSION: version } }
    await services.runtime().deployContainer({ edgeAccessToken, spec })
  }
  // How long it takes where nobody interferes: kills are spread over that and a little more.
  const times: number[] = []
  for (let at = 1; at <= timed; at++) {
    await services.restart('SIGKILL')
    const begin = performance.now()
    await deploy(`0.${at}`)
    times.push(performance.now() - begin)
    wanted.version = `0.${at}`
  }
  const span = 1.6 * Math.max(...times)

  const isEnough = (round: number): boolean =>
    round > least && performance.now() - begunAt >= withinMs && until.every((each) => outcomes[each])
  for (let round = 1; round <= most && !isEnough(round); round++) {
    const version = String(round)
    const { removes, half } = plan[(round - 1) % plan.length]!
    const doRemove = removes && wanted.version !== undefined
    const runtime = services.runtime()
    let acknowledged = false
    const work = async () => {
      if (doRemove) await runtime.removeContainer({ edgeAccessToken, id })
      else await deploy(version)
      acknowledged = true
    }
    const working = work().catch(() => undefined)
    await new Promise((resolve) => setTimeout(resolve, ((half + random()) / 2) * span))
    const wasAcknowledged = acknowledged
    await services.restart('SIGKILL')
    await working

    const found = (await services.runtime().getContainers({ edgeAccessToken })).find((each) => each.id === id)
    const after = doRemove ? undefined : version
    const now = found?.env.VERSION
    const where = `round ${round}, ${doRemove ? 'remove' : `deploy ${version} over ${wanted.version}`}`
    if (wasAcknowledged) expect(now, `${where}: acknowledged`).toBe(after)
    else expect([wanted.version, after], where).toContain(now)
    if (found) {
      expect(found.state, where).not.toBe('failed')
      const { status, text } = await services.call(path)
      expect({ status, text }, where).toEqual({ status: 200, text: `${now} ${now}` })
    } else expect((await services.call(path)).status, where).toBe(404)
    await expect.poll(() => leftovers(now), { message: where }).toEqual([])
    const outcome = `${doRemove ? 'remove' : wanted.version === undefined ? 'deploy' : 'redeploy'}: ${now === after ? 'new' : 'old'}`
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1
    wanted.version = now
  }
  return outcomes
}

/** What a container stored that is not there any more. */
function leftoverItems(state: string, version: string | undefined): string[] {
  const path = join(state, 'runtime/storage.db')
  if (version !== undefined || !existsSync(path)) return []
  const database = new DatabaseSync(path, { readOnly: true })
  const rows = database.prepare('SELECT container, key FROM items').all()
  database.close()
  return rows.map((row) => `stored: ${row.key}`)
}

/** Blobs that the document does not know, and drafts. */
function leftoverBlobs(state: string): string[] {
  const images = join(state, 'runtime/images')
  const newest = ['a', 'b']
    .map((slot) => readFileSync(join(state, `runtime/deployments.${slot}`), 'utf8'))
    .sort((one, two) => Number(two.split(' ')[4]) - Number(one.split(' ')[4]))[0]!
  const [head = '', body = ''] = [
    newest.slice(0, newest.indexOf('\n')),
    newest.slice(newest.indexOf('\n') + 1),
  ]
  const { contents } = JSON.parse(
    Buffer.from(body)
      .subarray(0, Number(head.split(' ')[5]))
      .toString(),
  )
  const known = JSON.stringify(contents)
  return [
    ...readdirSync(join(images, 'incoming')),
    ...readdirSync(join(images, 'sha256')).filter((each) => !known.includes(each)),
  ]
}

describe('the runtime is killed', needs('bwrap'), () => {
  let podman: Podman | undefined
  let services: Services
  beforeAll(async () => {
    podman = has(...podmanNeeds) ? await startPodman() : undefined
    services = await startServices({ args: podman ? [`--oci.socket=${podman.socket}`] : [] })
  })
  afterAll(async () => {
    await services?.stop()
    await podman?.stop()
  })

  it('while functions are deployed, redeployed and removed', {
    timeout: Math.max(testLimitMs, functionRounds.most * 3000),
  }, async () => {
    const { state } = services.stack
    const folders = new Set<string>()
    const leftovers = (version: string | undefined): string[] => {
      // Each run has a folder of its own; those of the runs before are gone.
      if (version !== undefined) folders.add(instanceFolder(state))
      const instances = [...folders].flatMap((folder) => (existsSync(folder) ? readdirSync(folder) : []))
      const processes = [...folders].flatMap(processesOf)
      const most = version === undefined ? 0 : 1
      // The sandbox is two processes of the same command line: the one outside and the one within.
      return [
        ...leftoverBlobs(state),
        ...leftoverItems(state, version),
        ...instances.slice(most),
        ...processes.slice(most * 2).map(String),
      ]
    }
    const name = 'trial'
    const image = (version: string) => functionImage(functionSource(version), name)
    const outcomes = await runTrial({ services, name, image, leftovers }, functionRounds)
    console.info('kills while functions are deployed:', outcomes)
    for (const outcome of functionRounds.until) expect(outcomes[outcome], outcome).toBeGreaterThan(0)
  })

  it('while OCI containers are deployed, redeployed and removed', {
    ...needs(...podmanNeeds, 'busybox'),
    timeout: Math.max(testLimitMs, ociRounds.most * 20_000),
  }, async () => {
    const containers = containersOf(podman!)
    const leftovers = async (version: string | undefined): Promise<string[]> => [
      ...leftoverBlobs(services.stack.state),
      ...(await containers()).slice(version === undefined ? 0 : 1),
    ]
    const outcomes = await runTrial({ services, name: 'oci-trial', image: httpImage, leftovers }, ociRounds)
    console.info('kills while OCI containers are deployed:', outcomes)
  })
})

/** Reads it from Podman's own API: a poll of its command line would start it each time. @returns the IDs of all containers */
const containersOf = ({ socket }: Podman) => {
  const fetch = createNodeFetch({ socketPath: socket })
  return async (): Promise<string[]> => {
    const answer = await fetch('http://podman/v4.0.0/libpod/containers/json?all=true', {
      method: 'GET',
      headers: {},
      signal: AbortSignal.timeout(stepLimitMs),
      redirect: 'error',
    })
    return ((JSON.parse(await answer.text()) as { Id: string }[] | null) ?? []).map(({ Id }) => Id)
  }
}

const httpImage = (version: string): Buffer =>
  savedImage({
    name: 'trial',
    config: {
      Cmd: [
        '/bin/sh',
        '-c',
        `/bin/busybox mkdir /tmp/w; printf '%s' "$VERSION ${version}" > /tmp/w/index.html; exec /bin/busybox httpd -f -p 8080 -h /tmp/w`,
      ],
    },
    layers: [
      tarOf([
        { path: 'bin', type: 'Directory' },
        { path: 'bin/busybox', content: readFileSync('/bin/busybox') },
        { path: 'bin/sh', type: 'SymbolicLink', linkpath: 'busybox' },
        { path: 'tmp', type: 'Directory' },
      ]),
    ],
  })
