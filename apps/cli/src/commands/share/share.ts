import { command } from '../../command.ts'
import { accountOf } from '../../context/account.ts'
import { UsageError } from '../../failure.ts'
import { formatHuman } from '../../output/human.ts'
import { readUntil } from './until.ts'

/** The options are checked here: commander would ask for them in "share list", too. */
export const share = command({
  path: ['share'],
  summary:
    'Let a person or a group call a service of this device until a time. The service needs MCM.ACCESS=users.',
  args: [{ name: '<service>', description: 'name or ID of the service' }],
  options: [
    {
      flags: '--with <person>',
      description: 'e-mail address that the account knows, ID of a person, or name of a group',
    },
    { flags: '--until <time>', description: 'duration (12h, 30d), date, or time' },
  ],
  examples: ['selvedge share hello --with ada@example.com --until 30d'],
  run: async (context, { args: [service = ''], options }) => {
    const { with: who, until } = options
    if (typeof who !== 'string' || typeof until !== 'string')
      throw new UsageError(
        'a share needs --with and --until',
        'For example: selvedge share hello --with ada@example.com --until 30d',
      )
    const time = readUntil(until, context.now() * 1000)
    const { nodeId } = await context.runtime.getMe()
    return (await accountOf(context))['share.add']({ nodeId, service, with: who, until: time })
  },
  human: ({ shareId, service, until, with: who }) =>
    `${service} is shared with ${who} until ${until}\nto end it: selvedge share remove ${shareId}`,
})

export const shareList = command({
  path: ['share', 'list'],
  summary: 'List the shared services of this device, or of all devices of the account.',
  options: [{ flags: '--all', description: 'of all devices of the account' }],
  run: async (context, { options }) => {
    const nodeId = options.all === true ? null : (await context.runtime.getMe()).nodeId
    return (await accountOf(context))['share.list']({ nodeId })
  },
  human: (shares) =>
    shares.length === 0
      ? 'nothing is shared'
      : formatHuman(
          shares.map(({ shareId, service, with: who, until, madeBy }) => ({
            ...{ service, with: who, until, 'made by': madeBy, id: shareId },
          })),
        ),
})

export const shareRemove = command({
  path: ['share', 'remove'],
  summary: 'End a share now. Tokens that were issued end with it as soon as the device has the new list.',
  args: [{ name: '<id>', description: 'ID of the share' }],
  run: async (context, { args: [shareId = ''] }) => (await accountOf(context))['share.remove']({ shareId }),
  human: () => 'the share was removed',
})
