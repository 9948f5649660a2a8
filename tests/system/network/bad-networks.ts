/**
 * Devices with a bad network between them and the cloud: one network namespace for a device, one for its router, and one for the cloud
 * that all of them share. Conditions are made at the router: nothing of the device or the services knows of them.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeNetworks, type Networks } from '../../harness/networks.ts'

/** Name of the cloud for devices. */
export const cloudName = 'cloud.example'
export const cloudAddresses = { ipv4: '10.78.2.2', ipv6: 'fd78:2::2' } as const
/** Of NAT64: for addresses of private networks, the prefix of all networks must not be used (RFC 6052 § 3.1). */
const translation = 'fd78:9b::/96'
/** The cloud as a device without IPv4 reaches it through NAT64. */
export const translatedAddress = 'fd78:9b::a4e:202'

export interface DeviceNetwork {
  /** Namespace of the device. */
  readonly space: string
  /** Runs `ip` for the device. */
  ip(...args: string[]): void
  /** Runs `ip` for its router. */
  ipOfRouter(...args: string[]): void
  /** Lets the router treat the packets between device and cloud by a rule of nftables, such as `drop`; undefined: they pass. */
  filter(rule: string | undefined): void
  /** Packets that a rule with `counter` has counted. */
  dropped(): number
  /** What the name server answers: the addresses of the cloud, after so many seconds. */
  answer(addresses: readonly string[], afterSeconds?: number): void
  /** Gives the device another address in place of the one that it has, for IPv4 and IPv6. */
  renumber(): void
  /** Puts a cable with a delay (seconds, one way) and a loss (0 to 1) between the device and its router; `set` changes both. */
  lengthen(delay: number, loss: number): Promise<{ set(delay: number, loss: number): void }>
  /** Puts NAT64 into the router. */
  translate(): Promise<void>
}

export interface BadNetworks {
  readonly cloudSpace: string
  readonly devices: readonly DeviceNetwork[]
  remove(): void
}

/** Answers all questions for one name. Each line on standard input is JSON: addresses, and seconds until an answer. */
const nameServer = `
const { decode, encode } = require('dns-packet')
const socket = require('node:dgram').createSocket({ type: 'udp6', ipv6Only: false })
let current = { addresses: [], afterSeconds: 0 }
require('node:readline').createInterface(process.stdin).on('line', (line) => (current = JSON.parse(line))).on('close', () => process.exit())
socket.on('message', (bytes, { address, port }) => {
  const { id, questions = [] } = decode(bytes)
  const { name = '', type } = questions[0] ?? {}
  const ofType = (each) => each.includes(':') === (type === 'AAAA')
  const answers = current.addresses.filter(ofType).map((data) => ({ type, name, ttl: 1, data }))
  const answer = encode({ type: 'response', id, flags: 0x8180, questions, answers })
  setTimeout(() => socket.send(answer, port, address), current.afterSeconds * 1000)
})
socket.bind(53, () => console.log('ready'))
`

/** Ends TLS on two ports of all addresses, and passes the connections on to the services of the same namespace. */
const entrance = `
const [cert, key] = process.argv.slice(1).map((path) => require('node:fs').readFileSync(path))
let listening = 0
for (const [port, service] of [[443, 8084], [8443, 8085]])
  require('node:tls').createServer({ cert, key }, (client) => {
    const upstream = require('node:net').connect(service, '127.0.0.1')
    client.on('error', () => upstream.destroy())
    upstream.on('error', () => client.destroy())
    client.on('close', () => upstream.destroy())
    client.pipe(upstream).pipe(client)
  }).listen(port, () => ++listening === 2 && console.log('ready'))
`

