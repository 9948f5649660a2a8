/** OCI containers through the whole runtime, on a real Podman. */
import { once } from 'node:events'
import { existsSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { TarEntry } from '../../harness/archives.ts'
import { cgiImage, unixcat } from '../../harness/cgi-image.ts'
import { has, needs } from '../../harness/installed.ts'
import { type Podman, podmanNeeds, startPodman } from '../../harness/podman.ts'
import { type Services, startServices } from '../../harness/services.ts'

describe('an OCI container', needs(...podmanNeeds, 'busybox'), () => {
  let podman: Podman
  let services: Services
  beforeAll(async () => {
    podman = await startPodman()
    services = await startServices({ args: [`--oci.socket=${podman.socket}`] })
  })
  afterAll(async () => {
    await services.stop()
    await podman.stop()
  })

  async function deploy(
    name: string,
    script: string,
    env: Record<string, string> = {},
    more: readonly TarEntry[] = [],
  ) {
    const { id } = await services.deployImage(cgiImage({ name, script, files: more }))
    return services
      .runtime()
      .deployContainer({ edgeAccessToken: services.token, spec: { name, image: id, env } })
  }
  const images = () =>
    podman
      .run('images', '--format', '{{.Repository}}')
      .split('\n')
      .filter((each) => each.includes('selvedge'))
  const run = async (basePath: string) => (await services.call(`${basePath}/cgi-bin/run`)).text
  const containers = () =>
    podman.run('ps', '-a', '--format', '{{.Names}} {{.Status}}').trim().split('\n').filter(Boolean)

  it('is held: few capabilities, no new privileges, a root of its own, limits, a network of its own', async () => {
    const { basePath, isolation, id } = await deploy(
      'held',
      `/bin/busybox grep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status
      [ ! -e /x ] && /bin/busybox touch /x && echo root works; /bin/busybox touch /tmp/x && echo tmp works
      /bin/busybox cat /sys/fs/cgroup/memory/memory.limit_in_bytes /sys/fs/cgroup/memory.max 2>/dev/null
      /bin/busybox env`,
      { 'MCM.MEMORY_MB': '64', OWN: 'value' },
    )
    const text = await run(basePath)
    // With user IDs of its own, what engines give by default but for three; else CHOWN, FOWNER, KILL, SETGID, SETUID, NET_BIND_SERVICE.
    const capabilities = has('user IDs') ? '00000000800405fb' : '00000000000004e9'
    expect(text).toMatch(new RegExp(`CapEff:\\s+${capabilities}\n`))
    expect(text).toMatch(new RegExp(`CapBnd:\\s+${capabilities}\n`))
    expect(text).toMatch(/NoNewPrivs:\s+1/)
    expect(text).toMatch(/Seccomp:\s+2/)
    // Its own: /x is not in the image, and gone with the instance.
    expect(text).toContain('root works')
    expect(text).toContain('tmp works')
    expect(text).toContain(String(64 * 1024 * 1024))
    expect(text).toContain('OWN=value')
    expect(text).not.toMatch(/eyJ/)
    expect(isolation).toContain('root watch')
    expect(isolation).toContain('own network')
    expect(isolation).toContain(has('user IDs') ? 'user namespace' : 'few capabilities')
    expect(podman.run('ps', '--format', '{{.Ports}}').trim()).toBe('')
    const record = (await services.runtime().getContainers({ edgeAccessToken: services.token }))[0]!
    expect(record.memory).toBeGreaterThan(0)
    await services.runtime().removeContainer({ edgeAccessToken: services.token, id })
    expect(containers()).toEqual([])
  })

  it('is in the network of the engine, with a port on the loopback, if its settings say open', async () => {
    const { basePath, isolation, id } = await deploy('open', 'echo open', { 'MCM.NETWORK': 'open' })
    expect((await run(basePath)).trim()).toBe('open')
    expect(isolation).not.toContain('own network')
    expect(podman.run('ps', '--format', '{{.Ports}}').trim()).toMatch(/^127\.0\.0\.1:\d+->8080\/tcp$/)
    await services.runtime().removeContainer({ edgeAccessToken: services.token, id })
    expect(containers()).toEqual([])
  })

  it('may have layers that change nothing, also the same one several times', async () => {
    const empty = Buffer.alloc(1024)
    const around = { below: [empty, Buffer.alloc(10_240)], above: [empty, empty, Buffer.alloc(0)] }
    const image = await services.deployImage(cgiImage({ name: 'layers', script: 'echo runs', around }))
    const { basePath, id } = await services
      .runtime()
      .deployContainer({ edgeAccessToken: services.token, spec: { name: 'layers', image: image.id } })
    expect((await run(basePath)).trim()).toBe('runs')
    await services.runtime().removeContainer({ edgeAccessToken: services.token, id })
  })

  it('keeps its volumes over a redeploy, and a killed runtime, even with another name, finds it again', async () => {
    const script = 'echo x >> /data/lines; /bin/busybox wc -l < /data/lines'
    const env = { 'MCM.VOLUMES': 'data:/data', 'MCM.HEALTH_PATH': '/index.html' }
    const first = await deploy('kept', script, env)
    expect((await run(first.basePath)).trim()).toBe('1')
    const second = await deploy('kept', `${script}; echo two`, env)
    expect((await run(second.basePath)).trim()).toMatch(/^2\ntwo$/)
    await expect.poll(() => containers().length).toBe(1)
    const before = containers()[0]!.split(' ')[0]
    await services.restart('SIGKILL', { SELVEDGE_NAME: 'renamed' })
    expect((await services.runtime().getMe()).name).toBe('renamed')
    expect((await run(second.basePath)).trim()).toMatch(/^3\ntwo$/)
    expect(containers().map((each) => each.split(' ')[0])).toEqual([before])
    await services.restart('SIGTERM')
    expect((await run(second.basePath)).trim()).toMatch(/^4\ntwo$/)
    expect(containers()).toHaveLength(1)
    await services.runtime().removeContainer({ edgeAccessToken: services.token, id: second.id })
    expect(containers()).toEqual([])
    expect(podman.run('volume', 'ls', '--quiet').trim()).toBe('')
  })

  it('answers what it is at before it goes for a new version', async () => {
    const before = images().length
    const script = `/bin/busybox touch /data/asked
      until [ -e /data/go ]; do /bin/busybox sleep 0.1; done
      echo answered by one`
    const env = { 'MCM.VOLUMES': 'data:/data' }
    const slow = await deploy('slow', script, env)
    const [volume] = podman.run('volume', 'ls', '--quiet').trim().split('\n')
    const data = podman.run('volume', 'inspect', '--format', '{{.Mountpoint}}', volume!).trim()
    const answer = run(slow.basePath)
    await expect.poll(() => existsSync(join(data, 'asked'))).toBe(true)
    await deploy('slow', 'echo answered by two', env)
    expect((await run(slow.basePath)).trim()).toBe('answered by two')
    writeFileSync(join(data, 'go'), '')
    expect((await answer).trim()).toBe('answered by one')
    await expect.poll(() => images().length).toBe(before + 1)
    await services.runtime().removeContainer({ edgeAccessToken: services.token, id: slow.id })
  })

  it('is rolled back, restarted and given up on as a function is', async () => {
    const good = await deploy('rolled', 'echo one', { 'MCM.HEALTH_PATH': '/index.html' })
    await expect(
      deploy('rolled', 'echo two', { 'MCM.HEALTH_PATH': '/nothing', 'MCM.HEALTH_SEC': '10' }),
    ).rejects.toMatchObject({
      reason: 'container_failed',
      message: expect.stringMatching(/^rolled back: .*\/nothing answered 404/),
    })
    expect((await run(good.basePath)).trim()).toBe('one')
    podman.run('kill', '--all')
    await expect.poll(async () => (await services.call(`${good.basePath}/index.html`)).text).toBe('rolled')
    const { history } = await services
      .runtime()
      .getContainerHistory({ edgeAccessToken: services.token, id: good.id })
    expect(history.map(({ event }) => event)).toEqual(['deployed', 'rolled back', 'restarted'])
    await services.runtime().removeContainer({ edgeAccessToken: services.token, id: good.id })
  })

  it(
    'calls another service over its own socket, with an identity that it asks for there',
    needs('gcc'),
    async () => {
      const back = await services.deploy(
        'back',
        'export default { fetch: (r) => new Response("hello " + r.headers.get("x-selvedge-container")) }',
      )
      const body = JSON.stringify({ audience: back.id })
      const ask = `printf 'POST /runtime/v1/identity-token HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\nContent-Length: ${body.length}\\r\\n\\r\\n${body}' | /bin/unixcat $SELVEDGE_SOCKET`
      const front = await deploy(
        'front',
        `token=$(${ask} | /bin/busybox sed -n 's/.*"token":"\\([^"]*\\)".*/\\1/p')
      printf "GET ${back.basePath} HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\nAuthorization: Bearer $token\\r\\n\\r\\n" | /bin/unixcat $SELVEDGE_SOCKET`,
        {},
        [{ path: 'bin/unixcat', content: unixcat() }],
      )
      const text = await run(front.basePath)
      expect(text).toContain(`hello ${front.id}`)
    },
  )

  it('calls its device over its own socket, as the methods declare', needs('gcc'), async () => {
    const call = (method: string) => {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method })
      return `printf 'POST /jsonrpc/v1 HTTP/1.1\\r\\nHost: localhost:8083\\r\\nConnection: close\\r\\nContent-Type: application/json\\r\\nContent-Length: ${body.length}\\r\\n\\r\\n${body}' | /bin/unixcat $SELVEDGE_SOCKET`
    }
    const { basePath } = await deploy('asking', `${call('getMe')}; echo; ${call('getEdgeIdToken')}`, {}, [
      { path: 'bin/unixcat', content: unixcat() },
    ])
    const text = await run(basePath)
    expect(text).toContain((await services.runtime().getMe()).nodeId)
    expect(text).toContain('"reason":"service_not_allowed"')
  })

  it('calls the hosts of MCM.OUTBOUND through its socket, and no others', needs('gcc'), async () => {
    const host = createServer((_, response) => response.end('from outside'))
    host.listen(0, '127.0.0.1')
    await once(host, 'listening')
    const { port } = host.address() as AddressInfo
    const call = (url: string) =>
      `printf 'GET / HTTP/1.1\\r\\nHost: runtime\\r\\nConnection: close\\r\\nX-Selvedge-Target: ${url}\\r\\n\\r\\n' | /bin/unixcat $SELVEDGE_SOCKET`
    const { basePath, id } = await deploy(
      'caller',
      `${call(`http://127.0.0.1:${port}/`)}; echo; ${call('http://127.0.0.1:1/')}`,
      { 'MCM.OUTBOUND': `127.0.0.1:${port}` },
      [{ path: 'bin/unixcat', content: unixcat() }],
    )
    const text = await run(basePath)
    expect(text).toContain('from outside')
    expect(text).toContain('127.0.0.1:1 is not listed in MCM.OUTBOUND')
    await services.runtime().removeContainer({ edgeAccessToken: services.token, id })
    host.close()
  })
})
