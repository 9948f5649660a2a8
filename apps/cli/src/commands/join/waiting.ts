import type { BulkResult } from '@selvedge/protocol/console'
import { maxBulkDevices } from '@selvedge/protocol/console'
import { command, type Input } from '../../command.ts'
import { accountOf } from '../../context/account.ts'
import type { Context } from '../../context/context.ts'
import { UsageError } from '../../failure.ts'
import { formatHuman } from '../../output/human.ts'

const devices = {
  name: '[devices...]',
  description: 'node IDs, or the fingerprints that the devices show',
}
const options = [{ flags: '--all', description: 'all devices that wait' }]

export const joinWaiting = command({
  path: ['join', 'waiting'],
  summary: 'List the devices that wait until you approve them. Compare the fingerprint with the device.',
  run: async (context) => (await accountOf(context))['join.waiting'](),
  human: (waiting) =>
    waiting.length === 0
      ? 'no device waits'
      : formatHuman(
          waiting.map(({ fingerprint, name, serial, version, address, since, keyId, keyTitle }) => ({
            fingerprint,
            'states its name': name,
            'states its serial number': serial || 'none',
            ...{ version, address, since, key: keyTitle || keyId },
          })),
        ),
})

/** Node IDs of devices that wait, in parts that one call accepts. @throws UsageError for one that does not wait */
async function chosen(context: Context, { args, options: given }: Input): Promise<string[][]> {
  const waiting = await (await accountOf(context))['join.waiting']()
  if ((given.all === true) === args.length > 0)
    throw new UsageError('name devices, or give --all', 'See "selvedge join waiting".')
  const ids =
    given.all === true
      ? waiting.map(({ nodeId }) => nodeId)
      : args.map((wanted) => {
          const found = waiting.find(({ nodeId, fingerprint }) => wanted === nodeId || wanted === fingerprint)
          if (found) return found.nodeId
          throw new UsageError(`no device ${JSON.stringify(wanted)} waits`, 'See "selvedge join waiting".')
        })
  const unique = [...new Set(ids)]
  return Array.from({ length: Math.ceil(unique.length / maxBulkDevices) }, (_, at) =>
    unique.slice(at * maxBulkDevices, (at + 1) * maxBulkDevices),
  )
}

async function decide(
  context: Context,
  input: Input,
  method: 'join.approve' | 'join.refuse',
): Promise<BulkResult> {
  const account = await accountOf(context)
  const results: BulkResult[] = []
  for (const nodeIds of await chosen(context, input)) results.push(await account[method]({ nodeIds }))
  return {
    done: results.flatMap(({ done }) => done),
    failed: results.flatMap(({ failed }) => failed),
  }
}

const describeResult =
  (verb: string) =>
  ({ done, failed }: BulkResult): string =>
    [
      `${done.length} ${done.length === 1 ? 'device was' : 'devices were'} ${verb}`,
      ...failed.map(({ nodeId, message }) => `${nodeId}: ${message}`),
    ].join('\n')

export const joinApprove = command({
  path: ['join', 'approve'],
  summary: 'Approve devices that wait. Each joins your account when it next connects.',
  args: [devices],
  options,
  run: (context, input) => decide(context, input, 'join.approve'),
  human: describeResult('approved'),
  isFailure: ({ failed }) => failed.length > 0,
})

export const joinRefuse = command({
  path: ['join', 'refuse'],
  summary: 'Refuse devices that wait. A refused device cannot join by the same key again.',
  args: [devices],
  options,
  run: (context, input) => decide(context, input, 'join.refuse'),
  human: describeResult('refused'),
  isFailure: ({ failed }) => failed.length > 0,
})
