/** Which addresses are open for which member, and which name leads where. */
import { beforeEach, describe, expect, it } from 'vitest'
import { createMembers, type Members } from './members.ts'

let members: Members
/** Open addresses, by instance. */
let open: Record<string, Set<string>>
let refusal: Error | undefined

beforeEach(() => {
  members = createMembers()
  open = {}
  refusal = undefined
})

/** @param reached containers with a common network; names lead to the container of the same name */
const instance = (name: string, key: string, address: string, reached: readonly string[]) =>
  members.add(name, {
    key,
    address,
    names: {
      find: (asked) => [key, ...reached].find((each) => each === asked),
      reaches: (other) => reached.includes(other),
    },
    async apply(script) {
      if (refusal) throw refusal
      const set = (open[name] ??= new Set())
      const [, verb, changed] = /^(add|delete) element ip selvedge members \{ ([\d.]+) \}\n$/.exec(script)!
      if (verb === 'add') set.add(changed!)
      else if (!set.delete(changed!)) throw new Error('it is not there')
    },
  })
const openOf = (name: string) => [...(open[name] ?? [])].toSorted()

describe('an address', () => {
  it('is open for those that share a network, in any order of their start', async () => {
    await instance('db-r1', 'db', '10.0.1.2', ['web'])
    await instance('web-r1', 'web', '10.0.2.2', ['db'])
    await instance('other-r1', 'other', '10.0.3.2', [])
    expect([openOf('db-r1'), openOf('web-r1'), openOf('other-r1')]).toEqual([['10.0.2.2'], ['10.0.1.2'], []])
  })

  it('is closed for all others when the instance has exited, and that of the next one is open', async () => {
    await instance('db-r1', 'db', '10.0.1.2', ['web'])
    await instance('web-r1', 'web', '10.0.2.2', ['db'])
    await instance('db-r2', 'db', '10.0.4.2', ['web'])
    expect(openOf('web-r1')).toEqual(['10.0.1.2', '10.0.4.2'])
    await members.remove('db-r1')
    expect(openOf('web-r1')).toEqual(['10.0.4.2'])
    await members.remove('db-r1')
    await members.remove('nothing')
    expect(openOf('web-r1')).toEqual(['10.0.4.2'])
  })
})

describe('a name', () => {
  it('leads to the newest instance, which is open when the answer comes', async () => {
    await instance('web-r1', 'web', '10.0.2.2', ['db'])
    const ask = members.askOf('web-r1')
    expect(await ask('db')).toBe(null)
    await instance('db-r1', 'db', '10.0.1.2', [])
    expect(await ask('db')).toBe('10.0.1.2')
    await instance('db-r2', 'db', '10.0.4.2', [])
    expect(await ask('db')).toBe('10.0.4.2')
    expect(openOf('web-r1')).toContain('10.0.4.2')
    await members.remove('db-r2')
    expect(await ask('db')).toBe('10.0.1.2')
  })

  it('of itself leads to itself; others lead nowhere', async () => {
    await instance('web-r1', 'web', '10.0.2.2', ['db'])
    await instance('web-r2', 'web', '10.0.3.2', ['db'])
    await instance('other-r1', 'other', '10.0.5.2', [])
    expect(await members.askOf('web-r1')('web')).toBe('10.0.2.2')
    expect(await members.askOf('web-r1')('other')).toBe(undefined)
    expect(await members.askOf('nothing')('web')).toBe(undefined)
    expect(openOf('web-r1')).toEqual([])
  })

  it('fails while the packet filter does, and is opened by the next question', async () => {
    await instance('web-r1', 'web', '10.0.2.2', ['db'])
    refusal = new Error('nft failed')
    await instance('db-r1', 'db', '10.0.1.2', ['web'])
    await expect(members.askOf('web-r1')('db')).rejects.toThrow('nft failed')
    refusal = undefined
    expect(await members.askOf('web-r1')('db')).toBe('10.0.1.2')
    expect(openOf('web-r1')).toEqual(['10.0.1.2'])
  })
})
