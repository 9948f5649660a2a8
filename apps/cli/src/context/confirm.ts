/** Addresses that the user did not name: no secret is sent to such an address until the user has confirmed it once. */
import { join } from 'node:path'
import type { Fetch } from '@selvedge/client'
import { UsageError } from '../failure.ts'
import type { Terminal } from '../output/terminal.ts'
import { damagedFile, readConfigFile, writeConfigFile } from './config-file.ts'

/** An address that the user did not name. */
export interface Unconfirmed {
  /** Names the address in the list of confirmed ones; the role is part of it: `identity https://id.example.com`. */
  readonly key: string
  /** One sentence: the address, and where it comes from. */
  readonly shown: string
  /** The option that names the address. */
  readonly hint: string
}

/** Resolves when the user has confirmed the address, now or earlier. @throws UsageError otherwise */
export type Confirm = (address: Unconfirmed) => Promise<void>

/** @param folder the user's configuration folder */
export function createConfirm(folder: string, terminal: Terminal): Confirm {
  const path = join(folder, 'confirmed.json')
  return async ({ key, shown, hint }) => {
    if (readKeys(path).includes(key)) return
    const answer = await terminal.ask(`${shown}\nSend credentials there from now on?`)
    if (answer) return writeConfigFile(path, { addresses: [...new Set([...readKeys(path), key])] })
    if (answer === false) throw new UsageError('No credential was sent: the address is not confirmed.', hint)
    throw new UsageError(
      `${shown} No credential was sent: the address is not confirmed, and there is no terminal to confirm it on.`,
      hint,
    )
  }
}

function readKeys(path: string): string[] {
  const remedy = 'Remove it; the addresses are asked for again.'
  const content = readConfigFile(path, remedy)
  if (content === undefined) return []
  // Before files had a format, this one was the list itself.
  const keys: unknown = Array.isArray(content) ? content : Object(content).addresses
  if (Array.isArray(keys) && keys.every((each) => typeof each === 'string')) return keys
  throw damagedFile(path, remedy)
}

/** Timeout in milliseconds for a request that waited for the answer of the user. */
const timeoutMs = 10_000

/**
 * The same `fetch`, which confirms the address before the first request that may carry a secret: any request but a bare question,
 * which has neither parameters nor a header of authorization.
 */
export function confirming(fetch: Fetch, confirm: () => Promise<void>): Fetch {
  return async (url, init) => {
    if (isBareQuestion(init)) return fetch(url, init)
    const asked = performance.now()
    await confirm()
    const isLate = performance.now() - asked > 1000
    return fetch(url, isLate ? { ...init, signal: AbortSignal.timeout(timeoutMs) } : init)
  }
}

function isBareQuestion({ headers, body }: Parameters<Fetch>[1]): boolean {
  if (Object.keys(headers).some((name) => !/^(content-type|accept)$/i.test(name))) return false
  if (body === undefined) return true
  try {
    const { params, ...rest } = JSON.parse(body) as Record<string, unknown>
    const isEmpty = params === undefined || Object.keys(params as object).length === 0
    return isEmpty && Object.keys(rest).every((name) => ['jsonrpc', 'id', 'method'].includes(name))
  } catch {
    return false
  }
}
