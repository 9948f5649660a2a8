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

it('a port with the address of the loopback is open to the device, and not to the network', () => {
  const granted = readGrantedPorts(['127.0.0.1:53/udp service=app-broker', '80/tcp project=app'])
  const reach = (port: string, asking = broker) => [
    granted.opens(asking, port),
    granted.includes(asking, port),
  ]
  expect(reach('53/udp')).toEqual([true, false])
  expect(reach('80/tcp')).toEqual([true, true])
  expect(reach('53/tcp')).toEqual([false, false])
  expect(reach('53/udp', { ...broker, name: 'other' })).toEqual([false, false])
  for (const text of [
    '127.0.0.2:53/udp',
    '0.0.0.0:53/udp',
    '127.0.0.1:127.0.0.1:53/udp',
    '127.0.0.1:',
    '127.0.0.1:53:53/udp',
  ])
    expect(readGrantedPorts([`${text} project=app`]).opens(broker, '53/udp')).toBe(false)
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
