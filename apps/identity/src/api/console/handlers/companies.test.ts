/** Company sign-in: what the proof of a provider leads to, and what is answered before there is one. */
import { afterEach, beforeEach, expect, it } from 'vitest'
import {
  type ConsoleStore,
  contextOf,
  openConsoleStore,
} from '../../../../../../tests/harness/console-calls.ts'
import type { Company } from '../../../registry/people/companies.ts'
import type { CompanyProof } from '../../../tokens/company/company-sign-in.ts'
import type { Viewer } from '../context.ts'
import { companyHandlers } from './companies.ts'

let opened: ConsoleStore
let handlers: ReturnType<typeof companyHandlers>
let ada: Viewer
let corp: Company
let begun: unknown[]
let proof: Partial<CompanyProof>
let wait: number

const companySignIns = {
  redirectUri: (domain: string) => `https://console.example/company/${domain}`,
  async begin(company: Company, visitor: object) {
    begun.push({ company: company.domain, ...visitor })
    return 'https://corp.example/authorize'
  },
  finish: async (domain: string, query: string, jkt: string) => ({
    ...{ company: corp, purpose: 'sign_in', personId: '', subject: 's', role: 'member', authTime: 7 },
    ...{ email: `${domain} ${query} ${jkt}` },
    ...proof,
  }),
}

beforeEach(async () => {
  opened = await openConsoleStore()
  begun = []
  proof = {}
  wait = 0
  handlers = companyHandlers({
    ...opened,
    companySignIns: companySignIns as never,
    companyTries: { take: async (key) => (key === '192.0.2.1' ? wait : 0), giveBack: async () => undefined },
  })
  corp = await opened.companies.create({
    ...{ accountId: 'a', domain: 'corp.example', issuer: 'https://corp.example', clientId: 'x' },
    ...{ clientAuth: 'none', clientSecret: null, allowsPrivate: false },
    rules: [{ claim: 'group', value: 'all', role: 'member' }],
  })
  ada = await opened.viewerOf('ada')
})
afterEach(() => opened.close())

type Purpose = 'sign_in' | 'confirm' | 'link'
const begin = (purpose: Purpose, context = contextOf(), address = 'Eve@corp.example') =>
  handlers['company.begin']({ address, purpose }, undefined, context)
const finish = (context = contextOf(), change: Partial<CompanyProof> = {}) => {
  proof = { email: 'eve@corp.example', ...change }
  return handlers['company.finish']({ domain: 'corp.example', query: 'q' }, undefined, context)
}
const byCompany = (viewer: Viewer, companyId: string | undefined = corp.companyId): Viewer => ({
  ...viewer,
  session: { ...viewer.session, companyId },
})
const personOf = (subject = 's') => opened.companyPeople.find(corp.companyId, subject)

it('a sign-in begins at the company of the domain, with the address as a hint', async () => {
  expect(await begin('sign_in')).toEqual({ url: 'https://corp.example/authorize' })
  await begin('sign_in', contextOf(ada), 'corp.example')
  const visitor = { company: 'corp.example', purpose: 'sign_in', personId: '' }
  expect(begun).toEqual([
    { ...visitor, jkt: 'key', loginHint: 'Eve@corp.example' },
    { ...visitor, jkt: 'ada', loginHint: '' },
  ])
  await expect(begin('sign_in', contextOf(), 'eve@other.example')).rejects.toMatchObject({
    reason: 'not_found',
  })
  wait = 4
  const context = contextOf()
  await expect(begin('sign_in', context)).rejects.toMatchObject({ reason: 'busy' })
  expect(context.retryAfter).toBe(4)
})

it('a fresh sign-in is at the company of the session', async () => {
  await expect(begin('confirm')).rejects.toMatchObject({ reason: 'signed_out' })
  for (const companyId of ['', 'gone'])
    await expect(begin('confirm', contextOf(byCompany(ada, companyId)))).rejects.toMatchObject({
      reason: 'conflict',
    })
  // The session may be old: that is why it is confirmed.
  const old = byCompany(await opened.viewerOf('ada', 'a', { age: 601_000 }))
  await begin('confirm', contextOf(old), 'other.example')
  expect(begun).toMatchObject([{ company: 'corp.example', personId: 'ada', purpose: 'confirm' }])
})

it('a link begins with a fresh local sign-in', async () => {
  const old = await opened.viewerOf('ada', 'a', { age: 601_000 })
  for (const [viewer, reason] of [
    [undefined, 'signed_out'],
    [old, 'step_up_required'],
    [byCompany(ada), 'forbidden'],
  ] as const)
    await expect(begin('link', contextOf(viewer))).rejects.toMatchObject({ reason })
  await begin('link', contextOf(ada))
  expect(begun).toMatchObject([{ personId: 'ada', purpose: 'link' }])
})

it('a proof with a role makes a person, and a session of the company', async () => {
  const context = contextOf()
  expect(await finish(context, { email: undefined })).toEqual({ purpose: 'sign_in' })
  const personId = (await personOf())!
  expect(await opened.sessions.find(context.newSession!, 'key')).toMatchObject({
    session: { personId, accountId: 'a', companyId: corp.companyId, authTime: 7 },
  })
  const again = contextOf()
  await finish(again)
  expect(await opened.sessions.find(again.newSession!, 'key')).toMatchObject({ session: { personId } })
})

