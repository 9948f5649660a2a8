import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { loadConfig, readConfigFile } from './load.ts'
import { option } from './option.ts'

const table = {
  port: option.port(8083, 'Port.', { env: 'TEST_PORT' }),
  'gps.order': option.choice(['a', 'b'], 'a', 'Order.'),
  'identity.url': option.url('http://127.0.0.1:1', 'URL.'),
  hosts: option.list([], 'Hosts.'),
  on: option.boolean(false, 'On.'),
  page: option.pageUrl('Page.'),
  origins: option.origins('Origins.'),
}
const load = (sources: Partial<Parameters<typeof loadConfig>[1]>) =>
  loadConfig(table, { argv: [], env: {}, file: {}, ...sources })

/** Each would widen a Content-Security-Policy by more than one host, or send a secret with a page. */
const hostilePages = [
  'http://maps.example/style.json',
  'javascript:alert(1)',
  'data:application/json,{}',
  'blob:https://maps.example/1',
  '//maps.example/style.json',
  '/style.json',
  'https://*.example/style.json',
  'https://*',
  'https://a.example;script-src.example/',
  'https://a.example,b.example/',
  "https://'unsafe-inline'/",
  'https://a.example/ https://b.example',
  'https://a.example/\nscript-src *',
  'https://user:secret@a.example/style.json',
  'https://user@a.example/style.json',
  'https://a.example/style.json#part',
  'https:\\\\a.example',
  'https://[::1]/style.json',
  'http://127.0.0.1.evil.example/style.json',
  `https://a.example/${'a'.repeat(2048)}`,
]

describe('the configuration', () => {
  it('accepts URLs and origins that pages may use', () => {
    const page = 'https://maps.example:8443/tiles/{z}/{x}/{y}.png?key=1'
    const origins = ['https://tiles.example', 'https://a.b-c.example:444', 'http://127.0.0.1:8080']
    expect(load({ file: { page, origins } })).toMatchObject({ page, origins })
    expect(
      load({
        argv: ['--page=http://localhost:1/style.json', '--origins=https://a.example, https://b.example'],
      }),
    ).toMatchObject({
      page: 'http://localhost:1/style.json',
      origins: ['https://a.example', 'https://b.example'],
    })
    expect(load({})).toMatchObject({ page: '', origins: [] })
  })

  it('is the defaults, then the file, then the environment, then the command line', () => {
    expect(load({}).port).toBe(8083)
    expect(load({ file: { port: 1 } }).port).toBe(1)
    expect(load({ file: { port: 1 }, env: { TEST_PORT: '2' } }).port).toBe(2)
    expect(load({ file: { port: 1 }, env: { TEST_PORT: '2' }, argv: ['--port=3'] }).port).toBe(3)
  })

  it('may be nested in the file, and a list on the command line', () => {
    expect(
      load({ file: { gps: { order: 'b' }, hosts: ['x'] }, argv: ['--hosts=a, b', '--on=true'] }),
    ).toMatchObject({
      'gps.order': 'b',
      hosts: ['a', 'b'],
      on: true,
    })
  })

  it.each<[Parameters<typeof load>[0], string]>([
    [{ file: { prot: 1 } }, 'configuration file: unknown option "prot"; known are port'],
    [{ file: { gps: { ordre: 'a' } } }, 'configuration file: unknown option "gps.ordre"'],
    [{ file: { port: '1' } }, 'configuration file: option "port" is "1"'],
    [{ file: { port: 65_536 } }, 'option "port" is 65536'],
    [{ env: { TEST_PORT: 'eighty' } }, 'environment variable TEST_PORT: option "port" is'],
    [{ argv: ['--on=yes'] }, 'command line: option "on" is "yes"'],
    [{ argv: ['--__proto__=1'] }, 'command line: unknown option "__proto__"'],
    [{ argv: ['port=1'] }, 'argument "port=1" is not of the form --option=value'],
    [
      { argv: ['--identity.url=http://identity.example'] },
      'expected an https URL, or an http one of this machine',
    ],
    [{ argv: ['--identity.url=https://identity.example/path'] }, 'with nothing after the port'],
    [{ argv: ['--identity.url=http://127.0.0.1.evil.example'] }, 'expected an https URL'],
    ...hostilePages.map(
      (page) =>
        [{ argv: [`--page=${page}`] }, 'expected an https URL'] as [Parameters<typeof load>[0], string],
    ),
    ...[...hostilePages, 'https://a.example/', 'https://a.example/path', 'https://a.example?'].map(
      (origin) =>
        [{ file: { origins: [origin] } }, 'expected origins such as'] as [Parameters<typeof load>[0], string],
    ),
    [{ file: { origins: Array.from({ length: 17 }, (_, each) => `https://a${each}.example`) } }, 'origins'],
  ])('%j is refused, with where and why', (sources, message) => {
    expect(() => load(sources)).toThrow(message)
  })

  it('has one section a program in the file', () => {
    const folder = mkdtempSync(join(tmpdir(), 'config-'))
    const file = (content: string) => {
      writeFileSync(join(folder, 'c.json'), content)
      return join(folder, 'c.json')
    }
    expect(readConfigFile(file('{"state":"/x","runtime":{"name":"n"},"identity":{}}'), 'runtime')).toEqual({
      state: '/x',
      name: 'n',
    })
    expect(() => readConfigFile(file('{"rutime":{}}'), 'runtime')).toThrow('unknown section "rutime"')
    expect(() => readConfigFile(file('{'), 'runtime')).toThrow('configuration file')
    expect(() => readConfigFile(join(folder, 'none.json'), 'runtime')).toThrow('no such file')
    rmSync(folder, { recursive: true })
  })
})
