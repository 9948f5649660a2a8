import { describe, expect, it } from 'vitest'
import { readSettings } from './settings.ts'

const read = (text: string) => readSettings({ 'MCM.PORTS': text })['MCM.PORTS']

describe('MCM.PORTS', () => {
  it('lists ports of the device, with the ports of the container that they lead to', () => {
    expect(read('1883/tcp, 5683/udp 80 8883:1883/tcp,65535:1/udp')).toEqual([
      { port: 1883, protocol: 'tcp', target: 1883 },
      { port: 5683, protocol: 'udp', target: 5683 },
      { port: 80, protocol: 'tcp', target: 80 },
      { port: 8883, protocol: 'tcp', target: 1883 },
      { port: 65_535, protocol: 'udp', target: 1 },
    ])
    expect(read('')).toEqual([])
    expect(readSettings({})['MCM.PORTS']).toEqual([])
  })

  it('lists the ports of a range', () => {
    expect(read('21-22, 3000-3002:4000-4002/udp, 7-7')).toEqual([
      { port: 21, protocol: 'tcp', target: 21 },
      { port: 22, protocol: 'tcp', target: 22 },
      { port: 3000, protocol: 'udp', target: 4000 },
      { port: 3001, protocol: 'udp', target: 4001 },
      { port: 3002, protocol: 'udp', target: 4002 },
      { port: 7, protocol: 'tcp', target: 7 },
    ])
    expect(read('65520-65535/udp')).toHaveLength(16)
  })

  it('accepts the same number for TCP and UDP, and the same port of the container twice', () => {
    expect(read('53/tcp,53/udp')).toHaveLength(2)
    expect(read('1:80,2:80')).toHaveLength(2)
  })

  it.each([
    '0',
    '65536',
    '1:65536',
    '1:0',
    '01883',
    '1883/sctp',
    '1883/TCP',
    '-1',
    '1.5',
    '1e3',
    '0x50',
    '1883/tcp/udp',
    '1:2:3',
    '127.0.0.1:1883',
    '90-80',
    '1-17',
    '1-9,11-18',
    '65530-65536',
    '0-3',
    '80-82:90-91',
    '80-82:90-93',
    '80-82:90',
    '80:90-92',
    '80-82,81',
    '80-82-84',
    '80-',
    'mqtt',
    '1883;80',
    '１８８３',
    '1883/tcp\u0000',
    '80,80',
    '80/tcp,80',
    '80:1,80:2/tcp',
    Array.from({ length: 17 }, (_, at) => at + 1).join(','),
  ])('does not accept %j', (text) => {
    expect(() => read(text)).toThrow(/MCM.PORTS.*expected up to 16 ports/)
  })

  it('accepts sixteen ports', () => {
    expect(read(Array.from({ length: 16 }, (_, at) => at + 1).join(','))).toHaveLength(16)
  })

  it('reads a text of any length in time', () => {
    expect(() => read(`${'1'.repeat(30_000)}/tcp`)).toThrow('expected')
    expect(() => read('1,'.repeat(15_000))).toThrow('expected')
  })
})
