/** A service names no file of the device: it would be read with the rights of the runtime. */
import { expect, it } from 'vitest'
import type { Images } from '../services/images/images.ts'
import { imagesForServices } from './images-for-services.ts'

function make() {
  const seen: unknown[][] = []
  const images = {
    deploy: async (...each: unknown[]) => seen.push(each),
    remove: (...each: unknown[]) => seen.push(each),
  } as unknown as Images
  return { images, own: imagesForServices(images), seen }
}
const owner = {} as Parameters<Images['deploy']>[0]
const how = {} as Parameters<Images['deploy']>[2]

it.each(['/etc/shadow', '/', '//x'])('%s is refused', async (source) => {
  const { own, seen } = make()
  await expect(own.deploy(owner, source, how)).rejects.toMatchObject({ reason: 'service_not_allowed' })
  expect(seen).toEqual([])
})

it('a reference to a registry is deployed, and all other methods are the same', async () => {
  const { images, own, seen } = make()
  await own.deploy(owner, 'registry.example/a:1', how)
  expect(seen).toEqual([[owner, 'registry.example/a:1', how]])
  expect(own.remove).toBe(images.remove)
})
