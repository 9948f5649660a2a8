import { joinLimits } from '@selvedge/protocol/tokens'
import { command, type Input } from '../../command.ts'
import { accountOf } from '../../context/account.ts'
import { UsageError } from '../../failure.ts'
import { formatHuman } from '../../output/human.ts'
import { readUntil } from '../share/until.ts'

const id = { name: '<id>', description: 'ID of the join key' }

const textOf = (options: Input['options'], name: string): string =>
  typeof options[name] === 'string' ? options[name] : ''

/** @returns the tags of a list such as `team=kiosk,lab`; key and value are joined by a colon everywhere else */
const readTags = (text: string): string[] =>
  text
    .split(',')
    .map((each) => each.trim().replace('=', ':'))
    .filter((each) => each !== '')

function readUses(text: string): number {
  const uses = /^\d{1,6}$/.test(text) ? Number(text) : 0
  if (uses >= 1 && uses <= joinLimits.uses) return uses
  throw new UsageError(
    `--uses ${JSON.stringify(text)} is no number of devices`,
    `Give a whole number from 1 to ${joinLimits.uses}.`,
  )
}

export const joinKeyCreate = command({
  path: ['join-key', 'create'],
  summary: 'Make a join key, by which new devices join your account by themselves. It is shown once.',
  options: [
    { flags: '--uses <count>', description: 'how many devices may join by it', required: true },
    { flags: '--expires <time>', description: 'duration (12h, 30d), date, or time', required: true },
    { flags: '--name <template>', description: 'name of the devices, with {serial} and {nodeId}' },
    { flags: '--tags <tags>', description: 'tags of the devices: team=kiosk,lab' },
    { flags: '--approve', description: 'each device waits until an owner approves it' },
    { flags: '--project <id>', description: 'project that the key ends with' },
    { flags: '--title <text>', description: 'for the list of join keys' },
  ],
  examples: ["selvedge join-key create --uses 500 --expires 30d --tags team=kiosk --name 'kiosk-{serial}'"],
  run: async (context, { options }) => {
    const until = readUntil(textOf(options, 'expires'), context.now() * 1000, {
      option: '--expires',
      days: joinLimits.days,
    })
    const uses = readUses(textOf(options, 'uses'))
    const { key, joinKey } = await (await accountOf(context))['join_key.create']({
      ...{ uses, until, approve: options.approve === true, title: textOf(options, 'title') },
      ...{ name: textOf(options, 'name'), tags: readTags(textOf(options, 'tags')) },
      project: textOf(options, 'project') || null,
    })
    return { key, ...joinKey }
  },
  human: ({ key, keyId, uses, expiresAt }) =>
    [
      key,
      `for ${uses} devices until ${expiresAt}; it is not shown again`,
      'on a device: write it to /etc/selvedge/join-key with mode 0600 before the first start, or set SELVEDGE_JOIN_KEY',
      `to end it: selvedge join-key revoke ${keyId}`,
    ].join('\n'),
})

export const joinKeyList = command({
  path: ['join-key', 'list'],
  summary: 'List the join keys of your account.',
  run: async (context) => (await accountOf(context))['join_key.list'](),
  human: (keys) =>
    keys.length === 0
      ? 'the account has no join keys'
      : formatHuman(
          keys.map(
            ({ keyId, title, name, tags, uses, used, waiting, approve, madeBy, expiresAt, ending }) => ({
              ...(title !== '' && { title }),
              ...{ uses: `${used} of ${uses}`, ...(approve && { waiting }), name, tags },
              ...{
                'made by': madeBy,
                expires: expiresAt,
                ended: ending?.replace('_', ' ') ?? 'no',
                id: keyId,
              },
            }),
          ),
        ),
})

export const joinKeyRevoke = command({
  path: ['join-key', 'revoke'],
  summary: 'Revoke a join key at once. Devices that joined by it stay, unless they are blocked, too.',
  args: [id],
  options: [{ flags: '--devices', description: 'block all devices that joined by it' }],
  run: async (context, { args: [keyId = ''], options }) =>
    (await accountOf(context))['join_key.revoke']({ keyId, devices: options.devices === true }),
  human: ({ blocked, toBlock }) =>
    [
      'the join key was revoked',
      ...(blocked > 0 ? [`${blocked} devices were blocked`] : []),
      ...(toBlock > 0 ? [`${toBlock} more will be blocked within minutes`] : []),
    ].join('\n'),
})
