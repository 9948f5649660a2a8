/**
 * Networks of a test: namespaces of the kernel, joined by bridges, with no way to anywhere else. The bridges are in a
 * namespace of their own: a program of this machine does not see their interfaces. Needs root.
 */
import { spawnSync } from 'node:child_process'

const ip = (...args: string[]) => spawnSync('ip', args, { encoding: 'utf8' })

function run(...args: string[]): void {
  const { status, stderr, error } = ip(...args)
  if (status !== 0) throw new Error(`ip ${args.join(' ')}: ${stderr ?? error?.message}`)
}

/** Whether this machine lets us make networks. */
export function canMakeNetworks(): boolean {
  const name = `svprobe${process.pid}`
  const made = ip('netns', 'add', name).status === 0
  if (made) ip('netns', 'del', name)
  return made
}

export interface Networks {
  /** Name of the namespace of a host. */
  spaceOf(host: string): string
  /** Disconnects or connects the cable of a host. */
  plug(host: string, bridge: string, isIn: boolean): void
  disableIpv6(host: string): void
  remove(): void
}

/** Room for the largest packet of multicast DNS (9,000 bytes) in one frame. */
const mtu = '9100'

/** The bridges that each host is on, and its address there; with two addresses it has two interfaces on that network. */
export type Hosts = Readonly<Record<string, Readonly<Record<string, string | readonly string[]>>>>

export function makeNetworks(hosts: Hosts): Networks {
  const id = process.pid % 100_000
  const spaceOf = (host: string) => `sv${id}${host}`
  const switches = spaceOf('-switches')
  const bridges = [...new Set(Object.values(hosts).flatMap((each) => Object.keys(each)))]
  function connect(host: string, bridge: string, name: string, address: string): void {
    const port = `port${connected}`
    const end = ['peer', 'name', name, 'netns', spaceOf(host)]
    run('-n', switches, 'link', 'add', port, 'mtu', mtu, 'type', 'veth', ...end)
    run('-n', switches, 'link', 'set', port, 'master', bridge, 'addrgenmode', 'none', 'up')
    run('-n', spaceOf(host), 'addr', 'add', `${address}/24`, 'dev', name)
    run('-n', spaceOf(host), 'link', 'set', name, 'mtu', mtu, 'up')
    run('-n', spaceOf(host), 'route', 'add', '224.0.0.0/4', 'dev', name, 'metric', `${connected++}`)
  }
  let connected = 1
  const remove = () => {
    for (const host of Object.keys(hosts)) ip('netns', 'del', spaceOf(host))
    ip('netns', 'del', switches)
  }
  try {
    run('netns', 'add', switches)
    for (const bridge of bridges) {
      // It floods at once, and keeps multicast for all: a switch without snooping.
      const options = ['type', 'bridge', 'forward_delay', '0', 'mcast_snooping', '0']
      run('-n', switches, 'link', 'add', bridge, ...options)
      run('-n', switches, 'link', 'set', bridge, 'addrgenmode', 'none', 'up')
    }
    for (const [host, addresses] of Object.entries(hosts)) {
      run('netns', 'add', spaceOf(host))
      run('-n', spaceOf(host), 'link', 'set', 'lo', 'up')
      for (const [bridge, each] of Object.entries(addresses))
        for (const [at, address] of [each].flat().entries())
          connect(host, bridge, at === 0 ? bridge : `${bridge}${at}`, address)
    }
  } catch (cause) {
    remove()
    throw cause
  }
  return {
    spaceOf,
    plug: (host, bridge, isIn) => run('-n', spaceOf(host), 'link', 'set', bridge, isIn ? 'up' : 'down'),
    disableIpv6: (host) =>
      run('netns', 'exec', spaceOf(host), 'sh', '-c', 'echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6'),
    remove,
  }
}
