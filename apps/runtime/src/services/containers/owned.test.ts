import { describe, expect, it } from 'vitest'
import type { Deployments, StoredContainer } from '../deployments/deployments.ts'
import { keyOf } from '../deployments/ownership.ts'
import { expectOfAccount, findOwned, isOfAccount } from './owned.ts'
import { basePathOf, prefixesOf, shownEnv } from './paths.ts'

const owner = { account_id: 'a', client_id: 'c' }
const container = { accountId: 'a', clientId: 'c', name: 'my van' } as StoredContainer
const key = keyOf(owner, 'my van')
const deployments = { containers: { [key]: container } } as unknown as Deployments

describe('a container', () => {
  it('is found by its name or ID by its owner', () => {
    expect(findOwned(deployments, owner, 'my van')).toEqual([key, container])
    expect(findOwned(deployments, owner, 'c-my van')).toEqual([key, container])
  })

  it.each([
    [owner, 'other/x', 'there is no container "other/x" of client c'],
    [{ ...owner, client_id: 'd' }, 'my van', 'there is no container "my van" of client d'],
    [{ ...owner, account_id: 'b' }, 'my van', 'there is no container "my van" of client c'],
    [{ ...owner, client_id: 'd' }, 'c-my van', 'there is no container "c-my van" of client d'],
  ])('is not found by another owner, or by another name: %j %s', (by, name, message) => {
    expect(() => findOwned(deployments, by, name)).toThrow(
      expect.objectContaining({ reason: 'not_found', message }),
    )
  })

  it('runs and changes while the device belongs to its account', () => {
    expect([isOfAccount(container, 'a'), isOfAccount(container, 'b'), isOfAccount(container, '')]).toEqual([
      true,
      false,
      false,
    ])
    expect(() => expectOfAccount(container, 'a')).not.toThrow()
    expect(() => expectOfAccount(container, '')).toThrow(
      expect.objectContaining({
        reason: 'wrong_account',
        message: 'this runtime is not associated with the account of the token any more',
      }),
    )
  })
})

describe('the path of a container', () => {
  const placed = (env: Record<string, string>) => ({ clientId: 'c', name: 'van', env })

  it('begins with its client, and is its name or what it was deployed with', () => {
    expect(basePathOf(placed({}))).toBe('/c/van')
    expect(basePathOf(placed({ 'MCM.BASE_API_PATH': '/pay/v1' }))).toBe('/c/pay/v1')
  })

  it('has an alias where it was deployed with one', () => {
    const path = { 'MCM.BASE_API_PATH': '/pay/v1' }
    expect(prefixesOf(placed(path))).toEqual(['/c/pay/v1'])
    expect(prefixesOf(placed({ ...path, 'MCM.API_ALIAS': 'true' }))).toEqual(['/c/pay/v1', '/api/pay/v1'])
  })

  it('is in the environment of the service, with its runtime', () => {
    expect(shownEnv(placed({ A: 'b', 'MCM.BASE_API_PATH': '/x' }), 'js')).toEqual({
      ...{ A: 'b', 'MCM.BASE_API_PATH': '/c/x', 'MCM.RUNTIME': 'js' },
    })
    expect(shownEnv(placed({}), undefined)).toMatchObject({ 'MCM.RUNTIME': 'oci' })
  })
})
