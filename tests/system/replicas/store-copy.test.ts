/** An installation moves from one machine's SQLite to PostgreSQL, with everything that was given out before. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type PostgresServer, startPostgres } from '@selvedge/service-kit/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runCli } from '../../harness/cli.ts'
import { enterByLink } from '../../harness/console.ts'
import { accessToken, adminOf, createDeveloper, runtimeOf } from '../../harness/flow.ts'
import { needs } from '../../harness/installed.ts'
import { startProgram, startStack } from '../../harness/processes.ts'

describe('selvedge admin store copy', needs('postgres'), () => {
  let postgres: PostgresServer
  beforeAll(async () => {
    postgres = await startPostgres()
  })
  afterAll(() => postgres.stop())

  it('moves an installation: tokens, sessions and devices of before are good after', async () => {
    const stack = await startStack()
    const session = await enterByLink(stack.identity.url, stack.identity.ready.setup!, 'ada@example.com')
    const developer = await createDeveloper(stack.state)
    const token = await accessToken(stack, developer)
    await runtimeOf(stack).associateAccount({ edgeAccessToken: token })
    await adminOf(stack.state)['keys.rotate']()
    await stack.identity.stop()

    const from = `sqlite:${join(stack.state, 'identity', 'identity.db')}`
    const to = await postgres.createDatabase()
    const env = { PATH: process.env.PATH ?? '', SELVEDGE_STATE: stack.state }
    const copied = await runCli(['admin', 'store', 'copy', '--from', from, '--to', to, '--json'], env)
    expect(copied.errors).toBe('')
    expect(JSON.parse(copied.out)).toMatchObject({
      tables: { accounts: 2, signing_keys: 3, nodes: 1, sessions: 1 },
    })
    const again = await runCli(['admin', 'store', 'copy', '--from', from, '--to', to], env)
    expect(again.code).not.toBe(0)
    expect(again.errors).toContain('the store to fill is not empty')

    const moved = await startProgram('identity', {
      SELVEDGE_STATE: stack.state,
      SELVEDGE_IDENTITY_PORT: new URL(stack.identity.url).port,
      SELVEDGE_IDENTITY_STORE: to,
      SELVEDGE_IDENTITY_KEYS: readFileSync(join(stack.state, 'identity', 'secret-keys'), 'utf8'),
    })
    expect((await session.api['session.get']()).viewer?.email).toBe('ada@example.com')
    await accessToken(stack, developer)
    await runtimeOf(stack).getImages({ edgeAccessToken: token })
    expect(await adminOf(stack.state)['node.list']()).toMatchObject([{ accountId: developer.accountId }])
    await moved.stop()
    await stack.stop()
  })
})
