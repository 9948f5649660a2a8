/** An app that people sign in to, and a person at its consent page without a browser. */
import { hash } from 'node:crypto'
import { identityPaths } from '@selvedge/protocol'
import type { AuthorizationStep } from '@selvedge/protocol/console'
import type { ConsoleSession } from './console.ts'
import { consoleOrigin } from './console.ts'
import { type OAuthAnswer, type ProofKey, post, postProven } from './oauth.ts'
import { randomOf } from './seed.ts'

const random = randomOf('app')

export interface App {
  readonly clientId: string
  readonly redirectUri: string
}

export interface Pkce {
  readonly verifier: string
  readonly challenge: string
}

export function createPkce(): Pkce {
  const verifier = random.bytes(32).toString('base64url')
  return { verifier, challenge: hash('sha256', verifier, 'base64url') }
}

/** The query of an authorization request. @param more changes of it; undefined leaves a parameter out */
export function requestOf(
  { clientId, redirectUri }: App,
  { challenge }: Pick<Pkce, 'challenge'>,
  more: Readonly<Record<string, string | undefined>> = {},
): string {
  const all = {
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri,
    scope: 'openid offline_access',
    state: 'state-of-the-app',
    nonce: 'nonce-of-the-app',
    code_challenge: challenge,
    code_challenge_method: 'S256',
    ...more,
  }
  const given = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined)
  return new URLSearchParams(given).toString()
}

/** `GET /authorize` as a browser that has no session. */
export const authorize = (identityUrl: string, query: string, headers: Record<string, string> = {}) =>
  fetch(`${consoleOrigin(identityUrl)}${identityPaths.authorize}?${query}`, {
    redirect: 'manual',
    headers: { Accept: 'text/html', ...headers },
  })

/** The person decides on the page. @returns the URL of the answer @throws if the page shows a refusal */
export async function decide(person: ConsoleSession, query: string, approve = true): Promise<URL> {
  const begun = await person.api['authorization.begin']({ query, ticket: null })
  const step =
    begun.step === 'consent'
      ? await person.api['authorization.decide']({ query, ticket: begun.ticket, approve })
      : begun
  return addressOf(step)
}

/** The URL of an answer. @throws if it is another step */
export function addressOf(step: AuthorizationStep): URL {
  if (step.step !== 'return') throw new Error(`the step is ${JSON.stringify(step)}`)
  return new URL(step.to)
}

/** Redeems a code. @param more changes of the form; null leaves a field out */
export function redeem(
  identityUrl: string,
  { clientId, redirectUri }: App,
  { code, verifier }: { readonly code: string; readonly verifier: string },
  more: Readonly<Record<string, string | null>> = {},
  key?: ProofKey,
): Promise<OAuthAnswer> {
  const all = {
    grant_type: 'authorization_code',
    client_id: clientId,
    redirect_uri: redirectUri,
    code,
    code_verifier: verifier,
    ...more,
  }
  const form = Object.fromEntries(
    Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== null),
  )
  const url = identityUrl + identityPaths.token
  return key ? postProven(url, form, key) : post(url, form)
}

/** A whole sign-in. @param more parameters of the request */
export async function signInToApp(
  identityUrl: string,
  app: App,
  person: ConsoleSession,
  more: Readonly<Record<string, string | undefined>> = {},
): Promise<OAuthAnswer & { readonly code: string; readonly verifier: string }> {
  const pkce = createPkce()
  const answer = await decide(person, requestOf(app, pkce, more))
  const code = answer.searchParams.get('code') ?? ''
  return { ...(await redeem(identityUrl, app, { code, ...pkce })), code, verifier: pkce.verifier }
}
