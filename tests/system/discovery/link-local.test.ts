/** The local network, played in namespaces of the kernel: two networks, one host on both, nobody with a way out. */
import { join } from 'node:path'
import { createNodeFetch } from '@selvedge/client/node'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { needs } from '../../harness/installed.ts'
import { makeNeighbourhood, type Neighbourhood } from '../../harness/neighbourhood.ts'

/** Two hosts on the left network, one on the right, one on both; on the left also a stranger, and one without account. */
const hosts = {
  ann: { left: '10.77.1.1' },
  bob: { left: '10.77.1.2', right: '10.77.2.2' },
  cat: { right: '10.77.2.3' },
  eve: { left: '10.77.1.4' },
  guy: { left: '10.77.1.5' },
} as const
type Host = keyof typeof hosts

describe(
  'link-local discovery between hosts on networks that the kernel makes for the test',
  needs('ip', 'networks'),
  () => {
    let all: Neighbourhood

    const device = (host: Host) => all.devices[host]!
    const sees = (host: Host, expected: readonly string[]) =>
      expect.poll(() => all.picture(host), { interval: 500 }).toEqual([...expected].sort())

    beforeAll(async () => {
      all = await makeNeighbourhood(hosts)
      const account = await all.createAccount()
      for (const host of ['ann', 'bob', 'cat'] as const) await all.join(host, account)
      await all.join('eve', await all.createAccount())
      await all.join('guy', undefined)
    })
    afterAll(() => all?.remove())

    const bobLeft = 'bob online bob 10.77.1.2'
    const strangers = ['eve seen null 10.77.1.4', 'guy seen null 10.77.1.5']

    it('nodes see exactly those on their networks: of the account by name, others only that they are there', async () => {
      await sees('ann', [bobLeft, ...strangers])
      await sees('bob', ['ann online ann 10.77.1.1', 'cat online cat 10.77.2.3', ...strangers])
      await sees('cat', ['bob online bob 10.77.2.2'])
      await sees('eve', ['ann seen null 10.77.1.1', 'bob seen null 10.77.1.2', 'guy seen null 10.77.1.5'])
    })

    it('a program on the device sees without a token what strangers see', async () => {
      const socketPath = join(device('ann').state, 'runtime.sock')
      const response = await createNodeFetch({ socketPath })('http://localhost/mds/v1/nodes', {
        method: 'GET',
        headers: {},
        signal: AbortSignal.timeout(30_000),
        redirect: 'error',
      })
      const { data } = JSON.parse(await response.text()) as {
        data: readonly Record<string, unknown>[]
      }
      expect(data.map(({ nodeId }) => nodeId).sort()).toEqual(
        [device('bob'), device('eve'), device('guy')].map(({ nodeId }) => nodeId).sort(),
      )
      const unsealed = { state: 'seen', name: null, accountId: null, services: [], distance: null, fix: null }
      for (const node of data) expect(node).toMatchObject(unsealed)
    })

    it('what goes over the wire names no account, no name and no service', async () => {
      const heard = all.play(
        'guy',
        `import { createSocket } from 'node:dgram'
      import { decode, encode } from 'dns-packet'
      const socket = createSocket({ type: 'udp4', reuseAddr: true })
      socket.on('message', (packet) => console.log(packet.toString('latin1'), JSON.stringify(decode(packet))))
      socket.bind(5353, () => {
        socket.addMembership('224.0.0.251', '10.77.1.5')
        socket.setMulticastInterface('10.77.1.5')
        socket.send(encode({ type: 'query', questions: [{ type: 'PTR', name: '_selvedge._tcp.local' }] }), 5353, '224.0.0.251')
        setTimeout(() => process.exit(), 3000)
      })`,
      )
      expect(heard).toContain(device('ann').nodeId)
      const claims = JSON.parse(Buffer.from(device('ann').token.split('.')[1]!, 'base64url').toString()) as {
        account_id: string
      }
      expect(heard).not.toContain(claims.account_id)
      expect(heard).not.toMatch(/\bann\b|\bbob\b/)
    })

    it('an interface that goes down and comes up again', async () => {
      all.networks.plug('ann', 'left', false)
      await sees('ann', [])
      all.networks.plug('ann', 'left', true)
      await sees('ann', [bobLeft, ...strangers])
      await sees('bob', ['ann online ann 10.77.1.1', 'cat online cat 10.77.2.3', ...strangers])
    })

    it('a node that says goodbye is gone', async () => {
      await device('cat').runtime.stop()
      await expect.poll(() => all.picture('bob')).not.toContain('cat online cat 10.77.2.3')
      await all.restart('cat')
      await sees('cat', ['bob online bob 10.77.2.2'])
    })

    it('a spoofed announcement changes nothing: neither a copy, nor a name in use, nor a goodbye for another node', async () => {
      all.play(
        'eve',
        `import { createSocket } from 'node:dgram'
      import { decode, encode } from 'dns-packet'
      const type = '_selvedge._tcp.local'
      const socket = createSocket({ type: 'udp4', reuseAddr: true })
      const send = (answers) => socket.send(encode({ type: 'response', answers }), 5353, '224.0.0.251')
      const records = (instance, data, ttl = 4500) => [
        { type: 'PTR', name: type, data: instance, ttl },
        { type: 'SRV', name: instance, data: { port: 1, target: 'evil.local' }, ttl },
        { type: 'TXT', name: instance, data, ttl },
        { type: 'A', name: 'evil.local', data: '10.77.1.4', ttl },
      ]
      socket.on('message', (packet) => {
        const { answers = [], additionals = [] } = decode(packet)
        const txt = [...answers, ...additionals].find((each) => each.type === 'TXT' && String(each.data).includes('${device('bob').nodeId}'))
        if (!txt) return
        // What bob seals, from here; his name with other words; and that he is gone.
        send(records('copy.' + type, txt.data))
        send(records(txt.name, ['v=1', 'id=${device('bob').nodeId}', 's0=AAAA']))
        send(records(txt.name, txt.data, 0))
        send(records('nobody.' + type, ['v=1', 'id=${'e'.repeat(56)}', 's0=AAAA', 'name=trust me']))
        send(records('broken.' + type, ['v=1', 'id=x']))
      })
      socket.bind(5353, () => {
        socket.addMembership('224.0.0.251', '10.77.1.4')
        socket.setMulticastInterface('10.77.1.4')
        socket.send(encode({ type: 'query', questions: [{ type: 'PTR', name: type }] }), 5353, '224.0.0.251')
        setTimeout(() => process.exit(), 2500)
      })`,
      )
      const seen = await all.picture('ann')
      expect(seen).toContain(bobLeft)
      expect(seen.filter((each) => each.startsWith('bob'))).toEqual([bobLeft])
      expect(seen.find((each) => each.startsWith('nobody'))).toBe('nobody seen null 10.77.1.4')
      expect(seen.join()).not.toContain('trust me')
    })

    it('broken packets do no harm', async () => {
      all.play(
        'eve',
        `import { createSocket } from 'node:dgram'
      import { encode } from 'dns-packet'
      const type = '_selvedge._tcp.local'
      const good = encode({ type: 'response', answers: [
        { type: 'PTR', name: type, data: 'x.' + type, ttl: 60 },
        { type: 'SRV', name: 'x.' + type, data: { port: 1, target: 'x.local' }, ttl: 60 },
        { type: 'TXT', name: 'x.' + type, data: ['v=1', 'id=${'c'.repeat(56)}'], ttl: 60 },
      ] })
      const question = encode({ type: 'query', questions: [{ type: 'ANY', name: type }] })
      let seed = 1
      const random = (below) => (seed = (seed * 48271) % 2147483647) % below
      const socket = createSocket({ type: 'udp4', reuseAddr: true })
      socket.bind(5353, async () => {
        socket.setMulticastInterface('10.77.1.4')
        for (let count = 0; count < 3000; count++) {
          const packet = Buffer.from(count % 2 ? good : question)
          for (let change = 0; change <= random(6); change++) packet[random(packet.length)] = random(256)
          socket.send(packet.subarray(0, random(4) ? packet.length : random(packet.length)), 5353, '224.0.0.251')
          if (count % 100 === 0) await new Promise((resolve) => setTimeout(resolve, 10))
        }
        setTimeout(() => process.exit(), 500)
      })`,
      )
      for (const { runtime } of Object.values(all.devices)) expect(runtime.process.exitCode).toBeNull()
      expect(await all.picture('ann')).toContain(bobLeft)
      expect(device('ann').runtime.errors()).not.toContain('Error')
    })

    it('a name that another device announces: both are found', async () => {
      await device('ann').runtime.stop()
      all.play(
        'guy',
        `import { spawn } from 'node:child_process'
      const script = \`
        import ciao from '@homebridge/ciao'
        const responder = ciao.getResponder({ interface: 'left' })
        const name = 'selvedge ${device('ann').nodeId.slice(0, 12)}'
        await responder.createService({ name, type: 'selvedge', port: 1, hostname: 'taken', txt: { v: '1', id: '${'d'.repeat(56)}' } }).advertise()
        setTimeout(() => responder.shutdown().then(() => process.exit()), 25000)\`
      spawn(process.execPath, ['--input-type=module', '-e', script], { detached: true, stdio: 'ignore' }).unref()
      setTimeout(() => process.exit(), 2000)`,
      )
      await all.restart('ann')
      await expect
        .poll(() => all.picture('bob'))
        .toEqual(expect.arrayContaining(['ann online ann 10.77.1.1', 'nobody seen null 10.77.1.5']))
    })
  },
)
