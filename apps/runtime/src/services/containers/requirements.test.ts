import { RpcError } from '@selvedge/protocol'
import { describe, expect, it } from 'vitest'
import {
  type Content,
  type Deployments,
  deploymentsFormat,
  type StoredContainer,
} from '../deployments/deployments.ts'
import { keyOf } from '../deployments/ownership.ts'
import { expectFree, expectRoom, expectScheduling, expectUnreserved, findImage } from './requirements.ts'

const container = (accountId: string, clientId: string, name: string) =>
  ({ accountId, clientId, name, env: {} }) as unknown as StoredContainer
const withContainers = (...all: StoredContainer[]) => ({
  ...deploymentsFormat.initial,
  containers: Object.fromEntries(all.map((each) => [keyIn(each), each])),
})
const keyIn = ({ accountId, clientId, name }: StoredContainer) =>
  keyOf({ account_id: accountId, client_id: clientId }, name)
/** The refusal of a check: reason, message and hint. */
function refusalOf(check: () => unknown): RpcError {
  try {
    check()
  } catch (cause) {
    if (cause instanceof RpcError) return cause
    throw cause
  }
  throw new Error('it was accepted')
}
const many = (accountId: string, count: number, clientId = 'c') =>
  Array.from({ length: count }, (_, at) => container(accountId, clientId, String(at)))

describe('room for containers', () => {
  const of = (accountId: string, clientId = 'c') => ({ accountId, clientId })

  it('is for 200 of a project, and a new version of each of them', () => {
    expectRoom(withContainers(...many('a', 199)), 'a/c/199', of('a'))
    expectRoom(withContainers(...many('a', 200)), 'a/c/199', of('a'))
    expect(refusalOf(() => expectRoom(withContainers(...many('a', 200)), 'a/c/200', of('a')))).toMatchObject({
      reason: 'limit_exceeded',
      message: expect.stringContaining('the project has 200 containers; the limit is 200'),
    })
  })

  it('is there for another project of the account, up to 400 of the account', () => {
    const full = [...many('a', 200), ...many('a', 199, 'd')]
    expectRoom(withContainers(...full), 'a/d/199', of('a', 'd'))
    expectRoom(withContainers(...full), 'a/e/0', of('a', 'e'))
    const all = [...full, ...many('a', 1, 'e')]
    expect(refusalOf(() => expectRoom(withContainers(...all), 'a/e/1', of('a', 'e')))).toMatchObject({
      reason: 'limit_exceeded',
      message: expect.stringContaining('the account has 400 containers; the limit is 400'),
    })
  })

  it('is not taken by what a former account left, up to 1000 on the device', () => {
    expectRoom(withContainers(...many('a', 200)), 'b/c/0', of('b'))
    const left = ['a', 'b', 'c', 'd', 'e'].flatMap((each) => many(each, 200))
    expectRoom(withContainers(...left.slice(1)), 'f/c/0', of('f'))
    expect(refusalOf(() => expectRoom(withContainers(...left), 'f/c/0', of('f')))).toMatchObject({
      reason: 'limit_exceeded',
      message: expect.stringContaining('former accounts of the runtime left'),
    })
  })
})

describe('the ID and the paths of a container', () => {
  const check = (there: StoredContainer, next: StoredContainer) => () =>
    expectFree(withContainers(there), [], keyIn(next), next)

  it('are free where another account has them', () => {
    expect(check(container('a', 'c', 'x'), container('b', 'c', 'x'))).not.toThrow()
  })
  it('are taken where another client of the account has them', () => {
    expect(refusalOf(check(container('a', 'c-d', 'x'), container('a', 'c', 'd-x')))).toMatchObject({
      reason: 'conflict',
      message: expect.stringContaining('the ID c-d-x is taken'),
    })
    const alias = (each: StoredContainer) => ({ ...each, env: { 'MCM.API_ALIAS': 'true' } })
    expect(refusalOf(check(alias(container('a', 'c', 'x')), alias(container('a', 'd', 'x'))))).toMatchObject({
      reason: 'conflict',
      message: expect.stringContaining('the path /api/x is at, above or below a path of the client c'),
    })
  })
  it('are free for another container of the account, and for a new version of the same one', () => {
    expect(check(container('a', 'c', 'x'), container('a', 'c', 'y'))).not.toThrow()
    expect(check(container('a', 'c', 'x'), container('a', 'c', 'x'))).not.toThrow()
  })
})

