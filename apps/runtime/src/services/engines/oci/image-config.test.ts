import { readSettings } from '@selvedge/protocol'
import { describe, expect, it } from 'vitest'
import { portInWords, portOf, readyOf, readyPortsOf } from './image-config.ts'

const ready = (exposed: readonly string[], env: Record<string, string> = {}) =>
  readyOf(
    { settings: readSettings(env) },
    { config: { ExposedPorts: Object.fromEntries(exposed.map((each) => [each, {}])) } },
  )

describe('the start of a container is complete', () => {
  it('when its port accepts connections', () => {
    expect(ready(['80/tcp'])).toBe('tcp')
    expect(ready(['80'])).toBe('tcp')
    expect(ready(['53/udp', '53/tcp'])).toBe('tcp')
  })

  it('when the default port accepts connections, where the image exposes nothing', () => {
    expect(ready([])).toBe('tcp')
    expect(readyOf({ settings: readSettings({}) }, {})).toBe('tcp')
  })

  it('at once, where the image exposes UDP ports only', () => {
    expect(ready(['5683/udp'])).toBe('none')
    expect(ready(['500/udp', '4500/udp'])).toBe('none')
  })

  it('when MCM.PORT accepts connections, whatever the image exposes', () => {
    expect(ready(['5683/udp'], { 'MCM.PORT': '80' })).toBe('tcp')
  })

  it('as MCM.READY defines, whatever the image exposes', () => {
    expect(ready(['5683/udp'], { 'MCM.READY': 'tcp' })).toBe('tcp')
    expect(ready(['80/tcp'], { 'MCM.READY': 'log:up' })).toBe('log:up')
  })
})

describe('the port of an image', () => {
  const exposing = (...exposed: readonly string[]) => ({
    config: { ExposedPorts: Object.fromEntries(exposed.map((each) => [each, {}])) },
  })
  const plan = (env: Record<string, string> = {}) => ({ settings: readSettings(env) })

  it.each([
    [['22/tcp', '53/udp', '3000/tcp'], 3000, [3000]],
    [['20/tcp', '21/tcp'], 20, [20, 21]],
    [['15691/tcp', '4369/tcp', '5672/tcp', '0/tcp', '70000/tcp', 'x'], 15_691, [15_691, 4369, 5672]],
    [['53/udp'], 8080, [8080]],
    [[], 8080, [8080]],
  ])(
    '%j: the gateway leads to %i, and it is ready when one of %j accepts connections',
    (exposed, port, ports) => {
      expect(portOf(plan(), exposing(...exposed))).toBe(port)
      expect(readyPortsOf(plan(), exposing(...exposed))).toEqual(ports)
    },
  )

  it('is MCM.PORT alone, where that is set', () => {
    expect(readyPortsOf(plan({ 'MCM.PORT': '21' }), exposing('20/tcp', '21/tcp'))).toEqual([21])
  })

  it('is one of eight, of an image that exposes many', () => {
    const many = Array.from({ length: 1000 }, (_, index) => `${index + 10_000}/tcp`)
    expect(readyPortsOf(plan(), exposing(...many))).toHaveLength(8)
  })

  it('is refused, where the first is no TCP port', () => {
    for (const first of ['132/sctp', '0', '65536', 'x'.repeat(1000)])
      expect(() => portOf(plan(), exposing(first, '80/tcp'))).toThrow('which is no TCP port; set MCM.PORT')
  })
})

describe('the port in a message', () => {
  const words = (exposed: readonly string[], env: Record<string, string> = {}) =>
    portInWords(
      { settings: readSettings(env) },
      {
        config: { ExposedPorts: Object.fromEntries(exposed.map((each) => [each, {}])) },
      },
    )

  it('has what it was chosen from, where the image exposes several or has no port', () => {
    expect(words(['20/tcp', '21/tcp', '53/udp'])).toBe('20 (MCM.PORT; its image exposes 20, 21)')
    expect(words([])).toBe('8080 (MCM.PORT; its image exposes no port)')
    expect(portInWords({ settings: readSettings({}) }, {})).toBe('8080 (MCM.PORT; its image exposes no port)')
  })

  it('is alone, where nothing else was possible', () => {
    expect(words(['80/tcp', '53/udp'])).toBe('80 (MCM.PORT)')
    expect(words(['20/tcp', '21/tcp'], { 'MCM.PORT': '21' })).toBe('21 (MCM.PORT)')
  })

  it('names a few ports of an image that exposes many', () => {
    const many = Array.from({ length: 1000 }, (_, index) => `${index + 10_001}/tcp`)
    expect(words(many)).toMatch(/^10001 \(MCM\.PORT; its image exposes 10001, [\d, ]+, 10008\)$/)
  })
})
