import { command, type Input } from '../command.ts'
import { accessTokenOf } from '../context/access-token.ts'
import type { Context } from '../context/context.ts'
import { consoleUrlOf } from '../context/page-url.ts'
import { describeFailure, exitCodes } from '../failure.ts'
import { clientIdOf, signIn, signInOptions } from '../login/sign-in.ts'
import { formatJsonLine } from '../output/json.ts'
import { describeJoin, joinByKey } from './join/by-key.ts'

export const up = command({
  path: ['up'],
  summary:
    'Make this device yours: sign in, unless you are signed in already, and associate the device with your account. With --json, first one line with the code, if you have to sign in.',
  options: [
    ...signInOptions,
    {
      flags: '--join-key-file <file>',
      description: 'join by the join key in this file, without a sign-in; - for standard input',
    },
  ],
  examples: [
    'selvedge up',
    'selvedge up --client-id demo-4f2a   # for services of that project',
    'selvedge up --skip-browser          # without a desktop: the code and the page are printed',
    'selvedge up --join-key-file key     # without a person: by a join key of the account',
  ],
  run: async (context, { options }) => {
    if (typeof options.joinKeyFile === 'string') return joinByKey(context, options.joinKeyFile)
    const edgeAccessToken = await tokenOf(context, options)
    const { accountId } = await context.runtime.associateAccount({ edgeAccessToken })
    const { nodeId, name } = await context.runtime.getMe()
    const url = new URL(`devices/${nodeId}`, await consoleUrlOf(context)).href
    const result = { accountId, nodeId, name, url }
    if (!options.json) return result
    context.terminal.out(formatJsonLine(result))
    return undefined
  },
  human: (result) => {
    if (result === undefined || 'url' in result)
      return `${result?.name} belongs to your account: ${result?.url}`
    return describeJoin(result)
  },
})

/** A token of the sign-in; without one that is still accepted, and of the project that was named, the person signs in. */
async function tokenOf(context: Context, options: Input['options']): Promise<string> {
  const clientId = clientIdOf(options)
  if (clientId !== undefined) {
    const { url } = await context.identity()
    if (context.signIns.read(url)?.clientId !== clientId) await signIn(context, options)
  }
  const exchange = () => accessTokenOf(context, {}, 'openid edge:account:associate')
  try {
    return await exchange()
  } catch (cause) {
    if (describeFailure(cause).code !== exitCodes.notAuthorised) throw cause
    await signIn(context, options)
    return exchange()
  }
}
