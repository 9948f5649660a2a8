/** What a function may write as the target of a connection. */
import { describe, expect, it } from 'vitest'
import { readTarget } from './target.ts'

const isOwnUrl = ({ port }: URL) => port === '8083'
const read = (text: string, ...outbound: string[]) => readTarget(text, outbound, isOwnUrl)

describe('a target', () => {
  it.each([
    ['db.example:5432', 'db.example:5432', 'db.example', 5432],
    ['DB.example:5432', 'db.example:5432', 'db.example', 5432],
    ['db.example:443', 'db.example', 'db.example', 443],
    ['db.example:80', 'db.example', 'db.example', 80],
    ['10.0.0.5:502', '10.0.0.5:502', '10.0.0.5', 502],
    ['[fd00::1]:1883', '[fd00::1]:1883', 'fd00::1', 1883],
    ['[fd00:0::1]:1883', '[fd00::1]:1883', 'fd00::1', 1883],
    // The URL parser writes every spelling of an address in one form, and that form is looked up in the list.
    ['0x0a000005:502', '10.0.0.5:502', '10.0.0.5', 502],
    ['012.0.0.5:502', '10.0.0.5:502', '10.0.0.5', 502],
    ['db.example:65535', 'db.example:65535', 'db.example', 65_535],
  ])('%s is reached where %s is listed', (text, listed, host, port) => {
    expect(read(text, listed)).toEqual({ host, port })
  })

  it.each([
    ['db.example:5433', 'db.example:5432'],
    ['db.example:5432', 'db.example'],
    ['db.example:5432', 'example:5432'],
    ['db.example.:5432', 'db.example:5432'],
    ['example:5432', 'db.example:5432'],
    ['127.0.0.1:502', '10.0.0.5:502'],
    ['0177.0.0.1:502', '0177.0.0.1:502'],
    ['2130706433:502', '10.0.0.5:502'],
    ['[::1]:502', '127.0.0.1:502'],
    ['[::ffff:127.0.0.1]:502', '127.0.0.1:502'],
  ])('%s is not reached where %s is listed', (text, listed) => {
    expect(read(text, listed)).toMatch(/ is not listed in MCM\.OUTBOUND; deploy the container with /)
  })

  it.each([
    '',
    'db.example',
    'db.example:',
    'db.example:0',
    'db.example:65536',
    'db.example:99999',
    'db.example:-1',
    'db.example:5432x',
    ':5432',
    'user@db.example:5432',
    'user:secret@db.example:5432',
    'db.example:5432/path',
    'db.example:5432?x',
    'db.example\r\nX-Other: 1:5432',
    'db.example :5432',
    'db.example\t:5432',
    'db.example\0:5432',
    'http://db.example:5432',
    '[fe80::1%eth0]:5432',
    '[::1:5432',
    '[zz]:5432',
    '1.2.3.4.5:5432',
    '256.1.1.1:5432',
    'ex\u0430mple:5432',
    `${'x'.repeat(254)}:5432`,
  ])('%j is no host and port', (text) => {
    expect(read(text, 'db.example:5432', 'db.example', text)).toMatch(/is not a host and a port/)
  })

  it.each([
    '169.254.169.254:80',
    '169.254.1.1:80',
    '[fe80::1]:80',
    '[::ffff:169.254.169.254]:80',
    '[64:ff9b::a9fe:a9fe]:80',
    '0xa9fea9fe:80',
    '100.100.100.200:80',
    '168.63.129.16:80',
    '[fd00:ec2::254]:80',
  ])('%s is never reached, even if it is listed', (text) => {
    const { host } = new URL(`http://${text}`)
    expect(read(text, host, `${host}:80`)).toMatch(
      /link-local or metadata address, which services never reach$/,
    )
  })

  it.each([
    '127.0.0.1:8083',
    'localhost:8083',
    '[::1]:8083',
    '127.9.9.9:8083',
    '0.0.0.0:8083',
    '[::]:8083',
    '[::ffff:127.0.0.1]:8083',
  ])('%s is this device, and refused even if it is listed', (text) => {
    for (const outbound of [[], [text, '127.0.0.1:8083']])
      expect(read(text, ...outbound)).toMatch(/:8083 is this device, which functions call with fetch$/)
  })
})
