import { discoveryPaths, type FixReceipt, fixReport, OAuthError } from '@selvedge/protocol'
import { parseJson } from '@selvedge/protocol/jsonrpc'
import { discoveryAudience } from '@selvedge/protocol/tokens'
import type { Clock } from '@selvedge/service-kit/clock'
import { type ProofOptions, requireNode } from '@selvedge/service-kit/http-app'
import type { TokenVerifier } from '@selvedge/service-kit/tokens'
import type { FastifyInstance } from 'fastify'
import type { LocationStore } from '../stores/location-store.ts'

/** Milliseconds by which a fix may be ahead of this service's clock. */
const tolerance = 60_000

export interface FixesParts {
  readonly clock: Clock
  readonly store: LocationStore
  /** Believes the issuers of edge ID tokens. */
  readonly verifier: TokenVerifier
  readonly proof: () => ProofOptions
}

/** `POST /v1/fixes`: a node reports where it is. A fix is of the node that signs, whatever the body says. */
export function addFixesEndpoint(app: FastifyInstance, { clock, store, verifier, proof }: FixesParts): void {
  app.post(discoveryPaths.fixes, async (request, reply): Promise<FixReceipt> => {
    const node = await requireNode({ ...proof(), verifier, audience: discoveryAudience }, request, reply)
    if (node.sub === '') throw new OAuthError('access_denied', 'the node is associated with no account')
    const receivedAt = clock.now()
    const fixes = readReport(request.body as string)
    for (const { fixedAt } of fixes) {
      if (fixedAt > receivedAt + tolerance) {
        const detail = `a fix of ${new Date(fixedAt).toISOString()} is in the future; it is ${new Date(receivedAt).toISOString()} here`
        throw new OAuthError('invalid_request', detail)
      }
    }
    const { node_id: nodeId, node_name: nodeName, sub: accountId } = node
    const before = store.last(nodeId)?.fixedAt ?? -1
    await store.put(fixes.map((fix) => ({ ...fix, nodeId, nodeName, accountId, receivedAt })))
    const newest = store.last(nodeId)!.fixedAt
    return { accepted: fixes.filter(({ fixedAt }) => fixedAt > before).length, newest }
  })
}

function readReport(body: string | undefined) {
  let json: unknown
  try {
    json = parseJson(body ?? '', 4)
  } catch (cause) {
    throw new OAuthError('invalid_request', `the body is not JSON: ${(cause as Error).message}`, { cause })
  }
  const report = fixReport.safeParse(json)
  if (report.success) return Array.isArray(report.data) ? report.data : [report.data]
  throw new OAuthError(
    'invalid_request',
    'the body is neither a fix {"longitude":…,"latitude":…,"speed":…,"bearing":…,"fixedAt":…} nor a list of 1 to 100 of them, in their ranges',
  )
}
