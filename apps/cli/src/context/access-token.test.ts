/** Which token a command uses, and where the developer ID token and the lease behind it go. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ConnectionFailure, createProofKey, OAuthFailure } from '@selvedge/client'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { UsageError } from '../failure.ts'
import type { StoredLease } from '../login/leases.ts'
import type { Login } from '../login/sign-ins.ts'
import { accessTokenOf, accessTokenOptions, exchange, readTokenFile } from './access-token.ts'
import { accountOf } from './account.ts'
import type { Context } from './context.ts'

const identityUrl = 'https://id.example'
const login: Login = {
  ...{ identityUrl, clientId: 'own', scope: 'openid', refreshToken: 'r', idToken: 'developer' },
  idTokenEndsAt: 10_000,
}

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'token-'))
})
afterEach(() => rmSync(folder, { recursive: true }))
const file = (content: string) => {
  const path = join(folder, 'token')
  writeFileSync(path, content)
  return path
}

interface Made {
  readonly logins?: readonly Login[]
  readonly problems?: readonly UsageError[]
  readonly env?: Record<string, string>
  /** Answer of the exchange. */
  readonly answer?: object | Error
  readonly lease?: StoredLease
  readonly context?: { name: string }
  readonly tokenEndpoint?: string
}
function make({
  logins = [login],
  problems = [],
  env = {},
  answer,
  lease,
  context,
  tokenEndpoint,
}: Made = {}) {
  const exchanged: Record<string, unknown>[] = []
  const written: StoredLease[] = []
  const notes: string[] = []
  const used: unknown[] = []
  const sent: unknown[] = []
  const fetch = async (
    url: string,
    { headers, body }: { headers: Record<string, string>; body?: string },
  ) => {
    sent.push(url, headers.DPoP !== undefined, body)
    const token = { access_token: 'local', token_type: 'DPoP', expires_in: 60, scope: 'openid' }
    return new Response(JSON.stringify(token), { headers: { 'Content-Type': 'application/json' } })
  }
  const made = {
    selection: () => ({ env, context }),
    identity: async () => ({
      url: identityUrl,
      client: {
        async exchange(request: Record<string, unknown>) {
          exchanged.push(request)
          if (answer instanceof Error) throw answer
          return { access_token: 'access', ...answer }
        },
      },
    }),
    runtime: {
      getEdgeIdToken: async () => ({ id_token: 'edge' }),
      getMe: async () => ({
        nodeId: 'n',
        offline: { tokenEndpoint: tokenEndpoint ?? 'http://127.0.0.1:8083/token' },
      }),
    },
    runtimeConnection: { url: 'http://127.0.0.1:8083', fetch },
    bound: { use: (...each: unknown[]) => used.push(each) },
    signIns: {
      read: (url: string) => logins.find((each) => each.identityUrl === url),
      list: () => ({ urls: logins.map((each) => each.identityUrl), problems }),
    },
    leases: {
      read: ({ clientId, nodeId, identityUrl: at }: StoredLease) =>
        clientId === 'own' && nodeId === 'n' && at === identityUrl ? lease : undefined,
      write: (each: StoredLease) => void written.push(each),
    },
    accountAt: (...each: unknown[]) => each,
    terminal: { note: (text: string) => void notes.push(text) },
    now: () => 1000,
  } as unknown as Context
  return { context: made, exchanged, written, notes, used, sent }
}

