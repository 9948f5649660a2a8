/** Names of devices: what is stored, what a hostile file can do, and which one a command is for. */
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { UsageError } from '../failure.ts'
import { type Contexts, createContexts, readContextName } from './contexts.ts'
import { deviceVariables, select } from './selection.ts'

let folder: string
let contexts: Contexts
const path = () => join(folder, 'contexts.json')
const kitchen = { name: 'kitchen', url: 'https://kitchen.example', identityUrl: 'https://id.example' }
const garage = { name: 'garage', state: '/var/lib/garage' }

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'selvedge-'))
  contexts = createContexts(folder)
})
afterEach(() => rmSync(folder, { recursive: true }))

const put = (content: unknown) =>
  writeFileSync(path(), typeof content === 'string' ? content : JSON.stringify(content), { mode: 0o600 })

describe('the contexts of a user', () => {
  it('are stored in a private file with the number of its format', () => {
    contexts.add(kitchen)
    contexts.add(garage)
    contexts.use('garage')
    expect(contexts.read()).toEqual({ current: 'garage', contexts: [kitchen, garage] })
    expect(statSync(path()).mode & 0o777).toBe(0o600)
    expect(JSON.parse(readFileSync(path(), 'utf8'))).toMatchObject({ format: 1, current: 'garage' })
  })

  it('are not in use until one is chosen, and no longer when it is removed', () => {
    contexts.add(kitchen)
    expect(contexts.read().current).toBeUndefined()
    contexts.use('kitchen')
    contexts.remove('kitchen')
    expect(contexts.read()).toEqual({ current: undefined, contexts: [] })
  })

  it('are never replaced: a name in use is refused', () => {
    contexts.add(kitchen)
    expect(() => contexts.add({ ...garage, name: 'kitchen' })).toThrow('there is a context kitchen already')
    expect(contexts.find('kitchen')).toEqual(kitchen)
  })

  it.each(['use', 'remove', 'find'] as const)('"%s" of an unknown name lists those that exist', (action) => {
    contexts.add(kitchen)
    expect(() => contexts[action]('kitchn')).toThrow('there is no context "kitchn"')
    expect(() => contexts[action]('constructor')).toThrow(UsageError)
  })

  it('are in use until another one is, or no context', () => {
    contexts.add(kitchen)
    contexts.add(garage)
    contexts.use('garage')
    contexts.remove('kitchen')
    expect(contexts.read()).toEqual({ current: 'garage', contexts: [garage] })
    contexts.use(undefined)
    expect(contexts.read()).toEqual({ current: undefined, contexts: [garage] })
  })

  it('are named when another name is unknown, ten of them', () => {
    const hint = () => {
      try {
        contexts.find('kitchn')
      } catch (cause) {
        return (cause as UsageError).hint
      }
      throw new Error('it was found')
    }
    const all = ' "selvedge context list" shows all.'
    expect(hint()).toBe('Add one: selvedge context add <name> --url <url>')
    contexts.add(kitchen)
    expect(hint()).toBe(`There is kitchen.${all}`)
    contexts.add(garage)
    expect(hint()).toBe(`There are kitchen, garage.${all}`)
    const many = Array.from({ length: 11 }, (_, at) => ({ ...garage, name: `n${at}` }))
    put({ format: 1, contexts: many.slice(0, 10) })
    expect(hint()).toBe(`There are n0, n1, n2, n3, n4, n5, n6, n7, n8, n9.${all}`)
    put({ format: 1, contexts: many })
    expect(hint()).toBe(`There are n0, n1, n2, n3, n4, n5, n6, n7, n8, n9, ….${all}`)
  })

  it('are at most 1,000', () => {
    put({ format: 1, contexts: Array.from({ length: 1000 }, (_, at) => ({ ...garage, name: `n${at}` })) })
    expect(() => contexts.add(kitchen)).toThrow('1000')
  })

  it.each(['', '-x', '.', 'a b', 'a/b', '__proto__', '\u001b[31m', 'x'.repeat(64), 'default'])(
    'cannot have the name %j',
    (name) => {
      const message = name === 'default' ? 'means no context' : 'a context cannot have the name'
      expect(() => readContextName(name)).toThrow(message)
    },
  )

  it.each(['kitchen', 'K', '0', 'a.b_c-d', 'x'.repeat(63)])('can have the name %j', (name) => {
    expect(readContextName(name)).toBe(name)
  })
})

