/** What the test of the shown commands fills in, and which commands end differently on a device that has only the packages. */

/** What a reader puts in place of a word. */
export const placeholders: Readonly<Record<string, string>> = {
  '<client-id>': '$CLIENT_ID',
  '"$CLIENT_ID"': '$CLIENT_ID',
  'demo-4f2a': '$CLIENT_ID',
  '<url>': 'https://kitchen.example:8083',
  '<archive>': 'counter.tar',
  '<file>': 'written.json',
  '<address>': 'you@example.com',
  '<address here>': 'you@example.com',
  '<issuer>': 'https://login.example',
  '<domain>': 'example.com',
  VALUE: 'hello',
  NAME: 'hello',
}

/** What a reader does before: commands that make something new, and those for the folder of a project. */
export const preparations: readonly (readonly [command: RegExp, preparation: string])[] = [
  [/^selvedge init /, 'rm -rf hello /tmp/hello'],
  [/^selvedge dev \/tmp\/hello/, 'cp -r hello /tmp'],
  [/^selvedge \w+ \.$/, 'cd hello'],
  [/--out ~\/developer-token/, 'rm developer-token'],
  [/^selvedge context add kitchen/, 'selvedge context remove kitchen'],
]

interface Exception {
  readonly command: RegExp
  readonly why: string
}

/** Commands that run until they are interrupted: what they print in the first seconds counts. */
export const lasting =
  /^selvedge (?:up .*--client-id|login\b|dev\b|watch\b|gps follow|service logs|logs .*--follow)/

/** Commands that are not run. */
export const elsewhere: readonly Exception[] = [
  { command: /^selvedge simulate/, why: 'loads the machine for a minute; developer-day.test.ts runs it' },
  { command: /^selvedge (?:upgrade|service)\b/, why: 'of a tarball: service.test.ts, release.test.ts' },
  {
    command: /^selvedge device prepare-image/,
    why: 'removes the identity of the device: copied-state.test.ts',
  },
  { command: /^selvedge account unassociate/, why: 'removes the account of the device' },
  { command: /^selvedge image deploy \w[\w.-]*\//, why: 'needs a registry' },
]

/** Commands that are refused here, in words for people, with another exit code than 0. */
export const refused: readonly Exception[] = [
  { command: /^selvedge (?:share|group|join|join-key|logout)\b/, why: 'needs a sign-in in a browser' },
  { command: /--join-key-file/, why: 'needs a key of an owner: join-keys.test.ts' },
  { command: /^selvedge login --identity-url|--context kitchen/, why: 'needs another machine' },
  {
    command: /^selvedge deploy compose\.yaml|^selvedge (?:stop|app \w+) shop/,
    why: 'needs a container engine',
  },
  { command: /^selvedge admin company/, why: 'needs the provider of a company: company.test.ts' },
  { command: /store copy/, why: 'needs PostgreSQL: first-day.test.ts' },
  { command: /store restore/, why: 'needs a stopped service: first-day.test.ts' },
  { command: /^selvedge doctor --production/, why: 'reports what a test machine lacks' },
  { command: /^selvedge device adopt/, why: 'needs a disk of another device' },
]
