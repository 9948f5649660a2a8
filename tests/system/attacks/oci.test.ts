/** Hostile OCI images, and another user of the device, against the runtime on a real Podman. */
import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, lstatSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { cgiImage, unixcat } from '../../harness/cgi-image.ts'
import { needs } from '../../harness/installed.ts'
import { type Podman, podmanNeeds, startPodman } from '../../harness/podman.ts'
import { type Services, startServices } from '../../harness/services.ts'

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
  let folder: string
  beforeAll(async () => {
    podman = await startPodman()
    services = await startServices({ args: [`--oci.socket=${podman.socket}`] })
    folder = mkdtempSync(join(tmpdir(), 'attack-'))
    chmodSync(folder, 0o755)
    writeFileSync(join(folder, 'unixcat'), unixcat(), { mode: 0o755 })
    chmodSync(join(folder, 'unixcat'), 0o755)
  })
  afterEach(async () => {
    const edgeAccessToken = services.token
    for (const { id } of await services.runtime().getContainers({ edgeAccessToken }))
      await services.runtime().removeContainer({ edgeAccessToken, id })
  })
  afterAll(async () => {
    await services.stop()
    await podman.stop()
    rmSync(folder, { recursive: true })
  })

  async function deploy(name: string, script: string, config = {}, env: Record<string, string> = {}) {
    const files = [{ path: 'bin/unixcat', content: unixcat() }]
    const { id: image } = await services.deployImage(cgiImage({ name, script, config, files }))
    const spec = { name, image, env }
    const container = await services.runtime().deployContainer({ edgeAccessToken: services.token, spec })
    return { ...container, run: async () => (await services.call(`${container.basePath}/cgi-bin/run`)).text }
  }
  const lines = (...args: readonly string[]) =>
    podman
      .run(...args)
      .trim()
      .split('\n')
      .filter(Boolean)
  const inspectAll = (): Inspected[] => {
    const names = lines('ps', '--all', '--format', '{{.Names}}')
    return names.length === 0 ? [] : JSON.parse(podman.run('inspect', ...names))
  }
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
      const own = await deploy(
        'owner',
        'printf "%s" "$QUESTION" | /bin/unixcat $SELVEDGE_SOCKET | /bin/busybox tail -1',
        { User },
        { QUESTION: question(id) },
      )
      expect(await own.run()).toContain('"token":"eyJ')
      const [container] = inspectAll()
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
    await deploy('victim', 'echo secret')
    const [victim] = inspectAll()
    const addresses = Object.values(victim!.NetworkSettings.Networks).map(({ IPAddress }) => IPAddress)
    expect(addresses).toHaveLength(1)
    const attacker = await deploy(
      'attacker',
      `printf 'GET / HTTP/1.0\\r\\n\\r\\n' | /bin/busybox timeout 2 /bin/busybox nc ${addresses[0]} 8080 2>&1; echo "ended with $?"`,
    )
    const text = await attacker.run()
    expect(text).toMatch(/ended with [^0]/)
    expect(text).not.toContain('victim')
    expect((await services.call(`${attacker.basePath}/index.html`)).text).toBe('attacker')
  })

  it('reaches no program of the device that listens on all addresses, by IPv4 or IPv6', async () => {
    const server = createServer((socket) => socket.end('SECRET'))
    server.on('connection', (socket) => socket.on('error', () => undefined))
    // Without IPv6 on the device, of IPv4 only.
    await new Promise<void>((resolve) => server.listen(0, resolve))
    const { port } = server.address() as AddressInfo
    const ask = (host: string) => `/bin/busybox timeout 3 /bin/busybox nc ${host} ${port} </dev/null 2>&1`
    const { run } = await deploy(
      'curious',
      `gateway=$(/bin/busybox ip -4 addr show dev eth0 | /bin/busybox sed -n 's/.*inet \\([0-9]*\\.[0-9]*\\.[0-9]*\\)\\..*/\\1.1/p')
      echo "gateway $gateway"; ${ask('$gateway')}; echo "ended with $?"; /bin/busybox ip -6 addr; echo end`,
    )
    const text = await run()
    expect(text).toMatch(/gateway \d+\.\d+\.\d+\.1\n/)
    expect(text).not.toContain('SECRET')
    expect(text).toMatch(/ended with [^0]/)
    expect(text).not.toContain('inet6')
    const rules = () => execFileSync('iptables', ['-w', '10', '-S', 'INPUT'], { encoding: 'utf8' })
    const { Name } = inspectAll()[0]!
    expect(rules()).toContain(`--comment ${Name}`)
    await services.runtime().removeContainer({
      edgeAccessToken: services.token,
      id: `${services.developer.clientId}-curious`,
    })
    expect(rules()).not.toContain(`--comment ${Name}`)
    server.close()
  })

  it('has no route beyond the device with MCM.OUTBOUND "none"', async () => {
    const env = { 'MCM.OUTBOUND': 'none' }
    const { run } = await deploy('lonely', '/bin/busybox ip route; echo end', {}, env)
    const text = await run()
    expect(text).toContain('end')
    expect(text).not.toContain('default')
  })

  it('fills no disk through its log', async () => {
    const { run } = await deploy(
      'loud',
      '/bin/busybox yes 0123456789012345678901234567890123456789 | /bin/busybox head -c 60000000 1>&2; echo done',
    )
    expect((await run()).trim()).toBe('done')
    const [container] = inspectAll()
    expect(statSync(container!.HostConfig.LogConfig.Path).size).toBeLessThan(9e6)
  })

  it('that declares a volume gets one with a limit, which is gone with the container', async () => {
    const config = { Volumes: { '/data': {} } }
    const { run, id } = await deploy('volumes', 'echo $$ >> /data/x; /bin/busybox wc -l < /data/x', config, {
      'MCM.ROOT_MB': '16',
    })
    expect((await run()).trim()).toBe('1')
    expect(lines('volume', 'ls', '--quiet')).toHaveLength(1)
    await services.restart()
    await expect.poll(run).toBe('2\n')
    await services.runtime().removeContainer({ edgeAccessToken: services.token, id })
    expect(lines('volume', 'ls', '--quiet')).toEqual([])
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
    await expect(deploy('odd', 'echo x', { Volumes: { [volume]: {} } })).rejects.toMatchObject({
      reason: 'container_failed',
    })
    expect(inspectAll()).toEqual([])
    expect(lines('volume', 'ls', '--quiet')).toEqual([])
  })

  it('hands the engine no label and no health check, and no signal that ends nothing', async () => {
    await deploy('told', 'echo x', {
      Labels: { 'io.containers.autoupdate': 'registry', 'traefik.enable': 'true' },
      StopSignal: 'SIGSTOP',
      Healthcheck: { Test: ['CMD-SHELL', '/bin/busybox touch /data/x'], Interval: 1e9 },
    })
    const [{ Config }] = inspectAll() as [Inspected]
    expect(Object.keys(Config.Labels).filter((each) => !each.startsWith('dev.selvedge.'))).toEqual([])
    expect(Config.StopSignal).toBe(15)
    expect(Config.Healthcheck).toBeUndefined()
  })

  it('leaves no container, network, volume or socket folder', async () => {
    const { id } = await deploy('gone', 'echo x')
    const [container] = inspectAll() as [Inspected]
    const [network = ''] = Object.keys(container.NetworkSettings.Networks)
    const networks = () => lines('network', 'ls', '--format', '{{.Name}}')
    expect(networks()).toContain(network)
    expect(network).toMatch(/^selvedge-/)
    await services.runtime().removeContainer({ edgeAccessToken: services.token, id })
    expect(networks()).not.toContain(network)
    expect(lines('ps', '--all', '--quiet')).toEqual([])
    expect(lines('volume', 'ls', '--quiet')).toEqual([])
    expect(() => lstatSync(dirname(socketOf(container)))).toThrow('ENOENT')
  })

  it('a container that others made in its name is not adopted', async () => {
    const { basePath } = await deploy('twin', 'echo genuine')
    const [genuine] = inspectAll() as [Inspected]
    const [network = ''] = Object.keys(genuine.NetworkSettings.Networks)
    process.kill(services.runtimePid(), 'SIGKILL')
    podman.run('rm', '--force', '--time', '0', genuine.Name)
    const { 'dev.selvedge.proof': _, ...known } = genuine.Config.Labels
    const labels = Object.entries(known).flatMap(([name, value]) => ['--label', `${name}=${value}`])
    podman.run(
      ...['run', '--detach', '--name', genuine.Name, ...labels, '--network', network],
      ...[genuine.ImageName, '/bin/busybox', 'httpd', '-f', '-p', '8080', '-h', '/bin'],
    )
    await services.restart()
    expect((await services.call(`${basePath}/cgi-bin/run`)).text.trim()).toBe('genuine')
    expect(inspectAll()[0]!.Config.Labels).toHaveProperty(['dev.selvedge.proof'])
  })
})
