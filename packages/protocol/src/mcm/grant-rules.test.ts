import { describe, expect, it } from 'vitest'
import { readDeviceRule, readMountRule, readNetworkRule } from './grant-rules.ts'

const read = { devices: readDeviceRule, mounts: readMountRule, hostNetwork: readNetworkRule }

describe('a rule of the configuration', () => {
  it.each<[keyof typeof read, string, object]>([
    ['devices', '/dev/ttyUSB0 service=c-gpsd', { what: '/dev/ttyUSB0', to: { service: 'c-gpsd' } }],
    ['devices', ' gpu  project=c account=a ', { what: 'gpu', to: { project: 'c', account: 'a' } }],
    [
      'devices',
      '/dev/serial/by-path/pci-0000:00:14.0-usb-0:1:1.0-port0 image=sha256:00',
      { what: '/dev/serial/by-path/pci-0000:00:14.0-usb-0:1:1.0-port0', to: { image: 'sha256:00' } },
    ],
    ['mounts', '/srv/media service=c-web', { what: '/srv/media', isWritable: false }],
    ['mounts', '/srv/media:ro service=c-web', { what: '/srv/media', isWritable: false }],
    ['mounts', '/srv/media:rw service=c-web', { what: '/srv/media', isWritable: true }],
    ['hostNetwork', 'service=c-avahi account=a', { to: { service: 'c-avahi', account: 'a' } }],
  ])('%s %j is read', (kind, text, rule) => expect(read[kind](text)).toMatchObject(rule))

  it.each<[keyof typeof read, string]>([
    ['devices', ''],
    ['devices', '/dev/ttyUSB0'],
    ['devices', '/dev/ttyUSB0 account=a'],
    ['devices', '/dev/ttyUSB0 service='],
    ['devices', '/dev/ttyUSB0 service=a service=b'],
    ['devices', '/dev/ttyUSB0 service=a anyone'],
    ['devices', '/dev/ttyUSB0 service=a user=root'],
    ['devices', '/dev/ttyUSB0 __proto__=a'],
    ['devices', '* service=a'],
    ['devices', '/dev service=a'],
    ['devices', '/dev/ service=a'],
    ['devices', '/dev/../etc/shadow service=a'],
    ['devices', '/etc/shadow service=a'],
    ['devices', 'vendor.com/gpu=0 service=a'],
    ['mounts', '/srv/media'],
    ['mounts', '/ service=a'],
    ['mounts', 'srv service=a'],
    ['mounts', '/srv/../etc service=a'],
    ['mounts', '/srv:exec service=a'],
    ['mounts', '/srv:rw:ro service=a'],
    ['mounts', '/srv:rw account=a'],
    ['hostNetwork', ''],
    ['hostNetwork', '*'],
    ['hostNetwork', 'account=a'],
    ['hostNetwork', 'host service=a'],
  ])('%s %j is refused', (kind, text) => expect(read[kind](text)).toBeUndefined())
})
