import { isSelvedgeError, type SelvedgeError } from '@selvedge/client'

/** Exit codes of protocol.md § 5. */
export const exitCodes = { ok: 0, failed: 1, usage: 2, notRunning: 3, notAuthorised: 4 } as const

/** A mistake in how the command was called. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
  readonly hint: string
  constructor(message: string, hint: string) {
    super(message)
    this.hint = hint
  }
}

export interface Failure {
  readonly code: number
  readonly message: string
  readonly hint?: string
}

/** The error message for a person, and the exit code. */
export function describeFailure(cause: unknown): Failure {
  if (cause instanceof UsageError) return { code: exitCodes.usage, message: cause.message, hint: cause.hint }
  // The address of a service was refused inside the call.
  if (cause instanceof Error && cause.cause instanceof UsageError) return describeFailure(cause.cause)
  if (isSelvedgeError(cause)) return describe(cause)
  return { code: exitCodes.failed, message: (cause as Error).message ?? String(cause) }
}

function describe(error: SelvedgeError): Failure {
  const message = `${error.message} (${error.reason})`
  switch (error.kind) {
    case 'rpc': {
      const denied = error.code === -32001 || error.code === -32003
      return { code: denied ? exitCodes.notAuthorised : exitCodes.failed, message, hint: error.hint }
    }
    case 'oauth': {
      const denied = error.status === 401 || error.status === 403 || error.reason === 'invalid_grant'
      return { code: denied ? exitCodes.notAuthorised : exitCodes.failed, message }
    }
    case 'connection':
      return error.reason === 'not_running'
        ? {
            code: exitCodes.notRunning,
            message,
            hint: 'Start the runtime ("npm start" in a clone, else its service), or name it with --state or --url.',
          }
        : { code: exitCodes.failed, message }
  }
}