describe('the token of a command', () => {
  it('is the one of a file, before all others', async () => {
    const { context, exchanged } = make({ env: { SELVEDGE_ACCESS_TOKEN: 'env' } })
    expect(await accessTokenOf(context, { tokenFile: file(' given\n') }, 'openid')).toBe('given')
    expect(exchanged).toEqual([])
  })

  it('is the one of the environment, unless a developer ID token is given', async () => {
    const { context, exchanged } = make({ env: { SELVEDGE_ACCESS_TOKEN: 'env' } })
    expect(await accessTokenOf(context, {}, 'openid')).toBe('env')
    expect(exchanged).toEqual([])
    const options = { developerTokenFile: file('own developer'), clientId: 'c' }
    expect(await accessTokenOf(context, options, 'edge:mcm')).toBe('access')
    expect(exchanged).toEqual([
      { clientId: 'c', developerIdToken: 'own developer', edgeIdToken: 'edge', scope: 'edge:mcm' },
    ])
  })

  it('comes of the sign-in at the identity service in use', async () => {
    const { context, exchanged } = make()
    expect(await accessTokenOf(context, {}, 'openid')).toBe('access')
    expect((await exchange(context, {}, 'openid')).access_token).toBe('access')
    const request = { clientId: 'own', developerIdToken: 'developer', edgeIdToken: 'edge', scope: 'openid' }
    expect(exchanged).toEqual([request, request])
  })

  it('never comes of a sign-in at another one', async () => {
    const { context, exchanged } = make({ logins: [{ ...login, identityUrl: 'https://other.example' }] })
    await expect(accessTokenOf(context, {}, 'openid')).rejects.toThrow(
      `you are not signed in at ${identityUrl}, only at https://other.example`,
    )
    expect(exchanged).toEqual([])
    await expect(accountOf(context)).rejects.toThrow(UsageError)
    expect(await accountOf(make().context)).toEqual([identityUrl, 'developer'])
  })

  it('needs a sign-in, and shows how to get one', async () => {
    await expect(accessTokenOf(make({ logins: [] }).context, {}, 'openid')).rejects.toMatchObject({
      message: 'an access token is needed',
      hint: expect.stringContaining('or set SELVEDGE_ACCESS_TOKEN.'),
      exitCode: 4,
    })
    const named = make({ logins: [], context: { name: 'kitchen' } }).context
    await expect(accessTokenOf(named, {}, 'openid')).rejects.toMatchObject({
      hint: expect.stringContaining('SELVEDGE_ACCESS_TOKEN is not used with the context kitchen.'),
    })
    const unused = make({ logins: [], env: { SELVEDGE_ACCESS_TOKEN: 'env' } }).context
    await expect(exchange(unused, {}, 'openid')).rejects.toMatchObject({
      message: 'you are not signed in',
      hint: 'Sign in with "selvedge login", or give --developer-token-file with --client-id.',
    })
    await expect(accountOf(unused)).rejects.toMatchObject({
      message: `you are not signed in at ${identityUrl}`,
      hint: 'Sign in with "selvedge login".',
    })
    const problem = new UsageError('damaged', 'x')
    await expect(accessTokenOf(make({ logins: [], problems: [problem] }).context, {}, '')).rejects.toBe(
      problem,
    )
  })

  it('of a developer ID token in a file needs its client, and no sign-in', async () => {
    const { context, exchanged } = make({ logins: [] })
    const developerTokenFile = file('d')
    await expect(exchange(context, { developerTokenFile }, '')).rejects.toThrow('needs --client-id')
    expect(exchanged).toEqual([])
    expect((await exchange(context, { developerTokenFile, clientId: 'c' }, '')).access_token).toBe('access')
  })

  it('is not in an empty file, nor in one that is too long', () => {
    const path = file(' \n')
    expect(() => readTokenFile(path)).toThrow(`${path} is empty, and should contain a token`)
    expect(readTokenFile(file('x'.repeat(65_536)))).toHaveLength(65_536)
    expect(() => readTokenFile(file('x'.repeat(65_537)))).toThrow('more than 65536 bytes')
  })
})

it('no secret is an argument: the options name files', () => {
  expect(accessTokenOptions.map(({ flags }) => flags)).toEqual([
    '--token-file <file>',
    '--developer-token-file <file>',
    '--client-id <id>',
  ])
  for (const { description } of accessTokenOptions) expect(description).toMatch(/token|exchange/)
})

