/** Client of the console's API: one function for each method. */
import { callRpc, isSelvedgeError, type RpcClient } from '@selvedge/client'
import type { ConsoleMethods } from '@selvedge/protocol/console'
import { isOutage } from './failures.ts'
import { keys, signedFetch } from './session/request.ts'
import { tabs } from './session/tabs.ts'
import { outage } from './state/outage.ts'

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
    outage.end()
    return result
  } catch (cause) {
    // An answer of the service, be it a refusal, ends an outage.
    if (isOutage(cause)) outage.begin()
    else if (reasonOf(cause) !== undefined) outage.end()
    if (reasonOf(cause) === 'signed_out') dispatchEvent(new Event(signedOut))
    throw cause
  }
}

/** The table of methods is known to the compiler alone: schemas have no business in a browser that trusts its service. */
export const api = new Proxy({} as Api, {
  get: (_, method: string) => (params?: object) => call(method, params),
})

export const reasonOf = (cause: unknown): string | undefined =>
  isSelvedgeError(cause) && cause.kind === 'rpc' ? cause.reason : undefined
