import { RpcError } from '@selvedge/protocol'
import type { AdminMethods } from '@selvedge/protocol/admin'
import type { HandlersOf } from '@selvedge/protocol/jsonrpc'
import { usualScopes } from '@selvedge/protocol/tokens'
import { type Clock, isoTime, seconds } from '@selvedge/service-kit/clock'
import type { CallContext } from '@selvedge/service-kit/http'
import type { SigningKeys } from '../../registry/keys/signing-keys.ts'
import type { EnrolmentCodes } from '../../registry/nodes/enrolment-codes.ts'
import { describeNode, type Nodes } from '../../registry/nodes/nodes.ts'
import type { Accounts } from '../../registry/people/accounts.ts'
import type { Links } from '../../registry/people/links.ts'
import type { People } from '../../registry/people/people.ts'
import type { DeveloperTokens } from '../../registry/projects/developer-tokens.ts'
import { describeOffline } from '../../registry/projects/offline.ts'
import type { Projects } from '../../registry/projects/projects.ts'
import type { Revocations } from '../../registry/revocation/revocations.ts'
import type { Audit } from '../../storage/audit/audit.ts'
import { accountOf } from './account-of.ts'
import { type AdminCompanyParts, companyHandlers } from './companies.ts'
import type { AdminCallers, AdminHandlers, Note } from './context.ts'
import { type AdminIssuerParts, issuerHandlers } from './issuers.ts'

export interface AdminParts extends AdminIssuerParts, AdminCompanyParts {
  readonly accounts: Accounts
  readonly projects: Projects
  readonly developerTokens: DeveloperTokens
  readonly nodes: Nodes
  readonly codes: EnrolmentCodes
  readonly keys: SigningKeys
  readonly people: People
  readonly links: Links
  readonly revocations: Revocations
  readonly audit: Audit
  readonly clock: Clock
  readonly consoleUrl: () => string
  /** Default lifetime of a developer ID token, in seconds. */
  readonly developerLifetimeSeconds: number
}

/** Lifetime of a link that the operator makes, in seconds. */
const linkSeconds = 86_400

/** One handler for each method of the operator's API. The permissions of the socket decide who can call them. */
export function createAdminHandlers(parts: AdminParts): HandlersOf<AdminMethods, AdminCallers, CallContext> {
  const noted: NotedParts = {
    ...parts,
    note: (accountId, action, subject, detail = '') =>
      parts.audit.record({
        accountId,
        actor: 'operator',
        action,
        subject,
        address: '',
        outcome: 'ok',
        detail,
      }),
  }
  return {
    ...accountHandlers(noted),
    ...linkHandlers(noted),
    ...projectHandlers(noted),
    ...developerTokenHandlers(noted),
    ...issuerHandlers(noted),
    ...companyHandlers(noted),
    ...nodeHandlers(noted),
    ...keyHandlers(noted),
  }
}

interface NotedParts extends AdminParts {
  readonly note: Note
}

const accountHandlers = ({ accounts, revocations, note }: NotedParts) =>
  ({
    'account.create': async ({ email, knownPerson }) => {
      const { accountId } = await accounts.create(email, { isKnownPerson: knownPerson ?? false })
      return { accountId }
    },
    'account.list': () => accounts.list(),
    'account.revoke': async ({ email }) => {
      const { accountId } = await accounts.byEmail(email)
      await revocations.revokeAll('account', accountId)
      await note(accountId, 'account.revoke_all', accountId)
      return { accountId }
    },
  }) satisfies AdminHandlers

const linkHandlers = ({ people, links, clock, consoleUrl, note }: NotedParts) =>
  ({
    'account.link': async ({ email }) => {
      const person = await people.byEmail(email)
      if (!person) throw new RpcError('not_found', `no person has the e-mail address ${email}`)
      const link = { purpose: 'reset', accountId: '', role: 'member', email, madeBy: '' } as const
      const secret = await links.create(link, linkSeconds)
      const [membership] = await people.memberships(person.personId)
      await note(membership?.accountId ?? '', 'account.link', email)
      return {
        link: `${consoleUrl()}/reset#${secret}`,
        expiresAt: isoTime(clock.now() + linkSeconds * 1000),
      }
    },
    'account.setup': async () => {
      const secret = await links.createSetup(linkSeconds)
      if (secret === undefined)
        throw new RpcError('already_exists', 'the first owner has set up this installation already', {
          hint: 'For a person who cannot sign in any more: selvedge admin account link --email <address>',
        })
      await note('', 'account.setup', '')
      return {
        link: `${consoleUrl()}/setup#${secret}`,
        expiresAt: isoTime(clock.now() + linkSeconds * 1000),
      }
    },
    'link.list': async () => {
      const all = await links.list()
      return Promise.all(
        all.map(async ({ madeBy, email, ...link }) => ({
          linkId: link.linkId,
          purpose: link.purpose,
          accountId: link.accountId,
          email: email === '' ? null : email,
          madeBy: madeBy === '' ? 'the operator' : ((await people.byId(madeBy))?.email ?? madeBy),
          createdAt: link.createdAt,
          expiresAt: link.expiresAt,
        })),
      )
    },
    'link.revoke': async ({ linkId }) => {
      const link = (await links.list()).find((each) => each.linkId === linkId)
      if (!link || !(await links.revoke(linkId)))
        throw new RpcError('not_found', `there is no link with the ID ${linkId}; it may have been used`)
      await note(link.accountId, 'link.revoke', linkId)
      return { linkId }
    },
  }) satisfies AdminHandlers

