/** Attacks by the provider of a company, and by its people, with a person who also has a local membership. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { createPkce, decide, requestOf } from '../harness/app.ts'
import { type CompanyProvider, startCompanyProvider } from '../harness/company-provider.ts'
import {
  type ConsoleSession,
  enterByLink,
  openConsole,
  projectWith,
  startWithOwner,
} from '../harness/console.ts'
import { adminOf } from '../harness/flow.ts'

const domain = 'corp.example'
const now = () => Math.floor(Date.now() / 1000)
let addresses = 0
let site: Awaited<ReturnType<typeof startWithOwner>>
let provider: CompanyProvider
let admin: ReturnType<typeof adminOf>

beforeAll(async () => {
  site = await startWithOwner('--trustedProxies=127.0.0.1')
  admin = adminOf(site.state)
})
afterAll(() => site?.stop())
beforeEach(async () => {
  provider = await startCompanyProvider()
  await admin['company.add']({
    ...{ domain, email: 'ada@example.com', issuer: provider.url, clientId: 'selvedge', clientAuth: 'none' },
    ...{ clientSecret: null, allowsPrivate: true },
    rules: [
      { claim: 'groups', value: 'engineers', role: 'member' },
      { claim: 'groups', value: 'chiefs', role: 'owner' },
    ],
  })
})
afterEach(async () => {
  for (const each of await admin['company.list']()) await admin['company.remove']({ domain: each.domain })
  const own = (await viewerOf(site.owner))!.personId
  for (const { personId } of await site.owner.api['member.list']())
    if (personId !== own) await site.owner.api['member.remove']({ personId })
  await provider.stop()
})

const open = () =>
  openConsole(site.identity.url, { 'X-Forwarded-For': `10.1.${addresses >> 8}.${addresses++ & 255}` })
const viewerOf = async (browser: ConsoleSession) => (await browser.api['session.get']()).viewer
const secretOf = (link: string) => link.slice(link.indexOf('#') + 1)

const outcome = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'accepted',
    (cause: { reason?: string; message: string }) => `${cause.reason}: ${cause.message}`,
  )

/** Proves at the provider that the browser is of a `sub` with these claims. */
async function prove(browser: ConsoleSession, purpose: 'sign_in' | 'link', claims: object) {
  provider.next = { claims: { auth_time: now(), ...claims } }
  const { url } = await browser.api['company.begin']({ address: domain, purpose })
  await browser.api['company.finish']({ domain, query: provider.visit(url).query })
}

/** A person with a local membership of the account. */
async function localMember(role: 'member' | 'owner' = 'member') {
  const { link } = await site.owner.api['member.invite']({ role })
  const browser = open()
  const email = `local${++addresses}@example.com`
  await browser.api['link.use']({ link: secretOf(link), email })
  return { browser, email, personId: (await viewerOf(browser))!.personId }
}

const roleOf = async (personId: string) =>
  (await site.owner.api['member.list']()).find((each) => each.personId === personId)?.role

it('a local member whom a rule made an owner is no local owner, who could remove the last one', async () => {
  const { browser, personId } = await localMember()
  await prove(browser, 'link', { groups: ['chiefs'] })
  expect(await roleOf(personId)).toBe('owner')
  const company = open()
  await prove(company, 'sign_in', { groups: ['chiefs'] })
  const ada = (await viewerOf(site.owner))!.personId
  for (const each of [company, browser]) {
    expect(await outcome(each.api['member.set_role']({ personId: ada, role: 'member' }))).toContain(
      'conflict',
    )
    expect(await outcome(each.api['member.remove']({ personId: ada }))).toContain('conflict')
  }
})

it('a local member whom a rule made an owner is one no more after "Unlink"', async () => {
  const { browser, personId } = await localMember()
  await prove(browser, 'link', { groups: ['chiefs'] })
  const { link } = await browser.api['member.invite']({ role: 'owner' })
  const [company] = await browser.api['company.list']()
  await browser.api['company.unlink']({ companyId: company!.companyId })
  expect(await roleOf(personId)).toBe('member')
  expect(
    await outcome(open().api['link.use']({ link: secretOf(link), email: 'late@example.com' })),
  ).toContain('credentials_invalid')
})

it('a local member whom a rule made an owner is one no more when the company is removed', async () => {
  const { browser, personId } = await localMember()
  await prove(browser, 'link', { groups: ['chiefs'] })
  await admin['company.remove']({ domain })
  expect(await roleOf(personId)).toBe('member')
})

it('a local owner whom a rule made a member stays one after "Unlink"', async () => {
  const { browser, personId } = await localMember('owner')
  await prove(browser, 'link', { groups: ['engineers'] })
  const [company] = await browser.api['company.list']()
  await browser.api['company.unlink']({ companyId: company!.companyId })
  expect(await roleOf(personId)).toBe('member')
})

it('the company of a linked person neither sees nor ends the local sessions of the person', async () => {
  const { browser } = await localMember()
  await prove(browser, 'link', { groups: ['engineers'] })
  const [local] = await browser.api['session.list']()
  const company = open()
  await prove(company, 'sign_in', { groups: ['engineers'] })
  expect((await company.api['session.list']()).map(({ isCurrent }) => isCurrent)).toEqual([true])
  expect(await outcome(company.api['session.revoke']({ sessionId: local!.sessionId }))).toContain('not_found')
  expect(await viewerOf(browser)).not.toBeNull()
  expect(await browser.api['session.list']()).toHaveLength(2)
})

it('the company does not vouch to apps of other accounts for a person who came by a link, and has no passkey yet', async () => {
  const { browser } = await localMember()
  await prove(browser, 'link', { groups: ['engineers'] })
  const email = 'app-maker@example.com'
  await admin['account.create']({ email })
  const { link } = await admin['account.link']({ email })
  const stranger = await enterByLink(site.identity.url, link, email)
  const redirectUri = 'https://app.example/signed-in'
  const more = { appUsers: 'anyone', redirectUris: [redirectUri], scopes: ['openid', 'offline_access'] }
  const { clientId } = await stranger.api['project.create'](projectWith({ name: 'app', ...more }))
  const company = open()
  await prove(company, 'sign_in', { groups: ['engineers'] })
  const request = () => requestOf({ clientId, redirectUri }, createPkce())
  expect(await outcome(decide(company, request()))).toContain('in its own account only')
  expect(await outcome(decide(browser, request()))).toBe('accepted')
})

it('a session of the company joins no other account', async () => {
  const email = 'lin@example.com'
  await admin['account.create']({ email })
  const lin = await enterByLink(site.identity.url, (await admin['account.link']({ email })).link, email)
  const { link } = await lin.api['member.invite']({ role: 'owner' })
  const company = open()
  await prove(company, 'sign_in', { groups: ['engineers'], email: 'grace@corp.example' })
  const use = { link: secretOf(link), email: 'grace@corp.example' }
  expect(await outcome(company.api['link.use'](use))).toContain('forbidden')
  expect(await lin.api['member.list']()).toHaveLength(1)
})

it('an address that another person states does not keep a person out', async () => {
  const [first, taken] = [open(), open()]
  await prove(first, 'sign_in', { sub: 'victim' })
  const { email, personId } = (await viewerOf(first))!
  await site.owner.api['member.remove']({ personId })
  await prove(taken, 'sign_in', { sub: 'mallory', email })
  await prove(first, 'sign_in', { sub: 'victim' })
  expect((await viewerOf(first))!.email).not.toBe((await viewerOf(taken))!.email)
})
