/** What becomes of the fixes of a report, by how the report ends. */
import { ConnectionFailure, OAuthFailure } from '@selvedge/client'
import { createMemoryLog } from '@selvedge/service-kit/testing'
import { beforeEach, describe, expect, it } from 'vitest'
import type { StoredFix } from '../../device/state.ts'
import { type SendParts, sendReport } from './publisher-send.ts'

const fixAt = (fixedAt: number, accuracy: number | null = null): StoredFix => ({
  signal: { longitude: 1, latitude: 2, speed: 3, bearing: 4 },
  fixedAt,
  receivedAt: fixedAt,
  source: 'api',
  accuracy,
  published: false,
})
const reported = { longitude: 1, latitude: 2, speed: 3, bearing: 4, source: 'api' }
const refusal = new OAuthFailure('invalid_request', 'in the future', 400)

let earlier: StoredFix[]
let failure: Error | undefined
/** A failure of the session, before the report is sent. */
let sessionFailure: Error | undefined
let account: string
let accountAfter: string | undefined
let reports: unknown[]
/** What was done with the fixes. */
let done: unknown[]
let log: ReturnType<typeof createMemoryLog>
let parts: SendParts
beforeEach(() => {
  earlier = []
  failure = undefined
  sessionFailure = undefined
  account = 'a'
  accountAfter = undefined
  reports = []
  done = []
  log = createMemoryLog()
  parts = {
    client: {
      report: async (fixes: unknown) => {
        reports.push(fixes)
        account = accountAfter ?? account
        if (failure) throw failure
      },
    } as never,
    session: {
      use: async (_by: string, work: (authorize: unknown) => Promise<unknown>) => {
        if (sessionFailure) throw sessionFailure
        return work(() => '')
      },
    } as never,
    log,
    track: {
      take: () => earlier,
      sent: () => done.push('sent'),
      putBack: (fixes: readonly StoredFix[]) => done.push(fixes),
    } as never,
    account: () => account,
    onRefused: (fix) => done.push(fix),
    follow: (request) => request,
  }
})

describe('a report', () => {
  it('has the earlier fixes of the track, then the newest one, each with its accuracy if there is one', async () => {
    earlier = [fixAt(1), fixAt(2, 5)]
    expect(await sendReport(parts, fixAt(3, 0))).toBe(true)
    expect(reports).toEqual([
      [
        { ...reported, fixedAt: 1 },
        { ...reported, fixedAt: 2, accuracy: 5 },
        { ...reported, fixedAt: 3, accuracy: 0 },
      ],
    ])
    expect(reports).not.toEqual([[expect.objectContaining({ accuracy: undefined })]])
    expect(Object.keys((reports[0] as object[])[0]!)).not.toContain('accuracy')
    expect(done).toEqual(['sent'])
  })

  it('without a fix is a keep-alive', async () => {
    expect(await sendReport(parts, null)).toBe(true)
    expect(reports).toEqual([[]])
  })
})

describe('a report that fails', () => {
  it('is sent again, with the earlier fixes', async () => {
    earlier = [fixAt(1)]
    failure = new ConnectionFailure('not_running', 'away')
    await expect(sendReport(parts, fixAt(2))).rejects.toBe(failure)
    expect(done).toEqual([[fixAt(1)]])
    expect(log.lines).toEqual([])
  })

  it.each([
    ['another reason', new OAuthFailure('invalid_token', 'expired', 401)],
    [
      'the same word, and is no refusal of the service',
      Object.assign(new Error('x'), { reason: 'invalid_request' }),
    ],
  ])('for %s is sent again, too', async (_, cause) => {
    failure = cause
    await expect(sendReport(parts, fixAt(2))).rejects.toBe(cause)
    expect(done).toEqual([[]])
  })

  it('because the session was refused is sent again, also for the reason of a refused report', async () => {
    sessionFailure = refusal
    await expect(sendReport(parts, fixAt(2))).rejects.toBe(refusal)
    expect(done).toEqual([[]])
  })

  it('after the device changed hands is dropped', async () => {
    earlier = [fixAt(1)]
    failure = new ConnectionFailure('not_running', 'away')
    accountAfter = 'b'
    expect(await sendReport(parts, fixAt(2))).toBe(false)
    expect(done).toEqual([])
  })
})

describe('a report that the service refuses', () => {
  beforeEach(() => {
    failure = refusal
  })

  it('loses its earlier fixes first', async () => {
    earlier = [fixAt(1), fixAt(2)]
    expect(await sendReport(parts, fixAt(3))).toBe(false)
    expect(done).toEqual([])
    expect(log.lines.join()).toMatch(/"fixes":2\b.*in the future/)
  })

  it('loses its earlier fixes also without a newest one', async () => {
    earlier = [fixAt(1), fixAt(2), fixAt(3)]
    expect(await sendReport(parts, null)).toBe(false)
    expect(done).toEqual([])
    expect(log.lines.join()).toMatch(/"fixes":3\b/)
  })

  it('loses the newest fix if that is the only one', async () => {
    expect(await sendReport(parts, fixAt(3))).toBe(false)
    expect(done).toEqual([fixAt(3)])
    expect(log.lines.join()).toMatch(/"fixes":1\b/)
  })

  it('is a failure if it has no fix', async () => {
    await expect(sendReport(parts, null)).rejects.toBe(refusal)
    expect(done).toEqual([[]])
    expect(log.lines).toEqual([])
  })
})
