/** A job of a CI system deploys with the ID token that its CI gives it: the claims are those of GitHub Actions, the issuer is our own. */
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { cliEnvOf } from '../harness/cli.ts'
import { runCliHere } from '../harness/cli-here.ts'
import { adminOf } from '../harness/flow.ts'
import { githubClaims, type OidcIssuer, startOidcIssuer } from '../harness/oidc-issuer.ts'
import { temporaryFolder } from '../harness/processes.ts'
import { type Services, startServices } from '../harness/services.ts'

let services: Services
let folder: Awaited<ReturnType<typeof temporaryFolder>>
let issuer: OidcIssuer
let clientId: string

beforeAll(async () => {
  services = await startServices()
  folder = await temporaryFolder()
  issuer = await startOidcIssuer()
  const project = { name: 'releases', email: services.developer.email, scopes: null, resources: null }
  clientId = (await adminOf(services.stack.state)['project.create'](project)).clientId
})
afterAll(async () => {
  await issuer?.stop()
  await services?.stop()
  await folder?.remove()
})

const run = async (...args: string[]) => {
  const { code, out, errors } = await runCliHere(args, cliEnvOf(services.stack), folder.path)
  return { code, text: out + errors }
}
const done = { code: 0, text: expect.any(String) }

it('deploys a service with three commands from an empty project, and no secret is stored', async () => {
  const rule = [
    '--project',
    clientId,
    '--when',
    'repository=octo-org/octo-repo',
    '--when',
    'sub=repo:octo-org/*',
  ]
  expect(
    await run('admin', 'issuer', 'add', issuer.url, ...rule, '--as', 'workload', '--allow-private'),
  ).toEqual(done)
  // What the CI gives the job.
  const claims = { ...githubClaims, aud: clientId }
  writeFileSync(join(folder.path, 'id.jwt'), issuer.issue(claims, { header: { x5t: 'example-thumbprint' } }))
  expect(await run('init', 'function', 'hello')).toEqual(done)
  expect(await run('deploy', 'hello', '--client-id', clientId, '--developer-token-file', 'id.jwt')).toEqual({
    code: 0,
    text: expect.stringContaining(`deployed ${clientId}-hello`),
  })

  const stored = join(services.stack.state, 'config')
  expect(existsSync(stored) ? readdirSync(stored, { recursive: true }) : []).toEqual([])
  const { text } = await run('admin', 'issuer', 'list')
  expect(text).toContain(`subject  ${githubClaims.sub}`)
})

it('does not deploy for a fork, and the operator sees why', async () => {
  const claims = { ...githubClaims, aud: clientId, repository: 'fork/octo-repo' }
  writeFileSync(join(folder.path, 'fork.jwt'), issuer.issue(claims))
  const token = ['--client-id', clientId, '--developer-token-file', 'fork.jwt']
  expect(await run('deploy', 'hello', ...token)).toEqual({
    code: 4,
    text: expect.stringContaining('no rule of the project lets the ID token of'),
  })
  expect(await run('admin', 'issuer', 'test', issuer.url, '--token-file', 'fork.jwt')).toEqual({
    code: 1,
    text: expect.stringContaining(
      'claim "repository" is "fork/octo-repo"; the rule needs "octo-org/octo-repo"',
    ),
  })
  await run('admin', 'issuer', 'remove', issuer.url)
  expect(await run('admin', 'issuer', 'list')).toEqual({
    code: 0,
    text: expect.stringContaining('no project trusts another issuer'),
  })
})

it.each([
  [['--when', 'repository=*'], 'would accept every value'],
  [['--when', 'repository'], 'it has no "="'],
  [['--when', 'a=b', '--algorithms', 'HS256'], '--algorithms does not know "HS256"'],
  [['--when', 'a=b', '--scopes', 'root'], '--scopes does not know "root"'],
])('refuses a rule with %j before anything is sent', async (options, problem) => {
  const rule = ['https://issuer.example', '--project', clientId, '--as', 'workload', ...options]
  expect(await run('admin', 'issuer', 'add', ...rule)).toEqual({
    code: 2,
    text: expect.stringContaining(problem),
  })
})
