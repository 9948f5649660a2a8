/** Passkeys against forged responses: each check that WebAuthn requires of a server, and some more. */
import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { type SqlStore, sql } from '@selvedge/service-kit/store'
import { createFakeClock, openMemoryStore } from '@selvedge/service-kit/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { randomOf } from '../../../../../tests/harness/seed.ts'
import { migrations } from '../../storage/schema.ts'
import { createLinks } from '../people/links.ts'
import { createOneTime } from './one-time.ts'
import { createPasskeys, type Passkeys } from './passkeys.ts'

const random = randomOf('passkeys')

const site = new URL('https://console.example.com')
const [ada, eve] = ['11111111-aaaa', '22222222-bbbb'].map((personId) => ({
  personId,
  email: `${personId}@example.com`,
  password: '',
})) as [Person, Person]
type Person = { personId: string; email: string; password: string }

const sha256 = (data: string | Buffer) => createHash('sha256').update(data).digest()
const base64url = (data: string | Buffer) => Buffer.from(data).toString('base64url')

/** As much of CBOR as attestations need. */
function cbor(value: unknown): Buffer {
  const head = (major: number, count: number) =>
    count < 24
      ? Buffer.from([(major << 5) | count])
      : count < 256
        ? Buffer.from([(major << 5) | 24, count])
        : Buffer.from([(major << 5) | 25, count >> 8, count & 255])
  if (typeof value === 'number') return value >= 0 ? head(0, value) : head(1, -1 - value)
  if (typeof value === 'string') return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)])
  if (Buffer.isBuffer(value)) return Buffer.concat([head(2, value.length), value])
  const entries = [...(value as Map<unknown, unknown>)]
  return Buffer.concat([
    head(5, entries.length),
    ...entries.flatMap(([name, each]) => [cbor(name), cbor(each)]),
  ])
}

interface Forgery {
  readonly clientData?: object
  readonly type?: string
  readonly challenge?: string
  readonly origin?: string
  readonly rpId?: string
  readonly flags?: number
  readonly counter?: number
  readonly userHandle?: string | null
  readonly key?: KeyObject
  readonly id?: Buffer
  readonly signature?: (signature: Buffer) => Buffer
}

/** A software authenticator. It reports the user as present and verified unless a test changes that. */
function createAuthenticator(person: Person, id = random.bytes(32)) {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const jwk = publicKey.export({ format: 'jwk' })
  let counter = 0
  const clientDataOf = (type: string, challenge: string, forged: Forgery) =>
    Buffer.from(
      JSON.stringify({
        type: forged.type ?? type,
        challenge: forged.challenge ?? challenge,
        origin: forged.origin ?? site.origin,
        crossOrigin: false,
        ...forged.clientData,
      }),
    )
  const dataOf = (flags: number, forged: Forgery) => {
    const count = Buffer.alloc(4)
    count.writeUInt32BE(forged.counter ?? ++counter)
    return Buffer.concat([sha256(forged.rpId ?? site.hostname), Buffer.from([forged.flags ?? flags]), count])
  }
  return {
    register(challenge: string, forged: Forgery = {}) {
      const credential = forged.id ?? id
      const key = new Map<number, unknown>([
        [1, 2],
        [3, -7],
        [-1, 1],
        [-2, Buffer.from(jwk.x!, 'base64url')],
        [-3, Buffer.from(jwk.y!, 'base64url')],
      ])
      const length = Buffer.from([credential.length >> 8, credential.length & 255])
      const data = Buffer.concat([dataOf(0x45, forged), Buffer.alloc(16), length, credential, cbor(key)])
      const attestation = cbor(
        new Map<string, unknown>([
          ['fmt', 'none'],
          ['attStmt', new Map()],
          ['authData', data],
        ]),
      )
      const clientDataJSON = base64url(clientDataOf('webauthn.create', challenge, forged))
      const response = { clientDataJSON, attestationObject: base64url(attestation) }
      const name = base64url(credential)
      return { id: name, rawId: name, type: 'public-key', clientExtensionResults: {}, response }
    },
    signIn(challenge: string, forged: Forgery = {}) {
      const clientData = clientDataOf('webauthn.get', challenge, forged)
      const data = dataOf(0x05, forged)
      const signature = sign('sha256', Buffer.concat([data, sha256(clientData)]), forged.key ?? privateKey)
      const response = {
        clientDataJSON: base64url(clientData),
        authenticatorData: base64url(data),
        signature: base64url(forged.signature?.(signature) ?? signature),
        ...(forged.userHandle !== null && { userHandle: forged.userHandle ?? base64url(person.personId) }),
      }
      const name = base64url(forged.id ?? id)
      return { id: name, rawId: name, type: 'public-key', clientExtensionResults: {}, response }
    },
  }
}

