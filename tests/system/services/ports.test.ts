/** Ports of OCI containers that are not HTTP, with their own clients, on a real Podman: mosquitto, redis, dnsmasq. */
import { execFileSync } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { connect } from 'node:net'
import { networkInterfaces } from 'node:os'
import { freePort } from '@selvedge/service-kit/testing'
import { decode, encode } from 'dns-packet'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { cgiImage } from '../../harness/cgi-image.ts'
import { cliEnvOf, runCli } from '../../harness/cli.ts'
import { needs } from '../../harness/installed.ts'
import { whereProgramsStart } from '../../harness/limits.ts'
import { type Podman, podmanNeeds } from '../../harness/podman.ts'
import { type PodmanServices, startPodmanServices } from '../../harness/podman-services.ts'
import type { Services } from '../../harness/services.ts'
import { dnsmasqImage, mosquittoImage, redisImage } from './public-images.ts'

describe('a port of an OCI container', needs(...podmanNeeds, 'busybox', 'setpriv', 'user IDs'), () => {
  let podman: Podman
  let services: Services
  let stack: PodmanServices
  let ports: number[]
  beforeAll(async () => {
    ports = [await freePort(), await freePort(), await freePort()]
    stack = await startPodmanServices()
    ;({ podman, services } = stack)
  })
  afterEach(() => stack.removeContainers())
  afterAll(() => stack?.stop())

  async function deploy(name: string, archive: Buffer, env: Record<string, string>) {
    const { id: image } = await services.deployImage(archive)
    const spec = { name, image, env }
    return services.runtime().deployContainer({ edgeAccessToken: services.token, spec })
  }
  const running = () => podman.run('ps', '--format', '{{.Names}}').trim()

  it(
    'mosquitto: clients publish and subscribe, also after a redeploy',
    needs('mosquitto', 'mosquitto_pub'),
    async () => {
      const [port = 0] = ports
      const record = await deploy('broker', mosquittoImage(), { 'MCM.PORTS': `${port}:1883/tcp` })
      expect(record.ports).toEqual([
        { port, protocol: 'tcp', target: 1883, reach: 'loopback', problem: null },
      ])
      expect((await runCli(['doctor'], cliEnvOf(services.stack))).out).toContain(
        `${port}/tcp to port 1883 of a container: open to programs of this device`,
      )
      const at = ['-h', '127.0.0.1', '-p', String(port), '-t', 'room/temperature', '-q', '1']
      const round = (text: string): string => {
        execFileSync('mosquitto_pub', [...at, '-m', text, '-r'])
        return execFileSync('mosquitto_sub', [...at, '-C', '1', '-W', '50'], { encoding: 'utf8' }).trim()
      }
      expect(round('21.5')).toBe('21.5')
      await deploy('broker', mosquittoImage(), { 'MCM.PORTS': `${port}:1883/tcp`, REVISION: '2' })
      await expect.poll(running, whereProgramsStart).toMatch(/^\S+-r2$/)
      expect(round('21.6')).toBe('21.6')
      await services.restart()
      await expect.poll(() => attempt(() => round('21.7')), whereProgramsStart).toBe('21.7')
    },
  )

  it('redis: its own client writes and reads megabytes', needs('redis-server', 'redis-cli'), async () => {
    const [, port = 0] = ports
    await deploy('store', redisImage(), { 'MCM.PORTS': `${port}:6379` })
    const cli = (args: readonly string[], input = '') =>
      execFileSync('redis-cli', ['-p', String(port), ...args], {
        input,
        encoding: 'utf8',
        maxBuffer: 1e8,
      }).trim()
    const value = 'v'.repeat(4_000_000)
    expect(cli(['-x', 'set', 'key'], value)).toBe('OK')
    expect(cli(['get', 'key']) === value).toBe(true)
  })

  it('dnsmasq: answers datagrams', needs('dnsmasq'), async () => {
    const [, , port = 0] = ports
    await deploy('names', dnsmasqImage(), {
      'MCM.PORTS': `${port}:53/udp,${port}:53/tcp`,
      'MCM.READY': 'none',
    })
    const socket = createSocket('udp4')
    const asked = encode({ type: 'query', id: 5, questions: [{ type: 'A', name: 'router.test' }] })
    const repeating = setInterval(() => socket.send(asked, port, '127.0.0.1'), 200)
    const [answer] = await once(socket, 'message')
    clearInterval(repeating)
    socket.close()
    expect(decode(answer).answers).toMatchObject([{ name: 'router.test', data: '10.9.8.7' }])
  })

  it('is not reached by the network unless the device grants it', async () => {
    const [port = 0] = ports
    const image = cgiImage({ name: 'page', script: 'echo x' })
    const { ports: records } = await deploy('page', image, { 'MCM.PORTS': `${port}:8080` })
    expect(records!.map(({ reach }) => reach)).toEqual(['loopback'])
    const own = Object.values(networkInterfaces())
      .flatMap((list = []) => list)
      .find(({ family, internal }) => family === 'IPv4' && !internal)?.address
    expect(own).toBeDefined()
    const isOpen = (host: string) =>
      new Promise((resolve) => {
        const socket = connect(port, host)
        socket.once('connect', () => resolve(true))
        socket.once('error', () => resolve(false))
        socket.once('connect', () => socket.destroy())
      })
    expect(await isOpen('127.0.0.1')).toBe(true)
    expect(await isOpen(own!)).toBe(false)
  })

  it('belongs to the first service that has it; it is free when that is removed', async () => {
    const [port = 0] = ports
    const image = cgiImage({ name: 'page', script: 'echo x' })
    const env = { 'MCM.PORTS': `${port}:8080` }
    const first = await deploy('first', image, env)
    await expect(deploy('second', image, env)).rejects.toMatchObject({
      reason: 'conflict',
      message: `the port ${port}/tcp belongs to another service`,
    })
    const { port: own } = new URL(services.url())
    await expect(deploy('second', image, { 'MCM.PORTS': own })).rejects.toMatchObject({
      message: expect.stringContaining('belongs to the runtime'),
    })
    await expect(deploy('second', image, { 'MCM.PORTS': '81' })).rejects.toMatchObject({
      message: expect.stringContaining('privileged'),
    })
    await services.runtime().removeContainer({ edgeAccessToken: services.token, id: first.id })
    await deploy('second', image, env)
  })
})

const attempt = (work: () => string): string => {
  try {
    return work()
  } catch (cause) {
    return String(cause)
  }
}
