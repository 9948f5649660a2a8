import { RpcError } from '@selvedge/protocol'
import { type Scope, scopes } from '@selvedge/protocol/tokens'
import { limitKeyOf } from '@selvedge/service-kit/http'
import type { Projects } from '../../../registry/projects/projects.ts'
import type { DeviceRequest, DeviceRequests } from '../../../registry/sign-ins/device-requests.ts'
import type { Audit } from '../../../storage/audit/audit.ts'
import type { SharedLimiter } from '../../../storage/replicas/shared-limiter.ts'
import {
  auditOf,
  type ConsoleContext,
  type ConsoleHandlers,
  done,
  subjectOf,
  type Viewer,
} from '../context.ts'
import { nameOfProject } from './projects.ts'

export interface DeviceRequestParts {
  readonly projects: Projects
  readonly deviceRequests: DeviceRequests
  readonly audit: Audit
  /** Rate limit of the codes that a person tries (RFC 8628 § 5.1). */
  readonly codeTries: SharedLimiter
}

/** Sign-ins of terminals that wait for a person's approval. */
export function deviceRequestHandlers({ projects, deviceRequests, audit, codeTries }: DeviceRequestParts) {
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
    'device_request.find': async ({ userCode }, viewer, context) => {
      const { scope, ...request } = await waiting(userCode, viewer, context)
      return {
        ...request,
        clientName: await nameOfProject(projects, request.clientId),
        scopes: scope.split(' ').map((name) => ({ name, meaning: scopes[name as Scope] ?? '' })),
        isFromHere: limitKeyOf(request.address) === limitKeyOf(context.address),
      }
    },
    'device_request.decide': async ({ userCode, approve }, viewer, context) => {
      const { clientId, address } = await waiting(userCode, viewer, context)
      const { membership } = viewer
      const project = await projects.find(clientId)
      // A project's terminal signs in to the account of the project, and to no other.
      if (approve && project && project.accountId !== '' && project.accountId !== membership.accountId)
        throw new RpcError('not_found', `the project ${project.name} is not one of this account`, {
          hint: 'Switch to the account of the project.',
        })
      if (!(await deviceRequests.decide(userCode, approve ? subjectOf(viewer) : undefined)))
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
