import { command } from '../../command.ts'
import { accessTokenOf, accessTokenOptions } from '../../context/access-token.ts'
import { readNumber } from '../../number-option.ts'

/** Default lifetime of a code in seconds. */
/** A century. */
const maxLifeSeconds = 3_155_760_000
const defaultLifeSeconds = 300

export const hmacCreate = command({
  path: ['hmac', 'create'],
  summary: 'Create an HMAC code for a URI of a node.',
  options: [
    { flags: '--uri <uri>', description: 'what the code is for', required: true },
    { flags: '--node <id>', description: 'node that the code is for; default this one' },
    { flags: '--expires-in <seconds>', description: `lifetime of the code; default ${defaultLifeSeconds}` },
    ...accessTokenOptions,
  ],
  run: async (context, { options }) => {
    const { expiresIn = String(defaultLifeSeconds) } = options
    const life = readNumber('--expires-in', expiresIn, { min: 1, max: maxLifeSeconds, unit: 'seconds' })
    const edgeAccessToken = await accessTokenOf(context, options, 'openid')
    const { nodeId, time } = await context.runtime.getMe()
    return context.runtime.getEdgeHmacCode({
      edgeAccessToken,
      expiry: String(Math.floor(Date.parse(time.now) / 1000) + life),
      nodeId: typeof options.node === 'string' ? options.node : nodeId,
      uri: String(options.uri),
    })
  },
  human: ({ edgeHmacCode }) => edgeHmacCode,
})
