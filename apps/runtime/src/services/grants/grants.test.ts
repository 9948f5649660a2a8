import { type RpcError, readSettings } from '@selvedge/protocol'
import { describe, expect, it } from 'vitest'
import { createGrants, type GrantConfig } from './grants.ts'

const container = { accountId: 'a', clientId: 'c', name: 'web', image: 'web-image', digest: 'sha256:00' }
const nothing: GrantConfig = { 'services.devices': [], 'services.mounts': [], 'services.hostNetwork': [] }

function problem(config: Partial<GrantConfig>, env: Record<string, string>, of = container): string {
  try {
    createGrants({ ...nothing, ...config }).expect(of, readSettings(env))
    return ''
  } catch (cause) {
    const { reason, message, hint } = cause as RpcError
    return `${reason}: ${message} ${hint}`
  }
}

const tty = { 'MCM.DEVICES': '/dev/ttyUSB0' }

describe('a device grants', () => {
  it.each([
    tty,
    { 'MCM.DEVICES': 'gpu' },
    { 'MCM.DEVICES': 'v.com/c=a' },
    { 'MCM.MOUNTS': '/srv:/srv' },
    { 'MCM.NETWORK': 'host' },
  ])('nothing by default, and names the rule: %j', (env) => {
    expect(problem({}, env)).toMatch(
      /^invalid_params: .*which this device does not grant .*service=c-web"\]$/,
    )
  })

  it.each([{}, { 'MCM.NETWORK': 'open' }, { 'MCM.VOLUMES': 'data:/data' }])(
    'what needs no rule: %j',
    (env) => {
      expect(problem({}, env)).toBe('')
    },
  )

  it.each<[string, boolean]>([
    ['service=c-web', true],
    ['service=c-web2', false],
    ['service=web', false],
    ['project=c', true],
    ['project=d', false],
    ['image=c-web-image', true],
    ['image=web-image', false],
    ['image=sha256:00', true],
    ['image=sha256:01', false],
    ['service=c-web account=a', true],
    ['service=c-web account=b', false],
    ['project=c image=sha256:00', true],
    ['project=c image=sha256:01', false],
    ['project=d service=c-web', false],
  ])('a device to %s: %s', (to, isGranted) => {
    expect(problem({ 'services.devices': [`/dev/ttyUSB0 ${to}`] }, tty) === '').toBe(isGranted)
    expect(problem({ 'services.hostNetwork': [to] }, { 'MCM.NETWORK': 'host' }) === '').toBe(isGranted)
  })

  it('each device by itself', () => {
    const config = { 'services.devices': ['/dev/ttyUSB0 service=c-web', 'v.com/c=a service=c-web'] }
    expect(problem(config, { 'MCM.DEVICES': 'v.com/c=a' })).toBe('')
    expect(problem(config, { 'MCM.DEVICES': 'v.com/c=a,v.com/c=b' })).toContain('v.com/c=b')
    expect(problem(config, { 'MCM.DEVICES': '/dev/ttyUSB0,/dev/ttyUSB1' })).toContain('/dev/ttyUSB1')
    expect(problem(config, { 'MCM.DEVICES': '/dev/ttyUSB' })).not.toBe('')
    expect(problem(config, { 'MCM.DEVICES': 'gpu' })).not.toBe('')
    expect(problem(config, { 'MCM.DEVICES': '/dev/ttyUSB1:/dev/ttyUSB0' })).toContain('/dev/ttyUSB1')
  })

  it('a folder for reading or for writing, and no folder in it', () => {
    const mount = (rule: string, text: string) =>
      problem({ 'services.mounts': [`${rule} service=c-web`] }, { 'MCM.MOUNTS': text })
    expect(mount('/srv', '/srv:/x')).toBe('')
    expect(mount('/srv', '/srv:/x:ro')).toBe('')
    expect(mount('/srv', '/srv:/x:rw')).toContain('services.mounts: ["/srv:rw service=c-web"]')
    expect(mount('/srv:rw', '/srv:/x:rw')).toBe('')
    expect(mount('/srv:rw', '/srv:/x')).toBe('')
    expect(mount('/srv', '/srv/in:/x')).not.toBe('')
    expect(mount('/srv/in', '/srv:/x')).not.toBe('')
  })

  it('another container nothing by a rule of this one', () => {
    const config = { 'services.devices': ['/dev/ttyUSB0 service=c-web account=a'] }
    expect(problem(config, tty, { ...container, accountId: 'b' })).not.toBe('')

    expect(problem(config, tty, { ...container, clientId: 'd' })).not.toBe('')
  })
})
