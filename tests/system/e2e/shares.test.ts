/** Users of an app at a device, with real programs: who gets in, what the service learns, and how it ends. */
import { readUser } from '@selvedge/client/function'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cliEnvOf, jsonOf } from '../../harness/cli.ts'
import { runCliHere as runCli } from '../../harness/cli-here.ts'
import { signInToCli } from '../../harness/cli-sign-in.ts'
import { type Sharing, startSharing } from '../../harness/sharing.ts'

let world: Sharing
const run = (...args: string[]) => runCli([...args, '--json'], cliEnvOf(world.services.stack))
const json = (...args: string[]) => jsonOf(run(...args))
const shown = (user: string | null | undefined) => readUser({ 'x-selvedge-user': user ?? undefined })

beforeAll(async () => {
  world = await startSharing()
})
afterAll(() => world?.stop())

it('lets a person of the own account in, and names the person to the service', async () => {
  const { body } = await world.signIn(world.owner)
  const { status, user, account } = await world.call('van', body.access_token!)
  expect({ status, account }).toEqual({ status: 200, account: world.owner.accountId })
  expect(shown(user)).toEqual({ sub: world.owner.personId, name: world.owner.email, groups: [] })
})

it('refuses a person of another account at the sign-in, until a share exists', async () => {
  await expect(world.signIn(world.guest)).rejects.toThrow()
})

describe('from the command line', () => {
  let shareId: string
  let tokens: Record<string, string>

  it('shares a service with a person until a time', async () => {
    await signInToCli(world.services.stack, world.app.clientId, world.owner.console)
    // The device has to have stated its services.
    await expect.poll(async () => (await run('share', 'list')).code).toBe(0)
    const made = await json('share', 'van', '--with', world.guest.personId, '--until', '2h')
    expect(made).toMatchObject({ service: 'van', nodeId: world.nodeId, kind: 'person' })
    ;({ shareId } = made)
    expect(await json('share', 'list')).toEqual([made])
  })

  it('lets the person in to that service, as a person of the other account, and to no other one', async () => {
    tokens = (await world.signIn(world.guest)).body as never
    const { status, user, account } = await world.call('van', tokens.access_token!)
    expect({ status, account }).toEqual({ status: 200, account: world.guest.accountId })
    expect(shown(user)).toEqual({ sub: world.guest.personId, name: world.guest.email, groups: [] })
    expect(await world.call('crane', tokens.access_token!)).toMatchObject({
      status: 403,
      reason: 'forbidden',
    })
  })

  it('finds a person by address who has signed in to the app, and not before', async () => {
    const made = await json('share', 'crane', '--with', world.guest.email, '--until', '2h')
    expect(made.with).toBe(world.guest.email)
    await json('share', 'remove', made.shareId)
    const stranger = await run('share', 'crane', '--with', 'missing@example.com', '--until', '2h')
    expect(stranger.code).not.toBe(0)
    expect(stranger.errors).toContain('the account knows no such person')
  })

  it('ends at the device when the share is removed, also for tokens that were issued before', async () => {
    await json('share', 'remove', shareId)
    await expect
      .poll(async () => (await world.call('van', tokens.access_token!)).reason)
      .toBe('token_revoked')
    const again = await world.refresh(tokens.refresh_token!)
    expect(again.status).toBe(200)
    expect(await world.call('van', again.body.access_token!)).toMatchObject({ status: 403 })
    expect(await json('share', 'list')).toEqual([])
  })

  it('manages groups: their people get in, and the service learns their names', async () => {
    await json('group', 'create', 'drivers')
    await json('group', 'add', 'drivers', world.guest.personId)
    expect(await json('group', 'list')).toMatchObject([
      { name: 'drivers', people: [{ personId: world.guest.personId, email: world.guest.email }] },
    ])
    await json('share', 'van', '--with', 'drivers', '--until', '1d')
    const { body } = await world.signIn(world.guest)
    const { status, user } = await world.call('van', body.access_token!)
    expect({ status, groups: shown(user)?.groups }).toEqual({ status: 200, groups: ['drivers'] })
    await json('group', 'remove', 'drivers', world.guest.email.toUpperCase())
    await expect.poll(async () => (await world.call('van', body.access_token!)).reason).toBe('token_revoked')
    await json('group', 'delete', 'drivers')
    expect(await json('share', 'list', '--all')).toEqual([])
  })
})

it('continues without the cloud, by the token and the service alone', async () => {
  await world.share('van', world.guest.personId)
  const { body } = await world.signIn(world.guest)
  const own = (await world.signIn(world.owner)).body
  await world.services.stack.identity.stop('SIGKILL')
  await world.services.stack.discovery.stop('SIGKILL')
  expect(await world.call('van', body.access_token!)).toMatchObject({ status: 200 })
  expect(await world.call('van', own.access_token!)).toMatchObject({ status: 200 })
  expect(await world.call('crane', body.access_token!)).toMatchObject({ status: 403 })
  expect(await world.call('van', null)).toMatchObject({ status: 401, reason: 'token_missing' })
})
