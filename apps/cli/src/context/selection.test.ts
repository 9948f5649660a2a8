/** Which device a command is for, and which secrets of the environment go with it. */
import { describe, expect, it } from 'vitest'
import { UsageError } from '../failure.ts'
import type { Contexts, NamedContext } from './contexts.ts'
import { deviceVariables, type SelectionFlags, select } from './selection.ts'

const kitchen: NamedContext = {
  ...{ name: 'kitchen', url: 'https://kitchen.example', identityUrl: 'https://id.example' },
  apiKeyFile: '/keys/kitchen',
}
const contextsWith = (current: string | undefined): Contexts =>
  ({
    read: () => ({ current, contexts: [kitchen] }),
    find: (name: string) => {
      if (name === 'kitchen') return kitchen
      throw new UsageError(`no ${name}`, '')
    },
  }) as unknown as Contexts
const env = { SELVEDGE_ACCESS_TOKEN: 'secret', PATH: '/bin' }
const choose = (flags: SelectionFlags, variables: Record<string, string> = env, current?: string) =>
  select(flags, variables, contextsWith(current))

describe('a context', () => {
  const chosen = {
    context: kitchen,
    flags: { url: 'https://kitchen.example', identityUrl: 'https://id.example' },
    env: { PATH: '/bin' },
  }

  it('is named by an option, or in use', () => {
    expect(choose({ context: 'kitchen' })).toEqual(chosen)
    expect(choose({}, env, 'kitchen')).toEqual(chosen)
    expect(() => choose({ context: 'garage' })).toThrow('no garage')
  })

  it('leaves out the addresses and secrets of the environment, which are of another device', () => {
    const all = Object.fromEntries(deviceVariables.map((name) => [name, 'x']))
    expect(choose({ context: 'kitchen' }, { ...all, HOME: '/home' }).env).toEqual({ HOME: '/home' })
    expect(deviceVariables).toContain('SELVEDGE_API_KEY')
    expect(deviceVariables).toContain('SELVEDGE_ACCESS_TOKEN')
  })

  it('gives addresses that options replace', () => {
    expect(choose({ context: 'kitchen', identityUrl: 'https://other.example' }).flags).toEqual({
      ...chosen.flags,
      identityUrl: 'https://other.example',
    })
  })

  it.each([
    [{ context: 'kitchen', url: 'x' }, '--context and --url both name a device'],
    [{ context: 'kitchen', state: 'x' }, '--context and --state both name a device'],
    [{ context: 'default', url: 'x' }, '--context and --url both name a device'],
  ])('is not named beside another device: %j', (flags, message) => {
    expect(() => choose(flags)).toThrow(expect.objectContaining({ message, hint: 'Give one of them.' }))
  })
})

describe('without a context', () => {
  const plain = (flags: SelectionFlags) => ({ context: undefined, flags, env })

  it('the options and the environment count as they are', () => {
    expect(choose({})).toEqual(plain({}))
    expect(choose({ context: 'default' }, env, 'kitchen')).toEqual(plain({}))
    expect(choose({ url: 'x' }, env, 'kitchen')).toEqual(plain({ url: 'x' }))
    expect(choose({ state: 'x' }, env, 'kitchen')).toEqual(plain({ state: 'x' }))
  })

  it.each(['SELVEDGE_STATE', 'SELVEDGE_RUNTIME_URL'])('the environment may name a device: %s', (name) => {
    expect(choose({}, { [name]: 'x' }, 'kitchen').context).toBeUndefined()
    expect(choose({}, { [name]: '' }, 'kitchen').context).toBe(kitchen)
  })
})
