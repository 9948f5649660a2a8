/** Strangers who enrol nodes, since enrolment is open, and revoke what they got. */

import { afterAll, beforeAll, expect, it } from 'vitest'
import { createNodeKey } from '../harness/device.ts'
import { contactAs } from '../harness/node-contact.ts'
import { post } from '../harness/oauth.ts'
import { type Program, startProgram, temporaryFolder } from '../harness/processes.ts'
import { createProgramClock, type ProgramClock } from '../harness/program-clock.ts'

const limit = 20
let clock: ProgramClock
let folder: Awaited<ReturnType<typeof temporaryFolder>>
let identity: Program
beforeAll(async () => {
  folder = await temporaryFolder()
  clock = await createProgramClock()
  const env = { SELVEDGE_STATE: folder.path, SELVEDGE_IDENTITY_PORT: '0', ...clock.env }
  identity = await startProgram('identity', env, [`--limits.enrolment=${limit}`])
})
afterAll(async () => {
  await identity.stop()
  await folder.remove()
  await clock.remove()
})

const enrol = () => contactAs(createNodeKey(), identity.url)
const list = () => fetch(`${identity.url}/revocations`)

it('add nothing to the list that every device fetches, and no more nodes than the limit of their address', async () => {
  const before = (await list()).headers.get('etag')
  const tokens: string[] = []
  for (let at = 0; at < limit; at++) tokens.push(await enrol())
  await expect(enrol()).rejects.toMatchObject({ reason: 'temporarily_unavailable' })
  for (const token of tokens)
    for (let repeat = 0; repeat < 3; repeat++)
      expect((await post(`${identity.url}/revoke`, { token })).status).toBe(200)
  expect((await post(`${identity.url}/introspect`, { token: tokens[0]! })).body).toEqual({ active: false })
  // The list is read from the store again.
  await clock.pass(600)
  expect((await list()).headers.get('etag')).toBe(before)
})
