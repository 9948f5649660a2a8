/** Debian's oidc-agent signs a person in to a program on a computer, and gets access tokens for other programs from then on. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { identityPaths } from '@selvedge/protocol'
import { parseJws } from '@selvedge/protocol/tokens'
import { freePort } from '@selvedge/service-kit/testing'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { decide } from '../../harness/app.ts'
import { type ConsoleSession, enterByLink, projectWith } from '../../harness/console.ts'
import { needs } from '../../harness/installed.ts'
import { type Stack, startStack, temporaryFolder } from '../../harness/processes.ts'

describe('oidc-agent', needs('oidc-agent'), () => {
  let stack: Stack
  let person: ConsoleSession
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  let agent: ChildProcess | undefined
  let env: Record<string, string>
  let redirectUri: string
  let clientId: string
  let personId: string

  beforeAll(async () => {
    stack = await startStack()
    person = await enterByLink(stack.identity.url, stack.identity.ready.setup!, 'ada@example.com')
    personId = (await person.api['session.get']()).viewer!.personId
    // It accepts this form only.
    redirectUri = `http://localhost:${await freePort()}/`
    const project = projectWith({ appType: 'native', redirectUris: [redirectUri] })
    clientId = (await person.api['project.create'](project)).clientId
    folder = await temporaryFolder()
    env = {
      PATH: process.env.PATH!,
      HOME: folder.path,
      OIDC_CONFIG_DIR: join(folder.path, 'accounts'),
      OIDC_SOCK: join(folder.path, 'agent.sock'),
      OIDC_ENCRYPTION_PW: 'a-password-of-this-test',
    }
    mkdirSync(env.OIDC_CONFIG_DIR!)
    await startAgent()
  })
  afterAll(async () => {
    await stopAgent()
    await stack?.stop()
    await folder?.remove()
  })

  async function startAgent() {
    const socket = env.OIDC_SOCK!
    rmSync(socket, { force: true })
    const args = ['--console', '--no-scheme', '--no-autoreauthenticate', `--socket-path=${socket}`]
    agent = spawn('oidc-agent', args, { env, stdio: 'ignore' })
    const isReady = () => promisify(execFile)('oidc-add', ['--loaded'], { env })
    await vi.waitFor(isReady, { timeout: 120_000, interval: 50 })
  }
  async function stopAgent() {
    if (!agent || agent.exitCode !== null) return
    agent.kill('SIGTERM')
    await once(agent, 'exit')
  }

  const run = async (program: string, ...args: string[]) =>
    (await promisify(execFile)(program, args, { env })).stdout.trim()
  /** @returns an access token, and the claims of it */
  const freshToken = async () => {
    const token = await run('oidc-token', '--force-new', 'van')
    const { sub, jti, client_id } = parseJws(token).payload
    return { token, sub, jti, client_id }
  }

  it('finds the endpoints, and signs a person in with authorization code and PKCE', async () => {
    const account = [`--issuer=${stack.identity.url}`, `--client-id=${clientId}`, '--client-secret=']
    const request = [`--redirect-uri=${redirectUri}`, '--scope=openid offline_access', '--flow=code']
    const unattended = ['--no-url-call', '--no-scheme', '--pw-env', '--confirm-default', '--prompt=none']
    const args = ['van', ...account, ...request, ...unattended]
    const program = spawn('oidc-gen', args, { env, stdio: ['ignore', 'ignore', 'pipe'] })
    const ended = once(program, 'exit')
    let said = ''
    for await (const line of createInterface({ input: program.stderr })) {
      said += `${line}\n`
      if (!line.includes(`${identityPaths.authorize}?`)) continue
      const request = new URL(line)
      expect(request.searchParams.get('code_challenge_method')).toBe('S256')
      const answer = await decide(person, request.search.slice(1))
      expect((await fetch(answer)).status).toBe(200)
    }
    expect((await ended)[0], said).toBe(0)
  })

  it('has fresh access tokens for other programs, also after it was started again', async () => {
    const first = await freshToken()
    expect(first).toMatchObject({ sub: personId, client_id: clientId })
    const info = await fetch(stack.identity.url + identityPaths.userinfo, {
      headers: { Authorization: `Bearer ${first.token}` },
    })
    expect(await info.json()).toMatchObject({ sub: personId, email: 'ada@example.com' })

    const second = await freshToken()
    expect(second.jti).not.toBe(first.jti)
    await stopAgent()
    await startAgent()
    await run('oidc-add', '--pw-env', 'van')
    const third = await freshToken()
    expect([first.jti, second.jti]).not.toContain(third.jti)
  })

  it('gets no access token when the person revoked the sign-in', async () => {
    const [{ sid } = { sid: '' }] = await person.api['sign_in.list']()
    await person.api['sign_in.revoke']({ sid })
    await expect(freshToken()).rejects.toThrow('invalid_grant')
  })
})
