/** Issuers and companies at the command line, as an operator adds, tests and removes them. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cliEnvOf, jsonOf } from '../../harness/cli.ts'
import { runCliHere as runCli } from '../../harness/cli-here.ts'
import { type CompanyOidcProvider, startCompanyOidcProvider } from '../../harness/company-oidc-provider.ts'
import { githubClaims, type OidcIssuer, startOidcIssuer } from '../../harness/oidc-issuer.ts'
import { type Stack, startStack, temporaryFolder } from '../../harness/processes.ts'

let stack: Stack
let folder: Awaited<ReturnType<typeof temporaryFolder>>

const run = (...args: string[]) => runCli(args, cliEnvOf(stack), folder.path)
const json = (...args: string[]) => jsonOf(run(...args, '--json'))

beforeAll(async () => {
  stack = await startStack()
  folder = await temporaryFolder()
  await json('admin', 'account', 'create', '--email', 'dev@example.com')
})
afterAll(async () => {
  await stack?.stop()
  await folder?.remove()
})

describe('admin company', () => {
  let provider: CompanyOidcProvider
  beforeAll(async () => {
    provider = await startCompanyOidcProvider()
  })
  afterAll(() => provider?.stop())

  const add = (...more: string[]) =>
    run('admin', 'company', 'add', 'corp.example', '--issuer', provider.url, '--allow-private', ...more)

  it('adds a company with the secret of a file, and shows the redirect URI, but no secret', async () => {
    writeFileSync(join(folder.path, 'secret.txt'), `${provider.clientSecret}\n`)
    const roles = ['--role', 'groups=engineers:member', '--role', 'groups=urn:corp:chief-*:owner']
    const client = ['--client-id', provider.clientId, '--client-secret-file', 'secret.txt']
    const { code, out } = await add(...client, ...roles, '--email', 'dev@example.com')
    expect(code).toBe(0)
    expect(out).toContain('role     groups=urn:corp:chief-*: owner')
    expect(out).toContain('/sign-in/corp.example/callback')
    const [company] = await json('admin', 'company', 'list')
    expect(company).toMatchObject({ domain: 'corp.example', clientAuth: 'client_secret', people: 0 })
    expect(JSON.stringify(company) + out).not.toContain(provider.clientSecret)
    provider.register(company.redirectUri)
  })

  it('tests the provider, with an exit code for scripts', async () => {
    expect(await run('admin', 'company', 'test', 'corp.example')).toMatchObject({
      code: 0,
      out: expect.stringMatching(/\nready\n$/),
    })
    await provider.stop()
    expect(await run('admin', 'company', 'test', 'corp.example')).toMatchObject({
      code: 1,
      out: expect.stringMatching(/\nnot ready\n$/),
    })
  })

  it('removes the company', async () => {
    expect((await run('admin', 'company', 'remove', 'corp.example')).code).toBe(0)
    expect((await run('admin', 'company', 'list')).out).toMatch(/^no company signs in here/)
  })

  it.each([
    [['--role', 'groups:member'], /--role "groups:member" is not a rule: it has no "="/],
    [['--role', 'groups=x:admin'], /does not end with ":owner" or ":member"/],
    [['--client-secret-file', 'secret.txt', '--private-key-jwt'], /exclude each other/],
    [['--email', 'nobody@example.com'], /nobody@example\.com/],
  ])('refuses %j', async (more, message) => {
    const { code, out, errors } = await add('--client-id', 'x', ...more)
    expect({ out, isRefused: code !== 0 }).toEqual({ out: '', isRefused: true })
    expect(errors).toMatch(message)
  })
})

describe('admin issuer', () => {
  let issuer: OidcIssuer
  let clientId: string
  beforeAll(async () => {
    issuer = await startOidcIssuer()
    clientId = (await json('admin', 'project', 'create', '--name', 'demo')).clientId
    const rule = ['--project', clientId, '--when', `sub=${githubClaims.sub}`, '--as', 'person']
    await json('admin', 'issuer', 'add', issuer.url, ...rule, '--allow-private')
  })
  afterAll(() => issuer?.stop())

  const subject = ['--subject', githubClaims.sub]
  const emails = async () => {
    const [rule] = await json('admin', 'issuer', 'list', '--project', clientId)
    return rule.subjects.map(({ email }: { email: string | null }) => email)
  }

  it('links a subject to a person of the account, and ends the link', async () => {
    await json('admin', 'issuer', 'link', issuer.url, ...subject, '--email', 'dev@example.com')
    expect(await emails()).toEqual(['dev@example.com'])
    await json('admin', 'issuer', 'unlink', issuer.url, ...subject)
    expect((await emails()).filter(Boolean)).toEqual([])
    const stranger = ['--email', 'nobody@example.com']
    expect((await run('admin', 'issuer', 'link', issuer.url, ...subject, ...stranger)).code).toBe(1)
  })

  it('revokes what was issued, and the rule stays', async () => {
    const { issuerIds } = await json('admin', 'issuer', 'revoke', issuer.url)
    expect(issuerIds).toHaveLength(1)
    const [rule] = await json('admin', 'issuer', 'list')
    expect(rule).toMatchObject({ issuerId: issuerIds[0], revokedAt: expect.any(String) })
    expect((await run('admin', 'issuer', 'list', '--project', clientId)).out).toContain(
      'revoked  what was issued',
    )
  })

  it.each([
    ['--when', 'sub', /--when "sub" is not a condition: it has no "="/],
    ['--scopes', 'openid root', /--scopes does not know "root"/],
    ['--algorithms', 'HS256', /--algorithms does not know "HS256"/],
    ['--as', 'admin', /--as is "admin"/],
  ])('refuses %s %s', async (option, value, message) => {
    const right = { '--project': clientId, '--when': 'sub=x', '--as': 'workload', [option]: value }
    const { code, errors } = await run('admin', 'issuer', 'add', issuer.url, ...Object.entries(right).flat())
    expect(code).toBe(2)
    expect(errors).toMatch(message)
  })
})
