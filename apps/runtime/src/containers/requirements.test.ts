import { describe, expect, it } from 'vitest'
import { deploymentsFormat, type StoredContainer } from '../deployments/deployments.ts'
import { keyOf } from '../deployments/ownership.ts'
import { expectFree, expectRoom } from './requirements.ts'

const container = (accountId: string, clientId: string, name: string) =>
  ({ accountId, clientId, name, env: {} }) as unknown as StoredContainer
const withContainers = (...all: StoredContainer[]) => ({
  ...deploymentsFormat.initial,
  containers: Object.fromEntries(all.map((each) => [keyIn(each), each])),
})
const keyIn = ({ accountId, clientId, name }: StoredContainer) =>
  keyOf({ account_id: accountId, client_id: clientId }, name)
const many = (accountId: string, count: number) =>
  Array.from({ length: count }, (_, at) => container(accountId, 'c', String(at)))

describe('room for containers', () => {
  it('is for 200 of an account, and a new version of each of them', () => {
    expectRoom(withContainers(...many('a', 199)), 'a/c/199', 'a')
    expectRoom(withContainers(...many('a', 200)), 'a/c/199', 'a')
    expect(() => expectRoom(withContainers(...many('a', 200)), 'a/c/200', 'a')).toThrow(
      'the account has 200 containers; the limit is 200',
    )
  })

  it('is not taken by what a former account left, up to 1000 on the device', () => {
    expectRoom(withContainers(...many('a', 200)), 'b/c/0', 'b')
    const left = ['a', 'b', 'c', 'd', 'e'].flatMap((each) => many(each, 200))
    expect(() => expectRoom(withContainers(...left), 'f/c/0', 'f')).toThrow(
      'former accounts of the runtime left',
    )
  })
})

describe('the ID and the paths of a container', () => {
  const check = (there: StoredContainer, next: StoredContainer) => () =>
    expectFree(withContainers(there), keyIn(next), next)

  it('are free where another account has them', () => {
    expect(check(container('a', 'c', 'x'), container('b', 'c', 'x'))).not.toThrow()
  })
  it('are taken where another client of the account has them', () => {
    expect(check(container('a', 'c-d', 'x'), container('a', 'c', 'd-x'))).toThrow('the ID c-d-x is taken')
    const alias = (each: StoredContainer) => ({ ...each, env: { 'MCM.API_ALIAS': 'true' } })
    expect(check(alias(container('a', 'c', 'x')), alias(container('a', 'd', 'x')))).toThrow(
      'the path /api/x is taken by c-x',
    )
  })
})
