import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { catalogue, type Reason, RpcError } from '@selvedge/protocol'
import { refuseUpgrade as endUpgrade, sendJson } from '@selvedge/service-kit/http'
import { storageRefusal } from '@selvedge/service-kit/store'
import { grpcFields, isGrpc } from './grpc-refusal.ts'

/** HTTP status of an error of the catalogue, by its code. */
const statuses: Readonly<Record<number, number>> = {
  [-32602]: 400,
  [-32001]: 401,
  [-32003]: 403,
  [-32004]: 404,
  [-32009]: 409,
  [-32010]: 503,
  [-32013]: 413,
  [-32015]: 400,
}
const ownStatuses: Partial<Record<Reason, number>> = { storage_full: 507, busy: 503 }

const statusOf = (reason: Reason): number => ownStatuses[reason] ?? statuses[catalogue[reason].code] ?? 500

/** A refusal over HTTP. `reason` is a word of the catalogue, or one that only the gateway uses. */
export interface HttpRefusal {
  readonly status: number
  readonly reason: string
  readonly message: string
  readonly hint?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** An error of the catalogue as a refusal over HTTP (RFC 6750 § 3 for tokens). */
export function refusalOf({ reason, message, hint }: RpcError): HttpRefusal {
  const status = statusOf(reason)
  const headers: Record<string, string> = {}
  if (reason === 'use_dpop_nonce' || reason === 'invalid_dpop_proof')
    headers['WWW-Authenticate'] = `DPoP error="${reason}"`
  else if (status === 401)
    headers['WWW-Authenticate'] =
      reason === 'token_missing' ? 'Bearer' : `Bearer error="invalid_token", error_description="${reason}"`
  if (reason === 'insufficient_scope') headers['WWW-Authenticate'] = 'Bearer error="insufficient_scope"'
  if (status === 503) headers['Retry-After'] = '1'
  return { status, reason, message, hint, headers }
}

export function sendRefusal(
  response: ServerResponse,
  { status, reason, message, hint, headers = {} }: HttpRefusal,
): void {
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
  if (isGrpc(response.req)) {
    response.writeHead(status, { ...grpcFields(status, message), 'Content-Length': 0 }).end()
    return
  }
  sendJson(
    response,
    status,
    JSON.stringify({ error: { code: status, message, reason, ...(hint !== undefined && { hint }) } }),
  )
}

/** Refuses a request for a WebSocket, on its own connection, which ends. */
export function refuseUpgrade(
  request: IncomingMessage,
  socket: Duplex,
  { status, message, reason, headers: { 'Retry-After': _, ...headers } = {} }: HttpRefusal,
): void {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  endUpgrade(request, socket, { status, message, reason }, lines)
}

/** Answers an error of the catalogue with its status, and any other one with 500: its cause is only logged. */
export function sendError(
  response: ServerResponse,
  cause: unknown,
  onInternal: (cause: unknown, request: IncomingMessage) => string,
): void {
  if (response.headersSent) {
    response.destroy()
    return
  }
  if (cause instanceof RpcError) {
    sendRefusal(response, refusalOf(cause))
    return
  }
  const errorId = onInternal(cause, response.req)
  const explained = storageRefusal(cause)
  if (explained) {
    sendRefusal(response, refusalOf(explained))
    return
  }
  const message = `the runtime failed; its log has the cause under ${errorId}`
  sendRefusal(response, { status: 500, reason: 'internal_error', message })
}
