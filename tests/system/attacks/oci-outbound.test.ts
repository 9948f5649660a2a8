/**
 * Hostile OCI containers that want out: past `MCM.OUTBOUND` to the device, its local network, other containers and link-local addresses, on a
 * real Podman. What is public here is in a namespace of the test: no packet leaves this machine.
 */
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, realpathSync } from 'node:fs'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { TarEntry } from '../../harness/archives.ts'
import { ask, askAll, busybox } from '../../harness/ask-hosts.ts'
import { cgiImage } from '../../harness/cgi-image.ts'
import { findProgram, needs } from '../../harness/installed.ts'
import { type NameServer, startNameServer } from '../../harness/name-server.ts'
import { makeOutside, type Outside } from '../../harness/outside.ts'
import { type Podman, podmanNeeds, startPodman } from '../../harness/podman.ts'
import { type Services, startServices } from '../../harness/services.ts'

/** The program that changes rules, with its libraries. */
function nftFiles(): TarEntry[] {
  const program = realpathSync(findProgram('nft')!)
  const libraries = [...execFileSync('ldd', [program], { encoding: 'utf8' }).matchAll(/\/\S+(?= \(0x)/g)]
  return [
    { path: 'bin/nft', content: readFileSync(program), mode: 0o755 },
    ...libraries.map(([path]) => ({
      path: path.slice(1),
      content: readFileSync(realpathSync(path)),
      mode: 0o755,
    })),
  ]
}

describe(
  'an OCI container that wants out',
  needs(...podmanNeeds, 'busybox', 'nft', 'ip', 'networks', 'iptables'),
  () => {
    let podman: Podman
    let services: Services
    let outside: Outside
    let names: NameServer
    let servers: Server[]
    let args: string[]
    let common: string
    /** Port of a program of this device, at each of its addresses that the test made, and on the loopback. */
    let devicePort = 0
    async function listen(address: string): Promise<number> {
      const server = createServer((socket) => {
        socket.on('error', () => undefined)
        socket.end('SECRET')
      })
      servers.push(server)
      await once(server.listen(devicePort, address), 'listening')
      return (server.address() as AddressInfo).port
    }

    beforeAll(async () => {
      servers = []
      outside = makeOutside()
      names = await startNameServer()
      devicePort = await listen(outside.device)
      await listen(outside.devicePublic)
      await listen('127.0.0.1')
      podman = await startPodman()
      args = [`--oci.socket=${podman.socket}`, `--services.nameServers=${names.at}`]
      services = await startServices({ args })
      common = await install()
    })
    afterEach(async () => {
      const edgeAccessToken = services.token
      for (const { id } of await services.runtime().getContainers({ edgeAccessToken }))
        await services.runtime().removeContainer({ edgeAccessToken, id })
    })
    afterAll(async () => {
      await services?.stop()
      await podman?.stop()
      for (const each of servers) each.close()
      names?.close()
      outside?.remove()
    })

    async function install(files: readonly TarEntry[] = []): Promise<string> {
      const script = `${busybox} cat > /tmp/x; /bin/sh /tmp/x`
      return (await services.deployImage(cgiImage({ name: 'insider', script, files }))).id
    }
    /** A container that runs what it is sent, and has a page with the text `insider`. @param image another one than `common` */
    async function deploy(name: string, outbound?: string, image = common) {
      const env: Record<string, string> = outbound === undefined ? {} : { 'MCM.OUTBOUND': outbound }
      const spec = { name, image, env }
      const container = await services.runtime().deployContainer({ edgeAccessToken: services.token, spec })
      const path = `${container.basePath}/cgi-bin/run`
      const run = async (body: string) => (await services.call(path, { method: 'POST', body })).text
      const log = async () => {
        const asked = { edgeAccessToken: services.token, id: container.id, tail: 100 }
        return (await services.runtime().getContainerLogs(asked)).lines.map(({ text }) => text).join('\n')
      }
      return { ...container, run, log }
    }
    const containers = () => podman.run('ps', '--format', '{{.Names}}').trim().split('\n')
    const addressOf = (name: string) =>
      podman
        .run('inspect', '--format', '{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}', name)
        .trim()
    const gatewayOf = (name: string) => addressOf(name).replace(/\d+$/, '1')

    it('reaches public addresses by default, and neither the device, its network, link-local addresses nor other containers', async () => {
      await deploy('victim', 'none')
      const victim = addressOf(containers()[0]!)
      const { run, isolation } = await deploy('default')
      expect(isolation).toContain('packet filter')
      const [address, other] = outside.publicAddresses
      const own = gatewayOf(containers().find((each) => addressOf(each) !== victim)!)
      await listen(own)
      const text = await run(
        [
          `${ask(address, 80)} ${ask(other, 8080)} echo; echo closed`,
          askAll(
            [outside.local, 80],
            [outside.linkLocal, 80],
            [victim, 8080],
            ...[own, outside.device, outside.devicePublic, '127.0.0.1', '0.0.0.0'].map(
              (each) => [each, devicePort] as const,
            ),
          ),
          `${busybox} ip -6 addr`,
        ].join('\n'),
      )
      const [open = '', closed = ''] = text.split('closed')
      expect(open.match(/outside/g)).toHaveLength(2)
      expect(closed).not.toMatch(/outside|SECRET|insider|inet6/)
      expect(closed.match(/exit code [^0]/g)).toHaveLength(8)
    })

    it('reaches the addresses of listed names once it has asked for them, on their ports, and no others', async () => {
      const [address, other] = outside.publicAddresses
      names.names.set('api.test', [address])
      names.names.set('other.test', [other])
      const { run } = await deploy('listed', 'api.test:80')
      expect(await run(ask(address, 80))).not.toContain('outside')
      expect(await run(ask('api.test', 80))).toContain('outside')
      expect(await run(ask(address, 80))).toContain('outside')
      const closed = await run(askAll([address, 8080], [other, 80], ['other.test', 80], [outside.local, 80]))
      expect(closed.match(/exit code/g)).toHaveLength(4)
      expect(closed).not.toContain('outside')
      expect(names.asked).not.toContain('other.test')
    })

    it('gains nothing from a name that changes its address to one that is not public (DNS rebinding)', async () => {
      const [address] = outside.publicAddresses
      const { run, log } = await deploy('rebinding', 'rebind.test:80, api.test:80')
      for (const target of [outside.local, outside.linkLocal, outside.device, '127.0.0.1', '192.0.2.53']) {
        names.names.set('rebind.test', [target])
        // One after the other: the second one is for what the answer to the first one may have opened.
        expect(await run(`${ask('rebind.test', 80)} ${ask(target, 80)}`)).not.toContain('outside')
      }
      expect(await log()).toContain('rebind.test resolves to')
      names.names.set('api.test', [outside.local, address, outside.linkLocal])
      expect(await run(ask('api.test', 80))).toContain('outside')
      const closed = await run(askAll([outside.local, 80], [outside.linkLocal, 80]))
      expect(closed.match(/exit code [^0]/g)).toHaveLength(2)
      expect(closed).not.toContain('outside')
    })

    it('cannot change the rules, nor its network, nor get a user namespace in which it could', async () => {
      const { run } = await deploy('root', 'closed.test', await install(nftFiles()))
      const text = await run(
        [
          'id; nft list ruleset; nft flush ruleset && echo CHANGED',
          'nft add table ip other && echo CHANGED; nft delete table ip selvedge && echo CHANGED',
          `${busybox} ip addr add 10.0.0.9/8 dev eth0 && echo CHANGED`,
          `${busybox} ip route add 10.0.0.0/8 dev eth0 && echo CHANGED`,
          `${busybox} ip link set eth0 down && echo CHANGED`,
          // A network of its own is an empty one.
          `${busybox} unshare -U -r -n ${busybox} nc -w 1 ${outside.publicAddresses[0]} 80 && echo CHANGED`,
          `${busybox} unshare -U -r nft flush ruleset && echo CHANGED`,
          `${busybox} nsenter -t 1 -n nft flush ruleset && echo CHANGED`,
          `${busybox} ping -c 1 -W 1 ${outside.local} && echo CHANGED`,
          ask(outside.publicAddresses[0], 80),
        ]
          .map((each) => `{ ${each.replace(/;$/, '')}; } 2>&1`)
          .join('\n'),
      )
      expect(text).toContain('Operation not permitted')
      expect(text).not.toMatch(/CHANGED|outside/)
    })

    it('is held by its rules while the runtime is down, and has its name server again after its restart', async () => {
      const [address, other] = outside.publicAddresses
      names.names.set('api.test', [address])
      const { run } = await deploy('left', 'api.test:80')
      expect(await run(ask('api.test', 80))).toContain('outside')
      const [name = ''] = containers()
      const gateway = gatewayOf(name)
      await listen(gateway)
      await services.stack.runtime.stop('SIGKILL')
      const text = podman.run(
        ...['exec', name, '/bin/sh', '-c'],
        [
          ask(address, 80),
          'echo closed',
          askAll([other, 80], [outside.local, 80], [outside.linkLocal, 80], [gateway, devicePort]),
        ].join('\n'),
      )
      const [open = '', closed = ''] = text.split('closed')
      expect(open).toContain('outside')
      expect(closed.match(/exit code [^0]/g)).toHaveLength(4)
      expect(closed).not.toMatch(/outside|SECRET/)
      await services.restart('SIGKILL')
      expect(await run(ask('api.test', 80))).toContain('outside')
      expect(containers()).toEqual([name])
      expect(await run(ask(other, 80))).not.toContain('outside')
    })

    it('has no way out with "none": no route, no name server', async () => {
      const { run, isolation } = await deploy('closed', 'none')
      expect(isolation).not.toContain('packet filter')
      const text = await run(
        `${busybox} ip route; ${busybox} cat /etc/resolv.conf; ${ask(outside.publicAddresses[0], 80)} ${ask('api.test', 80)}`,
      )
      expect(text).not.toMatch(/default|nameserver|outside/)
    })

    it('that floods the name server, or sends names that are no names, delays neither the runtime nor itself for long', async () => {
      names.names.set('api.test', [outside.publicAddresses[0]])
      names.names.set('never.test', undefined)
      const { run } = await deploy('flooding', 'public')
      await run(
        [
          `for i in $(${busybox} seq 60); do ${busybox} nslookup never.test >/dev/null 2>&1 & done`,
          `for i in $(${busybox} seq 40); do ${busybox} head -c 1400 /dev/urandom | ${busybox} timeout 1 ${busybox} nc -u -w 1 192.0.2.53 53 & done`,
          `${busybox} nslookup $(${busybox} head -c 300 /dev/zero | ${busybox} tr '\\0' a).test 2>&1 &`,
          'sleep 0',
        ].join('\n'),
      )
      expect((await services.runtime().getMe()).nodeId).toBeTruthy()
      await expect.poll(() => run(ask('api.test', 80))).toContain('outside')
    })

    it('is not reached by the local network, which would not be asked for a token', async () => {
      await deploy('behind')
      const address = addressOf(containers()[0]!)
      outside.run('ip', 'route', 'replace', `${address}/32`, 'via', outside.device)
      const text = outside.run('sh', '-c', ask(address, 8080))
      expect(text).toMatch(/exit code [^0]/)
      expect(text).not.toContain('insider')
    })

    it('reaches addresses that are not public only if they are listed, and the device allows them', async () => {
      const wanted = `${outside.local}:80,${outside.linkLocal}:80,${outside.device}:${devicePort}`
      const refused = await deploy('plc', wanted)
      const attempts = askAll([outside.local, 80], [outside.linkLocal, 80], [outside.device, devicePort])
      const before = await refused.run(attempts)
      expect(before.match(/exit code/g)).toHaveLength(3)
      expect(before).not.toMatch(/outside|SECRET/)
      expect(await refused.log()).toContain(`packets do not reach ${outside.local}:80`)
      await services.restart('SIGTERM', {}, [
        ...args,
        `--services.outbound=${outside.local}:80 service=${refused.id},169.254.0.0/16 service=${refused.id},0.0.0.0/0 project=other`,
      ])
      const text = await refused.run(attempts)
      expect(text.match(/outside/g)).toHaveLength(1)
      expect(text).not.toContain('SECRET')
      await services.restart('SIGTERM', {}, [
        ...args,
        `--services.outbound=${outside.device} service=${refused.id}`,
      ])
      expect(await refused.run(attempts)).toContain('SECRET')
      expect(await refused.run(ask(outside.device, 22))).toMatch(/exit code [^0]/)
      expect(await refused.run(ask(outside.local, 80))).not.toContain('outside')
    })
  },
)
