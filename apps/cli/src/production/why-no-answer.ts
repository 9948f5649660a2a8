/** Why a service does not answer, and what to do about it. */
import type { Fetch } from '@selvedge/client'
import { faultHint } from '../failure.ts'

interface NoAnswer {
  readonly problem: string
  readonly hint: string
}

/** @returns undefined if a GET request is answered with 200 */
export type WhyNoAnswer = (url: string) => Promise<NoAnswer | undefined>

/** Milliseconds. */
const timeoutMs = 4000

export const createWhyNoAnswer =
  (fetch: Fetch): WhyNoAnswer =>
  async (url) => {
    const signal = AbortSignal.timeout(timeoutMs)
    try {
      const { status } = await fetch(url, { method: 'GET', headers: {}, signal, redirect: 'error' })
      if (status === 200) return undefined
      return { problem: `it answers with HTTP ${status}`, hint: hints.status }
    } catch (cause) {
      return explain(cause as NodeJS.ErrnoException & { reason?: string })
    }
  }

const hints = {
  status:
    'The service itself, or the TLS proxy before it, has a problem: run "systemctl status selvedge-identity selvedge-discovery" on its machine.',
  name: 'Correct the host name in the URL of the configuration, or the name servers of this machine.',
  refused: 'Start the service there, or correct the port in the URL of the configuration.',
  away: 'Check the connection of this machine, and a firewall on the way.',
} as const

const byCode: Readonly<Record<string, keyof typeof hints>> = {
  ...{ ENOTFOUND: 'name', EAI_AGAIN: 'name', ECONNREFUSED: 'refused' },
}

function explain(cause: NodeJS.ErrnoException & { reason?: string }): NoAnswer {
  const { name, message, code = '' } = cause
  if (name === 'NetworkFailure') return { problem: message, hint: faultHint(cause.reason) }
  if (name === 'TimeoutError') return { problem: `no answer within ${timeoutMs / 1000} s`, hint: hints.away }
  return { problem: message || code, hint: hints[byCode[code] ?? 'away'] }
}
