/** What people who are signed in can make: so many, and then an error that says what to do. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type ConsoleSession, enterByLink, projectWith, startWithOwner } from '../harness/console.ts'
import type { Program } from '../harness/processes.ts'

let identity: Program
let owner: ConsoleSession
let stop: () => Promise<void>
beforeAll(async () => {
  ;({ identity, owner, stop } = await startWithOwner(
    '--limits.projects=3',
    '--limits.developerTokens=3',
    '--limits.members=3',
  ))
})
afterAll(() => stop?.())

const invite = async (email: string) =>
  enterByLink(identity.url, (await owner.api['member.invite']({ role: 'member' })).link, email)
let clientId: string

it.each<[string, (at: number) => Promise<unknown>, number, RegExp]>([
  ['projects', (at) => owner.api['project.create'](projectWith({ name: `p${at}` })), 3, /limits\.projects/],
  [
    'developer ID tokens',
    async () => {
      clientId ??= (await owner.api['project.list']())[0]!.clientId
      return owner.api['token.create']({ clientId })
    },
    3,
    /limits\.developerTokens/,
  ],
  // The owner is one of them.
  ['members', (at) => invite(`m${at}@example.com`), 2, /limits\.members/],
  ['invitations', () => owner.api['member.invite']({ role: 'member' }), 99, /[Rr]evoke/],
])('an account may have so many %s, and no more', async (_, make, most, hint) => {
  for (let at = 0; at < most; at++) await make(at)
  await expect(make(most)).rejects.toMatchObject({
    reason: 'limit_exceeded',
    hint: expect.stringMatching(hint),
  })
})
