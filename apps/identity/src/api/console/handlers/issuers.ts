import { RpcError } from '@selvedge/protocol'
import type { People } from '../../../registry/people/people.ts'
import type { TrustedIssuer } from '../../../registry/projects/issuers.ts'
import type { Projects } from '../../../registry/projects/projects.ts'
import type { Audit } from '../../../storage/audit/audit.ts'
import type { Federation } from '../../../tokens/federation/federation.ts'
import { type IssuerParts, showIssuer, showIssuers } from '../../../tokens/federation/show-issuers.ts'
import { auditOf, type ConsoleContext, type ConsoleHandlers, done, type Viewer } from '../context.ts'
import { ownProject } from './projects.ts'

export interface ConsoleIssuerParts extends IssuerParts {
  readonly federation: Federation
  readonly projects: Projects
  readonly people: People
  readonly audit: Audit
}

interface Which {
  readonly clientId: string
  readonly issuerId: string
}

/** The issuers that a project of the account trusts. */
export function issuerHandlers(parts: ConsoleIssuerParts) {
  const { projects, people, audit, trustedIssuers, federatedSubjects, federation } = parts

  /** @throws RpcError `not_found` */
  async function ownRule({ clientId, issuerId }: Which, viewer: Viewer): Promise<TrustedIssuer> {
    await ownProject(projects, clientId, viewer)
    const found = (await trustedIssuers.list(clientId)).find((rule) => rule.issuerId === issuerId)
    if (found) return found
    throw new RpcError('not_found', `the project has no trusted issuer with the ID ${issuerId}`)
  }

  const note = (
    viewer: Viewer,
    context: ConsoleContext,
    action: string,
    rule: TrustedIssuer,
    detail: string,
  ) => audit.record(auditOf(viewer, context, action, rule.issuerId, { detail }))

  return {
    'issuer.list': async ({ clientId }, viewer) => {
      await ownProject(projects, clientId, viewer)
      return showIssuers(parts, clientId)
    },
    'issuer.add': async (rule, viewer, context) => {
      await ownProject(projects, rule.clientId, viewer)
      const made = await trustedIssuers.create({ ...rule, allowsPrivate: false })
      await note(viewer, context, 'issuer.add', made, made.issuer)
      return showIssuer(made, parts.issuerKeys)
    },
    'issuer.remove': async (which, viewer, context) => {
      const rule = await ownRule(which, viewer)
      await trustedIssuers.end([rule], { remove: true })
      await note(viewer, context, 'issuer.remove', rule, rule.issuer)
      return done
    },
    'issuer.revoke': async ({ subject, ...which }, viewer, context) => {
      const rule = await ownRule(which, viewer)
      await trustedIssuers.end([rule], subject === null ? {} : { subject })
      await note(viewer, context, 'issuer.revoke', rule, subject ?? rule.issuer)
      return done
    },
    'issuer.test': async ({ token, ...which }, viewer) => {
      const rule = await ownRule(which, viewer)
      return federation.test([rule], rule.issuer, token)
    },
    'issuer.link': async ({ subject, personId, ...which }, viewer, context) => {
      const rule = await ownRule(which, viewer)
      if (rule.as !== 'person') throw new RpcError('conflict', 'the rule is for workloads, not for people')
      const { accountId } = viewer.membership
      const person = (await people.members(accountId)).find((each) => each.personId === personId)
      if (!person) throw new RpcError('not_found', 'the account has no such member')
      await federatedSubjects.linkPerson(rule, accountId, subject, personId)
      await note(viewer, context, 'issuer.link', rule, `${subject} ${person.email}`)
      return done
    },
    'issuer.unlink': async ({ subject, ...which }, viewer, context) => {
      const rule = await ownRule(which, viewer)
      await trustedIssuers.end([rule], { subject })
      await federatedSubjects.unlinkPerson(rule, subject)
      await note(viewer, context, 'issuer.unlink', rule, subject)
      return done
    },
  } satisfies ConsoleHandlers
}
