/** The operator's methods for the issuers that projects trust. */
import { RpcError } from '@selvedge/protocol'
import type { People } from '../../registry/people/people.ts'
import type { TrustedIssuer } from '../../registry/projects/issuers.ts'
import type { Projects } from '../../registry/projects/projects.ts'
import type { Federation } from '../../tokens/federation/federation.ts'
import { type IssuerParts, showIssuer, showIssuers } from '../../tokens/federation/show-issuers.ts'
import type { AdminHandlers, Note } from './context.ts'

export interface AdminIssuerParts extends IssuerParts {
  readonly federation: Federation
  readonly projects: Projects
  readonly people: People
}

export function issuerHandlers(parts: AdminIssuerParts & { readonly note: Note }) {
  const { trustedIssuers, federatedSubjects, federation, projects, people, note } = parts

  /** The rules of an ID or of the URL of an issuer. @throws RpcError `not_found` */
  async function rulesOf(which: string, clientId: string | null): Promise<readonly TrustedIssuer[]> {
    const all = await trustedIssuers.list(clientId ?? undefined)
    const found = all.filter(({ issuerId, issuer }) => issuerId === which || issuer === which)
    if (found.length > 0) return found
    throw new RpcError('not_found', `no project trusts the issuer ${JSON.stringify(which)}`, {
      hint: 'Name it exactly as "selvedge admin issuer list" shows it, with or without the slash at its end.',
    })
  }

  async function noteAll(rules: readonly TrustedIssuer[], action: string, detail?: string) {
    for (const { clientId, issuerId, issuer } of rules) {
      const project = await projects.find(clientId)
      await note(project?.accountId ?? '', action, issuerId, detail ?? issuer)
    }
    return { issuerIds: rules.map(({ issuerId }) => issuerId) }
  }

  /** The account of rules for people that are of one project. @throws RpcError `conflict` */
  async function accountOfPeople(rules: readonly TrustedIssuer[]): Promise<string> {
    const [first] = rules
    const isOne = rules.every(({ as, clientId }) => as === 'person' && clientId === first?.clientId)
    const project = isOne && first ? await projects.find(first.clientId) : undefined
    if (project) return project.accountId
    throw new RpcError('conflict', 'only subjects of rules for people of one project are linked', {
      hint: 'Name the ID of a rule that was added with --as person.',
    })
  }

  return {
    'issuer.add': async (rule) => {
      const project = await projects.find(rule.clientId)
      if (!project) throw new RpcError('not_found', `there is no project with the client ID ${rule.clientId}`)
      const made = await trustedIssuers.create(rule)
      await note(project.accountId, 'issuer.add', made.issuerId, made.issuer)
      return showIssuer(made, parts.issuerKeys)
    },
    'issuer.list': ({ clientId }) => showIssuers(parts, clientId ?? undefined),
    'issuer.remove': async ({ issuer, clientId }) => {
      const rules = await rulesOf(issuer, clientId)
      await trustedIssuers.end(rules, { remove: true })
      return noteAll(rules, 'issuer.remove')
    },
    'issuer.revoke': async ({ issuer, clientId, subject }) => {
      const rules = await rulesOf(issuer, clientId)
      await trustedIssuers.end(rules, subject === null ? {} : { subject })
      return noteAll(rules, 'issuer.revoke', subject ?? undefined)
    },
    'issuer.test': async ({ issuer, clientId, token }) => {
      const rules = await rulesOf(issuer, clientId)
      return federation.test(rules, rules[0]!.issuer, token)
    },
    'issuer.link': async ({ issuer, clientId, subject, email }) => {
      const rules = await rulesOf(issuer, clientId)
      const accountId = await accountOfPeople(rules)
      const person = (await people.members(accountId)).find((each) => each.email === email)
      if (!person) throw new RpcError('not_found', `${email} is not a person of the account`)
      for (const rule of rules) await federatedSubjects.linkPerson(rule, accountId, subject, person.personId)
      return noteAll(rules, 'issuer.link', `${subject} ${email}`)
    },
    'issuer.unlink': async ({ issuer, clientId, subject }) => {
      const rules = await rulesOf(issuer, clientId)
      await trustedIssuers.end(rules, { subject })
      for (const rule of rules) await federatedSubjects.unlinkPerson(rule, subject)
      return noteAll(rules, 'issuer.unlink', subject)
    },
  } satisfies AdminHandlers
}
