import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { NodeList, NodeOptions } from '@selvedge/protocol'
import { createLog } from '@selvedge/service-kit/log'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type LastKnown, openLastKnown } from './last-known.ts'

const log = createLog({ service: 'runtime', level: 'error', now: () => 0 })

it('answers go on while they cannot be stored, and are stored when they can', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'last-known-'))
  const question = { cluster: 'account' } as const
  const list = { type: 'account' as const, data: [], next: null }
  // The folder of the document is missing: every attempt to open it fails.
  const known = await openLastKnown(join(folder, 'missing/nodes'), log)
  await known.keep('a', question, 1, list)
  expect(await known.find('a', question)).toBeUndefined()
  mkdirSync(join(folder, 'missing'))
  await known.keep('a', question, 2, list)
  expect(await known.find('a', question)).toEqual({ at: 2, list })
  await known.close()
  rmSync(folder, { recursive: true })
})

it('closes after it could not be opened', async () => {
  const known = await openLastKnown('/proc/nope/nodes', log)
  await known.keep('a', { cluster: 'account' }, 1, { type: 'account', data: [], next: null })
  await expect(known.close()).resolves.toBeUndefined()
})

describe('a stored answer', () => {
  let folder: string
  let known: LastKnown
  const reopen = async () => {
    await known.close()
    known = await openLastKnown(join(folder, 'nodes'), log)
  }
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'last-known-'))
    known = await openLastKnown(join(folder, 'nodes'), log)
  })
  afterEach(async () => {
    await known.close()
    rmSync(folder, { recursive: true })
  })

  type Question = NodeOptions & { cluster: 'account' | 'proximity' }
  const page = (...distances: (number | null)[]): NodeList => ({
    type: 'account',
    data: distances.map((distance, at) => ({
      ...{ nodeId: `n${at}`, name: null, accountId: null, state: 'online', addresses: [], services: [] },
      ...{ heardAt: null, distance, fix: null },
    })),
    next: 'later',
  })
  const idsOf = async (question: Question, account = 'a') =>
    (await known.find(account, question))?.list.data.map(({ nodeId }) => nodeId)

  it.each<[Question, Question, boolean]>([
    [{ cluster: 'account' }, { cluster: 'account', limit: 100 }, true],
    [{ cluster: 'account' }, { cluster: 'account', limit: 101 }, false],
    [{ cluster: 'account' }, { cluster: 'proximity' }, false],
    [{ cluster: 'account' }, { cluster: 'account', after: 'x' }, false],
    [{ cluster: 'account', after: 'x' }, { cluster: 'account', after: 'x' }, true],
    [{ cluster: 'account', after: 'x' }, { cluster: 'account' }, false],
    [{ cluster: 'account', limit: 5 }, { cluster: 'account' }, false],
    [{ cluster: 'proximity' }, { cluster: 'proximity', limit: 20, radius: 5000 }, true],
    [{ cluster: 'proximity' }, { cluster: 'proximity', limit: 21 }, false],
    [{ cluster: 'proximity' }, { cluster: 'proximity', radius: 5001 }, false],
    [{ cluster: 'proximity', radius: 9000 }, { cluster: 'proximity', radius: 5001 }, true],
  ])('to %j answers %j: %s', async (asked, later, isAnswered) => {
    await known.keep('a', asked, 1, page(0))
    expect((await idsOf(later)) !== undefined).toBe(isAnswered)
    await reopen()
    expect((await idsOf(later)) !== undefined).toBe(isAnswered)
  })

  it('is for its account alone, and those of another one replace it', async () => {
    await known.keep('a', { cluster: 'account' }, 1, page(0))
    expect(await idsOf({ cluster: 'account' }, 'b')).toBeUndefined()
    await known.keep('b', { cluster: 'proximity' }, 2, page(0))
    expect(await idsOf({ cluster: 'account' }, 'a')).toBeUndefined()
    expect(await idsOf({ cluster: 'account' }, 'b')).toBeUndefined()
    expect(await idsOf({ cluster: 'proximity' }, 'b')).toEqual(['n0'])
  })

  it('is the newest of those that cover the question', async () => {
    await known.keep('a', { cluster: 'account', limit: 500 }, 5, page(0))
    await known.keep('a', { cluster: 'account' }, 9, page(0, 0))
    await known.keep('a', { cluster: 'account', limit: 200 }, 7, page(0, 0, 0))
    expect(await known.find('a', { cluster: 'account' })).toMatchObject({ at: 9 })
    expect(await known.find('a', { cluster: 'account', limit: 150 })).toMatchObject({ at: 7 })
  })

  it('is cut to the part that was asked for', async () => {
    await known.keep('a', { cluster: 'account' }, 1, page(0, 0, 0))
    expect((await known.find('a', { cluster: 'account', limit: 2 }))?.list).toMatchObject({
      data: [{ nodeId: 'n0' }, { nodeId: 'n1' }],
      next: 'n1',
    })
    expect((await known.find('a', { cluster: 'account', limit: 3 }))?.list.next).toBe('later')
    await known.keep('a', { cluster: 'proximity' }, 1, page(null, 10, 11, 5))
    expect(await known.find('a', { cluster: 'proximity', radius: 10, limit: 2 })).toMatchObject({
      list: { data: [{ nodeId: 'n0' }, { nodeId: 'n1' }], next: 'later' },
    })
    expect(await idsOf({ cluster: 'proximity', radius: 10 })).toEqual(['n0', 'n1', 'n3'])
  })

  it('is one of eight: the oldest is dropped for a ninth', async () => {
    const questions = Array.from({ length: 9 }, (_, at) => ({ cluster: 'account', after: `${at}` }) as const)
    for (const question of questions) await known.keep('a', question, 1, page(0))
    await known.keep('a', questions[1]!, 2, page(0))
    await known.keep('a', { cluster: 'account', after: '9' }, 3, page(0))
    const found = await Promise.all(
      [...questions, { cluster: 'account', after: '9' } as const].map((each) => idsOf(each)),
    )
    expect(found.map((each) => each !== undefined)).toEqual([false, true, false, ...Array(7).fill(true)])
  })

  it('is on the disk at once, and further ones a minute later or at the end', async () => {
    const stored = async () => {
      copyFileSync(join(folder, 'nodes.a'), join(folder, 'copy.a'))
      copyFileSync(join(folder, 'nodes.b'), join(folder, 'copy.b'))
      const copy = await openLastKnown(join(folder, 'copy'), log)
      const ids = ['0', '1', '2', '3']
      const found = await Promise.all(ids.map((after) => copy.find('a', { cluster: 'account', after })))
      await copy.close()
      return ids.filter((_, at) => found[at])
    }
    const keep = (after: string, at: number) => known.keep('a', { cluster: 'account', after }, at, page(0))
    await keep('0', 1000)
    await expect.poll(stored).toEqual(['0'])
    await keep('1', 60_999)
    expect([await stored(), await idsOf({ cluster: 'account', after: '1' })]).toEqual([['0'], ['n0']])
    await keep('2', 61_000)
    await expect.poll(stored).toEqual(['0', '1', '2'])
    await keep('3', 61_001)
    await known.close()
    expect(await stored()).toEqual(['0', '1', '2', '3'])
  })

  it('that is damaged is not found, and the log has a warning', async () => {
    const lines: string[] = []
    const heard = createLog({ service: 'runtime', level: 'warn', now: () => 0 }, (line) => lines.push(line))
    await known.keep('a', { cluster: 'account' }, 1, page(0))
    await known.close()
    for (const slot of ['a', 'b']) writeFileSync(join(folder, `nodes.${slot}`), 'damaged')
    known = await openLastKnown(join(folder, 'nodes'), heard)
    expect(await idsOf({ cluster: 'account' })).toBeUndefined()
    expect(lines.join()).toContain('stored lists of nodes are damaged')
  })
})
