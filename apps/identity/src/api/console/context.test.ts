/** Who may call a method of the console: the role, the age of the sign-in, and what vouched for the person. */
import { createFakeClock } from '@selvedge/service-kit/testing'
import { describe, expect, it } from 'vitest'
import { contextOf } from '../../../../../tests/harness/console-calls.ts'
import { auditOf, checkPerson, expectLocal, expectTurn, subjectOf, type Viewer } from './context.ts'

const clock = createFakeClock()
const viewerOf = (role: 'owner' | 'member', age = 0, companyId: string | undefined = '') =>
  ({
    person: { personId: 'ada', email: 'ada@example.com', password: '' },
    membership: { accountId: 'a', role },
    session: { authTime: clock.now() - age, companyId },
  }) as unknown as Viewer

const minutes = 60_000
const access = (more: object = {}) => ({ caller: 'person', session: 'any', ...more }) as never

describe('a method', () => {
  it.each<[string, object, Viewer | undefined, string | undefined]>([
    ['for people needs a session', {}, undefined, 'signed_out'],
    ['for people is for members', {}, viewerOf('member'), undefined],
    ['for owners is not for members', { role: 'owner' }, viewerOf('member'), 'forbidden'],
    ['for owners is for owners', { role: 'owner' }, viewerOf('owner'), undefined],
    ['with any session', {}, viewerOf('member', 10 * minutes + 1), undefined],
    ['with a recent session', { session: 'recent' }, viewerOf('member', 10 * minutes), undefined],
    [
      'with a recent session refuses an older one',
      { session: 'recent' },
      viewerOf('member', 10 * minutes + 1),
      'step_up_required',
    ],
  ])('%s', (_, more, viewer, reason) => {
    const check = () => checkPerson(access(more), contextOf(viewer), clock)
    if (reason === undefined) expect(check()).toBe(viewer)
    else expect(check).toThrow(expect.objectContaining({ reason }))
  })
})

it('what stays without a company is for local sign-ins only', () => {
  const local = viewerOf('owner')
  expect(expectLocal(local)).toBe(local)
  for (const companyId of ['corp', undefined] as const) {
    const { session } = local
    expect(() => expectLocal({ ...local, session: { ...session, companyId } })).toThrow(
      expect.objectContaining({ reason: 'forbidden' }),
    )
  }
})

it('a request more than the limit waits', () => {
  const context = contextOf()
  const limiter = (wait: number) => ({ take: () => wait, giveBack: () => undefined })
  expectTurn(limiter(0), 'k', context, 'tries')
  expect(context.retryAfter).toBeUndefined()
  expect(() => expectTurn(limiter(3), 'k', context, 'tries')).toThrow(
    expect.objectContaining({ reason: 'busy', message: 'too many tries; wait 3 seconds' }),
  )
  expect(context.retryAfter).toBe(3)
})

it('an entry names the person, the account and the address, and a token its person', () => {
  const ada = viewerOf('owner')
  const base = { accountId: 'a', actor: 'ada@example.com', address: '192.0.2.1' }
  expect(auditOf(ada, contextOf(), 'x.do')).toEqual({ ...base, action: 'x.do', subject: '', outcome: 'ok' })
  expect(auditOf(ada, contextOf(), 'x.do', 's', { detail: 'd', outcome: 'refused' })).toEqual({
    ...{ ...base, action: 'x.do', subject: 's', outcome: 'refused', detail: 'd' },
  })
  const authTime = clock.now() / 1000
  expect(subjectOf(viewerOf('owner', -999))).toEqual({
    ...{ accountId: 'a', personId: 'ada', email: 'ada@example.com', authTime },
  })
})
