/**
 * CORS: pages of an app may call the endpoints of tokens from the origins of their project, and no other page may read an answer
 * (Fetch Standard § 3.2). No answer depends on a cookie, so credentials are never allowed.
 */
import { identityPaths } from '@selvedge/protocol'
import { parseJws, readAuthorization } from '@selvedge/protocol/tokens'
import { textBodyOf } from '@selvedge/service-kit/http-app'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { IsKnownOrigin } from '../../registry/projects/project-apps.ts'
import type { Projects } from '../../registry/projects/projects.ts'
import { parseForm } from '../../tokens/grants/form.ts'

export interface CorsParts {
  readonly projects: Pick<Projects, 'find'>
  readonly isKnownOrigin: IsKnownOrigin
}

type Headers = Readonly<Record<string, string>>

const allowed = (origin: string): Headers => ({
  'Access-Control-Allow-Origin': origin,
  'Access-Control-Expose-Headers': 'DPoP-Nonce, WWW-Authenticate',
  Vary: 'Origin',
})
const refused: Headers = { Vary: 'Origin' }

/** Seconds for which a browser may keep the answer to a preflight request. */
const preflightSeconds = 600

/** Headers of an answer to a request of a client. @param origin of the page; undefined: no page sent the request */
export async function corsOfClient(
  projects: CorsParts['projects'],
  origin: string | undefined,
  clientId: string | undefined,
): Promise<Headers> {
  if (origin === undefined) return {}
  const project = clientId === undefined ? undefined : await projects.find(clientId)
  return project?.active && project.origins.includes(origin) ? allowed(origin) : refused
}

/** The client of a form, if it is well-formed. */
function clientOfForm(request: FastifyRequest): string | undefined {
  try {
    return parseForm(textBodyOf(request)).get('client_id')
  } catch {
    return undefined
  }
}

/** The client that an access token names. Only the answer to a genuine token has anything to read, and its client is genuine, too. */
function clientOfToken({ headers }: FastifyRequest): string | undefined {
  try {
    const { token } = readAuthorization(headers.authorization) ?? {}
    const client = token === undefined ? undefined : parseJws(token).payload.client_id
    return typeof client === 'string' ? client : undefined
  } catch {
    return undefined
  }
}

/** How the client of a request is found; `public`: the answer is the same for all, so the origin of any project will do. */
const clients: Readonly<Record<string, 'public' | ((request: FastifyRequest) => string | undefined)>> = {
  [identityPaths.openidConfiguration]: 'public',
  [identityPaths.oauthMetadata]: 'public',
  [identityPaths.jwks]: 'public',
  [identityPaths.userinfo]: clientOfToken,
  [identityPaths.revoke]: clientOfForm,
  [identityPaths.pushedAuthorization]: clientOfForm,
}

/** To be called before the routes are added. The token endpoint adds the headers of its answers itself. */
export function addCors(app: FastifyInstance, { projects, isKnownOrigin }: CorsParts): void {
  app.addHook('preHandler', async (request, reply) => {
    const client = Object.hasOwn(clients, request.routeOptions.url ?? '')
      ? clients[request.routeOptions.url!]
      : undefined
    if (client === undefined || request.method === 'OPTIONS') return
    const { origin } = request.headers
    // A cache must not give the answer to one origin to another one.
    if (client === 'public') reply.headers(refused)
    if (origin === undefined) return
    if (client !== 'public') reply.headers(await corsOfClient(projects, origin, client(request)))
    else if (await isKnownOrigin(origin)) reply.headers(allowed(origin))
  })
  for (const path of [...Object.keys(clients), identityPaths.token]) {
    // A preflight request names no client, so the origin of any project is allowed to ask.
    app.options(path, async ({ headers: { origin } }, reply) => {
      reply.code(204).headers(refused)
      if (origin !== undefined && (await isKnownOrigin(origin)))
        reply.headers({
          ...allowed(origin),
          'Access-Control-Allow-Methods': 'GET, POST',
          'Access-Control-Allow-Headers': 'Authorization, Content-Type, DPoP',
          'Access-Control-Max-Age': String(preflightSeconds),
        })
      return reply.send()
    })
  }
}
