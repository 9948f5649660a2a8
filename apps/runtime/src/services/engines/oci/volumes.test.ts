/** Which volumes a container gets. */
import { readSettings } from '@selvedge/protocol'
import { expect, it } from 'vitest'
import type { Plan } from '../engine.ts'
import type { ImageConfig } from './image-config.ts'
import { volumesOf } from './volumes.ts'

const sharedDataKey = 'a/c/shop/volumes'
const imageWith = (...folders: string[]) =>
  ({ config: { Volumes: Object.fromEntries(folders.map((each) => [each, {}])) } }) as ImageConfig
function targets(env: Record<string, string>, image = imageWith()) {
  const plan = { dataKey: 'a/c/shop-a', sharedDataKey, settings: readSettings(env) } as Plan
  const { named, ofImage } = volumesOf(plan, image, 'runtime')
  return [...named, ...ofImage].map(({ target, dataKey }) => `${target} of ${dataKey}`)
}

it('a shared volume is there in place of one of the image', () => {
  const env = { 'MCM.APP_VOLUMES': 'shop/data:/data', 'MCM.VOLUMES': 'own:/own' }
  expect(targets(env, imageWith('/data', '/database/', '/own'))).toEqual([
    '/own of a/c/shop-a',
    `/data of ${sharedDataKey}`,
    '/database of a/c/shop-a',
  ])
})

it.each<[string, Record<string, string>, string[]]>([
  ['a volume of the image', {}, ['/data/inner']],
  ['an own volume', { 'MCM.VOLUMES': 'own:/data/inner' }, []],
  ['memory', { 'MCM.TMPFS': '/data/inner:8' }, []],
])('%s is not below a shared volume, where another member could put a link', (_, env, folders) => {
  const shared = { 'MCM.APP_VOLUMES': 'shop/data:/data', ...env }
  expect(() => targets(shared, imageWith(...folders))).toThrow('would be in it at "/data/inner"')
})

it('the memory of a read-only root is not below a shared volume either', () => {
  const env = { 'MCM.APP_VOLUMES': 'shop/data:/var', 'MCM.ROOT': 'read-only' }
  expect(() => targets(env)).toThrow('would be in it at "/var/run"')
  expect(targets({ ...env, 'MCM.APP_VOLUMES': 'shop/data:/var/tmp' })).toHaveLength(1)
})
