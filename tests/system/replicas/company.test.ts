/** Company sign-in on two replicas with PostgreSQL: what begins at one ends at the other, and what ends at one ends at both. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type CompanyProvider, startCompanyProvider } from '../../harness/company-provider.ts'
import { type ConsoleSession, enterByLink, openConsole, reasonOf } from '../../harness/console.ts'
import { adminOf } from '../../harness/flow.ts'
import { needs } from '../../harness/installed.ts'
import { createProofKey } from '../../harness/oauth.ts'
import { type Replicas, startReplicas } from '../../harness/replicas.ts'

const domain = 'corp.example'

describe('company sign-in on two replicas', needs('postgres'), () => {
  let replicas: Replicas
  let provider: CompanyProvider
  let owner: ConsoleSession
  const admin = (at: 0 | 1) => adminOf(replicas.all[at].state)
  const open = () => openConsole(replicas.url)
  const viewerOf = async (browser: ConsoleSession) => (await browser.api['session.get']()).viewer

  const add = () =>
    admin(0)['company.add']({
      domain,
      email: null,
      issuer: provider.url,
      clientId: 'selvedge',
      clientAuth: 'client_secret',
      clientSecret: 'sealed',
      rules: [
        { claim: 'groups', value: 'engineers', role: 'member' },
        { claim: 'groups', value: 'chiefs', role: 'owner' },
      ],
      allowsPrivate: true,
    })

  /** @param uses how often the same answer is brought, at the same time */
  async function signIn(browser: ConsoleSession, claims: object = {}, uses = 1): Promise<string[]> {
    const { url } = await browser.api['company.begin']({ address: domain, purpose: 'sign_in' })
    provider.next = { claims: { ...claims } }
    const { query } = provider.visit(url)
    const finish = () => reasonOf(browser.api['company.finish']({ domain, query }))
    return Promise.all(Array.from({ length: uses }, finish))
  }

  beforeAll(async () => {
    replicas = await startReplicas(['--enrolment=code'])
    provider = await startCompanyProvider()
    await admin(0)['account.create']({ email: 'ada@example.com' })
    const { link } = await admin(0)['account.link']({ email: 'ada@example.com' })
    owner = await enterByLink(replicas.url, link, 'ada@example.com')
    await add()
  })
  afterAll(async () => {
    await provider?.stop()
    await replicas?.stop()
  })

  it('an answer that comes ten times at once works once', async () => {
    const outcomes = await signIn(openConsole(replicas.url, {}, createProofKey()), { sub: 'once' }, 10)
    expect(outcomes.filter((each) => each === 'accepted')).toHaveLength(1)
  })

  it('five first sign-ins of one person at the same time make one person', async () => {
    const browsers = Array.from({ length: 5 }, open)
    const begun = await Promise.all(
      browsers.map(({ api }) => api['company.begin']({ address: domain, purpose: 'sign_in' })),
    )
    provider.next = { claims: { sub: 'twin', email: 'twin@corp.example' } }
    const outcomes = await Promise.all(
      browsers.map(({ api }, at) =>
        reasonOf(api['company.finish']({ domain, query: provider.visit(begun[at]!.url).query })),
      ),
    )
    expect(outcomes).toEqual(browsers.map(() => 'accepted'))
    const members = await owner.api['member.list']()
    expect(members.filter(({ email }) => email.startsWith('twin'))).toHaveLength(1)
  })

  it('follows the role of the rules, and removes the person when no rule fits', async () => {
    const browser = open()
    expect(await signIn(browser, { groups: ['chiefs'] })).toEqual(['accepted'])
    expect(await viewerOf(browser)).toMatchObject({ role: 'owner' })
    expect(await signIn(open(), { groups: ['engineers'] })).toEqual(['accepted'])
    expect(await viewerOf(browser)).toMatchObject({ role: 'member' })
    expect(await signIn(open(), { groups: [] })).toEqual(['credentials_invalid'])
    expect(await viewerOf(browser)).toBeNull()
  })

  it('links the local owner, who stays an owner', async () => {
    const { url } = await owner.api['company.begin']({ address: domain, purpose: 'link' })
    provider.next = { claims: { sub: 'ada', auth_time: Math.floor(Date.now() / 1000) } }
    const { query } = provider.visit(url)
    expect(await reasonOf(owner.api['company.finish']({ domain, query }))).toBe('accepted')
    const browser = open()
    expect(await signIn(browser, { sub: 'ada' })).toEqual(['accepted'])
    expect(await viewerOf(browser)).toMatchObject({ email: 'ada@example.com', role: 'owner' })
    const [company] = await owner.api['company.list']()
    expect(company).toMatchObject({ isLinked: true })
    await owner.api['company.unlink']({ companyId: company!.companyId })
    expect(await viewerOf(browser)).toBeNull()
    expect(await viewerOf(owner)).toMatchObject({ role: 'owner' })
  })

  it('ends at both when the operator of one removes the company', async () => {
    const browser = open()
    expect(await signIn(browser)).toEqual(['accepted'])
    await admin(1)['company.remove']({ domain })
    expect(await viewerOf(browser)).toBeNull()
    expect(await admin(0)['company.list']()).toEqual([])
    expect(await owner.api['member.list']()).toHaveLength(1)
    await add()
    expect(await signIn(open())).toEqual(['accepted'])
  })
})
