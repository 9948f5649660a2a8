/**
 * Networks for one Podman of a test: addresses, a bridge and rules of the packet filter that no other Podman has, neither that of
 * the machine nor those of other tests. Needs root.
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'

/** The networks of tests are 10.192.0.0/16 to 10.255.0.0/16, each for one Podman at a time. */
const [first, last] = [192, 255]

export interface PodmanNetworks {
  /** The section `[network]` of `containers.conf`. */
  readonly conf: string
  release(): void
}

/**
 * Reserves a range of addresses, and removes what tests that were killed left of it and of the other ranges: a port that they forwarded
 * would never reach the program that gets it next.
 *
 * @param folder for the configuration of the networks
 */
export async function reserveNetworks(folder: string): Promise<PodmanNetworks> {
  const { second, release } = await reserveRange()
  const networks = join(folder, 'networks')
  mkdirSync(networks)
  // Without it, Podman uses the bridge and the chain of its default network on this machine.
  writeFileSync(join(networks, 'podman.json'), JSON.stringify(defaultNetwork(second)))
  removeRules(second)
  for (const other of rangesWithRules()) {
    const unused = await hold(other)
    if (unused === undefined) continue
    removeRules(other)
    unused.close()
  }
  return {
    conf: `[network]
network_config_dir = "${networks}"
default_subnet_pools = [{ "base" = "10.${second}.128.0/17", "size" = 24 }]
`,
    release,
  }
}

/** The first range that is free. @returns the second byte of its addresses */
export async function reserveRange(): Promise<{ second: number; release: () => void }> {
  for (let second = first; second <= last; second++) {
    const server = await hold(second)
    if (server) return { second, release: () => void server.close() }
  }
  throw new Error(`all networks for tests are in use, from 10.${first}.0.0/16 on`)
}

/**
 * Holds a range until the server is closed. Names of abstract sockets belong to a network namespace, as the addresses do, and end with
 * the process.
 *
 * @returns undefined if the range is in use
 */
async function hold(second: number): Promise<Server | undefined> {
  const server = createServer().unref()
  server.listen(`\0selvedge-test-networks-${second}`)
  return once(server, 'listening').then(
    () => server,
    () => undefined,
  )
}

const defaultNetwork = (second: number) => ({
  name: 'podman',
  // Podman names the chains of a network after its ID.
  id: createHash('sha256').update(`selvedge-test-networks-${second}`).digest('hex'),
  driver: 'bridge',
  network_interface: `svpodman${second}`,
  created: new Date().toISOString(),
  subnets: [{ subnet: `10.${second}.0.0/24`, gateway: `10.${second}.0.1` }],
  ipv6_enabled: false,
  internal: false,
  dns_enabled: false,
  ipam_options: { driver: 'host-local' },
})

const rulesOf = (table: string): string[] =>
  execFileSync('iptables', ['--wait', '--table', table, '-S'], { encoding: 'utf8' }).split('\n')

/** Ranges that a rule for addresses names. */
function rangesWithRules(): number[] {
  const seconds = rulesOf('nat').flatMap((line) =>
    [...line.matchAll(/ 10\.(\d+)\./g)].map(([, second]) => Number(second)),
  )
  return [...new Set(seconds)].filter((second) => second >= first && second <= last)
}

function removeRules(second: number): void {
  for (const table of ['nat', 'filter']) removeRulesOf(table, second)
}

/** Removes the rules of a table that name an address of a range, and the chains of its networks. */
function removeRulesOf(table: string, second: number): void {
  const lines = rulesOf(table)
  const inRange = (line: string) => line.includes(` 10.${second}.`)
  const chains = new Set(
    lines.filter(inRange).flatMap((line) => /^-A (NETAVARK-(?:DN-)?[0-9A-F]{8,}) /.exec(line)?.[1] ?? []),
  )
  const isLeft = (line: string) =>
    line.startsWith('-A ') &&
    (inRange(line) || chains.has(line.split(' ').at(-1)!) || chains.has(line.split(' ')[1]!))
  const changes = [
    ...lines.filter(isLeft).map((line) => line.replace('-A', '-D')),
    ...[...chains].map((chain) => `-X ${chain}`),
  ]
  if (changes.length === 0) return
  const input = [`*${table}`, ...changes, 'COMMIT', ''].join('\n')
  execFileSync('iptables-restore', ['--wait', '--noflush'], { input })
}
