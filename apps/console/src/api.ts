/** Client of the console's API: one function for each method. */
import { callRpc, isSelvedgeError, type RpcClient } from '@selvedge/client'
import type { ConsoleMethods } from '@selvedge/protocol/console'
import { keys, signedFetch } from './session/request.ts'
import { tabs } from './session/tabs.ts'

type Api = RpcClient<ConsoleMethods>

const connection = { url: location.origin, path: '/console/api', fetch: signedFetch }

/** Event on the window: the session does not exist any more. */
export const signedOut = 'selvedge:signed-out'

/** Methods that change or end the session, so that other tabs must reload. */
const changesSession: ReadonlySet<string> = new Set<keyof ConsoleMethods>([
  'session.end',
  'session.switch',
  'sign_in.passkey.finish',
  'sign_in.password',
  'sign_in.recovery',
  'link.use',
  'company.finish',
])

async function call(method: string, params: object | undefined): Promise<unknown> {
  try {
    const result = await callRpc(connection, method, params)
    if (method === 'session.end') await keys.forget()
    if (changesSession.has(method)) tabs.announce()
    return result
  } catch (cause) {
    if (reasonOf(cause) === 'signed_out') dispatchEvent(new Event(signedOut))
    throw cause
  }
}

/** The table of methods is known to the compiler alone: schemas have no business in a browser that trusts its service. */
export const api = new Proxy({} as Api, {
  get: (_, method: string) => (params?: object) => call(method, params),
})

/** Why a call failed, for a person: what is wrong, and what to do. */
export function explain(cause: unknown): string {
  if (!isSelvedgeError(cause)) return cause instanceof Error ? cause.message : String(cause)
  if (cause.kind === 'connection' && cause.reason === 'not_running')
    return 'The service does not answer. Check that it is running, and that you are online.'
  const hint = cause.kind === 'rpc' && cause.hint ? ` ${cause.hint}` : ''
  return `${sentence(cause.message)}${hint}`
}

export const reasonOf = (cause: unknown): string | undefined =>
  isSelvedgeError(cause) && cause.kind === 'rpc' ? cause.reason : undefined

const sentence = (text: string): string =>
  `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`
