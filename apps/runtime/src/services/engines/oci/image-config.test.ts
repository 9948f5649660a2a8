import { readSettings } from '@selvedge/protocol'
import { describe, expect, it } from 'vitest'
import { portInWords, readyOf } from './image-config.ts'

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
    const many = Array.from({ length: 1000 }, (_, index) => `${index + 1}/tcp`)
    expect(words(many)).toBe('1 (MCM.PORT; its image exposes 1, 2, 3, 4, 5, 6, 7, 8)')
  })
})
