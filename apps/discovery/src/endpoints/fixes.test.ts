import { systemClock } from '@selvedge/service-kit/clock'
import { describe, expect, it } from 'vitest'
import { fixesEndpoint } from './fixes.ts'

const now = systemClock.now()
const day = 86_400_000

/** The endpoint for a node with a track that ends in a minute, with a clock that may be ahead. */
function createEndpoint({ ahead = 0, hasLeft = false } = {}) {
  const disk = { isFull: false, track: [] as number[] }
  let newest = -1
  const parts = {
    clock: { now: () => now + ahead, past: () => now },
    sessions: {
      nodeOf: () => ({ nodeId: 'node', nodeName: '', accountId: 'account', trackUntil: now + 60_000 }),
    },
    registry: { heard: () => undefined },
    store: {
      last: async () => [newest < 0 ? undefined : { fixedAt: newest }],
      put: async ([{ fixedAt }]: [{ fixedAt: number }]) => {
        const before = newest
        newest = Math.max(newest, fixedAt)
        return [hasLeft ? 'left' : before]
      },
    },
    tracks: {
      add: async (_: string, points: readonly { fixedAt: number }[]) => {
        if (disk.isFull) throw new Error('the disk is full')
        disk.track.push(...points.map(({ fixedAt }) => fixedAt))
      },
    },
  }
  const endpoint = fixesEndpoint(parts as never)
  const report = (...times: number[]) => {
    const fixes = times.map((fixedAt) => ({ longitude: 1, latitude: 2, speed: 0, bearing: 0, fixedAt }))
    return endpoint.answer({ authorization: '', body: JSON.stringify(fixes) } as never)
  }
  return { disk, report }
}

it('stores a fix in the track when its report is sent again after the track could not be written', async () => {
  const { disk, report } = createEndpoint()
  disk.isFull = true
  await expect(report(now)).rejects.toThrow('full')
  disk.isFull = false
  expect(await report(now)).toEqual({ accepted: 1, newest: now })
  expect(await report(now)).toEqual({ accepted: 0, newest: now })
  expect(disk.track).toEqual([now])
})

it('stores the fixes from before the end of a track while the clock is ahead, and none from after it', async () => {
  const { disk, report } = createEndpoint({ ahead: day })
  await report(now, now + 59_000, now + 61_000)
  expect(disk.track).toEqual([now, now + 59_000])
})

it('accepts fixes up to a minute ahead of the clock, and refuses a report with a later one', async () => {
  const { report, disk } = createEndpoint()
  expect(await report(now + 60_000)).toEqual({ accepted: 1, newest: now + 60_000 })
  await expect(report(now, now + 60_001)).rejects.toMatchObject({
    code: 'invalid_request',
    message: expect.stringMatching(/^a fix of .* is in the future; it is .* here$/),
  })
  expect(disk.track).toEqual([])
})

it('refuses a report of a session from before the node left the account', async () => {
  const { report } = createEndpoint({ hasLeft: true })
  await expect(report(now)).rejects.toMatchObject({
    code: 'invalid_token',
    message: 'the session started before the node left the account; start a new session',
  })
})

describe('a report', () => {
  const fix = (fixedAt: number) => ({ longitude: 1, latitude: 2, speed: 0, bearing: 0, fixedAt })

  /** The endpoint with a store that knows a newest fix of the node. */
  function open({ newest = -1, trackUntil = 0, sentAt = 5 } = {}) {
    const seen = {
      stored: [] as object[],
      heard: [] as string[],
      track: [] as number[],
      requests: [] as object[],
    }
    const endpoint = fixesEndpoint({
      clock: { now: () => now, past: () => now },
      sessions: {
        nodeOf(request: object) {
          seen.requests.push(request)
          return { nodeId: 'n', nodeName: 'van', accountId: 'a', sharing: 's', term: 3, sentAt, trackUntil }
        },
      },
      registry: { heard: (id: string) => void seen.heard.push(id) },
      store: {
        last: async () => [newest < 0 ? undefined : { fixedAt: newest }],
        put: async ([location]: [object]) => {
          seen.stored.push(location)
          return newest < 0 ? [] : [newest]
        },
      },
      tracks: {
        add: async (_: object, points: { fixedAt: number }[]) =>
          void seen.track.push(...points.map(({ fixedAt }) => fixedAt)),
      },
    } as never)
    const send = (body: unknown) =>
      endpoint.answer({
        authorization: 'Session x',
        body: typeof body === 'string' ? body : JSON.stringify(body),
      } as never)
    return { seen, send, endpoint }
  }

  it('is stored for the node of the session, with its newest fix', async () => {
    const { seen, send, endpoint } = open()
    expect([endpoint.path, endpoint.takes]).toEqual(['/v1/fixes', 'json'])
    expect(await send([fix(now - 2), fix(now - 1), fix(now - 3)])).toEqual({ accepted: 3, newest: now - 1 })
    expect(seen.stored).toEqual([
      {
        ...{
          ...fix(now - 1),
          source: 'api',
          nodeId: 'n',
          nodeName: 'van',
          accountId: 'a',
          sharing: 's',
          term: 3,
        },
        ...{ receivedAt: now, heardAt: 5 },
      },
    ])
    expect(seen.heard).toEqual(['n'])
    expect(seen.requests).toEqual([
      { authorization: 'Session x', method: 'POST', path: '/v1/fixes', body: expect.any(String) },
    ])
  })

  it('counts the fixes that are newer than the one that was known', async () => {
    const { send } = open({ newest: now - 2 })
    expect(await send([fix(now - 3), fix(now - 2), fix(now - 1)])).toEqual({ accepted: 1, newest: now - 1 })
    expect(await send(fix(now - 1))).toEqual({ accepted: 1, newest: now - 1 })
    expect(await send(fix(now - 2))).toEqual({ accepted: 0, newest: now - 2 })
    expect(await send(fix(now - 3))).toEqual({ accepted: 0, newest: now - 2 })
  })

  it('without a fix is a sign of life', async () => {
    const { seen, send } = open({ trackUntil: now + day })
    expect(await send([])).toEqual({ accepted: 0, newest: -1 })
    expect([seen.heard, seen.stored, seen.track]).toEqual([['n'], [], []])
  })

  it('adds to a track what is new and from before its end, while there is one', async () => {
    const known = open({ newest: now - 2, trackUntil: now })
    await known.send([fix(now - 3), fix(now - 2), fix(now - 1), fix(now)])
    // A track that ends now is over.
    expect(known.seen.track).toEqual([])
    const running = open({ newest: now - 2, trackUntil: now + 1 })
    await running.send([fix(now - 3), fix(now - 2), fix(now - 1), fix(now), fix(now + 1)])
    expect(running.seen.track).toEqual([now - 1, now])
    const first = open({ trackUntil: now + 1 })
    await first.send([fix(0), fix(now + 1)])
    expect(first.seen.track).toEqual([0])
  })

  it.each([
    ['no JSON', '{', /^the body is not JSON/],
    ['no fix', '{"longitude":1}', /^the body is neither a fix .* nor a list of at most 100 of them/],
    ['another value', '7', /^the body is neither a fix/],
    [
      'too many fixes',
      JSON.stringify(Array.from({ length: 101 }, (_, at) => fix(at))),
      /^the body is neither a fix/,
    ],
  ])('with %s is refused', async (_, body, message) => {
    const { seen, send } = open()
    await expect(send(body)).rejects.toMatchObject({
      code: 'invalid_request',
      message: expect.stringMatching(message),
    })
    expect([seen.stored, seen.heard]).toEqual([[], []])
  })
})