describe('a lease', () => {
  const stored = (more: Partial<StoredLease> = {}): StoredLease => ({
    ...{ identityUrl, clientId: 'own', nodeId: 'n', lease: 'old', issuedAt: 1000, expiresAt: 9000 },
    key: { kty: 'EC' } as StoredLease['key'],
    ...more,
  })
  const offered = { lease_scope: 'openid edge:mcm', lease: 'new', lease_expires_in: 500 }

  it('is requested with a key of its own where the project has leases', async () => {
    const { context, exchanged, written } = make({ answer: offered })
    await accessTokenOf(context, {}, 'openid')
    expect(exchanged[1]).toMatchObject({ clientId: 'own', scope: 'openid edge:mcm', key: expect.anything() })
    expect(written).toEqual([
      {
        ...{ identityUrl, clientId: 'own', nodeId: 'n', lease: 'new', issuedAt: 1000, expiresAt: 1500 },
        key: expect.objectContaining({ kty: 'EC', d: expect.any(String) }),
      },
    ])
  })

  it('is not requested where the project has no leases, nor while the stored one is young', async () => {
    const none = make()
    await accessTokenOf(none.context, {}, 'openid')
    expect(none.exchanged).toHaveLength(1)
    const key = await (await createProofKey()).export()
    const requests = async (more: Partial<StoredLease>) => {
      const { context, exchanged, written } = make({ answer: offered, lease: stored({ key, ...more }) })
      await accessTokenOf(context, {}, 'openid')
      return [exchanged.length, written.map((each) => each.key)]
    }
    expect(await requests({ issuedAt: 1000 - 6 * 3600 + 1 })).toEqual([1, []])
    // The same key, so that the one before stays valid.
    expect(await requests({ issuedAt: 1000 - 6 * 3600 })).toEqual([2, [key]])
    expect(await requests({ expiresAt: 1000 })).toEqual([2, [key]])
    expect(await requests({ expiresAt: 1001 })).toEqual([1, []])
  })

  it('that is not given, or cannot be stored, does not fail the command', async () => {
    const { context, written } = make({ answer: { lease_scope: 'openid' } })
    expect(await accessTokenOf(context, {}, 'openid')).toBe('access')
    expect(written).toEqual([])
    const broken = make({ answer: offered })
    Object.assign(broken.context.leases, {
      write() {
        throw new Error('the disk is full')
      },
    })
    expect(await accessTokenOf(broken.context, {}, 'openid')).toBe('access')
    expect(broken.notes).toEqual(['no lease for work without the network: the disk is full'])
  })

  it('gives a local token where the identity service is away', async () => {
    const key = await (await createProofKey()).export()
    const away = new ConnectionFailure('not_running', 'nothing answers')
    const { context, notes, used, sent } = make({ answer: away, lease: stored({ key }) })
    expect(await accessTokenOf(context, {}, 'openid')).toBe('local')
    expect(sent).toEqual(['http://127.0.0.1:8083/token', true, expect.stringContaining('assertion=old')])
    expect(used).toEqual([['local', expect.anything(), 'http:']])
    expect(notes).toEqual([expect.stringMatching(/lease until 1970-01-01T02:30:00.000Z$/)])
  })

  it('serves no one where the identity service refused, or where no lease is stored', async () => {
    const key = await (await createProofKey()).export()
    const refusal = new OAuthFailure('invalid_grant', 'revoked', 400)
    const refused = make({ answer: refusal, lease: stored({ key }) })
    await expect(accessTokenOf(refused.context, {}, 'openid')).rejects.toBe(refusal)
    expect(refused.sent).toEqual([])
    const away = new ConnectionFailure('not_running', 'nothing answers')
    const without = make({ answer: away })
    await expect(accessTokenOf(without.context, {}, 'openid')).rejects.toBe(away)
    const options = { developerTokenFile: file('d'), clientId: 'other' }
    const other = make({ answer: away, lease: stored({ key }) })
    await expect(accessTokenOf(other.context, options, 'openid')).rejects.toBe(away)
    expect(other.sent).toEqual([])
  })
})
