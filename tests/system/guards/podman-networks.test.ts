/** What a test that was killed leaves in the packet filter does not reach the next one, and nothing else is touched. */
import { execFileSync } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { needs } from '../../harness/installed.ts'
import { makeNetworks, type Networks } from '../../harness/networks.ts'
import { root, temporaryFolder } from '../../harness/processes.ts'

/** Containers with a port on the loopback: of the first range of tests, of a later one, and of Podman's usual one. */
const rules = `*nat
:NETAVARK-HOSTPORT-DNAT - [0:0]
:NETAVARK-HOSTPORT-SETMARK - [0:0]
:NETAVARK-DN-1D8721804F16F - [0:0]
:NETAVARK-DN-2E9832915A27A - [0:0]
:NETAVARK-DN-3FA943A26B38B - [0:0]
-A OUTPUT -m addrtype --dst-type LOCAL -j NETAVARK-HOSTPORT-DNAT
-A NETAVARK-HOSTPORT-DNAT -p tcp -m comment --comment "dnat name: podman id: a" -m multiport --dports 40123 -j NETAVARK-DN-1D8721804F16F
-A NETAVARK-HOSTPORT-DNAT -p tcp -m comment --comment "dnat name: podman id: b" -m multiport --dports 40124 -j NETAVARK-DN-2E9832915A27A
-A NETAVARK-HOSTPORT-DNAT -p tcp -m comment --comment "dnat name: podman id: c" -m multiport --dports 40125 -j NETAVARK-DN-3FA943A26B38B
-A NETAVARK-DN-3FA943A26B38B -p tcp -m tcp --dport 40125 -j DNAT --to-destination 10.200.0.2:8080
-A NETAVARK-DN-1D8721804F16F -s 127.0.0.1/32 -p tcp -m tcp --dport 40123 -j NETAVARK-HOSTPORT-SETMARK
-A NETAVARK-DN-1D8721804F16F -p tcp -m tcp --dport 40123 -j DNAT --to-destination 10.192.0.2:8080
-A NETAVARK-DN-2E9832915A27A -p tcp -m tcp --dport 40124 -j DNAT --to-destination 10.88.0.2:8080
COMMIT
*filter
-A INPUT -s 10.192.128.0/24 -m comment --comment selvedge-x -j REJECT
-A INPUT -s 10.89.0.0/24 -m comment --comment selvedge-y -j REJECT
COMMIT
`

const program = `
import { reserveNetworks } from './tests/harness/podman-networks.ts'
const networks = await Promise.all([process.argv[1], process.argv[2]].map(reserveNetworks))
for (const { conf } of networks) console.log(/10\\.\\d+/.exec(conf)[0])`

describe('networks of Podman in tests', needs('networks', 'iptables'), () => {
  let networks: Networks
  const folders: Awaited<ReturnType<typeof temporaryFolder>>[] = []
  const run = (input: string, ...command: string[]) =>
    execFileSync('ip', ['netns', 'exec', networks.spaceOf('device'), ...command], {
      cwd: root,
      input,
      encoding: 'utf8',
    })
  beforeAll(async () => {
    networks = makeNetworks({ device: { lan: '10.86.0.1' } })
    folders.push(await temporaryFolder(), await temporaryFolder())
  })
  afterAll(async () => {
    networks.remove()
    for (const folder of folders) await folder.remove()
  })

  it('differ while both run, and begin without the rules that another test left', () => {
    run(rules, 'iptables-restore')
    const paths = folders.map(({ path }) => path)
    const ranges = run('', process.execPath, '--input-type=module', '--eval', program, ...paths)
    expect(ranges.trim().split('\n').sort()).toEqual(['10.192', '10.193'])
    const left = ['nat', 'filter'].map((table) => run('', 'iptables', '-t', table, '-S')).join('')
    expect(left).not.toMatch(/10\.192|1D8721804F16F|40123|selvedge-x|10\.200|3FA943A26B38B|40125/)
    expect(left).toContain('--to-destination 10.88.0.2:8080')
    expect(left).toContain('--dports 40124 -j NETAVARK-DN-2E9832915A27A')
    expect(left).toContain('-s 10.89.0.0/24')
  })
})
