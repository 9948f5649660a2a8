import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import { identityPaths, OAuthError } from '@selvedge/protocol'
import { type ConsoleMethods, consoleMethods } from '@selvedge/protocol/console'
import { createDispatcher, type HandlersOf } from '@selvedge/protocol/jsonrpc'
import { escapeControls } from '@selvedge/protocol/redaction'
import type { Clock } from '@selvedge/service-kit/clock'
import { addressOf, createGuard, readGuardedHeaders } from '@selvedge/service-kit/http'
import type { Log } from '@selvedge/service-kit/log'
import { storageRefusal } from '@selvedge/service-kit/store'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Audit } from '../audit/audit.ts'
import type { People } from '../registry/people.ts'
import { type ConsoleCallers, type ConsoleContext, checkPerson, type Viewer } from './context.ts'
import { createSessionCookie, type SessionCookie } from './cookie.ts'
import type { Events } from './events.ts'
import type { Places } from './places.ts'
import type { Sessions } from './sessions.ts'

export interface ConsoleApiParts {
  readonly handlers: HandlersOf<ConsoleMethods, ConsoleCallers, ConsoleContext>
  readonly people: People
  readonly sessions: Sessions
  readonly events: Events
  readonly places: Places
  readonly audit: Audit
  readonly clock: Clock
  readonly log: Log
  /** Where people find the console. */
  readonly site: () => URL
  readonly trustedProxies: readonly string[]
}

/** Rows of the audit log that an export reads at once. */
const auditPage = 50

/**
 * The console's own endpoints. Two things keep foreign pages out: JSON and a header of the same origin are asked for, so no
 * form and no foreign script can call (and the cookie is SameSite); a foreign host name that leads here finds nothing.
 */
export function addConsoleApi(app: FastifyInstance, parts: ConsoleApiParts): void {
  const { people, sessions, audit, clock, log, site } = parts
  const dispatcher = createDispatcher<ConsoleMethods, ConsoleCallers, ConsoleContext>({
    methods: consoleMethods,
    handlers: parts.handlers,
    checks: {
      anyone: () => undefined,
      person: ({ access }, _readParams, context) => checkPerson(access, context, clock),
    },
    mirror: false,
    limits: { depth: 32, batch: 1 },
    explain: storageRefusal,
    onInternalError(method, cause) {
      const errorId = randomUUID()
      log.error('a method of the console failed', { errorId, method, cause })
      return errorId
    },
  })

  /** What depends on where the console is, which is known once the service listens. */
  let made: { guard: ReturnType<typeof createGuard>; cookie: SessionCookie } | undefined
  function own() {
    if (made) return made
    const { port, protocol, hostname } = site()
    const isSecure = protocol === 'https:'
    made = {
      guard: createGuard({
        port: Number(port) || (isSecure ? 443 : 80),
        hosts: [hostname],
        allowedOrigins: [],
      }),
      cookie: createSessionCookie(isSecure),
    }
    return made
  }

  /** @throws OAuthError where the request is not of a page of the console */
  function refuseForeign(request: FastifyRequest): void {
    const refused = own().guard(readGuardedHeaders(request.raw))
    if (refused) throw new OAuthError('access_denied', refused.message)
  }

  async function viewerOf(request: FastifyRequest): Promise<Viewer | undefined> {
    const secret = own().cookie.read(request.headers.cookie)
    const session = secret === undefined ? undefined : await sessions.find(secret)
    const person = session && (await people.byId(session.personId))
    if (!session || !person) return undefined
    const memberships = await people.memberships(person.personId)
    const membership = memberships.find((each) => each.accountId === session.accountId) ?? memberships[0]
    return membership && { session, person, membership, memberships }
  }

  /** @throws OAuthError */
  async function requireViewer(request: FastifyRequest): Promise<Viewer> {
    refuseForeign(request)
    const viewer = await viewerOf(request)
    if (!viewer) throw new OAuthError('invalid_token', 'you are not signed in')
    return viewer
  }

  app.post(identityPaths.consoleApi, async (request, reply) => {
    const address = addressOf(request.raw, parts.trustedProxies)
    refuseForeign(request)
    const context: ConsoleContext = {
      viewer: await viewerOf(request),
      address,
      userAgent: (request.headers['user-agent'] ?? '').slice(0, 200),
    }
    const answer = await dispatcher.dispatch(request.body as string, context)
    if (context.newSession !== undefined) {
      reply.header('Set-Cookie', own().cookie.write(context.newSession ?? undefined))
    }
    if (context.retryAfter !== undefined) reply.code(429).header('Retry-After', String(context.retryAfter))
    return answer === undefined ? reply.code(204).send() : reply.type('application/json').send(answer)
  })

  app.get(identityPaths.consolePlaces, async (request, reply) => {
    const { membership } = await requireViewer(request)
    const all = await parts.places.all(membership.accountId)
    if (!all) return reply.code(503).header('Retry-After', '5').send({ error: 'temporarily_unavailable' })
    return reply.type('application/json').send(Readable.fromWeb(all as never))
  })

  app.get(identityPaths.consoleEvents, async (request, reply) => {
    const viewer = await requireViewer(request)
    parts.events.open(viewer, request, reply, async () => {
      const now = await viewerOf(request)
      return now?.membership.accountId === viewer.membership.accountId
    })
  })

  app.get(identityPaths.consoleAudit, async (request, reply) => {
    const { membership } = await requireViewer(request)
    reply
      .type('application/jsonl; charset=utf-8')
      .header('Content-Disposition', 'attachment; filename="selvedge-audit.jsonl"')
    return reply.send(Readable.from(pages(membership.accountId)))
  })

  /** The whole log of an account, page by page: each reader holds one page. */
  async function* pages(accountId: string): AsyncGenerator<string> {
    for (let before: string | undefined; ; ) {
      const page = await audit.list(accountId, auditPage, before)
      for (const record of page) yield `${escapeControls(JSON.stringify(record))}\n`
      before = page.at(-1)?.id
      if (before === undefined) return
    }
  }
}