let store: SqlStore
let passkeys: Passkeys
const own = createAuthenticator(ada)
const others = createAuthenticator(eve)
const clock = createFakeClock()

async function register(person: Person, authenticator = createAuthenticator(person), forged: Forgery = {}) {
  const { challenge, options } = await passkeys.beginRegistration(person)
  const response = authenticator.register(options.challenge as string, forged)
  await passkeys.finishRegistration(person, challenge, response, 'a key')
}
async function signIn(forged: Forgery = {}, authenticator = own) {
  const { challenge, options } = await passkeys.beginSignIn()
  return passkeys.finishSignIn(challenge, authenticator.signIn(options.challenge as string, forged))
}
const reasonOf = (call: Promise<unknown>) =>
  call.then(
    () => 'accepted',
    ({ reason }) => reason ?? 'a defect',
  )

beforeAll(async () => {
  store = openMemoryStore(migrations)
  passkeys = createPasskeys(
    store,
    clock,
    createOneTime(store, clock),
    createLinks(store, clock, 10),
    () => site,
  )
  for (const { personId, email } of [ada, eve])
    await store.run(sql`INSERT INTO people VALUES (${personId}, ${email}, '', 0)`)
  await register(ada, own)
  await register(eve, others)
})
afterAll(async () => {
  await store.close()
})

it('an honest answer signs in its person', async () => {
  expect(await signIn()).toBe(ada.personId)
  expect(await signIn({}, others)).toBe(eve.personId)
})

describe('a sign-in is refused', () => {
  it.each<[string, Forgery]>([
    ['for another challenge', { challenge: base64url(random.bytes(32)) }],
    ['for another origin', { origin: 'https://evil.example' }],
    ['for the same host on another port', { origin: 'https://console.example.com:8443' }],
    ['for another relying party', { rpId: 'evil.example' }],
    ['of the type of a registration', { type: 'webauthn.create' }],
    ['without the presence of the person', { flags: 0x04 }],
    ['without verification of the person', { flags: 0x01 }],
    ['signed by another key', { key: generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey }],
    [
      'with a changed signature',
      { signature: (bytes) => Buffer.from(bytes.map((byte, at) => (at === 20 ? byte ^ 1 : byte))) },
    ],
    ['with a counter that went back', { counter: 1 }],
    ['from a page inside a page of another origin', { clientData: { crossOrigin: true } }],
    ['from a page inside another one that is named', { clientData: { topOrigin: 'https://evil.example' } }],
    ['that names another person', { userHandle: base64url(eve.personId) }],
    ['that contains no user handle', { userHandle: null }],
    ['with an identifier of 2,000 bytes', { id: random.bytes(2000) }],
    ['with the ID of an unknown credential', { id: random.bytes(32) }],
  ])('%s', async (_, forged) => {
    expect(await reasonOf(signIn(forged))).toBe('credentials_invalid')
  })

  it('with a challenge that was used, that expired or that was for a registration', async () => {
    const { challenge, options } = await passkeys.beginSignIn()
    const answer = () => passkeys.finishSignIn(challenge, own.signIn(options.challenge as string))
    const tries = await Promise.all(Array.from({ length: 10 }, () => reasonOf(answer())))
    expect(tries.filter((each) => each === 'accepted')).toHaveLength(1)
    const late = await passkeys.beginSignIn()
    clock.advance(301_000)
    expect(
      await reasonOf(passkeys.finishSignIn(late.challenge, own.signIn(late.options.challenge as string))),
    ).toBe('credentials_invalid')
    const other = await passkeys.beginRegistration(ada)
    expect(
      await reasonOf(passkeys.finishSignIn(other.challenge, own.signIn(other.options.challenge as string))),
    ).toBe('credentials_invalid')
  })

  it.each([
    [{}],
    [{ id: 7 }],
    [{ id: 'x', response: null }],
    [{ id: 'x', response: { clientDataJSON: '{' } }],
  ])('without the form of an answer: %j', async (response) => {
    const { challenge } = await passkeys.beginSignIn()
    expect(await reasonOf(passkeys.finishSignIn(challenge, response))).toBe('credentials_invalid')
  })
})

