import { describe, expect, it } from 'vitest'
import {
  isNameServer,
  isOutboundEntry,
  isPublishEntry,
  readAllowedNetworks,
  readAllowedPorts,
} from './allowed.ts'

const broker = { accountId: 'acme', clientId: 'app', name: 'broker', image: 'mosquitto' }

describe('a port that the owner of the device allows', () => {
  it.each([
    [['1883/tcp'], '1883/tcp', true],
    [['1883'], '1883/tcp', true],
    [['1883/tcp'], '1883/udp', false],
    [['1883/udp'], '1883/udp', true],
    [['1883/tcp'], '1884/tcp', false],
    [[], '1883/tcp', false],
    [['service=app-broker 1883/tcp'], '1883/tcp', true],
    [['service=broker 1883/tcp'], '1883/tcp', false],
    [['service=other-broker 1883/tcp'], '1883/tcp', false],
    [['account=acme 1883/tcp'], '1883/tcp', true],
    [['account=other 1883/tcp'], '1883/tcp', false],
    [['project=app 1883/tcp'], '1883/tcp', true],
    [['project=ap 1883/tcp'], '1883/tcp', false],
    [['image=app-mosquitto 1883/tcp'], '1883/tcp', true],
    [['image=mosquitto 1883/tcp'], '1883/tcp', false],
    [['account=acme service=app-broker 1883/tcp'], '1883/tcp', true],
    [['account=other service=app-broker 1883/tcp'], '1883/tcp', false],
    [['service=app-other service=app-broker 1883/tcp'], '1883/tcp', false],
    [['5683/udp', '  account=acme   1883  '], '1883/tcp', true],
  ])('%j, for %s of a broker: %s', (entries, port, expected) => {
    expect(readAllowedPorts(entries).includes(broker, port)).toBe(expected)
  })

  it.each([
    '',
    ' ',
    '1883/sctp',
    '0/tcp',
    '65536',
    '8883:1883/tcp',
    'service= 1883/tcp',
    'service 1883/tcp',
    'toString=x 1883/tcp',
    '=x 1883/tcp',
    'name=broker 1883/tcp',
    '1883/tcp service=app-broker',
  ])('%j is no entry, and allows nothing', (entry) => {
    expect(isPublishEntry(entry)).toBe(false)
    expect(readAllowedPorts([entry]).includes(broker, '1883/tcp')).toBe(false)
  })
})

describe('a network that the owner of the device allows', () => {
  it('is allowed to services that fit all words of its entry', () => {
    const entries = ['10.1.2.0/24:502', 'service=app-broker 192.168.1.7', 'project=other 10.0.0.0/8']
    expect(readAllowedNetworks(entries)(broker)).toEqual([
      { network: '10.1.2.0/24', port: 502 },
      { network: '192.168.1.7', port: undefined },
    ])
  })

  it.each([
    '',
    'plc.local',
    '::/0',
    'fd00::/8',
    '10.1.2.0/33',
    '10.1.2.0/24:0',
    '10.1.2.0/24:65536',
    '10.1.2/24',
    '*',
  ])('%j is no entry', (entry) => {
    expect(isOutboundEntry(entry)).toBe(false)
    expect(readAllowedNetworks([entry])(broker)).toEqual([])
  })
})

it.each([
  ['9.9.9.9', true],
  ['127.0.0.1:5353', true],
  ['9.9.9.9:65535', true],
  ['9.9.9.9:65536', false],
  ['9.9.9.9:0', false],
  ['9.9.9', false],
  ['dns.example', false],
  ['::1', false],
  ['', false],
])('%j is a name server: %s', (text, expected) => expect(isNameServer(text)).toBe(expected))
