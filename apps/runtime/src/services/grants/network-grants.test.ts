import { describe, expect, it } from 'vitest'
import { readGrantedAddresses, readGrantedPorts } from './network-grants.ts'

const broker = { accountId: 'acme', clientId: 'app', name: 'broker', image: 'mosquitto', digest: 'sha256:00' }

describe('a port that the configuration grants', () => {
  it.each([
    [['1883/tcp service=app-broker'], '1883/tcp', true],
    [['1883 service=app-broker'], '1883/tcp', true],
    [['1883/tcp service=app-broker'], '1883/udp', false],
    [['1883/udp service=app-broker'], '1883/udp', true],
    [['1883/tcp service=app-broker'], '1884/tcp', false],
    [[], '1883/tcp', false],
    [['1883/tcp service=broker'], '1883/tcp', false],
    [['1883/tcp service=other-broker'], '1883/tcp', false],
    [['1883/tcp account=acme project=app'], '1883/tcp', true],
    [['1883/tcp account=other project=app'], '1883/tcp', false],
    [['1883/tcp project=ap'], '1883/tcp', false],
    [['1883/tcp image=app-mosquitto'], '1883/tcp', true],
    [['1883/tcp image=sha256:00'], '1883/tcp', true],
    [['1883/tcp image=mosquitto'], '1883/tcp', false],
    [['1883/tcp account=other service=app-broker'], '1883/tcp', false],
    [['5683/udp project=app', ' 1883   project=app '], '1883/tcp', true],
    // No rules: they grant nothing.
    [['1883/tcp'], '1883/tcp', false],
    [['1883/tcp account=acme'], '1883/tcp', false],
    [['8883:1883/tcp project=app'], '8883/tcp', false],
    [['project=app 1883/tcp'], '1883/tcp', false],
  ])('%j, for %s of a broker: %s', (texts, port, expected) => {
    expect(readGrantedPorts(texts).includes(broker, port)).toBe(expected)
  })
})

it('an address is granted to the services that fit all conditions of its rule', () => {
  const texts = [
    '10.1.2.0/24:502 project=app',
    '192.168.1.7 service=app-broker',
    '10.0.0.0/8 project=other',
    '172.16.0.0/12',
  ]
  expect(readGrantedAddresses(texts)(broker)).toEqual([
    { network: '10.1.2.0/24', port: 502 },
    { network: '192.168.1.7', port: undefined },
  ])
})
