/** Passkeys (WebAuthn): discoverable, with the person verified by the authenticator. */
import { RpcError } from '@selvedge/protocol'
import { parseJson } from '@selvedge/protocol/jsonrpc'
import { type Clock, isoTime } from '@selvedge/service-kit/clock'
import { type SqlStore, sql } from '@selvedge/service-kit/store'
import type { Links } from '../registry/links.ts'
import type { OneTime } from '../registry/one-time.ts'
import type { Person } from '../registry/people.ts'

interface Challenge {
  readonly challenge: string
  readonly options: Record<string, unknown>
}

export interface Passkeys {
  /** A challenge for any person with a passkey here: it contains no name, so it reveals nothing. */
  beginSignIn(): Promise<Challenge>
  /** @returns the person @throws RpcError `credentials_invalid` */
  finishSignIn(challenge: string, response: unknown): Promise<string>
  beginRegistration(person: Person): Promise<Challenge>
  /** @throws RpcError `credentials_invalid`, `already_exists`, `limit_exceeded` */
  finishRegistration(person: Person, challenge: string, response: unknown, name: string): Promise<void>
  list(
    personId: string,
  ): Promise<{ credentialId: string; name: string; createdAt: string; lastUsedAt: string | null }[]>
  /** @throws RpcError `not_found`, or `conflict` if it is the last sign-in method */
  remove(person: Person, credentialId: string): Promise<void>
}

/** Passkeys of one person. */
const maxPasskeys = 20
/** Seconds in which a challenge must be answered. */
const timeoutSeconds = 300

const load = () => import('./webauthn.lazy.ts')

const handleOf = (personId: string): string => Buffer.from(personId).toString('base64url')

interface Answer {
  readonly id: string
  /** Handle of the person; absent in registrations. */
  readonly userHandle: string | undefined
}

/** Longest texts in base64url: an identifier has 1,023 bytes at most (WebAuthn § 4). */
const longest = { id: 1364, clientData: 4096, userHandle: 128 }
const isBase64url = (value: unknown, length: number): value is string =>
  typeof value === 'string' && value.length <= length && /^[\w-]+$/.test(value)

/**
 * As much of an answer as the library does not check.
 *
 * @returns undefined if it has another form, or was made for a page inside a page of another origin
 */
function readAnswer(answer: unknown): Answer | undefined {
  const { id, response } = Object(answer) as Record<string, unknown>
  const { clientDataJSON, userHandle } = Object(response) as Record<string, unknown>
  if (!isBase64url(id, longest.id) || !isBase64url(clientDataJSON, longest.clientData)) return undefined
  if (userHandle !== undefined && !isBase64url(userHandle, longest.userHandle)) return undefined
  try {
    const clientData = Object(parseJson(Buffer.from(clientDataJSON, 'base64url').toString(), 8))
    const { crossOrigin = false, topOrigin } = clientData as Record<string, unknown>
    return crossOrigin === false && topOrigin === undefined ? { id, userHandle } : undefined
  } catch {
    return undefined
  }
}

const refused = (cause?: unknown) =>
  new RpcError('credentials_invalid', 'the passkey was not accepted', {
    cause,
    hint: 'Try again. If it was removed here, remove it from the device as well, and use another sign-in method.',
  })

