import { maxSecretBytes } from '@selvedge/protocol'
import { command } from '../../command.ts'
import { accessTokenOf, accessTokenOptions } from '../../context/access-token.ts'
import { readInputBytes } from '../../context/input-file.ts'
import { ofClient } from '../../context/service-access.ts'

/** A value as the runtime gets it: base64 has the same size whatever the bytes are. */
const encode = (bytes: Buffer) => ({ value: bytes.toString('base64'), encoding: 'base64' as const })

const newline = 0x0a

/** Programs such as `echo` end what they write with a newline, which is not part of the value. */
const withoutNewline = (bytes: Buffer): Buffer => (bytes.at(-1) === newline ? bytes.subarray(0, -1) : bytes)

export const secretSet = command({
  path: ['secret', 'set'],
  summary:
    'Store a secret for services of the project, or replace its value. The value comes from a file or from standard input, where one newline at its end is removed.',
  args: [{ name: '<name>', description: 'name of the secret, as in MCM.SECRETS' }],
  options: [
    { flags: '--file <file>', description: 'file with the value; default "-", standard input' },
    ...accessTokenOptions,
  ],
  run: async (context, { args: [name = ''], options }) => {
    const path = typeof options.file === 'string' ? options.file : '-'
    const hint = 'For example: selvedge secret set db-password --file ./password'
    // One more for the newline.
    const bytes = readInputBytes(path, maxSecretBytes + 1, hint)
    const value = encode(path === '-' ? withoutNewline(bytes) : bytes)
    const edgeAccessToken = await accessTokenOf(context, options, 'openid edge:mcm')
    return ofClient(edgeAccessToken, context.runtime.setSecret({ edgeAccessToken, name, ...value }))
  },
  human: ({ name, size, containers }) =>
    containers.length === 0
      ? `${name}: ${size} bytes; no container uses it yet (MCM.SECRETS)`
      : `${name}: ${size} bytes, for ${containers.join(', ')}`,
})
