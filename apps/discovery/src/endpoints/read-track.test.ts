/** Who reads the track of a node, and which points of it. */
import { type Precision, trackLimits } from '@selvedge/protocol'
import { beforeEach, describe, expect, it } from 'vitest'
import { type ReadTrackParts, readTrack, trackQuery } from './read-track.ts'

const nodeId = 'b'.repeat(56)
const now = 1_000_000
const until = '1970-01-01T00:16:41.000Z'
/** What the node allows its account; undefined: no location of it is known. */
let precision: Precision | undefined
/** The end of the track; undefined: the account has no such node. */
let trackUntil: number | undefined
let questions: unknown[][]
let stored: number

beforeEach(() => {
  precision = 'exact'
  trackUntil = now + 1000
  questions = []
  stored = 2
})

const parts = {
  clock: { now: () => now },
  registry: {
    find: async (...question: unknown[]) => {
      questions.push(question)
      return trackUntil === undefined ? [] : [{ nodeId, trackUntil }]
    },
  },
  store: {
    last: async (...question: unknown[]) => {
      questions.push(question)
      return [precision && { sharing: { account: precision, others: 'exact' } }]
    },
  },
  tracks: {
    of: async (...question: unknown[]) => {
      questions.push(question)
      return Array.from({ length: stored }, (_, at) => ({ longitude: at, latitude: -at, fixedAt: at + 10 }))
    },
  },
} as unknown as ReadTrackParts

const read = (isOwn: boolean, query: object = {}) =>
  readTrack(parts, { accountId: 'a', nodeId, isOwn }, trackQuery.parse(query)).catch(
    ({ code, message }) => `${code}: ${message}`,
  )
const refusal = 'not_found: the account has no node with this ID that shares its track'

describe('a track', () => {
  it('is read with its end, by the account that sees exact locations', async () => {
    expect(await read(false)).toEqual({
      data: [
        [0, -0, 10],
        [1, -1, 11],
      ],
      next: null,
      until,
    })
    expect(questions).toEqual([
      ['a', [nodeId]],
      ['a', [nodeId]],
      [nodeId, trackLimits.page + 1, undefined],
    ])
  })

  it.each<Precision | undefined>(['1km', 'city', 'none', undefined])(
    'is not read by an account that sees the precision %s',
    async (each) => {
      precision = each
      expect(await read(false)).toBe(refusal)
      expect(questions).toHaveLength(2)
    },
  )

  it('is read by the node itself, whatever it shares', async () => {
    precision = undefined
    expect(await read(true)).toMatchObject({ next: null, until })
  })

  it('of a node that the account does not have is not read, not even by this node', async () => {
    trackUntil = undefined
    expect(await read(true)).toBe(refusal)
  })

  it('is empty at its end, without a question for its points', async () => {
    trackUntil = now
    expect(await read(true)).toEqual({ data: [], next: null, until: null })
    expect(questions).toHaveLength(2)
  })

  it('continues with an older page, if there are more points', async () => {
    stored = 3
    expect(await read(true, { limit: 2, before: 50 })).toEqual({
      data: [
        [1, -1, 11],
        [2, -2, 12],
      ],
      next: 11,
      until,
    })
    expect(questions[2]).toEqual([nodeId, 3, 50])
    stored = 2
    expect(await read(true, { limit: 2 })).toMatchObject({ next: null })
  })
})

describe('the query of a track', () => {
  it('has a limit and a time, as texts', () => {
    expect(trackQuery.parse({ limit: '1', before: '0' })).toEqual({ limit: 1, before: 0 })
    expect(trackQuery.parse({})).toEqual({ limit: trackLimits.page })
  })

  it.each([
    { limit: 0 },
    { limit: trackLimits.page + 1 },
    { limit: 1.5 },
    { before: -1 },
    { before: 0.5 },
    { other: 1 },
  ])('is refused with %j', (query) => {
    expect(trackQuery.safeParse(query).success).toBe(false)
  })
})
