/** Hostile OCI images, and another user of the device, against the runtime on a real Podman. */
import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, lstatSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { shellImage, unixcat } from '../../harness/cgi-image.ts'
import { needs } from '../../harness/installed.ts'
import { type Podman, podmanNeeds } from '../../harness/podman.ts'
import { type PodmanServices, startPodmanServices } from '../../harness/podman-services.ts'
import type { Services } from '../../harness/services.ts'

interface Inspected {
  readonly Name: string
  readonly Config: {
    readonly Labels: Record<string, string>
    readonly StopSignal: number
    readonly Healthcheck?: object
  }
  readonly HostConfig: { readonly Binds: string[]; readonly LogConfig: { readonly Path: string } }
  readonly NetworkSettings: { readonly Networks: Record<string, { readonly IPAddress: string }> }
  readonly ImageName: string
}

describe('a hostile OCI image', needs(...podmanNeeds, 'busybox', 'gcc'), () => {
  let podman: Podman
  let services: Services
  let stack: PodmanServices
  let folder: string
  beforeAll(async () => {
    stack = await startPodmanServices()
    ;({ podman, services } = stack)
    folder = mkdtempSync(join(tmpdir(), 'attack-'))
    chmodSync(folder, 0o755)
    writeFileSync(join(folder, 'unixcat'), unixcat(), { mode: 0o755 })
    chmodSync(join(folder, 'unixcat'), 0o755)
  })
  afterEach(() => stack.removeContainers())
  afterAll(async () => {
    await stack?.stop()
    rmSync(folder, { recursive: true })
  })

  /** By its configuration: each image is installed once, and stays when its containers are removed. */
  const images = new Map<string, string>()
  async function imageOf(config: object): Promise<string> {
    const key = JSON.stringify(config)
    const found = images.get(key)
    if (found !== undefined) return found
    const files = [{ path: 'bin/unixcat', content: unixcat() }]
    const { id } = await services.deployImage(shellImage({ name: `image-${images.size}`, config, files }))
    images.set(key, id)
    return id
  }

  async function deploy(name: string, config = {}, env: Record<string, string> = {}) {
    const spec = { name, image: await imageOf(config), env }
    const container = await services.runtime().deployContainer({ edgeAccessToken: services.token, spec })
    return {
      ...container,
      /** Runs a shell script in it. @returns what that prints */
      run: async (body: string) =>
        (await services.call(`${container.basePath}/cgi-bin/run`, { method: 'POST', body })).text,
    }
  }
  const inspectAll = async () =>
    Promise.all((await podman.containers(true)).map((name) => podman.inspect<Inspected>(name)))
  const socketOf = ({ HostConfig }: Inspected) =>
    join(HostConfig.Binds.find((each) => each.includes('/run/selvedge'))!.split(':')[0]!, 'host')

  const question = (audience: string) => {
    const body = JSON.stringify({ audience })
    return `POST /runtime/v1/identity-token HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  }

  it.each([['0'], ['65534:65534']])(
    'its socket is reachable for the container alone, which runs as %s; another user gets no token',
    async (User) => {
      const id = `${services.developer.clientId}-owner`
      const own = await deploy('owner', { User }, { QUESTION: question(id) })
      const answer = await own.run(
        'printf "%s" "$QUESTION" | /bin/unixcat $SELVEDGE_SOCKET | /bin/busybox tail -1',
      )
      expect(answer).toContain('"token":"eyJ')
      const [container] = await inspectAll()
      const socket = socketOf(container!)
      expect(lstatSync(socket).isSocket()).toBe(true)
      for (const user of ['65534', '1000']) {
        const tried = spawnSync(
          'setpriv',
          [`--reuid=${user}`, `--regid=${user}`, '--clear-groups', join(folder, 'unixcat'), socket],
          { input: question(id), encoding: 'utf8' },
        )
        expect(tried.stdout).not.toContain('eyJ')
        expect(tried.stderr).toContain('Permission denied')
      }
      expect(socket.startsWith(services.stack.state)).toBe(true)
      expect(lstatSync(dirname(dirname(socket))).mode & 0o777).toBe(0o700)
    },
  )

  it('reaches no other container, neither by its address nor by a port of the device', async () => {
    await deploy('victim')
    const [victim] = await inspectAll()
    const addresses = Object.values(victim!.NetworkSettings.Networks).map(({ IPAddress }) => IPAddress)
    expect(addresses).toHaveLength(1)
    const attacker = await deploy('attacker')
    const text = await attacker.run(
      `printf 'GET / HTTP/1.0\\r\\n\\r\\n' | /bin/busybox timeout 2 /bin/busybox nc ${addresses[0]} 8080 2>&1; echo "ended with $?"`,
    )
    expect(text).toMatch(/ended with [^0]/)
    expect(text).not.toContain('image-')
    expect((await services.call(`${attacker.basePath}/index.html`)).text).toMatch(/^image-\d+$/)
  })

  it('reaches no program of the device that listens on all addresses, by IPv4 or IPv6, has no label, health check or stop signal of its image, fills no disk through its log, and leaves nothing', async () => {
    const server = createServer((socket) => socket.end('SECRET'))
    server.on('connection', (socket) => socket.on('error', () => undefined))
    // Without IPv6 on the device, of IPv4 only.
    await new Promise<void>((resolve) => server.listen(0, resolve))
    const { port } = server.address() as AddressInfo
    const ask = (host: string) => `/bin/busybox timeout 3 /bin/busybox nc ${host} ${port} </dev/null 2>&1`
    const { run, id } = await deploy('curious', {
      Labels: { 'io.containers.autoupdate': 'registry', 'traefik.enable': 'true' },
      StopSignal: 'SIGSTOP',
      Healthcheck: { Test: ['CMD-SHELL', '/bin/busybox touch /data/x'], Interval: 1e9 },
    })
    const text = await run(
      `gateway=$(/bin/busybox ip -4 addr show dev eth0 | /bin/busybox sed -n 's/.*inet \\([0-9]*\\.[0-9]*\\.[0-9]*\\)\\..*/\\1.1/p')
      echo "gateway $gateway"; ${ask('$gateway')}; echo "ended with $?"; /bin/busybox ip -6 addr; echo end`,
    )
    expect(text).toMatch(/gateway \d+\.\d+\.\d+\.1\n/)
    expect(text).not.toContain('SECRET')
    expect(text).toMatch(/ended with [^0]/)
    expect(text).not.toContain('inet6')
    server.close()

    const [container] = (await inspectAll()) as [Inspected]
    const { Config, Name } = container
    expect(Object.keys(Config.Labels).filter((each) => !each.startsWith('dev.selvedge.'))).toEqual([])
    expect(Config.StopSignal).toBe(15)
    expect(Config.Healthcheck).toBeUndefined()

    const flood =
      '/bin/busybox yes 0123456789012345678901234567890123456789 | /bin/busybox head -c 60000000 1>&2; echo done'
    expect((await run(flood)).trim()).toBe('done')
    expect(statSync(container.HostConfig.LogConfig.Path).size).toBeLessThan(9e6)

    const rules = () => execFileSync('iptables', ['-w', '10', '-S', 'INPUT'], { encoding: 'utf8' })
    const [network = ''] = Object.keys(container.NetworkSettings.Networks)
    expect(network).toMatch(/^selvedge-/)
    expect(await networks()).toContain(network)
    expect(rules()).toContain(`--comment ${Name}`)
    await services.runtime().removeContainer({ edgeAccessToken: services.token, id })
    expect(rules()).not.toContain(`--comment ${Name}`)
    expect(await networks()).not.toContain(network)
    expect(await podman.containers(true)).toEqual([])
    expect(await podman.volumes()).toEqual([])
    expect(() => lstatSync(dirname(socketOf(container)))).toThrow('ENOENT')
  })
  const networks = async () => ((await podman.get('/networks')) as { Name: string }[]).map(({ Name }) => Name)

  it('has no route beyond the device with MCM.OUTBOUND "none"', async () => {
    const { run } = await deploy('lonely', {}, { 'MCM.OUTBOUND': 'none' })
    const text = await run('/bin/busybox ip route; echo end')
    expect(text).toContain('end')
    expect(text).not.toContain('default')
  })

  it('that declares a volume gets one with a limit, which is gone with the container', async () => {
    const script = 'echo $$ >> /data/x; /bin/busybox wc -l < /data/x'
    const { run, id } = await deploy('volumes', { Volumes: { '/data': {} } }, { 'MCM.ROOT_MB': '16' })
    expect((await run(script)).trim()).toBe('1')
    expect(await podman.volumes()).toHaveLength(1)
    await services.restart()
    await expect.poll(() => run(script)).toBe('2\n')
    await services.runtime().removeContainer({ edgeAccessToken: services.token, id })
    expect(await podman.volumes()).toEqual([])
  })

  it.each([
    ['/'],
    ['/proc/x'],
    ['/run/selvedge'],
    ['/etc/hosts'],
    ['/dev'],
    ['/sys/fs'],
    ['/a/../b'],
    ['/a/.'],
    ['relative'],
    ['/a:/b'],
    ['/a\nb'],
    ['/a\u0000b'],
  ])('is refused when it declares the volume %s', async (volume) => {
    await expect(deploy('odd', { Volumes: { [volume]: {} } })).rejects.toMatchObject({
      reason: 'container_failed',
    })
    expect(await podman.containers(true)).toEqual([])
    expect(await podman.volumes()).toEqual([])
  })

  it('a container that others made in its name is not adopted', async () => {
    const { run } = await deploy('twin')
    const [genuine] = (await inspectAll()) as [Inspected]
    const [network = ''] = Object.keys(genuine.NetworkSettings.Networks)
    process.kill(services.runtimePid(), 'SIGKILL')
    // Podman fails while its own clean-up of the container has a folder in use.
    const isRemoved = () => {
      try {
        podman.run('rm', '--force', '--ignore', '--time', '0', genuine.Name)
        return true
      } catch {
        return false
      }
    }
    await expect.poll(isRemoved).toBe(true)
    const { 'dev.selvedge.proof': _, ...known } = genuine.Config.Labels
    const labels = Object.entries(known).flatMap(([name, value]) => ['--label', `${name}=${value}`])
    podman.run(
      ...['run', '--detach', '--name', genuine.Name, ...labels, '--network', network],
      ...[genuine.ImageName, '/bin/busybox', 'httpd', '-f', '-p', '8080', '-h', '/bin'],
    )
    await services.restart()
    expect((await run('echo genuine')).trim()).toBe('genuine')
    expect((await inspectAll())[0]!.Config.Labels).toHaveProperty(['dev.selvedge.proof'])
  })
})