it('one without a role ends the membership that the company gave', async () => {
  await finish()
  const personId = await personOf()
  const refused = {
    reason: 'credentials_invalid',
    message: 'corp.example gives you no access to this account',
  }
  await expect(finish(contextOf(), { role: undefined })).rejects.toMatchObject(refused)
  expect((await opened.people.members('a')).map((each) => each.personId)).not.toContain(personId)
  await expect(finish(contextOf(), { role: undefined, email: undefined })).rejects.toMatchObject(refused)
  expect(opened.audited().slice(-2)).toEqual([
    `eve session.create ${corp.companyId} refused corp.example s: no rule fits`,
    `corp.example session.create ${corp.companyId} refused corp.example s: no rule fits`,
  ])
})

it('a person who is removed at the same moment gets no session', async () => {
  handlers = companyHandlers({
    ...{ ...opened, companySignIns: companySignIns as never, companyTries: opened.limiterOf('x') },
    people: { ...opened.people, byId: async () => undefined },
  })
  await expect(finish()).rejects.toMatchObject({ reason: 'credentials_invalid' })
})

it('a person who is signed in links the company, and confirms with it', async () => {
  const link = { purpose: 'link', personId: 'ada' } as const
  for (const viewer of [undefined, await opened.viewerOf('bob')])
    await expect(finish(contextOf(viewer), link)).rejects.toMatchObject({ reason: 'signed_out' })
  await expect(finish(contextOf(ada), { ...link, role: undefined })).rejects.toMatchObject({
    reason: 'credentials_invalid',
  })
  expect(await personOf()).toBeUndefined()
  const long = 'x'.repeat(201)
  expect(await finish(contextOf(ada), { ...link, subject: long })).toEqual({ purpose: 'link' })
  expect(await personOf(long)).toBe('ada')
  expect(opened.audited().at(-1)).toBe(
    `ada company.link ${corp.companyId} ok corp.example ${long.slice(0, 200)}`,
  )
  const confirm = { purpose: 'confirm', personId: 'ada', subject: long } as const
  const context = contextOf(ada)
  expect(await finish(context, confirm)).toEqual({ purpose: 'confirm' })
  expect(context.newSession).toEqual(expect.any(String))
})

it('a confirmation is of the person who is signed in', async () => {
  await opened.companyPeople.linkPerson(corp, 's', 'ada')
  await opened.companyPeople.linkPerson(corp, 't', 'bob')
  const bob = await opened.viewerOf('bob')
  for (const [viewer, personId, subject] of [
    [undefined, 'ada', 's'],
    [bob, 'ada', 's'],
    [bob, 'bob', 's'],
    [ada, 'ada', 't'],
    [ada, 'ada', 'unknown'],
  ] as const)
    await expect(finish(contextOf(viewer), { purpose: 'confirm', personId, subject })).rejects.toMatchObject({
      reason: 'credentials_invalid',
    })
})

it('members see the company, and owners its rules', async () => {
  const list = (viewer: Viewer) => handlers['company.list']({}, viewer)
  await opened.companyPeople.linkPerson(corp, 't', 'bob')
  const shown = { domain: 'corp.example', redirectUri: 'https://console.example/company/corp.example' }
  expect(await list(ada)).toMatchObject([{ ...shown, rules: corp.rules, isLinked: false }])
  expect(await list(await opened.viewerOf('bob'))).toMatchObject([{ ...shown, rules: [], isLinked: true }])
  expect(await list(await opened.viewerOf('cy', 'b'))).toEqual([])
})

it('an owner changes the rules of a company of the account only', async () => {
  const { companyId } = corp
  const rules = [
    { claim: 'group', value: 'ops', role: 'owner' as const },
    { claim: 'group', value: 'all', role: 'member' as const },
  ]
  const update = (viewer: Viewer, isRequired: boolean, some = rules) =>
    handlers['company.update']({ companyId, rules: some, isRequired }, viewer, contextOf(viewer))
  await expect(update(await opened.viewerOf('cy', 'b'), true)).rejects.toMatchObject({ reason: 'not_found' })
  expect(await update(ada, false)).toEqual({ done: true })
  expect(await opened.companies.byId(companyId)).toMatchObject({ rules, isRequired: false })
  const many = Array.from({ length: 20 }, (_, at) => ({
    claim: 'group',
    value: `${at}`.repeat(20),
    role: 'member' as const,
  }))
  await update(ada, true, many)
  const [optional, required] = opened.audited()
  expect(optional).toBe(`ada company.update ${companyId} ok optional; group=ops:owner group=all:member`)
  expect(required).toMatch(new RegExp(`^ada company.update ${companyId} ok required; group=0`))
  expect(required).toHaveLength(`ada company.update ${companyId} ok `.length + 500)
})

it('a person unlinks the company with a local sign-in', async () => {
  const { companyId } = corp
  await opened.companyPeople.linkPerson(corp, 's', 'ada')
  const unlink = (viewer: Viewer) => handlers['company.unlink']({ companyId }, viewer, contextOf(viewer))
  await expect(unlink(byCompany(ada))).rejects.toMatchObject({ reason: 'forbidden' })
  expect(await unlink(ada)).toEqual({ done: true })
  expect(await personOf()).toBeUndefined()
  expect(opened.audited()).toEqual([`ada company.unlink ${companyId} ok`])
})
