/** One-time sign-in links, as people and the operator use them. */
import { identityPaths } from '@selvedge/protocol'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ConsoleSession, enterByLink, openConsole, reasonOf } from '../harness/console.ts'
import { adminOf } from '../harness/flow.ts'
import { freePorts, type Program, startProgram, temporaryFolder } from '../harness/processes.ts'
import { createProgramClock, type ProgramClock } from '../harness/program-clock.ts'

const password = 'three quiet herons at dusk'
let clock: ProgramClock
let folder: Awaited<ReturnType<typeof temporaryFolder>>
let identity: Program
beforeAll(async () => {
  folder = await temporaryFolder()
  clock = await createProgramClock()
})
afterAll(async () => {
  await identity.stop()
  await folder.remove()
  await clock.remove()
})

const start = async () => {
  identity = await startProgram('identity', { SELVEDGE_STATE: folder.path, ...freePorts, ...clock.env })
  return identity.ready.setup
}
const enter = (link: string, email: string) => enterByLink(identity.url, link, email)
const secretOf = (link: string) => link.slice(link.indexOf('#') + 1)

describe('the link for the first owner', () => {
  it('is replaced at each start, and works only while no person can sign in', async () => {
    const first = (await start())!
    await identity.stop()
    const second = (await start())!
    expect(second.split('#')[1]).not.toBe(first.split('#')[1])
    expect(await reasonOf(enter(`#${secretOf(first)}`, 'ada@example.com'))).toBe('credentials_invalid')
    const ada = await enter(second, 'ada@example.com')
    // Nobody can sign in yet: the next start prints a link for Ada, and for nobody else.
    await identity.stop()
    const third = (await start())!
    const look = await openConsole(identity.url).api['link.look']({ link: secretOf(third) })
    expect(look).toMatchObject({ purpose: 'setup', email: 'ada@example.com' })
    const again = openConsole(identity.url, { Cookie: ada.cookie() }, ada.key)
    await again.api['password.set']({ password })
    expect(await reasonOf(enter(third, 'ada@example.com'))).toBe('credentials_invalid')
    expect(await reasonOf(enter(third, 'eve@example.com'))).toBe('credentials_invalid')
    await identity.stop()
    expect(await start()).toBeUndefined()
  })
})

const signIn = async (email = 'ada@example.com'): Promise<ConsoleSession> => {
  const session = openConsole(identity.url)
  await session.api['sign_in.password']({ email, password })
  return session
}
const authTime = async (session: ConsoleSession) => (await session.api['session.get']()).viewer!.authTime

describe('a person who is signed in', () => {
  it('refreshes the time of the sign-in with no link', async () => {
    const ada = await signIn()
    const before = await authTime(ada)
    const cookie = ada.cookie()
    await clock.pass(1000)
    const { link } = await ada.api['member.invite']({ role: 'member' })
    await ada.api['link.use']({ link: secretOf(link), email: 'ada@example.com' })
    expect(await authTime(ada)).toBe(before)
    const reset = await adminOf(folder.path)['account.link']({ email: 'ada@example.com' })
    expect(
      await reasonOf(ada.api['link.use']({ link: secretOf(reset.link), email: 'ada@example.com' })),
    ).toBe('conflict')
    expect(await authTime(ada)).toBe(before)
    expect(ada.cookie()).toBe(cookie)
    // Signed out, the link works.
    expect(await reasonOf(enter(reset.link, 'ada@example.com'))).toBe('accepted')
  })

  it('sees the invitations of the account with their maker, and revokes them', async () => {
    const ada = await signIn()
    const { link } = await ada.api['member.invite']({ role: 'owner' })
    const [invitation] = await ada.api['invitation.list']()
    expect(invitation).toMatchObject({ role: 'owner', madeBy: 'ada@example.com' })
    await ada.api['invitation.revoke']({ linkId: invitation!.linkId })
    expect(await reasonOf(enter(link, 'eve@example.com'))).toBe('credentials_invalid')
    const actions = (await ada.api['audit.list']({ before: null })).map(({ action }) => action)
    expect(actions).toContain('invitation.revoke')
  })
})

it('the operator sees every link that can be used, and revokes one', async () => {
  const admin = adminOf(folder.path)
  const { link } = await admin['account.link']({ email: 'ada@example.com' })
  const [listed] = await admin['link.list']()
  expect(listed).toMatchObject({ purpose: 'reset', email: 'ada@example.com', madeBy: 'the operator' })
  expect(JSON.stringify(listed)).not.toContain(secretOf(link))
  await admin['link.revoke']({ linkId: listed!.linkId })
  expect(await reasonOf(enter(link, 'ada@example.com'))).toBe('credentials_invalid')
})

it('an older link of the operator ends when its person sets a new password', async () => {
  const { link } = await adminOf(folder.path)['account.link']({ email: 'ada@example.com' })
  const ada = await signIn()
  await ada.api['password.set']({ password })
  expect(await reasonOf(enter(link, 'ada@example.com'))).toBe('credentials_invalid')
})

describe('what belongs to a person who leaves', () => {
  async function openEvents(session: ConsoleSession) {
    const answer = await session.get(identityPaths.consoleEvents)
    expect(answer.status).toBe(200)
    let isOpen = true
    const ended = (async () => {
      for await (const _ of answer.body!);
      isOpen = false
    })()
    return { ended, isOpen: () => isOpen }
  }

  it('ends at once: live events of a member who is removed, and of a session that is signed out', async () => {
    const ada = await signIn()
    const { link } = await ada.api['member.invite']({ role: 'owner' })
    const bob = await enter(link, 'bob@example.com')
    await bob.api['password.set']({ password })
    const second = await signIn('bob@example.com')
    const [own, other, adas] = [await openEvents(bob), await openEvents(second), await openEvents(ada)]
    await second.api['session.end']()
    await other.ended
    expect(own.isOpen()).toBe(true)
    const invitation = await bob.api['member.invite']({ role: 'owner' })
    const { personId } = (await ada.api['member.list']()).find(({ email }) => email === 'bob@example.com')!
    await ada.api['member.remove']({ personId })
    await own.ended
    expect(adas.isOpen()).toBe(true)
    // An invitation that Bob made before is worth nothing.
    expect(await reasonOf(enter(invitation.link, 'bobs-friend@example.com'))).toBe('credentials_invalid')
    expect(await reasonOf(signIn('bob@example.com'))).toBe('credentials_invalid')
    await identity.stop()
    await adas.ended.catch(() => undefined)
    await start()
  })
})
