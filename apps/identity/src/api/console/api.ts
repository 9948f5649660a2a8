import { identityPaths } from '@selvedge/protocol'
import { type ConsoleMethods, consoleMethods } from '@selvedge/protocol/console'
import { createDispatcher, type HandlersOf } from '@selvedge/protocol/jsonrpc'
import { escapeControls } from '@selvedge/protocol/redaction'
import type { AddressSet } from '@selvedge/service-kit/address-set'
import type { Clock } from '@selvedge/service-kit/clock'
import { addressOf, requestIdOf } from '@selvedge/service-kit/http'
import { textBodyOf } from '@selvedge/service-kit/http-app'
import { errorIdOf, type Log } from '@selvedge/service-kit/log'
import type { SharedDpopVerifier } from '@selvedge/service-kit/tokens'
import type { FastifyInstance } from 'fastify'
import type { Audit } from '../../storage/audit/audit.ts'
import { explainFailure } from '../explain-failure.ts'
import { createAccountExports } from './account-exports.ts'
import type { Callers } from './callers.ts'
import { type ConsoleCallers, type ConsoleContext, checkPerson } from './context.ts'
import type { Events } from './events.ts'
import { longText } from './send-long.ts'

export interface ConsoleApiParts {
  readonly callers: Callers
  readonly audit: Audit
  readonly dpop: SharedDpopVerifier
  readonly trustedProxies: AddressSet
  readonly handlers: HandlersOf<ConsoleMethods, ConsoleCallers, ConsoleContext>
  readonly events: Events
  readonly clock: Clock
  readonly log: Log
}

/** Exports of the audit log of one account that may be under way. */
const maxAuditExports = 8
/** Rows of the audit log that an export reads at once. */
const auditPage = 50

/**
 * The console's own endpoints. Every request is signed with the key of the browser ({@link Callers}). JSON and a header of
 * the same origin are required, so that no form and no foreign script can call; a foreign host name that leads here finds nothing.
 */
export function addConsoleApi(app: FastifyInstance, parts: ConsoleApiParts): void {
  const { callers, audit, clock, log } = parts
  const beginExport = createAccountExports(maxAuditExports)
  const dispatcher = createDispatcher<ConsoleMethods, ConsoleCallers, ConsoleContext>({
    methods: consoleMethods,
    handlers: parts.handlers,
    checks: {
      anyone: () => undefined,
      person: ({ access }, _readParams, context) => checkPerson(access, context, clock),
    },
    mirror: false,
    limits: { depth: 32, batch: 1, isStored: true },
    explain: explainFailure,
    onInternalError: (method, cause, context) =>
      errorIdOf(log, 'a method of the console failed', { method, requestId: context?.requestId, cause }),
  })

  app.post(identityPaths.consoleApi, async (request, reply) => {
    const body = textBodyOf(request)
    const context: ConsoleContext = {
      requestId: requestIdOf(request.raw),
      ...(await callers.identify(request, reply, body)),
      address: addressOf(request.raw, parts.trustedProxies),
      userAgent: (request.headers['user-agent'] ?? '').slice(0, 200),
    }
    const answer = await dispatcher.dispatch(body, context)
    if (context.newSession !== undefined) {
      reply.header('Set-Cookie', callers.cookie(context.newSession ?? undefined))
    }
    if (context.retryAfter !== undefined) reply.code(429).header('Retry-After', String(context.retryAfter))
    if (answer === undefined) return reply.code(204).send()
    return reply.type('application/json').send(await longText(request, reply, answer))
  })

  // What a page signs first: without a nonce of the service no proof is accepted.
  app.get(identityPaths.consoleNonce, async (request, reply) => {
    callers.refuseForeign(request)
    return reply.code(204).header('DPoP-Nonce', parts.dpop.nonce()).send()
  })

  app.get(identityPaths.consoleEvents, async (request, reply) => {
    const viewer = await callers.require(request, reply)
    const { accountId } = viewer.membership
    parts.events.open(
      viewer,
      request,
      reply,
      async () => (await callers.again(viewer))?.membership.accountId === accountId,
    )
  })

  app.get(identityPaths.consoleAudit, async (request, reply) => {
    const { accountId } = (await callers.require(request, reply)).membership
    const content = beginExport(accountId, pages(accountId))
    reply
      .type('application/jsonl; charset=utf-8')
      .header('Content-Disposition', 'attachment; filename="selvedge-audit.jsonl"')
    return reply.send(content)
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
