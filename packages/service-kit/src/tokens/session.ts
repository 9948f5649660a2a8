/**
 * Sessions between a node and a service: one DPoP proof at the beginning, an HMAC a request from then on, which costs a
 * twentieth of a signature. Both sides derive the key from a P-256 agreement, so it never travels; the service keeps
 * nothing, since the ticket carries what it has to know under its own seal (as in RFC 5077).
 */
import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  diffieHellman,
  generateKeyPairSync,
  hkdfSync,
  type KeyObject,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto'
import { OAuthError } from '@selvedge/protocol'
import { type PublicJwk, publicJwk } from '@selvedge/protocol/tokens'
import type { Clock } from '../clock/clock.ts'
import { importPublicKey } from './es256.ts'

const scheme = 'Session '
/** Milliseconds by which a request may be older or newer than it says: the time on the way, and clocks that drift. */
const tolerance = 60_000

/** Derives 32 bytes of a secret for one purpose (HKDF, RFC 5869). */
export const deriveKey = (secret: Uint8Array, purpose: string): Buffer =>
  Buffer.from(hkdfSync('sha256', secret, 'selvedge', purpose, 32))

/** AES-256-GCM under a fresh nonce. */
export function sealBytes(key: Uint8Array, plain: Uint8Array, associated = ''): Buffer {
  const nonce = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(associated))
  return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()])
}

/** What was sealed; undefined where it was sealed with another key or was changed. */
export function openBytes(key: Uint8Array, sealed: Uint8Array, associated = ''): Buffer | undefined {
  if (sealed.length < 28) return undefined
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, 12), { authTagLength: 16 })
  decipher.setAAD(Buffer.from(associated)).setAuthTag(sealed.subarray(-16))
  try {
    return Buffer.concat([decipher.update(sealed.subarray(12, -16)), decipher.final()])
  } catch {
    return undefined
  }
}

const agreedKey = (privateKey: KeyObject, publicKey: KeyObject): Buffer =>
  deriveKey(diffieHellman({ privateKey, publicKey }), 'session')

const macOf = (key: Uint8Array, method: string, path: string, at: string, body: string): Buffer =>
  createHmac('sha256', key).update(`${method} ${path} ${at}\n`).update(body).digest()

/** The half of a node: its ephemeral key, and what it signs with once the service has answered. */
export interface NodeSession {
  /** Value of the Authorization header for one request. @param path with the query */
  authorize(method: string, path: string, body: string): string
  /** Opens what the service sealed with the key of the session. */
  open(sealed: string): Buffer | undefined
}

export function offerSession(): {
  readonly jwk: PublicJwk
  /** @param monotonic milliseconds since any moment */
  complete(answer: { ticket: string; key: PublicJwk }, monotonic: () => number): NodeSession
} {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return {
    jwk: publicJwk.parse(publicKey.export({ format: 'jwk' })),
    complete({ ticket, key: theirs }, monotonic) {
      const key = agreedKey(privateKey, importPublicKey(theirs))
      const begunAt = monotonic()
      return {
        authorize(method, path, body) {
          const at = String(Math.max(0, Math.round(monotonic() - begunAt)))
          return `${scheme}${ticket}.${at}.${macOf(key, method, path, at, body).toString('base64url')}`
        },
        open: (sealed) => openBytes(key, Buffer.from(sealed, 'base64url')),
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
   * Begins a session for whoever holds the private half of a key.
   *
   * @param content what `check` gives back
   * @param seconds for which it is good
   */
  begin(
    theirs: PublicJwk,
    content: Uint8Array,
    seconds: number,
  ): { ticket: string; seal(plain: Uint8Array): string }
  /**
   * What the session of a request was begun with, and when it was sent by this service's clock, Unix milliseconds.
   *
   * @throws OAuthError `invalid_token`
   */
  check(request: SessionRequestParts): { readonly content: Buffer; readonly sentAt: number }
}

/** @param secret shared by the replicas of a service */
export function createSessionKeeper(secret: Uint8Array, clock: Clock): SessionKeeper {
  const sealKey = deriveKey(secret, 'session tickets')
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })

  return {
    jwk: publicJwk.parse(publicKey.export({ format: 'jwk' })),
    begin(theirs, content, seconds) {
      const key = agreedKey(privateKey, importPublicKey(theirs))
      const head = Buffer.alloc(12)
      const now = clock.now()
      head.writeUIntBE(now, 0, 6)
      head.writeUIntBE(now + seconds * 1000, 6, 6)
      return {
        ticket: sealBytes(sealKey, Buffer.concat([head, key, content])).toString('base64url'),
        seal: (plain) => sealBytes(key, plain).toString('base64url'),
      }
    },
    check({ authorization = '', method, path, body }) {
      const [ticket = '', at = '', mac = ''] = authorization.slice(scheme.length).split('.', 3)
      const plain = authorization.startsWith(scheme)
        ? openBytes(sealKey, Buffer.from(ticket, 'base64url'))
        : undefined
      if (!plain) throw refused('send "Authorization: Session …" with a ticket of this service')
      const now = clock.now()
      if (plain.readUIntBE(6, 6) <= now) throw refused('the session has ended; begin another one')
      const expected = macOf(plain.subarray(12, 44), method, path, at, body)
      const shown = Buffer.from(mac, 'base64url')
      if (shown.length !== expected.length || !timingSafeEqual(shown, expected))
        throw refused('the request is not signed with the key of its session')
      const sentAt = plain.readUIntBE(0, 6) + Number(at)
      if (!(Math.abs(now - sentAt) <= tolerance))
        throw refused('the request is of another time; begin another session')
      return { content: plain.subarray(44), sentAt }
    },
  }
}

const refused = (message: string): OAuthError => new OAuthError('invalid_token', message)
