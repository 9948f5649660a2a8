/**
 * Images as public registries have them, on the engines that give a container fewer layers than Podman as root: they run, keep what they
 * stored, are removed without remains, and reach nothing; the record and the report of the engine name what is missing.
 */
import { execFileSync } from 'node:child_process'
import { chownSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '@selvedge/service-kit/testing'
import type { TestOptions } from 'vitest'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { startDocker } from '../../harness/docker.ts'
import { needs } from '../../harness/installed.ts'
import { whereProgramsStart } from '../../harness/limits.ts'
import { makeOutside, type Outside } from '../../harness/outside.ts'
import { startRootlessPodman } from '../../harness/rootless-podman.ts'
import { type Services, startServices } from '../../harness/services.ts'
import { nginxImage, redisImage } from './public-images.ts'

interface Engine {
  readonly socket: string
  /** Its command line. */
  run(...args: readonly string[]): string
  stop(): Promise<void>
  /** How the runtime is started that uses it. */
  readonly runtime?: Parameters<typeof startServices>[0]
}

const images = ['busybox', 'setpriv', 'nginx', 'redis-server', 'redis-cli'] as const
const engines: readonly {
  name: string
  options: TestOptions
  start(): Promise<Engine>
  users: readonly string[]
  hints: readonly RegExp[]
}[] = [
  {
    name: 'Docker',
    options: needs('dockerd', 'runc', 'root', 'iptables', ...images),
    start: () => startDocker(),
    users: ['few capabilities', 'cgroup'],
    hints: [/Set "userns-remap"/, /get no devices and no folders/, /connect to no address/],
  },
  {
    name: 'Docker with userns-remap',
    options: needs('dockerd', 'runc', 'root', 'iptables', 'mounts', ...images),
    start: () => startDocker({ isRemapped: true }),
    users: ['user namespace of the engine', 'default capabilities', 'cgroup'],
    hints: [/get no devices and no folders/, /connect to no address/],
  },
  {
    name: 'Podman as an ordinary user',
    options: needs('podman', 'runc', 'slirp4netns', 'newuidmap', 'nsenter', 'rootless Podman', ...images),
    async start() {
      const podman = await startRootlessPodman()
      const { user, folder, env } = podman
      const state = join(folder, 'state')
      mkdirSync(state, { mode: 0o700 })
      chownSync(state, user, user)
      const envOf = { runtime: { ...env, SELVEDGE_STATE: state } }
      return { ...podman, runtime: { envOf, place: { user, cwd: folder } } }
    },
    users: ['user namespace of the engine', 'default capabilities'],
    hints: [/get no devices and no folders/, /connect to no address/],
  },
]

describe.each(engines)('$name', ({ options, start, users, hints }) => {
  describe('with images of public registries', options, () => {
    let engine: Engine
    let services: Services
    let outside: Outside
    beforeAll(async () => {
      outside = makeOutside()
      engine = await start()
      services = await startServices({ ...engine.runtime, args: [`--oci.socket=${engine.socket}`] })
    })
    afterEach(async () => {
      for (const { id } of await services.runtime().getContainers(edge()))
        await services.runtime().removeContainer({ ...edge(), id })
      expect(lines('ps', '--all', '--quiet')).toEqual([])
      expect(lines('volume', 'ls', '--quiet')).toEqual([])
      const networks = lines('network', 'ls', '--format', '{{.Name}}')
      expect(networks.filter((each) => each.startsWith('selvedge'))).toEqual([])
    })
    afterAll(async () => {
      await services?.stop()
      await engine?.stop()
      outside?.remove()
    })

    const edge = () => ({ edgeAccessToken: services.token })
    const lines = (...args: readonly string[]) =>
      engine
        .run(...args)
        .trim()
        .split('\n')
        .filter(Boolean)
    const running = () => lines('ps', '--format', '{{.Names}}')
    const exec = (...command: readonly string[]) => engine.run('exec', running()[0]!, ...command).trim()
    const deploy = (name: string, image: string, env: Record<string, string> = {}) =>
      services.runtime().deployContainer({ ...edge(), spec: { name, image, env } })
    /** What a host answers to a request of a program in the container. */
    const answerOf = (host: string) =>
      exec('/bin/sh', '-c', `echo GET / | busybox nc -w 3 ${host} 80 2>&1 || echo nothing`)
    it('serves port 80 by an entry point as root, and no packet of it leaves its network', async () => {
      const { id: image } = await services.deployImage(nginxImage())
      const deployed = await deploy('nginx', image, { GREETING: 'welcome', 'MCM.OUTBOUND': 'public' })
      const greeting = async () => (await services.call(`${deployed.basePath}/index.html`)).text.trim()
      expect(await greeting()).toBe('welcome from nginx')
      expect(deployed.isolation).toEqual(
        expect.arrayContaining([...users, 'no new privileges', 'seccomp', 'own network']),
      )
      expect(deployed.isolation).not.toContain('packet filter')
      const { oci } = await services.runtime().getEngines()
      expect(oci.hints.some((each) => each.includes('does not limit'))).toBe(
        !oci.isolation.includes('cgroup'),
      )
      expect(deployed.isolation).toEqual(oci.isolation)
      expect(oci.hints.filter((each) => !each.includes('does not limit'))).toEqual(
        hints.map((each) => expect.stringMatching(each)),
      )
      const { lines: log } = await services
        .runtime()
        .getContainerLogs({ ...edge(), id: deployed.id, tail: 100 })
      expect(log.map(({ text }) => text)).toContainEqual(
        expect.stringMatching(/MCM.OUTBOUND through its socket only/),
      )
      for (const each of [...outside.publicAddresses, outside.local])
        expect(answerOf(each)).toMatch(/nothing$/)
      await deploy('nginx', image, { GREETING: 'bye' })
      expect(await greeting()).toBe('bye from nginx')
    })

    it('keeps what a program stored that gave up root, after a redeploy, a restart and a crash of the runtime', async () => {
      const { id: image } = await services.deployImage(redisImage())
      const port = String(await freePort())
      const env = { 'MCM.PORTS': `${port}:6379/tcp`, 'MCM.SECRETS': 'password' }
      await services.runtime().setSecret({ ...edge(), name: 'password', value: 'hidden' })
      await deploy('redis', image, env)
      const redis = (...args: readonly string[]) =>
        execFileSync('redis-cli', ['-p', port, ...args], { encoding: 'utf8' }).trim()
      expect(redis('set', 'key', 'stored')).toBe('OK')
      const check = async () => {
        await expect.poll(running, whereProgramsStart).toEqual([expect.stringMatching(/-r2$/)])
        expect(redis('get', 'key')).toBe('stored')
        expect(exec('cat', '/run/secrets/password')).toBe('hidden')
        expect(exec('stat', '-c', '%u', '/data/dump.rdb')).toBe('999')
      }
      await deploy('redis', image, { ...env, REVISION: '2' })
      await check()
      const [before] = lines('ps', '--quiet')
      await services.restart()
      await check()
      const [after] = lines('ps', '--quiet')
      expect(after).not.toBe(before)
      // It continues with its program, which has not stored this on the disk.
      redis('set', 'key', 'new')
      await services.restart('SIGKILL')
      const state = async () => (await services.runtime().getContainers(edge())).map((each) => each.state)
      await expect.poll(state).toEqual(['running'])
      expect(lines('ps', '--quiet')).toEqual([after])
      expect(redis('get', 'key')).toBe('new')
    })
  })
})
