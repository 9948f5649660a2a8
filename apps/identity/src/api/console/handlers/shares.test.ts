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

it('groups and shares are of the account, and each change is recorded', async () => {
  const calls: unknown[][] = []
  const note =
    (name: string, answer: unknown) =>
    async (...given: unknown[]) => {
      calls.push([name, ...given])
      return answer
    }
  const recorded: object[] = []
  const handlers = shareHandlers({
    nodes: {
      find: async (id: string) =>
        id === 'n' ? { accountId: 'a', services: [at('p-1', 'van')] } : { accountId: 'b' },
    },
    shares: {
      add: note('share', { service: 'van', with: 'drivers', until: 'then' }),
      list: note('shares', []),
      remove: note('unshare', undefined),
    },
    groups: {
      ...{
        list: note('list', ['g']),
        create: note('create', { groupId: 'g' }),
        remove: note('remove', 'drivers'),
      },
      ...{ add: note('add', 'drivers'), removePerson: note('leave', 'drivers') },
    },
    audit: { record: async (entry: object) => void recorded.push(entry) },
  } as never)
  const [actor, context] = [person as never, { address: '192.0.2.1' }]
  const until = '2027-01-01T00:00:00Z'
  await handlers['share.add']({ nodeId: 'n', service: 'van', with: 'drivers', until }, actor, context)
  expect(await handlers['share.remove']({ shareId: 's' }, actor, context)).toEqual({ done: true })
  expect(await handlers['share.list']({ nodeId: null }, actor, context)).toEqual([])
  await handlers['share.list']({ nodeId: 'n' }, actor, context)
  const foreign = handlers['share.list']({ nodeId: 'x' }, actor, context)
  await expect(foreign).rejects.toMatchObject({ reason: 'not_found' })
  expect(await handlers['group.list']({}, actor, context)).toEqual(['g'])
  expect(await handlers['group.create']({ name: 'drivers' }, actor, context)).toEqual({ groupId: 'g' })
  const who = { groupId: 'g', person: 'cy@example.com' }
  expect(await handlers['group.add_person'](who, actor, context)).toEqual({ done: true })
  expect(await handlers['group.remove_person']({ groupId: 'g', personId: 'cy' }, actor, context)).toEqual({
    done: true,
  })
  expect(await handlers['group.delete']({ groupId: 'g' }, actor, context)).toEqual({ done: true })
  const share = { service: 'van', clientId: 'p-1', nodeId: 'n', with: 'drivers', until: Date.parse(until) }
  expect(calls).toEqual([
    ['share', { ...share, accountId: 'a', madeBy: 'ada' }],
    ['unshare', 'a', 's'],
    ['shares', 'a', undefined],
    ['shares', 'a', 'n'],
    ['list', 'a'],
    ['create', 'a', 'drivers'],
    ['add', 'a', 'g', 'cy@example.com'],
    ['leave', 'a', 'g', 'cy'],
    ['remove', 'a', 'g'],
  ])
  const entry = { accountId: 'a', actor: 'ada@example.com', address: '192.0.2.1', outcome: 'ok' }
  expect(recorded).toEqual(
    [
      ['share.add', 'n', 'van with drivers until then'],
      ['share.remove', 's', ''],
      ['group.create', 'g', 'drivers'],
      ['group.add_person', 'g', 'cy@example.com to drivers'],
      ['group.remove_person', 'g', 'cy from drivers'],
      ['group.delete', 'g', 'drivers'],
    ].map(([action, subject, detail]) => ({ ...entry, action, subject, detail })),
  )
})
