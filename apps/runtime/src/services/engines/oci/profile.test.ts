import { containerCapabilities } from '@selvedge/protocol'
import { describe, expect, it } from 'vitest'
import { capabilitiesOf, isRoot, layersOf, type Users } from './profile.ts'

const own: Users = { kind: 'own', range: { uid: 1, gid: 1 } }
const device: Users = { kind: 'device' }
const settings = {
  'MCM.ROOT': 'writable',
  'MCM.NETWORK': 'isolated',
  'MCM.CAPABILITIES': undefined,
} as const
const traits = { hasSeccomp: true, hasCgroups: true, hasQuota: false }

describe('the user that a program starts as', () => {
  it.each(['', 'root', '0', '00', '0:0', 'root:root', ':33', '0:adm'])('root: "%s"', (user) => {
    expect(isRoot(user)).toBe(true)
  })
  it.each(['33', 'www-data', '1000:0', 'root2', 'rooted', '10', '0x0', 'nobody:root', ' root', '-0'])(
    'not root: "%s"',
    (user) => {
      expect(isRoot(user)).toBe(false)
    },
  )
})

describe('capabilities', () => {
  it('a program that starts as root gets the default ones in a user namespace, else the few to give up root', () => {
    expect(capabilitiesOf(own, '')).toContain('DAC_OVERRIDE')
    expect(capabilitiesOf({ kind: 'engine' }, 'root')).toContain('SETFCAP')
    expect(capabilitiesOf(device, '0')).toEqual([
      'CHOWN',
      'FOWNER',
      'KILL',
      'NET_BIND_SERVICE',
      'SETGID',
      'SETUID',
    ])
    for (const users of [own, device]) {
      expect(capabilitiesOf(users, '')).not.toContain('NET_RAW')
      expect(capabilitiesOf(users, '')).not.toContain('MKNOD')
    }
  })

  it('a program that starts as another user gets no capabilities', () => {
    for (const users of [own, device, { kind: 'engine' } as const])
      expect(capabilitiesOf(users, '33:33')).toEqual([])
  })

  it('a container keeps those of its setting, and never more than its profile has', () => {
    expect(capabilitiesOf(own, '', ['SETUID', 'CHOWN'])).toEqual(['CHOWN', 'SETUID'])
    expect(capabilitiesOf(device, '', ['DAC_OVERRIDE', 'KILL'])).toEqual(['KILL'])
    expect(capabilitiesOf(own, '', [])).toEqual([])
    expect(capabilitiesOf(own, '', ['SYS_ADMIN'])).toEqual([])
    expect(capabilitiesOf(own, '33', ['CHOWN'])).toEqual([])
    expect([...capabilitiesOf(own, '')].sort()).toEqual([...containerCapabilities])
    const layer = (kept: readonly string[]) =>
      layersOf(own, '', traits, { ...settings, 'MCM.CAPABILITIES': kept })
    expect(layer(['CHOWN'])).toContain('chosen capabilities')
    expect(layer([])).toContain('no capabilities')
  })

  it('the layers of a container name them', () => {
    expect(layersOf(own, '', traits, settings)).toEqual(
      expect.arrayContaining([
        'user namespace',
        'default capabilities',
        'seccomp',
        'root watch',
        'own network',
      ]),
    )
    expect(layersOf(own, '33', traits, settings)).toContain('no capabilities')
    expect(layersOf(device, '', traits, settings)).toContain('few capabilities')
    expect(layersOf(device, '', traits, settings)).not.toContain('user namespace')
  })
})
