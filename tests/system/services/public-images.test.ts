/** Images as public registries have them run as they are, on a real Podman, and what they store survives a redeploy and a restart. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { needs } from '../../harness/installed.ts'
import { whereProgramsStart } from '../../harness/limits.ts'
import { type Podman, podmanNeeds } from '../../harness/podman.ts'
import { type PodmanServices, startPodmanServices } from '../../harness/podman-services.ts'
import type { Services } from '../../harness/services.ts'
import { mosquittoImage, nginxImage, postgresImage, redisImage, templateImage } from './public-images.ts'

describe('an image of a public registry', needs(...podmanNeeds, 'busybox', 'setpriv', 'user IDs'), () => {
  let podman: Podman
  let services: Services
  let stack: PodmanServices
  beforeAll(async () => {
    stack = await startPodmanServices()
    ;({ podman, services } = stack)
  })
  afterEach(() => stack.removeContainers())
  afterAll(() => stack?.stop())

  /** By what makes it: each image is made and installed once, and stays when its containers are removed. */
  const images = new Map<() => Buffer, Promise<string>>()
  const install = async (make: () => Buffer) => (await services.deployImage(make())).id

  async function deploy(name: string, make: () => Buffer, env: Record<string, string> = {}) {
    if (!images.has(make)) images.set(make, install(make))
    const image = await images.get(make)!
    // Programs that begin and stop slowly on a machine with other work.
    const patient = { 'MCM.HEALTH_SEC': '300', 'MCM.STOP_SEC': '120' }
    const spec = { name, image, env: { ...patient, ...env } }
    return services.runtime().deployContainer({ edgeAccessToken: services.token, spec })
  }
  const text = async (path: string) => (await services.call(path)).text.trim()
  const running = () => podman.run('ps', '--format', '{{.Names}}').trim()
  const exec = (...command: readonly string[]) => podman.run('exec', running(), ...command).trim()
  /** Owners of the processes, as the device sees them. */
  const owners = () => podman.run('top', running(), 'huser').trim().split('\n').slice(1)

  /** A new version, and a new instance of the same one after the runtime was stopped. */
  async function redeployAndRestart(
    name: string,
    make: () => Buffer,
    env: Record<string, string>,
    check: () => unknown,
  ) {
    await deploy(name, make, { ...env, REVISION: '2' })
    await expect.poll(running, whereProgramsStart).toMatch(/^\S+-r2$/)
    await check()
    const before = podman.run('inspect', '--format', '{{.Id}}', running())
    await services.restart()
    await expect.poll(running, whereProgramsStart).toMatch(/^\S+-r2$/)
    expect(podman.run('inspect', '--format', '{{.Id}}', running())).not.toBe(before)
    await check()
  }

  it(
    'nginx: writes its configuration as root, and serves port 80 with workers of another user',
    needs('nginx'),
    async () => {
      const { basePath, isolation } = await deploy('nginx', nginxImage, { GREETING: 'welcome' })
      expect(await text(`${basePath}/index.html`)).toBe('welcome from nginx')
      expect(isolation).toEqual(
        expect.arrayContaining([
          'user namespace',
          'default capabilities',
          'no new privileges',
          'seccomp',
          'root watch',
        ]),
      )
      // Neither root nor any other user of the device.
      for (const owner of owners()) expect(Number(owner)).toBeGreaterThan(2 ** 31)
      expect(new Set(owners()).size).toBe(2)
      // A new instance has the root of the image again.
      await deploy('nginx', nginxImage, { GREETING: 'bye' })
      expect(await text(`${basePath}/index.html`)).toBe('bye from nginx')
    },
  )

  it('an entry point that writes its configuration with sed, and a user that listens on port 80', async () => {
    const { basePath } = await deploy('template', templateImage, { TITLE: 'mine' })
    expect(await text(`${basePath}/index.html`)).toBe('title: mine')
    expect(await text(`${basePath}/owned`)).toBe('mine')
    expect(exec('stat', '-c', '%u', '/etc/app/owned')).toBe('33')
  })

  it('redis: keeps what it stored in the volume of its image', needs('redis-server'), async () => {
    await deploy('redis', redisImage)
    expect(exec('redis-cli', 'set', 'key', 'stored')).toBe('OK')
    expect(exec('stat', '-c', '%u', '/data')).toBe('999')
    await redeployAndRestart('redis', redisImage, {}, () => {
      expect(exec('redis-cli', 'get', 'key')).toBe('stored')
      expect(exec('stat', '-c', '%u', '/data/dump.rdb')).toBe('999')
    })
  })

  it(
    'redis: keeps what it stored in a volume of the settings, which has another owner',
    needs('redis-server'),
    async () => {
      const env = { 'MCM.VOLUMES': 'mine:/data' }
      await deploy('redis', redisImage, env)
      expect(exec('redis-cli', 'set', 'key', 'stored')).toBe('OK')
      await redeployAndRestart('redis', redisImage, env, () =>
        expect(exec('redis-cli', 'get', 'key')).toBe('stored'),
      )
      expect(podman.run('volume', 'ls', '--quiet').trim()).toMatch(/-mine$/)
    },
  )

  it('mosquitto: keeps its messages, and gives up root itself', needs('mosquitto'), async () => {
    await deploy('mosquitto', mosquittoImage)
    expect(new Set(owners()).size).toBeGreaterThan(1)
    const address = () =>
      podman
        .run('inspect', '--format', '{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}', running())
        .trim()
    await publish(address(), 'topic', 'retained')
    await redeployAndRestart('mosquitto', mosquittoImage, {}, async () =>
      expect(await subscribe(address(), 'topic')).toBe('retained'),
    )
  })

  it('postgres: keeps its rows, and shuts down by the signal of its image', needs('postgres'), async () => {
    const env = { POSTGRES_PASSWORD: 'secret' }
    const sql = (query: string) => exec('psql', '-h', '/var/run/postgresql', '-U', 'postgres', '-Atc', query)
    await deploy('postgres', postgresImage, env)
    await expect
      .poll(() => attempt(() => sql('create table t as select 42 as answer')), whereProgramsStart)
      .toBe('SELECT 1')
    await redeployAndRestart('postgres', postgresImage, env, async () =>
      expect.poll(() => attempt(() => sql('select answer from t')), whereProgramsStart).toBe('42'),
    )
    expect(podman.logs(running())).not.toContain('not properly shut down')
  })
})

