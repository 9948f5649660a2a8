/** How each command is called in the attacks on the command line: arguments that reach the point where something is sent. */
import type { CommandDeclaration } from '../../apps/cli/src/command.ts'
import { commands } from '../../apps/cli/src/commands/index.ts'

/** What stands for the arguments and the required options of a command, by its words. */
const samples: Readonly<Record<string, readonly string[]>> = {
  'gps update': ['--longitude', '1', '--latitude', '2'],
  'gps follow': ['--nmea', '{folder}/track.nmea'],
  'location share': ['others', '1km'],
  share: ['x', '--with', 'a@b.example', '--until', '1h'],
  'share remove': ['x'],
  'group create': ['x'],
  'group delete': ['x'],
  'group add': ['x', 'a@b.example'],
  'group remove': ['x', 'a@b.example'],
  'join-key create': ['--uses', '1', '--expires', '1h'],
  'join-key revoke': ['x'],
  'hmac create': ['--uri', '/x'],
  'hmac verify': ['{secret}', '--uri', '/x'],
  'image deploy': ['{folder}/image.tar'],
  'image remove': ['sha256:0'],
  'image pack': ['{folder}/function', '-o', '{folder}/packed.tar'],
  'context add': ['x', '--url', 'http://127.0.0.1:9'],
  'context use': ['default'],
  'context remove': ['x'],
  deploy: ['{folder}/function'],
  logs: ['x', '--follow'],
  curl: ['x', '/path'],
  open: ['x'],
  start: ['x'],
  stop: ['x'],
  restart: ['x'],
  redeploy: ['x'],
  'container deploy': ['--name', 'x', '--image', 'x', '--env', 'KEY={secret}'],
  'container start': ['x'],
  'container stop': ['x'],
  'container restart': ['x'],
  'container redeploy': ['x'],
  'container remove': ['x'],
  'container run': ['x'],
  'container logs': ['x', '--follow'],
  'container wait': ['x', '--timeout', '1'],
  'compose check': ['{folder}/compose.yaml'],
  'app remove': ['x'],
  'app restart': ['x'],
  'app start': ['x'],
  'app stop': ['x'],
  'app redeploy': ['x'],
  'app rollback': ['x'],
  'secret set': ['x', '--file', '{folder}/track.nmea'],
  'secret remove': ['x'],
  why: ['x'],
  'service logs': ['selvedge', '--lines', '1'],
  init: ['function', '{folder}/made'],
  dev: ['{folder}/function'],
  simulate: ['--running', '--nodes', '1', '--seconds', '1'],
  call: ['updateGps', '{secret}', '1', '2', '3', '4'],
  'admin account create': ['--email', 'a@b.example'],
  'admin account link': ['--email', 'a@b.example'],
  'admin link revoke': ['x'],
  'admin account revoke': ['--email', 'a@b.example'],
  'admin project create': ['--name', 'x'],
  'admin project offline': ['x', '--max-days', '30', '--scopes', 'openid'],
  'admin project update': ['x', '--origins', 'https://app.example'],
  'admin project disable': ['x'],
  'admin issuer add': ['https://login.example', '--project', 'x', '--when', 'sub=x', '--as', 'workload'],
  'admin company add': ['example.com', '--issuer', 'https://login.example', '--client-id', 'x'],
  'admin company test': ['example.com'],
  'admin company remove': ['example.com'],
  'admin issuer remove': ['https://login.example'],
  'admin issuer revoke': ['https://login.example'],
  'admin issuer test': ['https://login.example', '--token-file', '{folder}/track.nmea'],
  'admin issuer link': ['https://login.example', '--subject', 'x', '--email', 'a@b.example'],
  'admin issuer unlink': ['https://login.example', '--subject', 'x'],
  'admin token developer': ['--email', 'a@b.example', '--client-id', 'x'],
  'admin token revoke': ['x'],
  'admin node block': ['x'],
  'admin node unblock': ['x'],
  'support bundle': ['--with-logs'],
  'admin store backup': ['{folder}/backup'],
  'admin store note-backup': [],
  'admin store restore': ['{folder}/backup'],
  'admin store copy': ['--from', 'sqlite:{folder}/none.db', '--to', 'sqlite:{folder}/new.db'],
  completion: ['bash'],
}

export interface Call {
  readonly title: string
  readonly args: readonly string[]
  /** Runs until it is interrupted. */
  readonly lasts: boolean
}

const takes = (each: CommandDeclaration, flag: string) =>
  each.options?.some(({ flags }) => flags.startsWith(flag)) ?? false

/**
 * Every command with every option that hands it a credential. Environment variables are the caller's.
 *
 * @param files of the credentials, by option
 * @throws Error for a command whose arguments have no sample: add one
 */
export function everyCall(files: {
  folder: string
  secret: string
  tokenFile: string
  developerTokenFile: string
}): Call[] {
  return commands.flatMap((each) => {
    const name = each.path.join(' ')
    const needs =
      (each.args ?? []).some((arg) => arg.name.startsWith('<')) || each.options?.some((o) => o.required)
    if (needs && !samples[name]) throw new Error(`add a sample of the arguments of "${name}"`)
    const sample = (samples[name] ?? []).map((text) =>
      text.replace('{folder}', files.folder).replace('{secret}', files.secret),
    )
    const base = [...each.path, ...sample]
    const lasts = name === 'dev'
    const calls: Call[] = [{ title: name, args: base, lasts }]
    if (takes(each, '--token-file'))
      calls.push({ title: `${name} --token-file`, args: [...base, '--token-file', files.tokenFile], lasts })
    if (takes(each, '--developer-token-file'))
      calls.push({
        title: `${name} --developer-token-file`,
        args: [...base, '--developer-token-file', files.developerTokenFile, '--client-id', 'client'],
        lasts,
      })
    return calls
  })
}
