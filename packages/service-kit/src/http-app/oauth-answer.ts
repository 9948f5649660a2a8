import type { IncomingMessage } from 'node:http'
import { OAuthError } from '@selvedge/protocol'
import { requestIdOf } from '../http/request-id.ts'
import { errorIdOf, type Log } from '../log/index.ts'
import { storageRefusal } from '../store/storage-refusal.ts'

export interface OAuthAnswer {
  readonly status: number
  readonly body: { readonly error: string; readonly error_description: string }
  readonly headers?: Readonly<Record<string, string>>
}

/** The error that a caller gets (RFC 6749 § 5.2). Internal causes are logged, once. */
export function describeError(cause: unknown, path: string, log: Log, request: IncomingMessage): OAuthAnswer {
  if (cause instanceof OAuthError) {
    const { status, code, message, retryAfter } = cause
    return {
      status,
      body: { error: code, error_description: message },
      ...(retryAfter !== undefined && { headers: { 'Retry-After': String(retryAfter) } }),
    }
  }
  const { statusCode, message } = cause as { statusCode?: number; message: string }
  if (statusCode !== undefined && statusCode < 500) {
    return { status: statusCode, body: { error: 'invalid_request', error_description: message } }
  }
  const errorId = errorIdOf(log, 'a request failed', { path, requestId: requestIdOf(request), cause })
  const storage = storageRefusal(cause)
  if (storage) {
    const description = `${storage.reason}: ${storage.message}; the log has the cause under ${errorId}`
    return {
      status: 503,
      body: { error: 'temporarily_unavailable', error_description: description },
      headers: { 'Retry-After': '5' },
    }
  }
  const description = `the service failed; its log has the cause under ${errorId}`
  return { status: 500, body: { error: 'server_error', error_description: description } }
}