/** What makes networks. */
interface Tools {
  readonly networks: Networks
  readonly cloud: string
  readonly folder: string
  readonly children: ChildProcess[]
  /** Runs a command in a namespace. */
  inSpace(space: string, ...command: string[]): Buffer
  /** Runs `ip` for a namespace. */
  ip(space: string, ...args: string[]): void
  /** Runs a program until it is ready. @param space undefined: where the test runs */
  run(space: string | undefined, ...command: string[]): Promise<ChildProcess>
  writeFileFor(space: string, name: string, text: string): void
}

/** @param count of devices @param folder for files */
export async function makeBadNetworks(count: number, folder: string): Promise<BadNetworks> {
  const all = Array.from({ length: count }, (_, at) => at)
  const networks = makeNetworks({
    cloud: { wan: cloudAddresses.ipv4 },
    ...Object.fromEntries(
      all.flatMap((at) => [
        [`device${at}`, { [`lan${at}`]: `10.78.${10 + at}.2` }],
        [`router${at}`, { [`lan${at}`]: `10.78.${10 + at}.1`, wan: `10.78.2.${10 + at}` }],
      ]),
    ),
  })
  const children: ChildProcess[] = []
  const folders: string[] = []
  const inSpace = (space: string, ...args: string[]) => execFileSync('ip', ['netns', 'exec', space, ...args])
  const ip = (space: string, ...args: string[]) => void execFileSync('ip', ['-n', space, ...args])
  /** Runs a program until it is ready. @param space undefined: where the test runs */
  const run = async (space: string | undefined, ...command: string[]): Promise<ChildProcess> => {
    const [program = '', ...args] = space === undefined ? command : ['ip', 'netns', 'exec', space, ...command]
    const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] })
    children.push(child)
    await once(child.stdout!, 'data')
    return child
  }
  /** A file of /etc that programs of a namespace have in place of that of the machine. */
  const writeFileFor = (space: string, name: string, text: string) => {
    const own = `/etc/netns/${space}`
    mkdirSync(own, { recursive: true })
    folders.push(own)
    writeFileSync(join(own, name), text)
  }
  const remove = () => {
    for (const each of children) each.kill()
    networks.remove()
    for (const each of folders) rmSync(each, { recursive: true, force: true })
  }
  const cloud = networks.spaceOf('cloud')
  const tools = { networks, cloud, folder, children, inSpace, ip, run, writeFileFor }
  try {
    ip(cloud, 'addr', 'add', `${cloudAddresses.ipv6}/64`, 'dev', 'wan', 'nodad')
    writeFileFor(cloud, 'resolv.conf', 'nameserver 127.0.0.1\n')
    const names = await run(cloud, process.execPath, '-e', nameServer)
    names.stdin!.write(`${JSON.stringify({ addresses: [cloudAddresses.ipv4], afterSeconds: 0 })}\n`)
    const tls = run(
      cloud,
      process.execPath,
      '-e',
      entrance,
      join(folder, 'server.crt'),
      join(folder, 'server.key'),
    )
    const devices = await Promise.all(all.map((at) => connectDevice(tools, at)))
    await tls
    return { cloudSpace: cloud, devices, remove }
  } catch (cause) {
    remove()
    throw cause
  }
}

