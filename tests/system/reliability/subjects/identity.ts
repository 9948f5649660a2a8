/** An identity service that makes accounts, projects and tokens and revokes them, and what of it was acknowledged. */
import { createIdentityClient } from '@selvedge/client'
import { adminOf, runtimeOf } from '../../../harness/flow.ts'
import { type Program, type Stack, startProgram } from '../../../harness/processes.ts'
import { atOnce } from './at-once.ts'
import { attempt, type OwnedSubject, type Step } from './subject.ts'

interface Token {
  readonly clientId: string
  readonly jti: string
  readonly idToken: string
}

/** Milliseconds for which an edge ID token is used: far less than it lasts. */
const edgeTokenMs = 30_000

/** @param env of the daemon, which is started again with it on the port that it had */
export async function identitySubject(
  stack: Stack,
  env: Readonly<Record<string, string>>,
): Promise<OwnedSubject> {
  const { port } = new URL(stack.identity.url)
  let program: Program = stack.identity
  const admin = adminOf(stack.state)
  const identity = createIdentityClient({ url: stack.identity.url, fetch: atOnce(fetch) })
  let edge = { token: '', until: 0 }
  async function edgeIdToken(): Promise<string> {
    if (performance.now() > edge.until) {
      const { id_token: token } = await runtimeOf(stack).getEdgeIdToken()
      edge = { token, until: performance.now() + edgeTokenMs }
    }
    return edge.token
  }
  const email = 'subject@example.com'
  await admin['account.create']({ email })
  const emails = [email]
  /** Each of the newest account at its time: an account has a limit of projects. */
  const projects: { readonly clientId: string; readonly email: string }[] = []
  /** Good ones, and those whose end was acknowledged. */
  let good: Token[] = []
  const revoked: Token[] = []
  let last = 0

  const exchange = async ({ clientId, idToken: developerIdToken }: Token) => {
    const asked = { clientId, developerIdToken, edgeIdToken: await edgeIdToken(), scope: 'openid edge:mcm' }
    return identity.exchange(asked).catch((cause: unknown) => {
      edge.until = 0
      throw cause
    })
  }

  async function createAccount(): Promise<void> {
    const next = `subject${++last}@example.com`
    await admin['account.create']({ email: next })
    emails.push(next)
  }
  async function createProject(): Promise<void> {
    const of = emails.at(-1)!
    const project = { name: `subject ${++last}`, email: of, scopes: null, resources: null }
    projects.push({ email: of, clientId: (await admin['project.create'](project)).clientId })
  }
  async function createToken(): Promise<void> {
    const project = projects.at(-1)!
    const token = await admin['token.developer.create']({ ...project, days: null })
    good.push({ clientId: project.clientId, ...token })
  }
  async function revoke(token: Token): Promise<void> {
    // Its end may be stored though it was not acknowledged.
    good = good.filter((each) => each !== token)
    await admin['token.developer.revoke']({ jti: token.jti })
    revoked.push(token)
  }

  return {
    async work() {
      const steps: Step[] = [
        await attempt('an account', createAccount),
        await attempt('a project', createProject),
      ]
      if (projects.length > 0) steps.push(await attempt('a developer token', createToken))
      if (good.length > 0) steps.push(await attempt('an exchange', () => exchange(good.at(-1)!)))
      if (good.length > 1) steps.push(await attempt('a revocation', () => revoke(good[0]!)))
      return steps
    },
    isRunning: () => program.process.exitCode === null && program.process.signalCode === null,
    async restart() {
      await program.stop('SIGKILL')
      program = await startProgram('identity', { ...env, SELVEDGE_IDENTITY_PORT: port })
    },
    async missing() {
      const failures: string[] = []
      const accounts = new Set((await admin['account.list']()).map((each) => each.email))
      const found = new Set((await admin['project.list']()).map((each) => each.clientId))
      const tokens = new Map((await admin['token.developer.list']()).map((each) => [each.jti, each]))
      failures.push(
        ...emails.filter((each) => !accounts.has(each)).map((each) => `the account ${each} is gone`),
      )
      failures.push(
        ...projects
          .filter(({ clientId }) => !found.has(clientId))
          .map(({ clientId }) => `the project ${clientId} is gone`),
      )
      for (const { jti } of good)
        if (tokens.get(jti)?.revokedAt !== null) failures.push(`the token ${jti} is gone`)
      for (const { jti } of revoked)
        if (!tokens.get(jti)?.revokedAt) failures.push(`the end of the token ${jti} is gone`)
      const [used, ended] = [good.at(-1), revoked.at(-1)]
      if (used)
        await exchange(used).catch((cause) =>
          failures.push(`the token ${used.jti} is refused: ${cause.message}`),
        )
      if (ended)
        await exchange(ended).then(
          () => failures.push(`the token ${ended.jti} was revoked and is accepted`),
          () => undefined,
        )
      return failures
    },
    errors: () => program.errors(),
    pid: () => program.process.pid!,
    stop: () => program.stop(),
  }
}