/** Parameters without those that are null or absent, which stay as they are. */
const given = <T extends object>(params: T) =>
  Object.fromEntries(Object.entries(params).filter(([, value]) => value != null)) as {
    [Name in keyof T]?: NonNullable<T[Name]>
  }

const projectHandlers = ({ accounts, projects, note }: NotedParts) =>
  ({
    'project.create': async ({ name, email, scopes, resources, ...app }) => {
      const { accountId } = await accountOf(accounts, email)
      const project = {
        name,
        accountId,
        scopes: scopes ?? usualScopes,
        resources: resources ?? [],
        ...given(app),
      }
      const { clientId } = await projects.create(project)
      await note(accountId, 'project.create', clientId, name)
      return { clientId }
    },
    'project.update': async ({ clientId, ...app }) => {
      const project = await projects.update(clientId, given(app))
      await note(project.accountId, 'project.update', clientId, project.name)
      return project
    },
    'project.list': () => projects.list(),
    'project.offline': async ({ clientId, maxDays, scopes }) => {
      const project = await projects.update(clientId, { offline: { maxDays, scopes } })
      await note(project.accountId, 'project.offline', clientId, describeOffline(project.offline))
      return project
    },
    'project.disable': async ({ clientId }) => {
      const { accountId } = await projects.update(clientId, { active: false })
      await note(accountId, 'project.disable', clientId)
      return { clientId }
    },
  }) satisfies AdminHandlers

function developerTokenHandlers(parts: NotedParts) {
  const { accounts, projects, people, developerTokens, clock, note } = parts
  return {
    'token.developer.create': async ({ email, clientId, days }) => {
      const account = await accountOf(accounts, email)
      const project = await projects.find(clientId)
      if (!project) throw new RpcError('not_found', `there is no project with the client ID ${clientId}`)
      if (!project.active) throw new RpcError('conflict', `the project ${project.name} is disabled`)
      const members = await people.members(account.accountId)
      const personId = members.find(({ email: own }) => own === account.email)?.personId ?? ''
      const subject = { ...account, personId, authTime: seconds(clock) }
      const usual = project.developerLifetime || parts.developerLifetimeSeconds
      const made = await developerTokens.issue(subject, clientId, days === null ? usual : days * 86_400)
      await note(account.accountId, 'developer_token.create', made.jti, project.name)
      return made
    },
    'token.developer.list': () => developerTokens.list(),
    'token.developer.revoke': async ({ jti }) => {
      const { isNews, ...revoked } = await developerTokens.revoke(jti)
      if (isNews)
        await note((await developerTokens.find(jti))?.accountId ?? '', 'developer_token.revoke', jti)
      return revoked
    },
  } satisfies AdminHandlers
}

const nodeHandlers = ({ nodes, codes, note }: NotedParts) =>
  ({
    'node.list': async () => (await nodes.list()).map(describeNode),
    'node.block': async ({ nodeId }) => {
      const node = await nodes.setBlocked(nodeId, true)
      await note(node.accountId, 'device.block', nodeId)
      return describeNode(node)
    },
    'node.unblock': async ({ nodeId }) => {
      const node = await nodes.setBlocked(nodeId, false)
      await note(node.accountId, 'device.unblock', nodeId)
      return describeNode(node)
    },
    'enrolment.create': () => codes.create(),
  }) satisfies AdminHandlers

const keyHandlers = ({ keys, note }: NotedParts) =>
  ({
    'keys.list': () => keys.list(),
    'keys.rotate': async () => {
      await keys.rotate()
      await note('', 'keys.rotate', '')
      return keys.list()
    },
  }) satisfies AdminHandlers
