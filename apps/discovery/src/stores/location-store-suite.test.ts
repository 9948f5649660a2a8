/** The suite of the location store; every engine passes it. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { cellOf, openEmbeddedStore } from './embedded-store.ts'
import type { Location, LocationStore } from './location-store.ts'

const engines = { embedded: (folder: string) => openEmbeddedStore(join(folder, 'locations.db')) }

const at = (nodeId: string, fixedAt: number, speed = 0): Location => ({
  nodeId,
  nodeName: nodeId,
  accountId: 'a',
  longitude: 10.1234567,
  latitude: -20.7654321,
  speed,
  bearing: 0,
  fixedAt,
  receivedAt: 1,
})

describe.each(Object.entries(engines))('%s', (_, open) => {
  let folder: string
  let store: LocationStore
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'locations-'))
    store = await open(folder)
  })
  afterEach(async () => {
    await store.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const reopen = async () => {
    await store.close()
    store = await open(folder)
  }

  it('knows nothing of a node that never reported', () => expect(store.last('x')).toBeUndefined())

  it('gives the latest of each node, after a restart too', async () => {
    await store.put([at('x', 2, 2), at('y', 5, 5), at('x', 1, 1)])
    await store.put([at('x', 3, 3), at('y', 4, 4)])
    for (const again of [false, true]) {
      if (again) await reopen()
      expect([store.last('x'), store.last('y')]).toEqual([at('x', 3, 3), at('y', 5, 5)])
    }
  })

  it('keeps the first of two with the same time', async () => {
    await store.put([at('x', 1, 1)])
    await store.put([at('x', 1, 2)])
    expect(store.last('x')).toEqual(at('x', 1, 1))
  })

  it('has the latest however the reports of a thousand writers are shuffled', async () => {
    const times = Array.from({ length: 1000 }, (__, index) => index).sort((a, b) => Math.sin(a) - Math.sin(b))
    await Promise.all(times.map((time) => store.put([at('x', time, time)])))
    expect(store.last('x')).toEqual(at('x', 999, 999))
    await reopen()
    expect(store.last('x')).toEqual(at('x', 999, 999))
  })
})

it('a cell is 0.01 degrees, with exact borders, and the antimeridian is one place', () => {
  const cell = (longitude: number, latitude: number) =>
    cellOf(Math.round(longitude * 1e7), Math.round(latitude * 1e7))
  expect(cell(0.0099999, 0)).toBe(cell(0, 0))
  expect(cell(0.01, 0)).toBe(cell(0, 0) + 1)
  expect(cell(-0.0000001, 0)).toBe(cell(0, 0) - 1)
  expect(cell(180, 10)).toBe(cell(-180, 10))
  expect(cell(-180, -90)).toBe(0)
})