/** A device with the number `at`, and its router. */
async function connectDevice(
  { networks, cloud, folder, children, inSpace, ip, run, writeFileFor }: Tools,
  at: number,
): Promise<DeviceNetwork> {
  const [space, router] = [networks.spaceOf(`device${at}`), networks.spaceOf(`router${at}`)]
  const [lan, lan4, lan6] = [`lan${at}`, `10.78.${10 + at}`, `fd78:${10 + at}:`]
  const allowed = 'net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1'
  inSpace(router, 'sysctl', '-q', '-w', ...allowed.split(' '))
  for (const [host, address, dev] of [
    [router, `${lan6}:1`, lan],
    [router, `fd78:2::${10 + at}`, 'wan'],
    [space, `${lan6}:2`, lan],
  ] as const)
    ip(host, 'addr', 'add', `${address}/64`, 'dev', dev, 'nodad')
  const route = () => {
    ip(space, 'route', 'replace', 'default', 'via', `${lan4}.1`)
    ip(space, '-6', 'route', 'replace', 'default', 'via', `${lan6}:1`)
  }
  route()
  ip(cloud, 'route', 'add', `${lan4}.0/24`, 'via', `10.78.2.${10 + at}`)
  ip(cloud, '-6', 'route', 'add', `${lan6}:/64`, 'via', `fd78:2::${10 + at}`)
  writeFileFor(space, 'resolv.conf', `nameserver ${lan6}:1\nnameserver ${lan4}.1\n`)
  const names = await run(router, process.execPath, '-e', nameServer)
  const answer = (addresses: readonly string[], afterSeconds = 0) =>
    void names.stdin!.write(`${JSON.stringify({ addresses, afterSeconds })}\n`)
  answer(Object.values(cloudAddresses))
  let host = 2
  return {
    space,
    ip: (...args) => ip(space, ...args),
    ipOfRouter: (...args) => ip(router, ...args),
    answer,
    filter(rule) {
      const table = 'table inet bad'
      const chain = rule ? `chain pass { type filter hook forward priority 0; ${rule}; };` : ''
      inSpace(router, 'nft', `add ${table}; delete ${table}; ${table} { ${chain} }`)
    },
    dropped() {
      const rules = inSpace(router, 'nft', 'list', 'table', 'inet', 'bad').toString()
      return Number(/packets (\d+)/.exec(rules)?.[1] ?? 0)
    },
    renumber() {
      const before = host++
      ip(space, 'addr', 'del', `${lan4}.${before}/24`, 'dev', lan)
      ip(space, 'addr', 'del', `${lan6}:${before}/64`, 'dev', lan)
      ip(space, 'addr', 'add', `${lan4}.${host}/24`, 'dev', lan)
      ip(space, 'addr', 'add', `${lan6}:${host}/64`, 'dev', lan, 'nodad')
      route()
    },
    async lengthen(delay, loss) {
      const shim = join(import.meta.dirname, 'link-shim.py')
      const child = await run(undefined, 'python3', shim, space, router, 'long', String(delay), String(loss))
      for (const [end, near, far] of [
        [space, 2, 1],
        [router, 1, 2],
      ] as const) {
        ip(end, 'addr', 'flush', 'dev', lan)
        ip(end, 'link', 'set', 'long', 'up')
        ip(end, 'addr', 'add', `${lan4}.${near}/32`, 'peer', `${lan4}.${far}`, 'dev', 'long')
        ip(end, 'addr', 'add', `${lan6}:${near}/128`, 'peer', `${lan6}:${far}`, 'dev', 'long', 'nodad')
      }
      route()
      return { set: (...values) => void child.stdin!.write(`${values.join(' ')}\n`) }
    },
    async translate() {
      const settings = join(folder, `${router}.tayga`)
      writeFileSync(
        settings,
        `tun-device nat64\nipv4-addr 192.168.255.1\nipv6-addr fd78:64::1\nprefix ${translation}\ndynamic-pool 192.168.255.0/24\ndata-dir ${join(folder, `${router}-tayga`)}\n`,
      )
      mkdirSync(join(folder, `${router}-tayga`))
      inSpace(router, 'tayga', '--config', settings, '--mktun')
      ip(router, 'link', 'set', 'nat64', 'up')
      ip(router, 'addr', 'add', '192.168.255.254/32', 'dev', 'nat64')
      ip(router, 'route', 'add', '192.168.255.0/24', 'dev', 'nat64')
      ip(router, '-6', 'route', 'add', translation, 'dev', 'nat64')
      ip(cloud, 'route', 'add', '192.168.255.0/24', 'via', `10.78.2.${10 + at}`)
      children.push(
        spawn('ip', ['netns', 'exec', router, 'tayga', '--config', settings, '--nodetach'], {
          stdio: 'inherit',
        }),
      )
    },
  }
}
