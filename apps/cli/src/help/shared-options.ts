import type { OptionDeclaration } from '../command.ts'

/** Options that every command has. `selvedge help options` shows them, and the help of a command does not repeat them. */
export const sharedOptions: readonly OptionDeclaration[] = [
  { flags: '--json', description: 'print the result as one JSON value' },
  {
    flags: '-v, --verbose',
    description: 'print the calls that are made, as curl lines, on standard error',
  },
  { flags: '--context <name>', description: 'device of "selvedge context list"; "default" for no context' },
  {
    flags: '--state <folder>',
    description: 'state folder of the runtime; default $SELVEDGE_STATE or ./.selvedge',
  },
  { flags: '--url <url>', description: 'URL of the runtime; default its socket in the state folder' },
  {
    flags: '--identity-url <url>',
    description: 'URL of the identity service; default $SELVEDGE_IDENTITY_URL or that of the runtime',
  },
  {
    flags: '--discovery-url <url>',
    description: 'URL of the discovery service; default $SELVEDGE_DISCOVERY_URL or that of the runtime',
  },
]

const withValue: ReadonlySet<string> = new Set(
  sharedOptions
    .filter(({ flags }) => flags.includes('<'))
    .flatMap(({ flags }) => flags.split(' ').filter((word) => word.startsWith('--'))),
)

/** The words of a command line before `--`, without options and without the values of shared options. */
export function wordsOf(argv: readonly string[]): readonly string[] {
  const end = argv.indexOf('--')
  const given = end === -1 ? argv : argv.slice(0, end)
  return given.filter((word, at) => !word.startsWith('-') && !withValue.has(given[at - 1] ?? ''))
}

/** Whether a command line requests help: `--help` or `-h` before `--`. */
export function requestsHelp(argv: readonly string[]): boolean {
  const end = argv.indexOf('--')
  return (end === -1 ? argv : argv.slice(0, end)).some((word) => word === '--help' || word === '-h')
}
