import { RpcError } from '@selvedge/protocol'
import { domainOf } from '@selvedge/protocol/tokens'
import type { Clock } from '@selvedge/service-kit/clock'
import { limitKeyOf } from '@selvedge/service-kit/http'
import type { Companies, Company } from '../../../registry/people/companies.ts'
import type { CompanyPeople } from '../../../registry/people/company-people.ts'
import type { People } from '../../../registry/people/people.ts'
import type { Audit } from '../../../storage/audit/audit.ts'
import type { SharedLimiter } from '../../../storage/replicas/shared-limiter.ts'
import type { CompanyProof, CompanyPurpose, CompanySignIns } from '../../../tokens/company/company-sign-in.ts'
import {
  auditOf,
  type ConsoleContext,
  type ConsoleHandlers,
  checkPerson,
  done,
  expectLocal,
  type Viewer,
} from '../context.ts'
import type { Enter } from '../enter.ts'

export interface ConsoleCompanyParts {
  readonly clock: Clock
  readonly people: People
  readonly companies: Companies
  readonly companyPeople: CompanyPeople
  readonly companySignIns: CompanySignIns
  readonly audit: Audit
  readonly enter: Enter
  /** Begun sign-ins of one network address. */
  readonly companyTries: SharedLimiter
}

/** Company sign-in. What is answered before the provider vouches for a person depends on the domain alone. */
export function companyHandlers(parts: ConsoleCompanyParts) {
  const { clock, companies, companyPeople, companySignIns, audit } = parts
  const finishers = createFinishers(parts)

  async function expectTries(context: ConsoleContext): Promise<void> {
    const wait = await parts.companyTries.take(limitKeyOf(context.address))
    if (wait === 0) return
    context.retryAfter = wait
    throw new RpcError('busy', `too many sign-ins from your network; wait ${wait} seconds`)
  }

  /** Of the session for a fresh sign-in, else of the domain. @throws RpcError `not_found`, or `conflict` */
  async function companyFor(
    address: string,
    purpose: CompanyPurpose,
    viewer: Viewer | undefined,
  ): Promise<Company> {
    if (purpose === 'confirm') {
      const own = viewer?.session.companyId ? await companies.byId(viewer.session.companyId) : undefined
      if (own) return own
      throw new RpcError('conflict', 'you did not sign in with a company', {
        hint: 'Use your own sign-in method.',
      })
    }
    const domain = domainOf(address)
    const found = await companies.byDomain(domain)
    if (found) return found
    throw new RpcError('not_found', `no company signs in here with the domain ${JSON.stringify(domain)}`, {
      hint: 'Check the domain, or use another sign-in method.',
    })
  }

  return {
    'company.begin': async ({ address, purpose }, _caller, context) => {
      await expectTries(context)
      const { viewer, jkt } = context
      if (purpose === 'confirm') checkPerson({ caller: 'person', session: 'any' }, context, clock)
      if (purpose === 'link')
        expectLocal(checkPerson({ caller: 'person', session: 'recent' }, context, clock))
      const company = await companyFor(address, purpose, viewer)
      const personId = purpose === 'sign_in' ? '' : viewer!.person.personId
      const loginHint = address.includes('@') ? address.trim() : ''
      return { url: await companySignIns.begin(company, { jkt, purpose, personId, loginHint }) }
    },
    'company.finish': async ({ domain, query }, _caller, context) => {
      const proof = await companySignIns.finish(domain, query, context.jkt)
      await finishers[proof.purpose](proof, context)
      return { purpose: proof.purpose }
    },
    'company.list': async (_, { membership, person }) => {
      const isOwner = membership.role === 'owner'
      const links = await companyPeople.linksOf(person.personId)
      return (await companies.list(membership.accountId)).map((company) => ({
        ...showCompany(company, companySignIns),
        rules: isOwner ? [...company.rules] : [],
        isLinked: links.has(company.companyId),
      }))
    },
    'company.update': async ({ companyId, rules, isRequired }, viewer, context) => {
      const { accountId } = viewer.membership
      await companies.update({ companyId, accountId, rules, isRequired })
      const detail = `${isRequired ? 'required' : 'optional'}; ${rules.map(({ claim, value, role }) => `${claim}=${value}:${role}`).join(' ')}`
      await audit.record(
        auditOf(viewer, context, 'company.update', companyId, { detail: detail.slice(0, 500) }),
      )
      return done
    },
    'company.unlink': async ({ companyId }, viewer, context) => {
      await companyPeople.unlinkPerson(companyId, expectLocal(viewer).person.personId)
      await audit.record(auditOf(viewer, context, 'company.unlink', companyId))
      return done
    },
  } satisfies ConsoleHandlers
}

type Finisher = (proof: CompanyProof, context: ConsoleContext) => Promise<unknown>

/** What a proof of the provider leads to, by what the person wanted. */
function createFinishers(parts: ConsoleCompanyParts): Readonly<Record<CompanyPurpose, Finisher>> {
  const { people, companyPeople, audit, enter } = parts

  const record = (
    { company, subject }: CompanyProof,
    { address }: ConsoleContext,
    actor: string,
    action: string,
    why = '',
  ) =>
    audit.record({
      accountId: company.accountId,
      actor,
      action,
      subject: company.companyId,
      address,
      outcome: why === '' ? 'ok' : 'refused',
      detail: `${company.domain} ${subject.slice(0, 200)}${why && `: ${why}`}`,
    })

  /** The rules are asked at each sign-in: without a role, the membership that they gave ends. @throws RpcError `credentials_invalid` */
  async function expectRole(proof: CompanyProof, context: ConsoleContext): Promise<'owner' | 'member'> {
    const { company, role, subject, email } = proof
    if (role) return role
    await companyPeople.dismiss(company, subject)
    await record(proof, context, email ?? company.domain, 'session.create', 'no rule fits')
    throw new RpcError('credentials_invalid', `${company.domain} gives you no access to this account`, {
      hint: 'Ask an owner of the account, or the administrators of your company, which groups have access.',
    })
  }

  async function signIn(proof: CompanyProof, context: ConsoleContext) {
    const { company, subject, email, authTime } = proof
    const role = await expectRole(proof, context)
    const personId = await companyPeople.admit(company, subject, role, email)
    const { companyId, accountId, domain } = company
    const person = await people.byId(personId)
    if (!person) throw new RpcError('credentials_invalid', 'the person was removed at the same moment')
    return enter(person, domain, context, accountId, { companyId, accountId, authTime })
  }

  return {
    sign_in: signIn,
    async confirm(proof, context) {
      const { viewer } = context
      const personId = await companyPeople.find(proof.company.companyId, proof.subject)
      if (!viewer || viewer.person.personId !== proof.personId || personId !== proof.personId)
        throw new RpcError('credentials_invalid', 'you signed in to your company as another person', {
          hint: 'Sign out there, and confirm again as the person who is signed in here.',
        })
      return signIn(proof, context)
    },
    async link(proof, context) {
      const { viewer } = context
      if (!viewer || viewer.person.personId !== proof.personId)
        throw new RpcError('signed_out', 'the person who began to link the company is not signed in any more')
      const { company, subject, email } = proof
      const role = await expectRole(proof, context)
      await companyPeople.linkPerson(company, subject, viewer.person.personId)
      await companyPeople.admit(company, subject, role, email)
      return record(proof, context, viewer.person.email, 'company.link')
    },
  }
}

const showCompany = (
  company: Company & { readonly people: number },
  { redirectUri }: Pick<CompanySignIns, 'redirectUri'>,
) => ({ ...company, rules: [...company.rules], redirectUri: redirectUri(company.domain) })
