/** Manual pages (section 1) of the commands, from the table that the command line is made of. */
import type { CommandDeclaration } from '../../apps/cli/src/command.ts'
import { commands } from '../../apps/cli/src/commands/index.ts'
import type { Release } from '../release.ts'

interface Page {
  readonly summary: string
  readonly description: string
  /** Commands of the page, and how many of their words the name of the page replaces. */
  readonly commands: readonly CommandDeclaration[]
  readonly implied: number
}

const pages: Readonly<Record<string, Page>> = {
  selvedge: {
    summary: 'command line of the Selvedge edge runtime',
    description:
      'The runtime of the package listens on /run/selvedge/runtime.sock. Root and members of the group selvedge reach it there; another runtime is named with --context, --state or --url.',
    commands,
    implied: 0,
  },
  'selvedge-admin': {
    summary: "operator's commands of the Selvedge identity service",
    description:
      'The commands call the identity service over its socket in /var/lib/selvedge-identity, and need root for it.',
    commands: commands.filter(({ path }) => path[0] === 'admin'),
    implied: 1,
  },
}

/** @throws Error for a command without a page */
export function manualOf(name: string, { version, epochSeconds }: Release): string {
  const page = pages[name]
  if (!page) throw new Error(`packaging/deb/manual.ts has no page for ${name}`)
  const date = new Date(epochSeconds * 1000).toISOString().slice(0, 10)
  return [
    `.TH ${name.toUpperCase()} 1 ${date} "Selvedge ${version}" "Selvedge"`,
    '.SH NAME',
    `${troff(name)} \\- ${troff(page.summary)}`,
    '.SH SYNOPSIS',
    `.B ${troff(name)}`,
    '.I command',
    '[\\fIoption\\fR ...]',
    '.SH DESCRIPTION',
    troff(page.description),
    '.SH COMMANDS',
    ...page.commands.map((each) => describeCommand(each, page.implied)),
    '.SH "SEE ALSO"',
    `\\fB${troff(name)} \\-\\-help\\fR lists the options of each command.`,
    '',
  ].join('\n')
}

const describeCommand = ({ path, args = [], summary, options = [] }: CommandDeclaration, implied: number) =>
  [
    '.TP',
    `\\fB${troff(path.slice(implied).join(' '))}\\fR ${troff(args.map(({ name }) => name).join(' '))}`.trim(),
    troff(summary),
    ...options.flatMap(({ flags, description }) => ['.br', `${troff(flags)}: ${troff(description)}`]),
  ].join('\n')

/** Text that troff shows as it is: no escape, no request at the start of a line. */
const troff = (text: string): string =>
  text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replace(/^([.'])/gm, '\\&$1')
