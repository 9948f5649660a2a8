import { RpcError } from '@selvedge/protocol'
import { isoTime } from '@selvedge/service-kit/clock'
import type { Projects } from '../../../registry/projects/projects.ts'
import type { AppConsents } from '../../../registry/sign-ins/app-consents.ts'
import type { SignIns } from '../../../registry/sign-ins/sign-ins.ts'
import type { Audit } from '../../../storage/audit/audit.ts'
import { auditOf, type ConsoleHandlers, done, type Viewer } from '../context.ts'
import { nameOfProject } from './projects.ts'

export interface ProgramSignInParts {
  readonly projects: Projects
  readonly signIns: SignIns
  readonly appConsents: AppConsents
  readonly audit: Audit
}

/** Sign-ins of programs, which have refresh tokens for the account. */
export function programSignInHandlers({ projects, signIns, appConsents, audit }: ProgramSignInParts) {
  const accountOf = ({ membership }: Viewer) => membership.accountId

  return {
    'sign_in.list': async (_, viewer) => {
      const all = await signIns.list(accountOf(viewer))
      return Promise.all(
        all.map(async ({ sid, clientId, email, described, scope, createdAt, lastUsedAt, expiresAt }) => ({
          sid,
          clientId,
          projectName: await nameOfProject(projects, clientId),
          email,
          described,
          scope,
          createdAt: isoTime(createdAt),
          lastUsedAt: isoTime(lastUsedAt),
          expiresAt: isoTime(expiresAt),
        })),
      )
    },
    'sign_in.revoke': async ({ sid }, viewer, context) => {
      const own = (await signIns.list(accountOf(viewer))).find((each) => each.sid === sid)
      if (!own) throw new RpcError('not_found', 'the account has no such sign-in')
      await signIns.revoke(sid)
      await appConsents.forget(own.personId, own.clientId)
      await audit.record(auditOf(viewer, context, 'sign_in.revoke', sid))
      return done
    },
  } satisfies ConsoleHandlers
}
