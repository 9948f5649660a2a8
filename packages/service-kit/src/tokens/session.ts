/**
 * Sessions between a node and a service: one DPoP proof at the beginning, an HMAC a request from then on, which costs a
 * twentieth of a signature. The service keeps nothing: the key of a session is derived from its ticket and a secret of the
 * service, so a client that can sign with it received the ticket from the service. It reaches the node sealed with a key that
 * both
 * agree on (P-256), so that an eavesdropper cannot read it.
 */
import { diffieHellman, generateKeyPairSync, hash, type KeyObject, timingSafeEqual } from 'node:crypto'
import { OAuthError } from '@selvedge/protocol'
import { type PublicJwk, publicJwk } from '@selvedge/protocol/tokens'
import type { Clock } from '../clock/clock.ts'
import { importPublicKey } from './es256.ts'
import { deriveKey, openBytes, sealBytes } from './sealed-bytes.ts'

const scheme = 'Session '
/** Milliseconds by which the time of a request may be wrong: the time on the way, and clocks that drift. */
const tolerance = 60_000

const agreedKey = (privateKey: KeyObject, publicKey: KeyObject): Buffer =>
  deriveKey(diffieHellman({ privateKey, publicKey }), 'session')

/** Bytes of the two times at the beginning of a ticket. */
const timesSize = 12

/** Bytes of a block of SHA-256, and of its digest. */
const block = 64
const size = 32

/**
 * HMAC-SHA-256 (RFC 2104) as two one-shot digests, which take a tenth of the time of `createHmac`, in memory that is used
 * again: a service does it twice a report. Digests are read as text, since Node makes a Buffer of one in half a microsecond.
 */
function createSigner(): (key: Uint8Array, text: string, encoding: 'hex' | 'base64url') => string {
  let inner = Buffer.alloc(block + 4096)
  const outer = Buffer.alloc(block + size)
  /** @param key of at most 64 bytes */
  return (key, text, encoding) => {
    // A character takes three bytes at most.
    if (inner.length < block + 3 * text.length) inner = Buffer.alloc(block + 3 * text.length)
    for (let at = 0; at < block; at++) {
      const byte = key[at] ?? 0
      inner[at] = byte ^ 0x36
      outer[at] = byte ^ 0x5c
    }
    const end = block + inner.write(text, block)
    outer.write(hash('sha256', inner.subarray(0, end), 'hex'), block, 'hex')
    return hash('sha256', outer, encoding)
  }
}

/** One buffer for all calls: each call is finished before the next one begins. */
const sign = createSigner()

const signed = (method: string, path: string, at: string, body: string): string =>
  `${method} ${path} ${at}\n${body}`

/** The half of a node: its ephemeral key, and what it signs with once the service has answered. */
export interface NodeSession {
  /** Value of the Authorization header for one request. @param path with the query */
  authorize(method: string, path: string, body: string): string
  /** Opens what the service sealed for this node. */
  open(sealed: string): Buffer | undefined
}

interface SessionAnswer {
  readonly ticket: string
  /** Of the service, for the agreement. */
  readonly key: PublicJwk
  /** What requests are signed with, sealed with the agreed key. */
  readonly session_key: string
}

export function offerSession(): {
  readonly jwk: PublicJwk
  /** @param monotonic milliseconds since any moment @throws Error if the answer is for another node */
  complete(answer: SessionAnswer, monotonic: () => number): NodeSession
} {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return {
    jwk: publicJwk.parse(publicKey.export({ format: 'jwk' })),
    complete({ ticket, key: theirs, session_key }, monotonic) {
      const agreed = agreedKey(privateKey, importPublicKey(theirs))
      const open = (sealed: string) => openBytes(agreed, Buffer.from(sealed, 'base64url'))
      const key = open(session_key)
      if (!key) throw new Error('the key of the session is not sealed for this node')
      const begunAt = monotonic()
      return {
        authorize(method, path, body) {
          const at = String(Math.max(0, Math.round(monotonic() - begunAt)))
          return `${scheme}${ticket}.${at}.${sign(key, signed(method, path, at, body), 'base64url')}`
        },
        open,
      }
    },
  }
}

export interface SessionRequestParts {
  readonly authorization: string | undefined
  readonly method: string
  /** With the query. */
  readonly path: string
  readonly body: string
}

export interface SessionKeeper {
  readonly jwk: PublicJwk
  /**
   * Begins a session for the holder of a private key.
   *
   * @param content what `check` returns; it is readable in the ticket
   * @param seconds lifetime of the ticket
   * @returns the ticket, its key sealed for the node, and a function that seals more
   */
  begin(
    theirs: PublicJwk,
    content: Uint8Array,
    seconds: number,
  ): { ticket: string; sessionKey: string; seal(plain: Uint8Array): string }
  /**
   * What the session of a request was begun with, and when it was sent by this service's clock, Unix milliseconds.
   *
   * @throws OAuthError `invalid_token`
   */
  check(request: SessionRequestParts): { readonly content: Buffer; readonly sentAt: number }
}

/** @param secret shared by the replicas of a service */
export function createSessionKeeper(secret: Uint8Array, clock: Clock): SessionKeeper {
  const ticketsKey = deriveKey(secret, 'session tickets')
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const keyOf = (ticket: string) => Buffer.from(sign(ticketsKey, ticket, 'hex'), 'hex')

  return {
    jwk: publicJwk.parse(publicKey.export({ format: 'jwk' })),
    begin(theirs, content, seconds) {
      const agreed = agreedKey(privateKey, importPublicKey(theirs))
      const seal = (plain: Uint8Array) => sealBytes(agreed, plain).toString('base64url')
      const times = Buffer.alloc(timesSize)
      const now = clock.now()
      times.writeUIntBE(now, 0, 6)
      times.writeUIntBE(now + seconds * 1000, 6, 6)
      const ticket = Buffer.concat([times, content]).toString('base64url')
      return { ticket, sessionKey: seal(keyOf(ticket)), seal }
    },
    check({ authorization = '', method, path, body }) {
      const [ticket = '', at = '', shown = ''] = authorization.slice(scheme.length).split('.', 3)
      if (!authorization.startsWith(scheme) || shown === '')
        throw refused('send "Authorization: Session …" with a ticket of this service')
      const expected = sign(keyOf(ticket), signed(method, path, at, body), 'hex')
      const mac = Buffer.from(shown, 'base64url')
      if (mac.length !== size || !timingSafeEqual(mac, Buffer.from(expected, 'hex')))
        throw refused('the request is not signed with the key of its session')
      // From here on the ticket is known to be one of ours, perhaps of another version of this service.
      const plain = Buffer.from(ticket, 'base64url')
      if (plain.length < timesSize) throw refused('the ticket has no times; start a new session')
      const now = clock.now()
      if (plain.readUIntBE(6, 6) <= now) throw refused('the session has expired; start a new one')
      const sentAt = plain.readUIntBE(0, 6) + Number(at)
      if (!(Math.abs(now - sentAt) <= tolerance))
        throw refused('the request is of another time; begin another session')
      return { content: plain.subarray(timesSize), sentAt }
    },
  }
}

const refused = (message: string): OAuthError => new OAuthError('invalid_token', message)
