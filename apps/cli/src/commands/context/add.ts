import { resolve } from 'node:path'
import { command, type Input } from '../../command.ts'
import { type NamedContext, readContextName } from '../../context/contexts.ts'
import { readServiceUrl } from '../../context/service-url.ts'
import { UsageError } from '../../failure.ts'

export const contextAdd = command({
  path: ['context', 'add'],
  summary: 'Give a device a name: the addresses of --url, --state, --identity-url and --discovery-url.',
  args: [{ name: '<name>', description: '1 to 63 letters, digits and . _ -' }],
  options: [
    { flags: '--api-key-file <file>', description: 'file with the API key of the runtime, if it needs one' },
    { flags: '--use', description: 'also use it from now on' },
  ],
  examples: ['selvedge context add kitchen --url https://kitchen.example:8083 --use'],
  run: async ({ contexts }, { args: [name = ''], options }) => {
    const made = readContext(name, options)
    contexts.add(made)
    if (options.use) contexts.use(name)
    return { ...made, current: options.use === true }
  },
  human: ({ name, current }) =>
    current
      ? `added ${name}; commands are for it from now on`
      : `added ${name}. Use it for one command with --context ${name}, or for all: selvedge context use ${name}`,
})

/** @throws UsageError */
function readContext(name: string, options: Input['options']): NamedContext {
  if (options.context !== undefined)
    throw new UsageError(
      'a context is not made of another one',
      'Leave out --context, and name the device with --url or --state.',
    )
  const text = (key: string) => (typeof options[key] === 'string' ? options[key] : undefined)
  const [url, state, identityUrl, discoveryUrl, apiKeyFile] = [
    ...['url', 'state', 'identityUrl', 'discoveryUrl', 'apiKeyFile'].map(text),
  ]
  if (url === undefined && state === undefined)
    throw new UsageError(
      `the context ${name} needs the address of a device`,
      `For example: selvedge context add ${name} --url https://192.0.2.10:8083, or --state <folder> for a runtime on this machine`,
    )
  return {
    name: readContextName(name),
    ...(url !== undefined && { url: readServiceUrl(url, '--url') }),
    ...(state !== undefined && { state: resolve(state) }),
    ...(identityUrl !== undefined && { identityUrl: readServiceUrl(identityUrl, '--identity-url') }),
    ...(discoveryUrl !== undefined && { discoveryUrl: readServiceUrl(discoveryUrl, '--discovery-url') }),
    ...(apiKeyFile !== undefined && { apiKeyFile: resolve(apiKeyFile) }),
  }
}
