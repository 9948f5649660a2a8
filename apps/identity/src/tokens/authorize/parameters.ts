/** The parameters of an authorization request: their forms and sizes. What they name is checked in `request.ts`. */
import { OAuthError, type OAuthErrorCode, promptValues } from '@selvedge/protocol'
import { quote } from '../checks/quote.ts'

type Prompt = (typeof promptValues)[number]

/** Parameters that need no look at anything else. */
export interface Parameters {
  /** SHA-256 of the verifier in base64url. */
  readonly challenge: string
  readonly nonce: string
  readonly loginHint: string
  readonly prompts: ReadonlySet<Prompt>
  /** Seconds since the person signed in; undefined: any time. */
  readonly maxAgeSeconds: number | undefined
  /** Thumbprint of the key that must redeem the code; "" for any. */
  readonly jkt: string
}

/** Longest texts, in characters. */
const longest = { state: 4096, nonce: 512, login_hint: 254 } as const
/** A SHA-256 in base64url: of a verifier, or of a key. */
const hashShape = /^[\w-]{43}$/
/** RFC 6749 Appendix A.5. */
const printable = /^[\x20-\x7e]*$/

const refuse = (code: OAuthErrorCode, why: string): never => {
  throw new OAuthError(code, why)
}

type Form = ReadonlyMap<string, string>

/** @throws OAuthError `invalid_request` */
function bounded(form: Form, name: keyof typeof longest): string {
  const value = form.get(name) ?? ''
  if (value.length > longest[name])
    refuse('invalid_request', `"${name}" has more than ${longest[name]} characters`)
  return value
}

/** The `state`, which is returned unchanged. @throws OAuthError `invalid_request` */
export function readState(form: Form): string | undefined {
  if (!form.has('state')) return undefined
  const state = bounded(form, 'state')
  if (!printable.test(state)) refuse('invalid_request', '"state" is not printable ASCII')
  return state
}

/** @throws OAuthError */
export function readParameters(form: Form): Parameters {
  refuseUnsupported(form)
  return {
    challenge: readChallenge(form),
    nonce: bounded(form, 'nonce'),
    loginHint: bounded(form, 'login_hint'),
    prompts: readPrompts(form.get('prompt')),
    maxAgeSeconds: readMaxAge(form.get('max_age')),
    jkt: readThumbprint(form.get('dpop_jkt')),
  }
}

function refuseUnsupported(form: Form): void {
  if (form.has('request'))
    refuse('request_not_supported', 'the parameter "request" is not supported; push the request to /par')
  if (form.has('registration'))
    refuse('registration_not_supported', 'the parameter "registration" is not supported')
  const type = form.get('response_type')
  if (type === undefined) refuse('invalid_request', '"response_type" is missing')
  if (type !== 'code') refuse('unsupported_response_type', '"response_type" is not "code"')
  const mode = form.get('response_mode')
  if (mode !== undefined && mode !== 'query') refuse('invalid_request', '"response_mode" is not "query"')
}

/** PKCE is required, and without a method it would be "plain" (RFC 7636 § 4.3), which a reader of the request could redeem. */
function readChallenge(form: Form): string {
  const challenge = form.get('code_challenge')
  if (challenge === undefined)
    return refuse('invalid_request', '"code_challenge" is missing: send one with code_challenge_method=S256')
  if (form.get('code_challenge_method') !== 'S256')
    refuse('invalid_request', '"code_challenge_method" is not "S256"')
  if (!hashShape.test(challenge))
    refuse('invalid_request', '"code_challenge" is not a SHA-256 in base64url without padding')
  return challenge
}

function readPrompts(text: string | undefined): ReadonlySet<Prompt> {
  const prompts = new Set(text === undefined ? [] : text.split(' '))
  for (const each of prompts)
    if (!promptValues.some((value) => value === each))
      refuse('invalid_request', `"prompt" has ${quote(each)}; its values are ${promptValues.join(', ')}`)
  if (prompts.has('none') && prompts.size > 1)
    refuse('invalid_request', '"prompt" has "none" and other values')
  return prompts as ReadonlySet<Prompt>
}

function readMaxAge(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (!/^\d{1,9}$/.test(text)) refuse('invalid_request', '"max_age" is not a number of seconds')
  return Number(text)
}

function readThumbprint(text = ''): string {
  if (text !== '' && !hashShape.test(text))
    refuse('invalid_request', '"dpop_jkt" is not the thumbprint of a key')
  return text
}