/** @param site where the console is: passkeys are bound to its host name */
export function createPasskeys(
  store: SqlStore,
  clock: Clock,
  oneTime: OneTime,
  links: Pick<Links, 'endFor'>,
  site: () => URL,
): Passkeys {
  async function list(personId: string) {
    const rows = await store.run(
      sql`SELECT * FROM passkeys WHERE person_id = ${personId} ORDER BY created_at`,
    )
    return rows.map((row) => ({
      credentialId: row.credential_id as string,
      name: row.name as string,
      createdAt: isoTime(row.created_at as number),
      lastUsedAt: row.last_used_at === null ? null : isoTime(row.last_used_at as number),
    }))
  }

  return {
    async beginSignIn() {
      const { generateAuthenticationOptions } = await load()
      const options = await generateAuthenticationOptions({
        rpID: site().hostname,
        userVerification: 'required',
        timeout: timeoutSeconds * 1000,
      })
      const challenge = await oneTime.create(
        'passkey-sign-in',
        { expected: options.challenge },
        timeoutSeconds,
      )
      return { challenge, options: { ...options } }
    },
    async finishSignIn(challenge, response) {
      const asked = await oneTime.use('passkey-sign-in', challenge)
      const answer = readAnswer(response)
      if (!asked || !answer) throw refused()
      const [row] = await store.run(sql`SELECT * FROM passkeys WHERE credential_id = ${answer.id}`)
      // The challenge named nobody: the authenticator says whose the passkey is (WebAuthn § 7.2, step 6).
      if (!row || answer.userHandle !== handleOf(row.person_id as string)) throw refused()
      const { verifyAuthenticationResponse } = await load()
      const result = await verifyAuthenticationResponse({
        response: response as never,
        expectedChallenge: asked.expected!,
        expectedOrigin: site().origin,
        expectedRPID: site().hostname,
        credential: {
          id: row.credential_id as string,
          publicKey: new Uint8Array(Buffer.from(row.public_key as string, 'base64url')),
          counter: row.counter as number,
        },
      }).catch((cause: unknown) => {
        throw refused(cause)
      })
      if (!result.verified) throw refused()
      await store.run(
        sql`UPDATE passkeys SET counter = ${result.authenticationInfo.newCounter}, last_used_at = ${clock.now()}
          WHERE credential_id = ${row.credential_id!}`,
      )
      return row.person_id as string
    },
    async beginRegistration({ personId, email }) {
      const { generateRegistrationOptions } = await load()
      const rows = await store.run(sql`SELECT credential_id FROM passkeys WHERE person_id = ${personId}`)
      const options = await generateRegistrationOptions({
        rpName: 'Selvedge',
        rpID: site().hostname,
        userID: new Uint8Array(Buffer.from(personId)),
        userName: email,
        attestationType: 'none',
        excludeCredentials: rows.map((row) => ({ id: row.credential_id as string })),
        authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
        supportedAlgorithmIDs: [-7, -8, -257],
        timeout: timeoutSeconds * 1000,
      })
      const payload = { expected: options.challenge, personId }
      const challenge = await oneTime.create('passkey-registration', payload, timeoutSeconds)
      return { challenge, options: { ...options } }
    },
    async finishRegistration({ personId }, challenge, response, name) {
      const asked = await oneTime.use('passkey-registration', challenge)
      if (asked?.personId !== personId || !readAnswer(response)) throw refused()
      const { verifyRegistrationResponse } = await load()
      const result = await verifyRegistrationResponse({
        response: response as never,
        expectedChallenge: asked.expected!,
        expectedOrigin: site().origin,
        expectedRPID: site().hostname,
        supportedAlgorithmIDs: [-7, -8, -257],
      }).catch((cause: unknown) => {
        throw refused(cause)
      })
      if (!result.verified) throw refused()
      const { credential } = result.registrationInfo
      const key = Buffer.from(credential.publicKey).toString('base64url')
      const [rows] = await store.transaction([
        sql`INSERT INTO passkeys SELECT CAST(${credential.id} AS TEXT), CAST(${personId} AS TEXT), CAST(${name} AS TEXT),
            CAST(${key} AS TEXT), CAST(${credential.counter} AS BIGINT), CAST(${(credential.transports ?? []).join(' ')} AS TEXT),
            CAST(${clock.now()} AS BIGINT), NULL
          WHERE (SELECT COUNT(*) FROM passkeys WHERE person_id = ${personId}) < ${maxPasskeys}
          ON CONFLICT DO NOTHING RETURNING credential_id`,
        ...links.endFor(personId),
      ])
      if (!rows![0] && (await list(personId)).length >= maxPasskeys)
        throw new RpcError('limit_exceeded', `you already have ${maxPasskeys} passkeys`, {
          hint: 'Remove one that you do not use any more.',
        })
      if (!rows![0]) throw new RpcError('already_exists', 'this passkey is already registered')
    },
    list,
    async remove({ personId, password }, credentialId) {
      const rows = await store.run(sql`SELECT credential_id FROM passkeys WHERE person_id = ${personId}`)
      if (!rows.some((row) => row.credential_id === credentialId))
        throw new RpcError('not_found', 'you have no such passkey')
      const gone = await store.run(
        sql`DELETE FROM passkeys WHERE credential_id = ${credentialId} AND person_id = ${personId}
          AND (${password} <> '' OR EXISTS (SELECT 1 FROM passkeys AS others
            WHERE others.person_id = passkeys.person_id AND others.credential_id <> passkeys.credential_id))
          RETURNING credential_id`,
      )
      if (gone.length === 0)
        throw new RpcError('conflict', 'this passkey is your only sign-in method', {
          hint: 'Add another passkey or a password first.',
        })
    },
  }
}
