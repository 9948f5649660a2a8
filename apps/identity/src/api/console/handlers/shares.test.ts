/** Which service of a device a share is of, by the ID or the name that an owner gives. */
import { cliClientId } from '@selvedge/protocol'
import { expect, it } from 'vitest'
import { shareHandlers } from './shares.ts'

const at = (clientId: string, name: string) => ({ id: `${clientId}-${name}`, name })
const person = { person: { personId: 'ada', email: 'ada@example.com' }, membership: { accountId: 'a' } }

/** What is shared of a device that has stated these services. */
async function share(services: readonly { id: string; name: string }[], service: string): Promise<unknown> {
  const handlers = shareHandlers({
    nodes: { find: async () => ({ accountId: 'a', services }) },
    shares: { add: async ({ clientId, service }: Record<string, string>) => ({ clientId, service }) },
    groups: {},
    audit: { record: async () => undefined },
  } as never)
  const asked = { nodeId: 'n', service, with: 'drivers', until: '2027-01-01T00:00:00Z' }
  return handlers['share.add'](asked, person as never, { address: '' })
}

it('is of the project that has it, also if the command line deployed one of the same name', async () => {
  const services = [at(cliClientId, 'van'), at('p-1', 'van')]
  expect(await share(services, 'van')).toEqual({ clientId: 'p-1', service: 'van' })
  await expect(share([at(cliClientId, 'van')], 'van')).rejects.toMatchObject({ reason: 'conflict' })
})

it('is named by its ID if two projects have one of the same name', async () => {
  const services = [at('p-1', 'van'), at('p-2', 'van')]
  await expect(share(services, 'van')).rejects.toThrow(/several projects/)
  expect(await share(services, 'p-2-van')).toEqual({ clientId: 'p-2', service: 'van' })
})

it('is refused if the device has not stated it, also with an ID that is not of its name', async () => {
  await expect(share([], 'van')).rejects.toMatchObject({ reason: 'not_found' })
  await expect(share([{ id: 'p-1-van', name: 'crane' }], 'crane')).rejects.toMatchObject({
    reason: 'not_found',
  })
})
