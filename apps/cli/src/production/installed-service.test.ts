/** The commands of an installation have the settings that the unit of the service has. */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createOwnNetwork } from '../context/network.ts'
import { readVariables, unitEnv } from './installed-service.ts'

let root: string
const etc = (name: string) => join(root, 'etc/selvedge', name)
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'selvedge-unit-'))
  mkdirSync(join(root, 'etc/selvedge'), { recursive: true })
})
afterEach(() => rmSync(root, { recursive: true }))

const write = (name: string, content: string, mode = 0o600) => {
  writeFileSync(etc(name), content)
  chmodSync(etc(name), mode)
}

describe('the environment of a program of a service', () => {
  const own = () => ({ root, isInstalled: true })

  it('has the settings, the state folder and the variables of its unit', () => {
    write('identity.json', '{}')
    write('identity.env', 'SELVEDGE_IDENTITY_STORE=postgres://db.example/selvedge\n')
    expect(unitEnv('identity', { PATH: '/bin', EMPTY: '' }, own())).toEqual({
      SELVEDGE_CONFIG: etc('identity.json'),
      SELVEDGE_STATE: join(root, 'var/lib/selvedge-identity'),
      SELVEDGE_IDENTITY_STORE: 'postgres://db.example/selvedge',
      PATH: '/bin',
    })
  })

  it('of the caller counts before that of the unit', () => {
    write('identity.json', '{}')
    write('identity.env', 'SELVEDGE_IDENTITY_STORE=postgres://db.example/selvedge\n')
    const env = { SELVEDGE_IDENTITY_STORE: 'sqlite:/own.db' }
    expect(unitEnv('identity', env, own())).toMatchObject(env)
  })

  it.each([
    ['in a clone', {}, false],
    ['with other settings of the caller', { SELVEDGE_CONFIG: '/own.json' }, true],
    ['with another state folder', { SELVEDGE_STATE: '/own' }, true],
  ])('is that of the caller alone %s', (_, env, isInstalled) => {
    write('identity.json', '{}')
    expect(unitEnv('identity', env, { root, isInstalled })).toBe(env)
  })

  it('is that of the caller alone where the service is not installed', () => {
    const env = {}
    expect(unitEnv('identity', env, own())).toBe(env)
  })
})

it('variables of a file are read as systemd reads them', () => {
  write(
    'runtime.env',
    '# a comment\n\nA=1\n B = 2\nC="three words"\nD=\'#4\'\nE=\nnonsense\n; F=6\nG=a=b\r\n',
  )
  expect(readVariables(etc('runtime.env'))).toEqual({ A: '1', C: 'three words', D: '#4', E: '', G: 'a=b' })
})

it('a file with variables that other users can write, or that is missing, is empty', () => {
  write('runtime.env', 'A=1', 0o666)
  expect(readVariables(etc('runtime.env'))).toEqual({})
  expect(readVariables(etc('missing.env'))).toEqual({})
})

describe('the network of the command line', () => {
  const isProxied = (env: Record<string, string> = {}) => {
    const network = createOwnNetwork(env, { root, isInstalled: true })
    const agent = (host: string) => network.agentFor(`http://${host}`, 'service')
    return agent('a.example') !== agent('direct.example')
  }

  it('has the proxy and the exceptions of the installed service', () => {
    const proxied = { proxy: 'http://proxy.example:3128', noProxy: ['direct.example'] }
    write('runtime.json', JSON.stringify({ runtime: { network: proxied } }))
    expect(isProxied()).toBe(true)
  })

  it('has the proxy of the variables of its unit', () => {
    write('runtime.json', '{}')
    write('runtime.env', 'HTTP_PROXY=http://proxy.example:3128\nNO_PROXY=direct.example\n')
    expect(isProxied()).toBe(true)
  })

  it('has that of the caller before that of the service', () => {
    write('runtime.json', '{ "runtime": { "network": { "proxy": "direct" } } }')
    expect(isProxied({ HTTP_PROXY: 'http://proxy.example:3128', NO_PROXY: 'direct.example' })).toBe(true)
  })

  it('has no proxy where the settings cannot be read', () => {
    write('runtime.json', 'not JSON')
    expect(isProxied()).toBe(false)
  })
})
