/** To which data a volume belongs that the engine has already. */
import { expect, it } from 'vitest'
import { labels } from './create-body.ts'
import { createVolumes } from './create-volumes.ts'
import type { EngineApi } from './engine-api.ts'

/** What an engine asked for volumes has, by name: it answers with the labels of the one that is there. */
function engineWith(volumes: Record<string, Record<string, string>> = {}) {
  const api = {
    ask: async (_: string, { Name, Labels }: { Name: string; Labels: Record<string, string> }) => {
      volumes[Name] ??= Labels
      return { Labels: volumes[Name] }
    },
  } as unknown as EngineApi
  return { api, volumes }
}
const data = { name: 'v', dataKey: 'a/c/shop/volumes', target: '/data' }
const create = ({ api }: ReturnType<typeof engineWith>, dataKey = data.dataKey) =>
  createVolumes(api, { named: [{ ...data, dataKey }], ofImage: [] }, 'runtime', { kind: 'device' })

it('a volume has the key of its data, and is found again', async () => {
  const engine = engineWith()
  await create(engine)
  await create(engine)
  expect(engine.volumes).toEqual({
    v: { [labels.owner]: 'runtime', [labels.container]: data.dataKey },
  })
})

it('a new volume has the users of its container, and keeps them', async () => {
  const engine = engineWith()
  const range = { uid: 300_000, gid: 400_000 }
  await createVolumes(engine.api, { named: [data], ofImage: [] }, 'runtime', { kind: 'own', range })
  await create(engine)
  expect(engine.volumes.v).toMatchObject({ [labels.ids]: '300000:400000' })
})

it('a volume of another project is not used, whichever of them was first', async () => {
  const engine = engineWith()
  await create(engine, 'a/other/n/volumes')
  await expect(create(engine)).rejects.toMatchObject({
    reason: 'container_failed',
    message: 'the volume for /data has the name of a volume of another container (v)',
  })
})

it('a volume that a person made from a backup is used', async () => {
  await create(engineWith({ v: {} }))
})
