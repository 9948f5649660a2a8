import { beforeEach, expect, it } from 'vitest'
import { createReadUser } from './read-user.ts'

const signIn = {
  isOfApp: true,
  nodeId: 'n',
  clientId: 'c',
  accountId: 'a',
  personId: 'ada',
  email: 'ada@example.com',
}
const shared = { account_id: 'b', services: [{ id: 's', service: 'camera', until: 9 }] }

/** Account of the node; undefined: the registry does not know the node. */
let owner: string | undefined
let usable: typeof shared | undefined
let asked: unknown[]
const readUser = createReadUser({
  nodes: {
    find: async (nodeId) => (owner === undefined ? undefined : ({ nodeId, accountId: owner } as never)),
  },
  groups: {
    async of(...of) {
      asked.push(['groups', ...of])
      return [{ id: 'm', name: `of-${of[0]}` }]
    },
  },
  shares: {
    async usableBy(...of) {
      asked.push(['shares', ...of])
      return usable
    },
  },
})
beforeEach(() => {
  owner = 'a'
  usable = undefined
  asked = []
})

it.each([{ isOfApp: false }, { nodeId: '' }])(
  'a sign-in with %j has no claims of a person',
  async (change) => {
    expect(await readUser({ ...signIn, ...change })).toEqual({})
    expect(asked).toEqual([])
  },
)

it.each(['a', undefined, ''])(
  'at a node of the account %j a person has the groups of the own account',
  async (of) => {
    owner = of
    expect(await readUser(signIn)).toEqual({
      user: { name: 'ada@example.com', groups: [{ id: 'm', name: 'of-a' }] },
    })
    expect(asked).toEqual([['groups', 'a', 'ada']])
  },
)

it('at a node of another account, a person has what that account shares, and its groups', async () => {
  owner = 'b'
  usable = shared
  expect(await readUser(signIn)).toEqual({
    user: { name: 'ada@example.com', groups: [{ id: 'm', name: 'of-b' }] },
    shares: shared,
  })
  expect(asked).toEqual([
    ['shares', 'ada', { nodeId: 'n', clientId: 'c' }],
    ['groups', 'b', 'ada'],
  ])
})

it('at a node of an account that shares nothing, a person has a name and no groups', async () => {
  owner = 'b'
  expect(await readUser(signIn)).toEqual({ user: { name: 'ada@example.com', groups: [] } })
  expect(asked).toEqual([['shares', 'ada', { nodeId: 'n', clientId: 'c' }]])
})
