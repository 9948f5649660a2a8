/**
 * A hostile member of an app: it attacks the device, other networks of its app, the names of other members and the users of other containers,
 * from the network of the app, on a real Podman. What is public here is in a namespace of the test: no packet leaves this machine.
 */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { promisify } from 'node:util'
import type { AppPlan } from '@selvedge/protocol'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { TarEntry } from '../../harness/archives.ts'
import { ask, askAll, busybox } from '../../harness/ask-hosts.ts'
import { cgiImage, unixcat } from '../../harness/cgi-image.ts'
import { needs } from '../../harness/installed.ts'
import { type NameServer, startNameServer } from '../../harness/name-server.ts'
import { makeOutside, type Outside } from '../../harness/outside.ts'
import { type Podman, podmanNeeds } from '../../harness/podman.ts'
import { type PodmanServices, startPodmanServices } from '../../harness/podman-services.ts'
import type { Services } from '../../harness/services.ts'

type Member = AppPlan['services'][number]

const member = (name: string, networks: Member['networks'], more: Partial<Member> = {}): Member => ({
  ...{ name, image: '', pull: 'never', platform: null, hostname: null, isBehindGateway: false, networks },
  ...{ dependsOn: [], restart: 'always', maxRestarts: null, needsInit: false, volumes: [] },
  ...{ addCapabilities: [], dropCapabilities: [], secrets: [], configs: [] },
  ...more,
  // The page of each member shows which one it is.
  env: { NAME: name, 'MCM.COMMAND': serveName, ...more.env },
})
const serveName = JSON.stringify([
  ...['/bin/sh', '-c'],
  `echo "page of $NAME" > /www/index.html; exec ${busybox} httpd -f -p 8080 -h /www`,
])
const tools = 'cat chmod chown grep hostname ip nsenter setpriv touch true unshare'.split(' ')
const on = (network: string, ...aliases: string[]) => ({ network, aliases })