describe('a file of contexts', () => {
  it.each([
    ['not JSON', '{'],
    ['a list', []],
    ['without contexts', { format: 1 }],
    ['contexts as an object', { contexts: { kitchen } }],
    ['a context without a name', { contexts: [{ url: kitchen.url }] }],
    ['a context without an address', { contexts: [{ name: 'x' }] }],
    ['a context that is null', { contexts: [null] }],
    ['a context that is a text', { contexts: ['x'] }],
    ['an empty address', { contexts: [{ ...kitchen, discoveryUrl: '' }] }],
    ['a name that no context can have', { contexts: [{ ...kitchen, name: '../x' }] }],
    ['the name for no context', { contexts: [{ ...kitchen, name: 'default' }] }],
    ['the same name twice', { contexts: [kitchen, kitchen] }],
    ['an unknown member', { contexts: [{ ...kitchen, token: 'x' }] }],
    ['an own __proto__', '{"contexts":[{"name":"x","url":"https://a.example","__proto__":{"state":"/x"}}]}'],
    ['a relative state folder', { contexts: [{ name: 'x', state: '.selvedge' }] }],
    ['a relative key file', { contexts: [{ ...kitchen, apiKeyFile: 'key' }] }],
    ['an address that is a number', { contexts: [{ name: 'x', url: 1 }] }],
    ['an endless address', { contexts: [{ name: 'x', url: `https://a.example/${'x'.repeat(5000)}` }] }],
    ['a current context that does not exist', { current: 'x', contexts: [kitchen] }],
    ['a current context that is an object', { current: {}, contexts: [kitchen] }],
    ['too many', { contexts: Array.from({ length: 1001 }, (_, at) => ({ ...garage, name: `n${at}` })) }],
  ])('with %s is refused, and is not changed', (_, content) => {
    put(content)
    const before = readFileSync(path(), 'utf8')
    expect(() => contexts.read()).toThrow('is damaged')
    expect(() => contexts.add({ ...kitchen, name: 'new' })).toThrow('is damaged')
    expect(readFileSync(path(), 'utf8')).toBe(before)
  })

  it.each([
    ['javascript:alert(1)', 'not an HTTP URL'],
    ['file:///etc/passwd', 'not an HTTP URL'],
    ['http://192.0.2.1:8083', 'over HTTPS only'],
    ['https://user:pass@a.example', 'not allowed in it'],
  ])('with the address %s is refused, whichever member it is', (url, reason) => {
    for (const key of ['url', 'identityUrl', 'discoveryUrl']) {
      put({ contexts: [{ ...kitchen, [key]: url }] })
      expect(() => contexts.read()).toThrow(reason)
    }
  })

  it('with texts of up to 4096 characters is read', () => {
    const list = [{ name: 'x', state: `/${'x'.repeat(4095)}` }]
    put({ contexts: list })
    expect(contexts.read().contexts).toEqual(list)
    put({ contexts: [{ name: 'x', state: `/${'x'.repeat(4096)}` }] })
    expect(() => contexts.read()).toThrow('is damaged')
  })

  it('with a wrong address is named, with the context and its member', () => {
    put({ contexts: [{ ...kitchen, identityUrl: 'http://192.0.2.1' }] })
    expect(() => contexts.read()).toThrow(`"identityUrl" of the context kitchen in ${path()}`)
  })

  it('that others can read, or that is a link, is refused', () => {
    contexts.add(kitchen)
    chmodSync(path(), 0o644)
    expect(() => contexts.read()).toThrow('with mode 644')
    rmSync(path())
    symlinkSync('/etc/hostname', path())
    expect(() => contexts.read()).toThrow('is a symbolic link')
  })

  it('of a later version, or a huge one, is refused', () => {
    put({ format: 2, sealed: 'x' })
    expect(() => contexts.use('x')).toThrow('later version')
    put(`{"format":1,"contexts":[${' '.repeat(2_000_000)}]}`)
    expect(() => contexts.read()).toThrow('bytes')
  })
})

describe('a command is for', () => {
  const secrets = Object.fromEntries(deviceVariables.map((name) => [name, `${name} of another device`]))
  const both = () => {
    contexts.add(kitchen)
    contexts.add(garage)
    contexts.use('garage')
  }

  it('the named context, and nothing of the environment that names or opens another device', () => {
    both()
    const { context, flags, env } = select({ context: 'kitchen' }, { ...secrets, HOME: '/home/x' }, contexts)
    expect(context).toEqual(kitchen)
    expect(flags).toEqual({ url: kitchen.url, identityUrl: kitchen.identityUrl })
    expect(env).toEqual({ HOME: '/home/x' })
  })

  it('the context in use, without tokens and keys of the environment', () => {
    both()
    const { SELVEDGE_ACCESS_TOKEN, SELVEDGE_API_KEY } = secrets
    const selected = select({}, { SELVEDGE_ACCESS_TOKEN, SELVEDGE_API_KEY }, contexts)
    expect(selected).toEqual({ context: garage, flags: { state: garage.state }, env: {} })
  })

  it.each([
    ['--url', { url: 'https://a.example' }, {}],
    ['--state', { state: '/x' }, {}],
    ['SELVEDGE_STATE', {}, { SELVEDGE_STATE: '/x' }],
    ['SELVEDGE_RUNTIME_URL', {}, { SELVEDGE_RUNTIME_URL: 'https://a.example' }],
    ['--context default', { context: 'default' }, {}],
  ])('no context with %s, although one is in use', (_, flags, env) => {
    both()
    expect(select(flags, env, contexts).context).toBeUndefined()
  })

  it('the address of an option in place of that of the context', () => {
    both()
    const { flags } = select({ context: 'kitchen', identityUrl: 'https://other.example' }, {}, contexts)
    expect(flags.identityUrl).toBe('https://other.example')
  })

  it.each([{ url: 'https://a.example' }, { state: '/x' }])(
    'one device only: --context with %j fails',
    (flags) => {
      both()
      expect(() => select({ context: 'kitchen', ...flags }, {}, contexts)).toThrow('both name a device')
    },
  )

  it('no device with a damaged file, unless its options name one', () => {
    put('{')
    expect(() => select({}, {}, contexts)).toThrow('is damaged')
    expect(select({ url: 'https://a.example' }, {}, contexts).context).toBeUndefined()
  })
})