const attempt = (work: () => string): string => {
  try {
    return work()
  } catch (cause) {
    return String(cause)
  }
}

/** MQTT 3.1.1: a packet of a type with flags, and less than 128 bytes. */
const packet = (type: number, ...parts: readonly (string | number[])[]): Buffer => {
  const body = Buffer.concat(parts.map((each) => Buffer.from(each as string)))
  return Buffer.concat([Buffer.from([type, body.length]), body])
}
const field = (text: string): Buffer => Buffer.concat([Buffer.from([0, text.length]), Buffer.from(text)])
const connectPacket = packet(0x10, [...field('MQTT'), 4, 2, 0, 60], [...field('t')])

/** Connects and sends a packet. @returns the connection after the answer of the given type, with what came */
async function ask(host: string, sent: Buffer, answer: number): Promise<Buffer> {
  const socket: Socket = connect(1883, host)
  try {
    await once(socket, 'connect')
    socket.write(Buffer.concat([connectPacket, sent]))
    let received = Buffer.alloc(0)
    for await (const chunk of socket) {
      received = Buffer.concat([received, chunk as Buffer])
      if (received.subarray(4).includes(answer)) return received
    }
    throw new Error(`the broker closed the connection after ${received.toString('hex')}`)
  } finally {
    socket.destroy()
  }
}

/** With QoS 1, to be stored for later subscribers. */
const publish = (host: string, topic: string, text: string) =>
  ask(host, packet(0x33, [...field(topic)], [0, 1], text), 0x40)

/** @returns the message that was stored for the topic */
async function subscribe(host: string, topic: string): Promise<string> {
  const received = await ask(host, packet(0x82, [0, 1], [...field(topic), 0]), 0x31)
  const text = received.toString('latin1')
  return text.slice(text.indexOf(topic) + topic.length)
}