describe(
  'a hostile member of an app',
  needs(...podmanNeeds, 'busybox', 'gcc', 'nft', 'ip', 'networks', 'iptables', 'user IDs'),
  () => {
    let stack: PodmanServices
    let podman: Podman
    let services: Services
    let outside: Outside
    let names: NameServer
    let image: string
    const servers: Server[] = []
    /** Port of a program of this device that listens at all of its addresses. */
    let devicePort = 0

    beforeAll(async () => {
      outside = makeOutside()
      names = await startNameServer()
      const server = createServer((socket) => {
        socket.on('error', () => undefined)
        socket.end('SECRET')
      })
      servers.push(server)
      await once(server.listen(0, outside.device), 'listening')
      devicePort = (server.address() as AddressInfo).port
      stack = await startPodmanServices([`--services.nameServers=${names.at}`])
      ;({ podman, services } = stack)
      names.names.set('api.test', [outside.publicAddresses[0]])
      names.names.set('other.test', [outside.publicAddresses[1]])
      const files: TarEntry[] = [
        { path: 'bin/unixcat', content: unixcat(), mode: 0o755 },
        ...tools.map((each) => ({
          path: `bin/${each}`,
          type: 'SymbolicLink' as const,
          linkpath: 'busybox',
        })),
      ]
      image = (await services.deployImage(cgiImage({ name: 'member', script: 'echo page', files }))).id
      await deploy()
    })
    afterAll(async () => {
      await stack?.stop()
      for (const each of servers) each.close()
      names?.close()
      outside?.remove()
    })

    /** `web` is hostile, and on `front` alone; `db` is on `back` alone, which has no way out. */
    const deploy = (version = '1') =>
      services.runtime().deployApp({
        edgeAccessToken: services.token,
        plan: {
          ...{ name: 'shop', volumes: [{ name: 'data' }], secrets: [], configs: [] },
          networks: [
            { name: 'front', isInternal: false },
            { name: 'back', isInternal: true },
          ],
          services: [
            member('db', [on('back', 'sql')], {
              env: { VERSION: version },
              volumes: [{ volume: 'data', target: '/data', isReadOnly: false }],
            }),
            member('api', [on('front'), on('back')]),
            // Its host name and its aliases are names of others.
            member('web', [on('front', 'api', 'db', 'sql')], {
              hostname: 'db',
              env: { 'MCM.OUTBOUND': 'api.test:80' },
            }),
            member('loud', [on('front')]),
          ].map((each) => ({ ...each, image })),
        },
      })
    const idOf = (name: string) =>
      podman
        .run('ps', '--format', '{{index .Labels "dev.selvedge.container"}} {{.ID}}')
        .split('\n')
        .find((line) => line.includes(`/shop-${name} `))!
        .replace(/^.* /, '')
    /** What a shell script prints in a member. */
    const inside = async (name: string, script: string) => {
      const command = ['exec', idOf(name), '/bin/sh', '-c', `PATH=/bin; ${script}`]
      // The name server of this test answers meanwhile.
      return (await promisify(execFile)('podman', command, { env: podman.env })).stdout
    }
    const addressOf = (name: string) =>
      podman
        .run('inspect', '--format', '{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}', idOf(name))
        .trim()
    const gatewayOf = (name: string) => addressOf(name).replace(/\d+$/, '1')
    const members = ['db', 'api', 'web', 'loud']
    /** Lets a program of the device listen at an address of it. */
    async function listen(address: string, port = devicePort) {
      const server = createServer((socket) => socket.on('error', () => undefined).end('SECRET'))
      servers.push(server)
      await once(server.listen(port, address), 'listening')
    }
    const expectClosed = (text: string, count: number) => {
      expect(text.match(/exit code [^0]/g)).toHaveLength(count)
      expect(text).not.toMatch(/exit code 0|SECRET|outside|page of/)
    }

    it('reaches other members on its network, and nothing of the device: no program at an address of any bridge, nor the local API', async () => {
      const runtimePort = Number(new URL(services.url()).port)
      const bridges = members.map(gatewayOf)
      for (const each of bridges) {
        await listen(each)
        // As where the local API listens on all addresses.
        await listen(each, runtimePort)
      }
      await listen('127.0.0.1')
      const attempts = [
        ...[...bridges, outside.device, '127.0.0.1', '0.0.0.0'].map((each) => [each, devicePort] as const),
        ...[...bridges, '127.0.0.1'].map((each) => [each, runtimePort] as const),
        // Ways of writing these addresses that a filter of texts would not see.
        ...['2130706433', '0x7f000001', 'localhost'].map((each) => [each, devicePort] as const),
      ]
      for (const from of ['web', 'loud', 'api']) {
        const text = await inside(from, `${ask('loud', 8080)} echo; echo closed\n${askAll(...attempts)}`)
        const [open = '', closed = ''] = text.split('closed')
        expect(open).toContain('page of loud')
        expectClosed(closed, attempts.length)
      }
    })

    it('reaches no metadata service, no link-local address, no host of the local network, and only what MCM.OUTBOUND lists', async () => {
      const [address, other] = outside.publicAddresses
      expect(await inside('web', ask('api.test', 80))).toContain('outside')
      const closed: (readonly [string, number])[] = [
        [outside.linkLocal, 80],
        [outside.local, 80],
        [outside.devicePublic, devicePort],
      ]
      const unlisted: (readonly [string, number])[] = [
        [address, 8080],
        [other, 80],
        ['other.test', 80],
      ]
      expectClosed(await inside('web', askAll(...closed, ...unlisted)), 6)
      expectClosed(await inside('loud', askAll(...closed)), 3)
      expect(names.asked).not.toContain('other.test')
      expect(await inside('loud', ask(other, 80))).toContain('outside')
    })

    it('has no way out on a network that is internal, and its names are asked nowhere; it finds the members there', async () => {
      const before = names.asked.length
      expect(await inside('db', ask('api', 8080))).toContain('page of api')
      const attempts = [
        ...outside.publicAddresses.map((each) => [each, 80] as const),
        ...(['api.test', 'other.test'] as const).map((each) => [each, 80] as const),
        [outside.linkLocal, 80] as const,
        [outside.local, 80] as const,
      ]
      expectClosed(await inside('db', askAll(...attempts)), attempts.length)
      expect(names.asked.slice(before)).toEqual([])
    })

    /** What `web` and `loud` try to reach `db` by. */
    async function expectSeparate() {
      expect(await inside('api', ask('db', 8080))).toContain('page of db')
      const [db, api] = [addressOf('db'), addressOf('api')]
      const text = await inside(
        'web',
        [
          `ip route add ${db}/32 via ${api} 2>/dev/null && echo CHANGED`,
          `ip route add ${db}/32 via ${gatewayOf('web')} 2>/dev/null && echo CHANGED`,
          `ip addr add ${api}/32 dev eth0 2>/dev/null && echo CHANGED`,
          askAll([db, 8080], [gatewayOf('db'), 8080], [gatewayOf('api'), 8080]),
        ].join('\n'),
      )
      expect(text).not.toContain('CHANGED')
      expectClosed(text, 3)
      expectClosed(await inside('loud', askAll([db, 8080], ['shop-db', 8080])), 2)
      expectClosed(await inside('db', askAll([addressOf('web'), 8080], [addressOf('loud'), 8080])), 2)
    }

    it('on one network of the app reaches no member on another one, neither by name, by address nor through one that is on both; also after a redeploy and a restart', async () => {
      await expectSeparate()
      await deploy('2')
      await expect.poll(() => inside('db', 'echo $VERSION')).toBe('2\n')
      await expect.poll(() => inside('api', ask('db', 8080))).toContain('page of db')
      await expectSeparate()
      await services.restart('SIGKILL')
      await expect.poll(() => inside('api', ask('db', 8080))).toContain('page of db')
      await expectSeparate()
    })

    it('with the host name and the aliases of others gets no connection that is for them', async () => {
      expect(await inside('web', 'hostname')).toBe('db\n')
      for (const from of ['api', 'loud'])
        expect(await inside(from, ask('web', 8080))).toContain('page of web')
      expect(await inside('loud', ask('api', 8080))).toContain('page of api')
      for (const name of ['db', 'sql']) expect(await inside('api', ask(name, 8080))).toContain('page of db')
      expect(await inside('web', 'hostname api 2>&1; hostname')).toMatch(/not permitted.*\ndb\n/)
      expect(await inside('db', ask('api', 8080))).toContain('page of api')
    })

    it('gets no token of the runtime with which it reaches a member that is not behind the gateway', async () => {
      const containers = await services.runtime().getContainers({ edgeAccessToken: services.token })
      const db = containers.find(({ name }) => name === 'shop-db')!
      const body = JSON.stringify({ audience: db.id })
      const send = (lines: string, content = '') =>
        `printf '${lines}\\r\\nHost: runtime\\r\\nConnection: close\\r\\nContent-Length: ${content.length}\\r\\n\\r\\n${content}' | unixcat $SELVEDGE_SOCKET`
      const answer = await inside('web', send('POST /runtime/v1/identity-token HTTP/1.1', body))
      const token = /"token":"([^"]+)"/.exec(answer)?.[1] ?? 'none'
      for (const path of [db.basePath, '/shop-db', '/db', `/${db.id}`]) {
        const called = await inside('web', send(`GET ${path}/ HTTP/1.1\\r\\nAuthorization: Bearer ${token}`))
        expect(called).toMatch(/^HTTP\/1\.1 4\d\d/)
        expect(called).not.toContain('page of db')
      }
      const target = send(`GET / HTTP/1.1\\r\\nX-Selvedge-Target: http://${addressOf('db')}:8080/`)
      expect(await inside('web', target)).not.toContain('page of')
    })

    it('acts as no user of another container', async () => {
      const firstId = async (name: string) =>
        Number((await inside(name, 'cat /proc/self/uid_map')).trim().split(/\s+/)[1])
      const ids = await Promise.all(members.map(firstId))
      for (const [at, one] of ids.entries())
        for (const other of ids.slice(at + 1)) expect(Math.abs(one - other)).toBeGreaterThanOrEqual(65_536)
      await inside('db', 'echo hidden > /data/x; chmod 600 /data/x')
      const victim = await firstId('db')
      const own = await firstId('web')
      const text = await inside(
        'web',
        [
          `touch /tmp/x; chown ${victim} /tmp/x && echo DONE`,
          `chown ${(victim - own) >>> 0} /tmp/x && echo DONE`,
          'chown 65536 /tmp/x && echo DONE',
          'setpriv --reuid 65536 true && echo DONE',
          `unshare -U sh -c 'echo "0 ${victim} 1" > /proc/self/uid_map' && echo DONE`,
          `echo "0 ${victim} 65536" > /proc/self/uid_map && echo DONE`,
          'cat /data/x && echo DONE',
          // Of the device's processes and those of other members, it sees only its own.
          'cat /proc/[0-9]*/environ | grep -q NAME=loud && echo DONE',
          'nsenter -t 1 -U true && echo DONE',
        ]
          .map((each) => `{ ${each}; } 2>/dev/null`)
          .join('\n')
          .concat('\necho end'),
      )
      expect(text).toBe('end\n')
    })
  },
)
