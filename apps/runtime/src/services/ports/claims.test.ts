import { describe, expect, it } from 'vitest'
import type { StoredContainer } from '../deployments/deployments.ts'
import { readGrantedPorts } from '../grants/network-grants.ts'
import { expectPortsFree, reachOfPort } from './claims.ts'

const container = (name: string, ports: string, more: Partial<StoredContainer> = {}): StoredContainer => ({
  clientId: 'app',
  accountId: 'acme',
  name,
  image: 'i',
  imageKey: 'k',
  digest: 'd',
  dataKey: name,
  env: { 'MCM.PORTS': ports },
  created: 0,
  wanted: 'running',
  failed: null,
  note: null,
  revision: 1,
  restarts: 0,
  ...more,
})
const rules = {
  granted: readGrantedPorts([
    '53/udp service=app-dns',
    '127.0.0.1:80/tcp service=app-web',
    '1883/tcp project=app',
  ]),
  reserved: () => new Set(['8083/tcp']),
}
const claim = (
  asking: StoredContainer,
  others: readonly StoredContainer[] = [],
  kind: 'function' | 'oci' = 'oci',
) =>
  expectPortsFree(
    { containers: Object.fromEntries(others.map((each) => [`${each.clientId}/${each.name}`, each])) },
    rules,
    `${asking.clientId}/${asking.name}`,
    asking,
    kind,
  )

describe('a port of the device', () => {
  it('belongs to the container that has it; another one is refused, without the name of the first', () => {
    const first = container('secret-name', '1883/tcp', { clientId: 'secret-project' })
    expect(() => claim(container('second', '1884,1883'), [first])).toThrow(
      expect.objectContaining({
        reason: 'conflict',
        message: 'the port 1883/tcp belongs to another service',
        hint: expect.stringContaining('"MCM.PORTS": "11883:1883/tcp"'),
      }),
    )
    expect(() => claim(container('second', '1883'), [first])).not.toThrow(/secret/)
    expect(() => claim(container('second', '1883/udp'), [first])).not.toThrow()
  })

  it('stays that of a container that is stopped or has failed', () => {
    for (const more of [{ wanted: 'stopped' as const }, { failed: 'why' }])
      expect(() => claim(container('second', '1883'), [container('first', '1883', more)])).toThrow(
        'belongs to another',
      )
  })

  it('is that of the same container after a redeploy, and of no container of another account', () => {
    expect(() => claim(container('first', '1883'), [container('first', '1883')])).not.toThrow()
    const former = container('first', '1883', { accountId: 'former' })
    expect(() => claim(container('second', '1883'), [former])).not.toThrow()
  })

  it('is refused if it belongs to the runtime', () => {
    expect(() => claim(container('a', '8083:80/tcp'))).toThrow('the port 8083/tcp belongs to the runtime')
    expect(() => claim(container('a', '8083/udp'))).not.toThrow()
    expect(() => claim(container('a', '80:8083/tcp'))).toThrow('privileged')
  })

  it('is refused if it is privileged and the device does not list it for the container', () => {
    expect(() => claim(container('a', '1023/tcp'))).toThrow('the port 1023/tcp is privileged')
    expect(() => claim(container('a', '1024/tcp'))).not.toThrow()
    expect(() => claim(container('dns', '53/udp'))).not.toThrow()
    expect(() => claim(container('other', '53/udp'))).toThrow('privileged')
    expect(() => claim(container('other', '80/tcp'))).toThrow(
      expect.objectContaining({ hint: expect.stringContaining('["127.0.0.1:80/tcp service=app-other"]') }),
    )
  })

  it('is open to the device alone if the device lists it with the address of the loopback', () => {
    const web = container('web', '80/tcp')
    expect(() => claim(web)).not.toThrow()
    expect(reachOfPort(rules, web, { port: 80, protocol: 'tcp', target: 80 })).toBe('loopback')
  })

  it('is of OCI containers only', () => {
    expect(() => claim(container('a', '1883'), [], 'function')).toThrow('MCM.PORTS is for OCI containers')
    expect(() => claim(container('a', ''), [], 'function')).not.toThrow()
  })

  it('is open to the network only if the device lists it', () => {
    const [listed, other] = [1883, 1884].map((port) => ({ port, protocol: 'tcp' as const, target: 1 }))
    expect(reachOfPort(rules, container('a', ''), listed!)).toBe('network')
    expect(reachOfPort(rules, container('a', ''), other!)).toBe('loopback')
  })
})
