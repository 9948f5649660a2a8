import { describe, expect, it } from 'vitest'
import { outboundOf, readOutboundEntry } from './outbound.ts'
import { readSettings } from './settings.ts'

const read = (text: string) => readSettings({ 'MCM.OUTBOUND': text })['MCM.OUTBOUND']

describe('MCM.OUTBOUND', () => {
  it.each([
    ['api.example.com', ['api.example.com']],
    ['API.example.com:443 10.0.0.5:8080,[::1]:80', ['api.example.com:443', '10.0.0.5:8080', '[::1]:80']],
    ['10.1.2.0/24:502', ['10.1.2.0/24:502']],
    ['0.0.0.0/0', ['0.0.0.0/0']],
    ['public, 10.1.2.0/24', ['public', '10.1.2.0/24']],
    ['PUBLIC', ['public']],
    ['none', ['none']],
    ['', ['none']],
    [' , ', ['none']],
    // Earlier releases accepted and stored it. It leads nowhere.
    ['host:99999', ['host:99999']],
  ])('%j is the list %j', (text, expected) => expect(read(text)).toEqual(expected))

  it.each([
    '*',
    'http://x/',
    'none,public',
    'none, api.example.com',
    '10.1.2.0/33',
    '10.1.2.0/24:0',
    '10.1.2.0/24:65536',
    '10.1.2.0/24:*',
    '10.1.2.256/24',
    '10.1.2/24',
    '10.1.2.0/',
    '::/0',
    '[::]/0',
    'a b;c',
    'a\u0000b',
    '.example.com',
    'example.com.',
    '-a',
    'a"b',
    'a}b',
  ])('does not accept %j', (text) => expect(() => read(text)).toThrow('MCM.OUTBOUND'))

  it('without it, functions reach nothing and OCI containers public addresses; "none" is nothing for both', () => {
    const absent = readSettings({})['MCM.OUTBOUND']
    expect(outboundOf(absent, 'function')).toEqual([])
    expect(outboundOf(absent, 'oci')).toEqual(['public'])
    for (const kind of ['function', 'oci'] as const) {
      expect(outboundOf(read('none'), kind)).toEqual([])
      expect(outboundOf(read(''), kind)).toEqual([])
      expect(outboundOf(read('public'), kind)).toEqual(['public'])
      expect(outboundOf(read('a:1'), kind)).toEqual(['a:1'])
    }
  })

  it.each([
    ['a', 'a', [80, 443]],
    ['a:1', 'a', [1]],
    ['a:65535', 'a', [65_535]],
    ['a:65536', 'a', []],
    ['a:0', 'a', []],
    ['10.0.0.0/8', '10.0.0.0/8', [80, 443]],
    ['10.0.0.0/8:502', '10.0.0.0/8', [502]],
    ['[::1]:80', '[::1]', [80]],
    ['[::1]', '[::1]', [80, 443]],
  ])('the entry %s is the host %s with the ports %j', (entry, host, ports) =>
    expect(readOutboundEntry(entry)).toEqual({ host, ports }),
  )

  it('reads a text of any length in time', () => {
    expect(() => read(`${'a-'.repeat(16_000)}`)).toThrow('expected')
    expect(read('a:1,'.repeat(8000))).toHaveLength(8000)
  })
})
