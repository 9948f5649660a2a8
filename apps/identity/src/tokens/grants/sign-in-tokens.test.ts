/** The tokens that a sign-in gives, and the claims by which it is revoked. */
import { describe, expect, it } from 'vitest'
import type { Project } from '../../registry/projects/projects.ts'
import type { SignIn } from '../../registry/sign-ins/sign-ins.ts'
import { revocableOf, tokensOf } from './refresh-token.ts'

const ofPerson: SignIn = {
  sid: 's',
  clientId: 'c',
  accountId: 'a',
  personId: 'ada',
  email: 'ada@example.com',
  nodeId: '',
  origin: '',
  scope: 'openid edge:mcm offline_access',
  audience: 'https://identity.example',
  jkt: '',
  authTime: 5,
  epoch: undefined,
  createdAt: 1999,
  expiresAt: 0,
  lastUsedAt: 0,
  described: '',
}
const ofNode: SignIn = { ...ofPerson, personId: '', nodeId: 'n', origin: 'developer-token', epoch: 0 }

describe('a sign-in is revoked', () => {
  const common = { jti: 's', iat: 1, account_id: 'a', client_id: 'c' }

  it('of a person, by itself, its account and its client', () => {
    expect(revocableOf(ofPerson)).toStrictEqual(common)
  })

  it('of a node, with the developer ID token that it came from, and the node, by its number', () => {
    expect(revocableOf(ofNode)).toStrictEqual({ ...common, sid: 'developer-token', node_id: 'n', epoch: 0 })
  })
})

describe('the tokens of a sign-in', () => {
  const project = { clientId: 'c' } as Project
  const tokensFor = (signIn: SignIn, scope: string) => {
    const minted: object[] = []
    const issued: unknown[][] = []
    const answer = tokensOf(
      {
        issueAppId: () => 'app ID token',
        developerTokens: { issueFor: (...of: unknown[]) => issued.push(of) && 'id-token' } as never,
        mint(grounds) {
          minted.push(grounds)
          return { access_token: 't', token_type: 'Bearer', expires_in: 60, scope: grounds.scope }
        },
      },
      { project, signIn, scope, jkt: 'key', epoch: 9 },
    )
    return { answer, minted, issued }
  }
  const access = { access_token: 't', token_type: 'Bearer', expires_in: 60 }
  const grounds = {
    project,
    accountId: 'a',
    authTime: 5,
    audience: 'https://identity.example',
    sid: 's',
    epoch: 9,
    jkt: 'key',
  }

  it('of a person are for no node; for openid there is an ID token of the same life', () => {
    const { answer, minted, issued } = tokensFor(ofPerson, 'openid edge:mcm')
    expect(answer).toEqual({ ...access, scope: 'openid edge:mcm', id_token: 'id-token' })
    expect(minted).toEqual([{ ...grounds, scope: 'openid edge:mcm', nodeId: undefined }])
    expect(issued).toEqual([
      [
        { accountId: 'a', personId: 'ada', email: 'ada@example.com', authTime: 5 },
        'c',
        { lifetimeSeconds: 60, sid: 's', epoch: 9, scope: 'openid edge:mcm offline_access' },
      ],
    ])
  })

  it('of a person have no ID token without openid', () => {
    const { answer, issued } = tokensFor(ofPerson, 'edge:mcm')
    expect([answer, issued]).toEqual([{ ...access, scope: 'edge:mcm' }, []])
  })

  it('of a node are for that node, without an ID token', () => {
    const { answer, minted, issued } = tokensFor(ofNode, 'openid')
    expect([answer, issued]).toEqual([{ ...access, scope: 'openid' }, []])
    expect(minted).toEqual([{ ...grounds, scope: 'openid', nodeId: 'n' }])
  })
})
