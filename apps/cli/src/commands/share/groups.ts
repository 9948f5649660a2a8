import type { RpcClient } from '@selvedge/client'
import type { AccountApiMethods } from '@selvedge/protocol/console'
import { command } from '../../command.ts'
import { accountOf } from '../../context/account.ts'
import { UsageError } from '../../failure.ts'
import { formatHuman } from '../../output/human.ts'

const name = { name: '<group>', description: 'name of the group' }
const person = {
  name: '<person>',
  description: 'e-mail address that the account knows, or ID of a person',
}

async function groupOf(account: RpcClient<AccountApiMethods>, wanted: string) {
  const found = (await account['group.list']()).find((each) => each.name === wanted)
  if (found) return found
  throw new UsageError(`the account has no group ${JSON.stringify(wanted)}`, 'See "selvedge group list".')
}

export const groupList = command({
  path: ['group', 'list'],
  summary: 'List the groups of people of the account.',
  run: async (context) => (await accountOf(context))['group.list'](),
  human: (groups) =>
    groups.length === 0
      ? 'the account has no groups'
      : formatHuman(
          groups.map(({ name, people }) => ({
            group: name,
            people: people.map(({ email, personId }) => email || personId),
          })),
        ),
})

export const groupCreate = command({
  path: ['group', 'create'],
  summary: 'Create a group of people, to share services with.',
  args: [{ name: '<group>', description: '1 to 32 lower-case letters, digits and . _ -' }],
  run: async (context, { args: [group = ''] }) => (await accountOf(context))['group.create']({ name: group }),
})

export const groupDelete = command({
  path: ['group', 'delete'],
  summary: 'Delete a group, with the shares that it has.',
  args: [name],
  run: async (context, { args: [group = ''] }) => {
    const account = await accountOf(context)
    return account['group.delete']({ groupId: (await groupOf(account, group)).groupId })
  },
  human: () => 'the group and its shares were removed',
})

export const groupAdd = command({
  path: ['group', 'add'],
  summary: 'Add a person to a group.',
  args: [name, person],
  run: async (context, { args: [group = '', who = ''] }) => {
    const account = await accountOf(context)
    return account['group.add_person']({ groupId: (await groupOf(account, group)).groupId, person: who })
  },
  human: () => 'added',
})

export const groupRemove = command({
  path: ['group', 'remove'],
  summary: 'Remove a person from a group.',
  args: [name, person],
  run: async (context, { args: [group = '', who = ''] }) => {
    const account = await accountOf(context)
    const { groupId, people } = await groupOf(account, group)
    const found = people.find(({ personId, email }) => who === personId || who.toLowerCase() === email)
    if (!found) throw new UsageError(`the group ${group} has no such person`, 'See "selvedge group list".')
    return account['group.remove_person']({ groupId, personId: found.personId })
  },
  human: () => 'removed',
})
