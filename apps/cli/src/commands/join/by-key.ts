/** Joins an account by a join key, on a device that runs. */
import { fingerprintOf, joinKeyPattern } from '@selvedge/protocol/tokens'
import type { Context } from '../../context/context.ts'
import { readInputFile } from '../../context/input-file.ts'
import { UsageError } from '../../failure.ts'

/** Bytes of the largest file that is read. */
const maxBytes = 1024

/** @param path of the file with the key; `-` for standard input @throws UsageError, RpcFailure */
export async function joinByKey({ runtime }: Pick<Context, 'runtime'>, path: string) {
  const hint = 'Give the path of a file that contains only the join key.'
  const joinKey = readInputFile(path, maxBytes, hint).trim()
  if (!joinKeyPattern.test(joinKey))
    throw new UsageError(`${path === '-' ? 'standard input' : path} has no join key`, hint)
  const { accountId, state } = await runtime.joinAccount({ joinKey })
  const { nodeId, name } = await runtime.getMe()
  return { accountId, state, nodeId, name, fingerprint: fingerprintOf(nodeId) }
}

type Joined = Awaited<ReturnType<typeof joinByKey>>

export function describeJoin({ accountId, state, name, fingerprint }: Joined): string {
  if (state === 'joined') return `${name} belongs to the account ${accountId}`
  if (state === 'waiting')
    return `${name} waits until an owner approves it\nfingerprint  ${fingerprint}\nas an owner: selvedge join approve ${fingerprint}`
  return `${name} joins as soon as the identity service answers: selvedge status`
}
