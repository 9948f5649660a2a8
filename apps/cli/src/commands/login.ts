import { command } from '../command.ts'
import { readBearer } from '../context/person.ts'
import { signIn, signInOptions } from '../login/sign-in.ts'
import { formatJsonLine } from '../output/json.ts'

export const login = command({
  path: ['login'],
  summary:
    'Sign in with a browser on any device. Later commands then need no token. With --json, first one line with the code, then one with the result.',
  options: signInOptions,
  examples: ['selvedge login', 'selvedge login --identity-url https://id.example.com'],
  run: async (context, { options }) => {
    const made = await signIn(context, options)
    const { identityUrl, clientId, scope } = made
    const { email = null, accountId = null } = readBearer(made.idToken) ?? {}
    const result = { identityUrl, clientId, scope, email, accountId }
    if (!options.json) return result
    context.terminal.out(formatJsonLine(result))
    return undefined
  },
  human: (result) =>
    `signed in at ${result?.identityUrl}${result?.email ? ` as ${result.email}` : ''}; to make a device yours: selvedge up`,
})