describe('the paths of the runtime', () => {
  const at = (clientId: string, path: string) =>
    ({ ...container('a', clientId, 'x'), env: { 'MCM.BASE_API_PATH': path } }) as StoredContainer

  it.each([
    ['ws', '/edge-service-api/v1'],
    ['ws', '/edge-service-api/v1/more'],
    ['edge-service-api', '/v1'],
  ])('belong to no container of the client %s at %s', (clientId, path) => {
    expect(refusalOf(() => expectUnreserved(at(clientId, path)))).toMatchObject({ reason: 'conflict' })
  })
  it.each([
    ['ws', '/edge-service-api/v10'],
    ['ws', '/chat/v1'],
    ['c', '/edge-service-api/v1'],
  ])('are free for the client %s at %s', (clientId, path) => {
    expect(() => expectUnreserved(at(clientId, path))).not.toThrow()
  })
})

describe('the image of a container', () => {
  const owner = { account_id: 'a', client_id: 'c' }
  const deployed = (...images: [clientId: string, name: string][]): Deployments => ({
    ...deploymentsFormat.initial,
    images: Object.fromEntries(
      images.map(([clientId, name]) => [
        keyOf({ account_id: 'a', client_id: clientId }, name),
        { accountId: 'a', clientId, name, digest: `digest of ${clientId} ${name}` },
      ]),
    ) as never,
  })

  it.each(['counter', 'counter:1.2'])('is found by its name, with or without a tag: %s', (name) => {
    expect(findImage(deployed(['c', 'counter'], ['c', 'other']), owner, name)).toEqual({
      imageKey: keyOf(owner, 'counter'),
      image: 'counter',
      digest: 'digest of c counter',
    })
  })

  it('may have a colon and a path in its name, as with the port of a registry', () => {
    const images = deployed(['c', 'localhost:5000/counter'])
    expect(findImage(images, owner, 'localhost:5000/counter').image).toBe('localhost:5000/counter')
    expect(findImage(images, owner, 'localhost:5000/counter:1').image).toBe('localhost:5000/counter')
  })

  it('that is missing is not found, and the hint lists those that the client has', () => {
    const { reason, hint } = refusalOf(() =>
      findImage(deployed(['c', 'one'], ['c', 'two'], ['d', 'three']), owner, 'counter'),
    )
    expect(reason).toBe('not_found')
    expect(hint).toBe('Deployed are: one, two.')
  })

  it('of another client is not found, and not listed', () => {
    const { reason, hint } = refusalOf(() => findImage(deployed(['d', 'counter']), owner, 'counter'))
    expect(reason).toBe('not_found')
    expect(hint).toBe('Deploy it first, with deployImage.')
  })
})

describe('times at which a container is called', () => {
  const content = (kind: string, language?: string) =>
    ({ kind, entry: language === undefined ? null : { language } }) as unknown as Content
  const times = { 'MCM.CRON': ['* * * * *'] }

  it('are for functions in JavaScript and for OCI containers', () => {
    expectScheduling(times, content('function', 'js'))
    expectScheduling(times, content('oci'))
  })

  it.each([['a function in WASM', content('function', 'wasm')]])(
    'are refused for %s, which runs without them',
    (what, of) => {
      const refusal = refusalOf(() => expectScheduling(times, of))
      expect(refusal.reason).toBe('invalid_params')
      expect(refusal.message).toContain(what)
      expectScheduling({ 'MCM.CRON': [] }, of)
    },
  )
})
