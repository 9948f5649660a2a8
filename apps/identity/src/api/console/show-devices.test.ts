/** Devices as people see them: with their label, and their location if it is known. */
import { expect, it } from 'vitest'
import { createShowDevices } from './show-devices.ts'

const listed = (nodeId: string, lastSeenAt: number) =>
  ({ node: { nodeId, lastSeenAt }, label: { name: `label ${nodeId}`, tags: ['t'] } }) as never
const show = (fixes: Record<string, string> | undefined, asked: unknown[] = []) =>
  createShowDevices(
    {
      async find(...given: unknown[]) {
        asked.push(given)
        if (!fixes) return undefined
        return new Map(
          Object.entries(fixes).map(([nodeId, fixedAt]) => [nodeId, { nodeId, fixedAt, latitude: 1 }]),
        ) as never
      },
    } as never,
    ((node: object, at: number) => ({ ...node, at })) as never,
  )

it('a device was seen when this service saw it, whenever its fix was', async () => {
  const asked: unknown[] = []
  const fixes = { n: '1970-01-01T00:00:09Z', m: '1970-01-01T00:00:01Z' }
  expect(await show(fixes, asked)('a', [listed('n', 5000), listed('m', 5000), listed('o', 5000)], 7)).toEqual(
    {
      devices: [
        {
          nodeId: 'n',
          lastSeenAt: 5000,
          at: 7,
          label: 'label n',
          tags: ['t'],
          fix: { fixedAt: fixes.n, latitude: 1 },
        },
        {
          nodeId: 'm',
          lastSeenAt: 5000,
          at: 7,
          label: 'label m',
          tags: ['t'],
          fix: { fixedAt: fixes.m, latitude: 1 },
        },
        { nodeId: 'o', lastSeenAt: 5000, at: 7, label: 'label o', tags: ['t'], fix: null },
      ],
      hasPlaces: true,
    },
  )
  expect(asked).toEqual([['a', ['n', 'm', 'o']]])
})

it('a location is unknown if the discovery service does not answer, or is not asked', async () => {
  expect(await show(undefined)('a', [listed('n', 1)], 7)).toMatchObject({
    devices: [{ fix: null }],
    hasPlaces: false,
  })
  const asked: unknown[] = []
  expect(await show({}, asked)('a', [listed('n', 1)], 7, false)).toMatchObject({ hasPlaces: false })
  expect(asked).toEqual([])
})
