import { expect, it } from 'vitest'
import { deploymentsFormat } from '../deployments/deployments.ts'
import { expectRoom } from './requirements.ts'

it('accepts 200 containers, and a new version of each of them', () => {
  const containers = Object.fromEntries(Array.from({ length: 200 }, (_, at) => [`c-${at}`, {} as never]))
  const { 'c-0': _, ...others } = containers
  expectRoom({ ...deploymentsFormat.initial, containers: others }, 'c-0')
  expectRoom({ ...deploymentsFormat.initial, containers }, 'c-0')
  expect(() => expectRoom({ ...deploymentsFormat.initial, containers }, 'c-200')).toThrow(
    'the runtime has 200 containers; the limit is 200',
  )
})
