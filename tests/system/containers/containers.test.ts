/** The images of the services, and all services in containers with `deploy/compose.yaml`: parts are killed, and the flow continues. */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { allocatorEnv } from '@selvedge/service-kit/lifecycle'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { products } from '../../../packaging/products.ts'
import { needs } from '../../harness/installed.ts'
import { stepLimitMs, whereProgramsStart } from '../../harness/limits.ts'
import { type Podman, podmanNeeds, startPodman } from '../../harness/podman.ts'
import { type Commands, readCommands } from './commands.ts'
import { type Compose, makeAuthority, startCompose } from './compose.ts'
import { type Callers, startCallers } from './flow.ts'
import { buildOthers, makeTarballs, version } from './images.ts'
import { testSingleContainers } from './single.ts'

const needed = [
  ...podmanNeeds,
  ...([
    'aardvark-dns',
    'buildah',
    'busybox',
    'haproxy',
    'mounts',
    'networks',
    'openssl',
    'podman-compose',
  ] as const),
  ...(['postgres', 'redis-server'] as const),
]
const replicas = ['identity-1', 'identity-2', 'discovery-1', 'discovery-2']
const locations = [1, 2, 3, 4, 5, 6].map((each) => `locations-${each}`)
const callersCount = 6

describe('services in containers', needs(...needed), () => {
  let podman: Podman
  let commands: Commands
  beforeAll(async () => {
    podman = await startPodman()
    const reader = {
      ...makeAuthority(podman.folder),
      BASE: 'localhost/base',
      SOURCE: 'https://source.example',
    }
    commands = readCommands(podman, reader)
    makeTarballs(podman, join(commands.folder, 'dist/tar'))
    buildOthers(podman)
    await commands.run('Build the images', 1)
  }, 600_000)
  afterAll(() => podman?.stop())

  describe('an image', () => {
    it.each(products.map((each) => [each.section, each] as const))(
      'of %s states its version, licence and source, an ordinary user and a health check',
      (section, { name, programs }) => {
        const tag = section === 'runtime' ? 'selvedge-runtime' : name
        const [{ Config: config, Healthcheck: check }] = JSON.parse(
          podman.run('image', 'inspect', `localhost/${tag}:${version}`),
        )
        expect(config.Labels).toMatchObject({
          'org.opencontainers.image.version': version,
          'org.opencontainers.image.licenses': 'Apache-2.0',
          'org.opencontainers.image.source': 'https://source.example',
        })
        expect(config.User).toBe('10001:10001')
        expect(config.StopSignal).toBe('SIGTERM')
        const folder = `/usr/lib/${name}`
        expect(config.Entrypoint.slice(0, 2)).toEqual([
          `${folder}/node`,
          `${folder}/${programs[0]}/dist/main.cjs`,
        ])
        expect(check.Test.slice(0, 3)).toEqual(['CMD', `${folder}/node`, '-e'])
        expect(check.Test[3]).toContain('/readyz')
        const env = Object.fromEntries(config.Env.map((each: string) => each.split('=')))
        const ofLibrary = { ...allocatorEnv, RES_OPTIONS: 'timeout:1 attempts:5' }
        expect(env).toMatchObject(ofLibrary)
        const own = Object.keys(env).filter((each) => !(each in ofLibrary) && each !== 'PATH')
        expect(own.filter((each) => !/^SELVEDGE_(?:STATE|\w+_PORT|RUNTIME_SOCKET)$/.test(each))).toEqual([])
      },
    )
    testSingleContainers(() => podman)
  })

  describe('with Compose', () => {
    let compose: Compose
    let callers: Callers
    let revocable: { token: string; clientId: string }
    beforeAll(async () => {
      compose = await startCompose(podman, commands)
    }, 300_000)
    afterAll(async () => {
      await callers?.stop()
      await compose?.stop()
    })

    beforeEach(({ onTestFailed }) => {
      onTestFailed(async () => {
        for (const each of replicas) console.error(`${each}:\n${await compose.logs(each)}`)
      })
    })

    /** Waits until the flow continues, and returns what was refused since the last call. */
    async function refusedUntilFlowing(): Promise<Readonly<Record<string, number>>> {
      await callers.untilFlowing()
      const refused = callers.takeRefused()
      expect(callers.wrong()).toEqual([])
      return refused
    }

    /** Waits until the replicas of the locations have what the primaries have: they answer for a primary that is late. */
    async function untilReplicated(): Promise<void> {
      const info = (service: string) =>
        compose.podman('exec', compose.nameOf(service), 'redis-cli', 'info', 'replication')
      const replicated = async (service: string) =>
        Math.min(
          ...[...(await info(service)).matchAll(/^slave\d+:.*offset=(\d+)/gm)].map(([, at]) => Number(at)),
        )
      for (const each of locations) {
        const written = Number(/^master_repl_offset:(\d+)/m.exec(await info(each))?.[1])
        await expect.poll(() => replicated(each)).toBeGreaterThanOrEqual(written)
      }
    }

    it('start, and serve the flow', async () => {
      for (const each of [...replicas, 'database', ...locations]) await compose.untilHealthy(each)
      await commands.run('Start', 1)
      const admin = async (words: string) => JSON.parse(await commands.shell(`admin ${words} --json`))
      const { accountId } = await admin('account create --email dev@example.com')
      const { clientId } = await admin('project create --name flow --email dev@example.com')
      const token = async (): Promise<string> =>
        (await admin(`token developer --email dev@example.com --client-id ${clientId}`)).idToken
      revocable = { token: await token(), clientId }
      const { runtime, identity } = compose
      const { nodeId } = await runtime.getMe()
      const developerIdToken = await token()
      const { id_token: edgeIdToken } = await runtime.getEdgeIdToken()
      const scope = 'openid edge:mcm edge:clusters edge:account:associate'
      const { access_token: edgeAccessToken } = await identity.exchange({
        ...{ clientId, developerIdToken, edgeIdToken, scope },
      })
      await runtime.associateAccount({ edgeAccessToken })
      const fix = { longitude: '-123.1', latitude: '49.25', speed: '0', bearing: '0' }
      await runtime.updateGps({ edgeAccessToken, ...fix })
      await expect
        .poll(async () => (await runtime.getNodes({ edgeAccessToken, cluster: 'account' })).data.length)
        .toBe(1)
      await untilReplicated()
      callers = startCallers(compose, { clientId, developerIdToken, accountId, nodeId }, callersCount)
      expect(await refusedUntilFlowing()).toEqual({})
    }, 400_000)

    it('publish the ports of haproxy only, on the address that was chosen', async () => {
      const ports = (await compose.podman('ps', '--format', '{{.Names}} {{.Ports}}')).trim().split('\n')
      const published = ports.filter((line) => line.includes('->'))
      expect(published).toHaveLength(1)
      expect(published[0]).toMatch(/^selvedge\.test 127\.0\.0\.1:/)
    })

    it('show no secret in the settings, processes and logs of their containers', () => {
      const folder = join(commands.folder, 'deploy/secrets')
      const secrets = readdirSync(folder)
        .filter((name) => name !== 'ca.pem')
        .map((name) => readFileSync(join(folder, name), 'utf8').trim())
      const names = podman.run('ps', '--all', '--format', '{{.Names}}').trim().split('\n')
      expect(names.length).toBeGreaterThan(12)
      const all = [podman.run('inspect', ...names), ...names.map(podman.logs)].join('\n')
      for (const each of secrets) expect(all.includes(each.slice(0, 40))).toBe(false)
      for (const name of readdirSync(folder)) expect(statSync(join(folder, name)).mode & 0o777).toBe(0o400)
    })

    it('attribute a request to the address that haproxy saw, whatever its headers claim', async () => {
      const form = new URLSearchParams({ token: revocable.token, client_id: revocable.clientId }).toString()
      const { status } = await compose.fetch(`${compose.issuer}/revoke`, {
        method: 'POST',
        headers: {
          'Content-Type': 'application/x-www-form-urlencoded',
          'X-Forwarded-For': '192.0.2.66',
          Forwarded: 'for=192.0.2.66;proto=http;host=evil.example',
          'X-Forwarded-Host': 'evil.example',
        },
        body: form,
        signal: AbortSignal.timeout(stepLimitMs),
        redirect: 'error',
      })
      expect(status).toBe(200)
      const query = "SELECT address FROM audit WHERE action = 'token.revoke'"
      const rows = await compose.podman(
        'exec',
        compose.nameOf('database'),
        'psql',
        '-U',
        'selvedge',
        '-d',
        'identity',
        '-tAc',
        query,
      )
      expect(rows.trim()).toMatch(/^10\.\d+\.\d+\.1$/)
    })

    it.each(['identity-1', 'discovery-2'])(
      'when %s is killed, fail no more than the requests under way',
      async (service) => {
        const before = await compose.restarts(service)
        await compose.kill(service)
        await expect.poll(() => compose.restarts(service), whereProgramsStart).toBeGreaterThan(before)
        const refused = await refusedUntilFlowing()
        const count = Object.values(refused).reduce((sum, each) => sum + each, 0)
        expect(count, JSON.stringify(refused)).toBeLessThanOrEqual(callersCount)
        await compose.untilHealthy(service)
        expect(await refusedUntilFlowing()).toEqual({})
      },
    )

    it('when a primary of the locations is killed, continue with its replica', async () => {
      const roles = await Promise.all(
        locations.map((each) => compose.podman('exec', compose.nameOf(each), 'redis-cli', 'role')),
      )
      const primary = locations[roles.findIndex((each) => each.startsWith('master'))]!
      await compose.kill(primary)
      await refusedUntilFlowing()
      await expect
        .poll(
          () => compose.podman('exec', compose.nameOf(primary), 'redis-cli', 'cluster', 'info'),
          whereProgramsStart,
        )
        .toContain('cluster_state:ok')
      expect(await refusedUntilFlowing()).toEqual({})
    })

    it('when PostgreSQL restarts, refuse what needs it until it is back', async () => {
      await compose.podman('restart', '--time', '20', compose.nameOf('database'))
      await compose.untilHealthy('database')
      await refusedUntilFlowing()
      for (const each of replicas) await compose.untilHealthy(each)
      expect(await refusedUntilFlowing()).toEqual({})
    })

    it('start again and again until the database is there', async () => {
      await compose.podman('stop', '--time', '20', compose.nameOf('database'))
      const before = await compose.restarts('identity-2')
      await compose.kill('identity-2')
      await expect.poll(() => compose.restarts('identity-2'), whereProgramsStart).toBeGreaterThan(before + 1)
      expect(await compose.logs('identity-2')).toContain(
        "error: identity did not start: can't open the database",
      )
      expect(await compose.logs('identity-2')).not.toMatch(/^ +at /m)
      await compose.podman('start', compose.nameOf('database'))
      for (const each of replicas) await compose.untilHealthy(each)
      await refusedUntilFlowing()
    })

    it('are upgraded one after the other without a failed request', async () => {
      await commands.run('Upgrade')
      expect(await refusedUntilFlowing()).toEqual({})
    })

    it('are backed up with the commands of the page', async () => {
      await commands.run('Backup')
      for (const each of ['identity', 'discovery'])
        expect(
          readFileSync(join(commands.folder, `${each}.dump`))
            .subarray(0, 5)
            .toString(),
        ).toBe('PGDMP')
    })

    it('went through all of this behind one haproxy', async () => {
      expect(await compose.restarts('haproxy')).toBe(0)
      expect(callers.rounds()).toBeGreaterThan(100)
      expect(callers.wrong()).toEqual([])
    })
  })
})
