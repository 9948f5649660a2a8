import { expect, it } from 'vitest'
import { noDeployments } from '../deployments/deployments.ts'
import { expectRoom } from './requirements.ts'

it('accepts 200 containers, and a new version of each of them', () => {
  const containers = Object.fromEntries(Array.from({ length: 200 }, (_, at) => [`c-${at}`, {} as never]))
  const { 'c-0': _, ...others } = containers
  expectRoom({ ...noDeployments, containers: others }, 'c-0')
  expectRoom({ ...noDeployments, containers }, 'c-0')
  expect(() => expectRoom({ ...noDeployments, containers }, 'c-200')).toThrow(
    'the runtime has 200 containers; the limit is 200',
  )
})
