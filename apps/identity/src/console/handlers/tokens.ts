import { RpcError } from '@selvedge/protocol'
import { type Scope, scopes } from '@selvedge/protocol/tokens'
import { isoTime } from '@selvedge/service-kit/clock'
import { limitKeyOf } from '@selvedge/service-kit/http'
import type { Audit } from '../../audit/audit.ts'
import type { DeviceRequest, DeviceRequests } from '../../grants/device-requests.ts'
import type { SignIns } from '../../grants/sign-ins.ts'
import type { DeveloperTokens } from '../../registry/developer-tokens.ts'
import type { People } from '../../registry/people.ts'
import type { Projects } from '../../registry/projects.ts'
import type { SharedLimiter } from '../../replicas/shared-limiter.ts'
import { auditOf, type ConsoleContext, type ConsoleHandlers, done, type Viewer } from '../context.ts'
import { ownProject } from './projects.ts'

export interface TokenParts {
  readonly projects: Projects
  readonly people: People
  readonly developerTokens: DeveloperTokens
  readonly signIns: SignIns
  readonly deviceRequests: DeviceRequests
  readonly audit: Audit
  /** Codes that a person tried: guessing must not pay (RFC 8628 § 5.1). */
  readonly codeTries: SharedLimiter
  /** Seconds. */
  readonly developerLifetime: number
}

export function tokenHandlers(parts: TokenParts) {
  const { projects, people, developerTokens, signIns, deviceRequests, audit, codeTries } = parts
  const accountOf = ({ membership }: Viewer) => membership.accountId

  const nameOf = async (clientId: string) => (await projects.find(clientId))?.name ?? clientId

  async function waiting(userCode: string, viewer: Viewer, context: ConsoleContext): Promise<DeviceRequest> {
    const keys = [viewer.person.personId, limitKeyOf(context.address)]
    const wait = Math.max(...(await Promise.all(keys.map(codeTries.take))))
    if (wait > 0) {
      context.retryAfter = wait
      throw new RpcError('busy', `too many codes were tried; wait ${wait} seconds`)
    }
    const request = await deviceRequests.find(userCode)
    if (!request)
      throw new RpcError('not_found', 'the code is wrong, or has expired', {
        hint: 'Codes expire after ten minutes. Compare the code with the terminal, or run "selvedge login" again.',
      })
    for (const key of keys) await codeTries.giveBack(key)
    return request
  }

  return {
    'token.list': async (_, viewer) => {
      const accountId = accountOf(viewer)
      const names = new Map((await projects.list(accountId)).map(({ clientId, name }) => [clientId, name]))
      const emails = new Map(
        (await people.members(accountId)).map(({ personId, email }) => [personId, email]),
      )
      return (await developerTokens.list(accountId)).map(({ accountId: _account, personId, ...token }) => ({
        ...token,
        projectName: names.get(token.clientId) ?? token.clientId,
        madeBy: emails.get(personId) ?? 'a former member',
      }))
    },
    'token.create': async ({ clientId }, viewer, context) => {
      const project = await ownProject(projects, clientId, viewer)
      if (!project.active) throw new RpcError('conflict', `the project ${project.name} is disabled`)
      const { person, membership, session } = viewer
      const subject = {
        accountId: membership.accountId,
        personId: person.personId,
        email: person.email,
        authTime: Math.floor(session.authTime / 1000),
      }
      const made = await developerTokens.issue(
        subject,
        clientId,
        project.developerLifetime || parts.developerLifetime,
      )
      await audit.record(
        auditOf(viewer, context, 'developer_token.create', made.jti, { detail: project.name }),
      )
      return made
    },
    'token.revoke': async ({ jti }, viewer, context) => {
      const token = await developerTokens.find(jti)
      if (token?.accountId !== accountOf(viewer))
        throw new RpcError('not_found', 'the account has no such token')
      const { isNews } = await developerTokens.revoke(jti)
      const detail = await nameOf(token.clientId)
      if (isNews) await audit.record(auditOf(viewer, context, 'developer_token.revoke', jti, { detail }))
      return done
    },
    'sign_in.list': async (_, viewer) => {
      const all = await signIns.list(accountOf(viewer))
      return Promise.all(
        all.map(async ({ sid, clientId, email, described, scope, createdAt, lastUsedAt, expiresAt }) => ({
          sid,
          clientId,
          projectName: await nameOf(clientId),
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
      await audit.record(auditOf(viewer, context, 'sign_in.revoke', sid))
      return done
    },
    'device_request.find': async ({ userCode }, viewer, context) => {
      const { scope, ...request } = await waiting(userCode, viewer, context)
      return {
        ...request,
        clientName: await nameOf(request.clientId),
        scopes: scope.split(' ').map((name) => ({ name, meaning: scopes[name as Scope] ?? '' })),
        isFromHere: limitKeyOf(request.address) === limitKeyOf(context.address),
      }
    },
    'device_request.decide': async ({ userCode, approve }, viewer, context) => {
      const { clientId, address } = await waiting(userCode, viewer, context)
      const { person, membership, session } = viewer
      const project = await projects.find(clientId)
      // A project's terminal signs in to the account of the project, and to no other.
      if (approve && project && project.accountId !== '' && project.accountId !== membership.accountId)
        throw new RpcError('not_found', `the project ${project.name} is not one of this account`, {
          hint: 'Switch to the account of the project.',
        })
      const subject = {
        accountId: membership.accountId,
        personId: person.personId,
        email: person.email,
        authTime: Math.floor(session.authTime / 1000),
      }
      if (!(await deviceRequests.decide(userCode, approve ? subject : undefined)))
        throw new RpcError('not_found', 'the sign-in with this code was decided or has expired')
      const detail = `${project?.name ?? clientId} from ${address}`
      await audit.record(
        auditOf(viewer, context, 'device_request.decide', clientId, {
          detail,
          outcome: approve ? 'ok' : 'refused',
        }),
      )
      return done
    },
  } satisfies ConsoleHandlers
}
