/** Passkeys (WebAuthn): discoverable, with the person verified by the authenticator. */
import { RpcError } from '@selvedge/protocol'
import { type Clock, isoTime } from '@selvedge/service-kit/clock'
import { type SqlStore, sql } from '@selvedge/service-kit/store'
import { writeInTurn } from '../../storage/write-in-turn.ts'
import type { Links } from '../people/links.ts'
import type { Person } from '../people/people.ts'
import type { OneTime } from './one-time.ts'
import { readPasskeyAnswer, userHandleOf } from './passkey-answer.ts'

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

const refused = (cause?: unknown) =>
  new RpcError('credentials_invalid', 'the passkey was not accepted', {
    cause,
    hint: 'Try again. If it was removed here, remove it from the device as well, and use another sign-in method.',
  })

/** What the two ceremonies and the list of passkeys share. */
interface PasskeyParts {
  readonly store: SqlStore
  readonly clock: Clock
  readonly oneTime: OneTime
  readonly links: Pick<Links, 'endFor'>
  /** URL of the console: passkeys are bound to its host name. */
  readonly site: () => URL
}

export function createPasskeys(
  store: SqlStore,
  clock: Clock,
  oneTime: OneTime,
  links: Pick<Links, 'endFor'>,
  site: () => URL,
): Passkeys {
  const parts = { store, clock, oneTime, links, site }
  return { ...createSignIn(parts), ...createRegistration(parts), ...createList(parts) }
}

function createSignIn({
  store,
  clock,
  oneTime,
  site,
}: PasskeyParts): Pick<Passkeys, 'beginSignIn' | 'finishSignIn'> {
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
      const answer = readPasskeyAnswer(response)
      if (!asked || !answer) throw refused()
      const [row] = await store.run(sql`SELECT * FROM passkeys WHERE credential_id = ${answer.id}`)
      // The challenge contained no person: the authenticator returns the user handle of the passkey (WebAuthn § 7.2, step 6).
      if (!row || answer.userHandle !== userHandleOf(row.person_id as string)) throw refused()
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
  }
}

function createRegistration(parts: PasskeyParts): Pick<Passkeys, 'beginRegistration' | 'finishRegistration'> {
  const { store, clock, oneTime, links, site } = parts
  return {
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
      if (asked?.personId !== personId || !readPasskeyAnswer(response)) throw refused()
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
      const [rows] = await writeInTurn(store, `passkeys of ${personId}`, [
        sql`INSERT INTO passkeys SELECT CAST(${credential.id} AS TEXT), CAST(${personId} AS TEXT), CAST(${name} AS TEXT),
            CAST(${key} AS TEXT), CAST(${credential.counter} AS BIGINT), CAST(${(credential.transports ?? []).join(' ')} AS TEXT),
            CAST(${clock.now()} AS BIGINT), NULL
          WHERE (SELECT COUNT(*) FROM passkeys WHERE person_id = ${personId}) < ${maxPasskeys}
          ON CONFLICT DO NOTHING RETURNING credential_id`,
        ...links.endFor(personId),
      ])
      if (!rows![0] && (await countOf(store, personId)) >= maxPasskeys)
        throw new RpcError('limit_exceeded', `you already have ${maxPasskeys} passkeys`, {
          hint: 'Remove one that you do not use any more.',
        })
      if (!rows![0]) throw new RpcError('already_exists', 'this passkey is already registered')
    },
  }
}

function createList({ store }: PasskeyParts): Pick<Passkeys, 'list' | 'remove'> {
  return {
    async list(personId) {
      const rows = await store.run(
        sql`SELECT * FROM passkeys WHERE person_id = ${personId} ORDER BY created_at`,
      )
      return rows.map((row) => ({
        credentialId: row.credential_id as string,
        name: row.name as string,
        createdAt: isoTime(row.created_at as number),
        lastUsedAt: row.last_used_at === null ? null : isoTime(row.last_used_at as number),
      }))
    },
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

async function countOf(store: SqlStore, personId: string): Promise<number> {
  const rows = await store.run(sql`SELECT credential_id FROM passkeys WHERE person_id = ${personId}`)
  return rows.length
}
