import { RpcError } from '@selvedge/protocol'
import { type Clock, isoTime } from '@selvedge/service-kit/clock'
import type { Sessions } from '../../../registry/credentials/sessions.ts'
import type { Accounts } from '../../../registry/people/accounts.ts'
import type { Link, Links } from '../../../registry/people/links.ts'
import type { People } from '../../../registry/people/people.ts'
import type { Audit } from '../../../storage/audit/audit.ts'
import {
  auditOf,
  type ConsoleContext,
  type ConsoleHandlers,
  done,
  expectLocal,
  type Viewer,
} from '../context.ts'
import type { Enter } from '../enter.ts'

export interface LinkParts {
  readonly clock: Clock
  readonly accounts: Accounts
  readonly people: People
  readonly links: Links
  readonly sessions: Sessions
  readonly audit: Audit
  readonly enter: Enter
  /** Where people find the console. */
  readonly consoleUrl: () => string
}

/** Seconds until an invitation expires. */
const invitationSeconds = 7 * 86_400

const badLink = () =>
  new RpcError('credentials_invalid', 'the link is unknown, used, revoked or expired', {
    hint: 'Ask the person who sent it for a new link. For the first owner, the operator gets one with "selvedge-admin account link".',
  })

/** Links that sign a person in: creating, listing, revoking and using them. */
export function linkHandlers(parts: LinkParts) {
  const { people, links, sessions, audit } = parts
  const accountOf = ({ membership }: Viewer) => membership.accountId

  async function findLink(secret: string): Promise<Link> {
    const link = await links.find(secret)
    if (!link) throw badLink()
    return link
  }

  /**
   * A link proves nothing about the person who opens it, so it refreshes no sign-in: a person who is signed in keeps the time of
   * that sign-in, and a person who has the address but is not signed in has to sign in first.
   */
  async function refuseConfusion(link: Link, email: string, viewer: Viewer | undefined): Promise<void> {
    const isViewer = viewer?.person.email === email
    if (link.email !== '' && isViewer)
      throw new RpcError('conflict', `you are already signed in as ${email}`, {
        hint: 'Sign out first, then open the link again.',
      })
    if (link.email === '' && !isViewer && (await people.byEmail(email)))
      throw new RpcError('conflict', 'this e-mail address already has a sign-in method', {
        hint: 'Sign in with it first, then open the link again.',
      })
  }

  async function useLink(secret: string, given: string, context: ConsoleContext): Promise<typeof done> {
    const link = await findLink(secret)
    const email = link.email === '' ? given : link.email
    const { viewer, address } = context
    await refuseConfusion(link, email, viewer)
    const isViewer = viewer?.person.email === email
    if (isViewer) expectLocal(viewer)
    const accepted = await links.accept(secret, email, isViewer ? viewer.person.personId : '')
    if (!accepted) throw badLink()
    const { personId, accountId } = accepted
    const { purpose, role: detail } = link
    if (purpose === 'invitation')
      await audit.record({ accountId, actor: email, action: 'member.join', address, outcome: 'ok', detail })
    if (!isViewer) return parts.enter((await people.byId(personId))!, 'link', context, accountId || undefined)
    await sessions.switchTo(viewer.session.sessionId, accountId)
    return done
  }

  return {
    'member.invite': async ({ role }, viewer, context) => {
      const { personId: madeBy } = viewer.person
      const link = { purpose: 'invitation', accountId: accountOf(viewer), role, email: '', madeBy } as const
      const secret = await links.create(link, invitationSeconds)
      await audit.record(auditOf(viewer, context, 'member.invite', '', { detail: role }))
      return {
        // After the #: it is never sent, so it is in no log and no Referer.
        link: `${parts.consoleUrl()}/join#${secret}`,
        expiresAt: isoTime(parts.clock.now() + invitationSeconds * 1000),
      }
    },
    'invitation.list': async (_, viewer) => {
      const members = await people.members(accountOf(viewer))
      const emails = new Map(members.map(({ personId, email }) => [personId, email]))
      return (await links.list(accountOf(viewer))).map(({ linkId, role, madeBy, createdAt, expiresAt }) => ({
        linkId,
        role,
        madeBy: emails.get(madeBy) ?? 'the operator',
        createdAt,
        expiresAt,
      }))
    },
    'invitation.revoke': async ({ linkId }, viewer, context) => {
      if (!(await links.revoke(linkId, accountOf(viewer))))
        throw new RpcError('not_found', 'the account has no such invitation; it may have been used')
      await audit.record(auditOf(viewer, context, 'invitation.revoke', linkId))
      return done
    },
    'link.look': async ({ link }) => {
      const { purpose, email, accountId } = await findLink(link)
      const account = accountId === '' ? undefined : await parts.accounts.byId(accountId)
      return { purpose, email: email === '' ? null : email, accountName: account?.email ?? null }
    },
    'link.use': ({ link, email }, _caller, context) => useLink(link, email, context),
  } satisfies ConsoleHandlers
}
