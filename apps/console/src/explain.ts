/**
 * Every failure in the console's own words: what happened, and what to do. The words of a proxy, a browser or a library are never shown, nor
 * the name of a method, a URL, or advice for programs. Those of this service for people are: a wrong password, a name that is in use.
 */
import { isSelvedgeError, type RpcFailure, type SelvedgeError } from '@selvedge/client'
import { Explained, isRefused } from './failures.ts'

const unreachable = 'Can’t reach the server. Check that you are online, and try again.'
const late = 'The server didn’t answer in time. Try again.'
const broken = 'The server can’t answer now. Try again in a moment.'
const reload = 'This page and the server don’t fit together. Reload the page, and try again.'
const tooMuch = 'This is too much for the server. Make it shorter, and try again.'
const refused = 'The server refused this. Reload the page, and try again.'
const unknown = 'Something went wrong in this page. Reload it, and try again.'

const ofConnection: Readonly<Record<string, string>> = {
  not_running: unreachable,
  timeout: late,
  aborted: 'The request was cancelled. Try again.',
}

/** Reasons with a text for programs in place of one for people. */
const ofReason: Readonly<Record<string, string>> = {
  parse_error: reload,
  invalid_request: reload,
  method_not_found: reload,
  websocket_required: reload,
  use_dpop_nonce: reload,
  invalid_dpop_proof:
    'The server doesn’t accept requests of this browser. Reload the page, and sign in again.',
  internal_error: 'The server failed. Try again; if it fails again, ask the person who runs it.',
  storage_failed: 'The server can’t read or write its data now. Try again in a moment.',
  storage_full: 'The server has no space left, so nothing was changed. Ask the person who runs it.',
  signed_out: 'You are signed out. Sign in again.',
}

/** Parameters that no person typed. */
const inAddress: ReadonlySet<string> = new Set(['nodeId', 'clientId', 'linkId', 'shareId', 'personId'])

/** Text for programs: a URL other than an example or in quotes, a method, markup, or something that no sentence of this service has. */
const forPrograms =
  /(?<!")https?:\/\/(?!app\.example\b)|rpc\.discover|\b[a-z_]+\.[a-z_]+: |\b(?:the detail|the request|Call)\b|[<>{}]|\p{C}/u
const maxCharacters = 400

/** Why something failed, for a person: what is wrong, and what to do. */
export function explain(cause: unknown): string {
  if (cause instanceof Explained) return cause.message
  return isSelvedgeError(cause) ? ofFailure(cause) : unknown
}

function ofFailure(cause: SelvedgeError): string {
  // Why the request was not sent.
  if (cause.cause instanceof Explained) return cause.cause.message
  if (cause.kind === 'connection') {
    if (isRefused(cause)) return cause.status === 413 ? tooMuch : refused
    return ofConnection[cause.reason] ?? broken
  }
  if (cause.kind === 'oauth') return broken
  if (Object.hasOwn(ofReason, cause.reason)) return ofReason[cause.reason]!
  return ofParameter(cause) ?? ofService(cause)
}

/** What is wrong with something that a person typed. */
function ofParameter({ reason, message }: RpcFailure): string | undefined {
  if (reason !== 'invalid_params') return undefined
  // Without a pattern for the value between them, which may be long.
  const [, name] = /: parameter "(\w{1,40})" is /.exec(message) ?? []
  const [found = '', expected] = message.split('; expected ', 2)
  if (name === undefined || expected === undefined || found === '') return undefined
  if (inAddress.has(name)) return 'There is nothing with this ID. Check the address of the page.'
  const text = `${capital(spaced(name))}: enter ${expected.replace(/ or null$/, '')}`
  return isForPeople(text) ? sentence(text) : undefined
}

function ofService({ reason, message, hint, retryable }: RpcFailure): string {
  const known = isForPeople(message) ? sentence(message) : retryable ? broken : 'The server refused this.'
  return isForPeople(hint) && reason !== 'invalid_params' ? `${known} ${hint}` : known
}

const isForPeople = (text: string): boolean =>
  text !== '' && text.length <= maxCharacters && !forPrograms.test(text)

/** `userCode` as `user code`. */
const spaced = (name: string): string => name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
const capital = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}`
const sentence = (text: string): string => `${capital(text)}${/[.!?]$/.test(text) ? '' : '.'}`
