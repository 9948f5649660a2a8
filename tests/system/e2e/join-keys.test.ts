/** Join keys from the command line of an owner, with real programs. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { cliEnvOf, jsonOf } from '../../harness/cli.ts'
import { runCliHere as runCli } from '../../harness/cli-here.ts'
import { signInToCli } from '../../harness/cli-sign-in.ts'
import { type ConsoleSession, enterByLink } from '../../harness/console.ts'
import { createNodeKey } from '../../harness/device.ts'
import { adminOf, createProject } from '../../harness/flow.ts'
import { joinAs } from '../../harness/node-contact.ts'
import { type Services, startServices } from '../../harness/services.ts'

let services: Services
let owner: ConsoleSession
const run = (...args: string[]) => runCli(args, cliEnvOf(services.stack))
const json = (...args: string[]) => jsonOf(run(...args, '--json'))
beforeAll(async () => {
  services = await startServices()
  const { stack, developer } = services
  const { clientId } = await createProject(stack.state, developer.email, {
    scopes: ['openid', 'edge:mcm', 'offline_access'],
  })
  const { link } = await adminOf(stack.state)['account.link']({ email: developer.email })
  owner = await enterByLink(stack.identity.url, link, developer.email)
  await signInToCli(stack, clientId, owner)
})
afterAll(() => services?.stop())

it('an owner makes a key, sees what it was used for, and revokes it with its devices', async () => {
  const { key, keyId, tags } = await json(
    ...['join-key', 'create', '--uses', '2', '--expires', '30d', '--tags', 'team=kiosk,lab', '--name', 'k'],
  )
  expect(tags).toEqual(['team:kiosk', 'lab'])
  const node = createNodeKey()
  const { url } = services.stack.identity
  expect((await joinAs(node, url, { key })).join).toBe('joined')
  const listed = await run('join-key', 'list')
  expect(listed.out).toContain('1 of 2')
  expect(listed.out).not.toContain(key)
  const revoked = await run('join-key', 'revoke', keyId, '--devices')
  expect(revoked.out).toMatch(/the join key was revoked\n1 devices were blocked/)
  await expect(joinAs(node, url, { key })).rejects.toThrow('blocked')
})

it('an owner approves one device by its fingerprint, and refuses all others', async () => {
  const { key } = await json('join-key', 'create', '--uses', '9', '--expires', '1h', '--approve')
  const [first, second] = [createNodeKey(), createNodeKey()]
  const { url } = services.stack.identity
  for (const node of [first, second]) await joinAs(node, url, { key, serial: 'SN' })
  const waiting = (await json('join', 'waiting')) as { nodeId: string; fingerprint: string }[]
  const { fingerprint } = waiting.find(({ nodeId }) => nodeId === first.nodeId)!
  expect((await run('join', 'approve', fingerprint)).out).toContain('1 device was approved')
  expect((await json('join', 'refuse', '--all')).done).toEqual([second.nodeId])
  expect((await joinAs(first, url, { key })).join).toBe('joined')
  await expect(joinAs(second, url, { key })).rejects.toThrow('an owner refused this device')
  expect((await run('join', 'approve', 'ffff')).code).not.toBe(0)
  expect((await run('join', 'approve')).code).not.toBe(0)
})

it('a mistake in an option is explained before anything is sent', async () => {
  for (const options of [
    ['--uses', '0', '--expires', '1h'],
    ['--uses', '1e3', '--expires', '1h'],
    ['--uses', '1', '--expires', '367d'],
  ]) {
    const { code, errors } = await run('join-key', 'create', ...options)
    expect([code, errors]).toEqual([2, expect.stringContaining(options[0 + (options[1] === '1' ? 2 : 0)]!)])
  }
})
