import { type AppPlan, RpcError } from '@selvedge/protocol'
import { expect, it } from 'vitest'
import type { Owner } from '../deployments/ownership.ts'
import type { AppParts } from './app-parts.ts'
import type { Progress } from './attempts.ts'
import { pullImages } from './pull-images.ts'

/** @param cause with what the second of two images fails */
const pull = (cause: unknown) => {
  const images = {
    deploy: async (_: Owner, source: string) => {
      if (source === 'shop:2') throw cause
    },
  } as unknown as AppParts['images']
  const progress = { pulling: () => undefined, pulled: () => undefined } as unknown as Progress
  const pulls = [
    { source: 'redis:7', name: 'redis-7' },
    { source: 'shop:2', name: 'shop-2' },
  ]
  return pullImages({ images }, {} as Owner, { services: [] } as unknown as AppPlan, pulls, progress)
}

it('an error of a registry gets the reference of its image', async () => {
  const cause = new RpcError('registry_unavailable', 'registry.example: no answer', { hint: 'Wait.' })
  await expect(pull(cause)).rejects.toMatchObject({
    reason: 'registry_unavailable',
    message: 'image shop:2: registry.example: no answer',
    hint: 'Wait.',
    cause,
  })
})

it('an error of another kind stays as it is', async () => {
  const cause = new TypeError('a mistake')
  await expect(pull(cause)).rejects.toBe(cause)
})
