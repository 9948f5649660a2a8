import { readSettings } from '@selvedge/protocol'
import { describe, expect, it } from 'vitest'
import { readyOf } from './image-config.ts'

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
