/** Networks of a test: namespaces of the kernel, joined by bridges, with no way to anywhere else. Needs root. */
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
  /** Takes a host's cable out, or puts it in. */
  plug(host: string, bridge: string, isIn: boolean): void
  remove(): void
}

/** @param hosts the bridges that each host is on, and its address there */
export function makeNetworks(hosts: Readonly<Record<string, Readonly<Record<string, string>>>>): Networks {
  const id = process.pid % 100_000
  const spaceOf = (host: string) => `sv${id}${host}`
  const bridgeOf = (bridge: string) => `sv${id}${bridge}`.slice(0, 15)
  const bridges = [...new Set(Object.values(hosts).flatMap((each) => Object.keys(each)))]
  const remove = () => {
    for (const host of Object.keys(hosts)) ip('netns', 'del', spaceOf(host))
    for (const bridge of bridges) ip('link', 'del', bridgeOf(bridge))
  }
  try {
    for (const bridge of bridges) {
      // It floods at once, and keeps multicast for all: a switch without snooping.
      run('link', 'add', bridgeOf(bridge), 'type', 'bridge', 'forward_delay', '0', 'mcast_snooping', '0')
      run('link', 'set', bridgeOf(bridge), 'up')
    }
    for (const [host, addresses] of Object.entries(hosts)) {
      run('netns', 'add', spaceOf(host))
      run('-n', spaceOf(host), 'link', 'set', 'lo', 'up')
      for (const [bridge, address] of Object.entries(addresses)) {
        const outside = `v${id}${host}${bridge}`.slice(0, 15)
        run('link', 'add', outside, 'type', 'veth', 'peer', 'name', bridge, 'netns', spaceOf(host))
        run('link', 'set', outside, 'master', bridgeOf(bridge), 'up')
        run('-n', spaceOf(host), 'addr', 'add', `${address}/24`, 'dev', bridge)
        run('-n', spaceOf(host), 'link', 'set', bridge, 'up')
      }
    }
  } catch (cause) {
    remove()
    throw cause
  }
  return {
    spaceOf,
    plug: (host, bridge, isIn) => run('-n', spaceOf(host), 'link', 'set', bridge, isIn ? 'up' : 'down'),
    remove,
  }
}