describe('a registration is refused', () => {
  it.each<[string, Forgery]>([
    ['from a page inside a page of another origin', { clientData: { crossOrigin: true } }],
    ['from a page inside another one that is named', { clientData: { topOrigin: 'https://evil.example' } }],
    ['with an identifier of 2,000 bytes', { id: random.bytes(2000) }],
    ['for another origin', { origin: 'https://evil.example' }],
    ['for another relying party', { rpId: 'evil.example' }],
    ['without verification of the person', { flags: 0x41 }],
    ['of the type of a sign-in', { type: 'webauthn.get' }],
  ])('%s', async (_, forged) => {
    expect(await reasonOf(register(ada, undefined, forged))).toBe('credentials_invalid')
  })

  it('for the challenge of another person', async () => {
    const { challenge, options } = await passkeys.beginRegistration(ada)
    const answer = createAuthenticator(eve).register(options.challenge as string)
    expect(await reasonOf(passkeys.finishRegistration(eve, challenge, answer, 'x'))).toBe(
      'credentials_invalid',
    )
  })

  it('beyond 20 passkeys of one person, with what to do', async () => {
    for (let made = (await passkeys.list(eve.personId)).length; made < 20; made++) await register(eve)
    await expect(register(eve)).rejects.toMatchObject({ reason: 'limit_exceeded' })
  })
})

describe('the passkeys of a person', () => {
  const someone: Person = { personId: '33333333-cccc', email: 'lin@example.com', password: '' }
  beforeAll(() => store.run(sql`INSERT INTO people VALUES (${someone.personId}, ${someone.email}, '', 0)`))
  const authenticators = [createAuthenticator(someone), createAuthenticator(someone)] as const

  it('are listed from the oldest, with their names and last use', async () => {
    expect(await passkeys.list(someone.personId)).toEqual([])
    const createdAt = new Date(clock.now()).toISOString()
    await register(someone, authenticators[0])
    clock.advance(1000)
    await register(someone, authenticators[1])
    clock.advance(1000)
    await signIn({}, authenticators[1])
    const [first, second] = await passkeys.list(someone.personId)
    expect(first).toEqual({ credentialId: expect.any(String), name: 'a key', createdAt, lastUsedAt: null })
    expect(second).toMatchObject({ lastUsedAt: new Date(clock.now()).toISOString() })
  })

  it('are registered once, and a device with one of them is not offered again', async () => {
    await expect(register(someone, authenticators[0])).rejects.toMatchObject({
      reason: 'already_exists',
      message: 'this passkey is already registered',
    })
    const { options } = await passkeys.beginRegistration(someone)
    const listed = (await passkeys.list(someone.personId)).map(({ credentialId }) => credentialId)
    expect((options.excludeCredentials as { id: string }[]).map(({ id }) => id).toSorted()).toEqual(
      listed.toSorted(),
    )
    expect(options).toMatchObject({
      rp: { name: 'Selvedge', id: 'console.example.com' },
      user: { id: base64url(someone.personId), name: 'lin@example.com' },
      attestation: 'none',
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
      pubKeyCredParams: [-7, -8, -257].map((alg) => ({ alg, type: 'public-key' })),
      timeout: 300_000,
    })
  })

  it('are asked for without a name, for this site, with the person verified', async () => {
    const { options } = await passkeys.beginSignIn()
    expect(options).toMatchObject({
      ...{ rpId: 'console.example.com', userVerification: 'required', timeout: 300_000 },
    })
    expect(options.allowCredentials).toBeUndefined()
  })

  it('are removed by their person, but for the last sign-in method', async () => {
    const [one, other] = await passkeys.list(someone.personId)
    for (const person of [ada, { ...ada, password: 'hash' }])
      await expect(passkeys.remove(person, one!.credentialId)).rejects.toMatchObject({
        reason: 'not_found',
        message: 'you have no such passkey',
      })
    await passkeys.remove(someone, one!.credentialId)
    expect(await passkeys.list(someone.personId)).toEqual([other])
    await expect(passkeys.remove(someone, other!.credentialId)).rejects.toMatchObject({
      reason: 'conflict',
      message: 'this passkey is your only sign-in method',
      hint: 'Add another passkey or a password first.',
    })
    await passkeys.remove({ ...someone, password: 'hash' }, other!.credentialId)
    expect(await passkeys.list(someone.personId)).toEqual([])
  })

  it('end the links that were to let the person in', async () => {
    const links = createLinks(store, clock, 10)
    const link = {
      purpose: 'reset',
      accountId: '',
      role: 'member',
      email: someone.email,
      madeBy: '',
    } as const
    const secret = await links.create(link, 60)
    await register(someone)
    expect(await links.find(secret)).toBeUndefined()
  })
})

it('a refusal has the cause for the log, and what to do', async () => {
  await expect(signIn({ origin: 'https://evil.example' })).rejects.toMatchObject({
    message: 'the passkey was not accepted',
    hint: expect.stringContaining('Try again.'),
    cause: expect.objectContaining({ message: expect.stringContaining('origin') }),
  })
})
