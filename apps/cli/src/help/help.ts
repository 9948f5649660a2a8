/** The help of the program, of its groups and of its commands, made from the table of commands. */
import { containerSettings } from '@selvedge/protocol'
import type { CommandDeclaration } from '../command.ts'
import { sections } from './overview.ts'
import { sharedOptions } from './shared-options.ts'

interface Commands {
  readonly commands: readonly CommandDeclaration[]
  /** Summaries by the words of the group. */
  readonly groups: Readonly<Record<string, string>>
}

/** Columns of a line. */
const width = 80

/** @param path words of a command or a group; empty for the program */
export function helpOf(path: readonly string[], { commands, groups }: Commands): string {
  if (path.length === 0) return overview(commands)
  const key = path.join(' ')
  const below = commands.filter((each) => isBelow(each.path, path))
  const found = commands.find((each) => each.path.join(' ') === key)
  return found ? commandHelp(found, below) : groupHelp(path, groups[key] ?? '', below, groups)
}

const isBelow = (path: readonly string[], of: readonly string[]): boolean =>
  path.length > of.length && of.every((word, at) => path[at] === word)

/** @returns the help of a word that is no command; undefined for other words */
export function helpTopic(word: string): string | undefined {
  if (word === 'options') return optionsHelp()
  return word === 'settings' ? settingsHelp() : undefined
}

const optionsHelp = (): string => `Options of all commands, before or after the words of the command:

${list(sharedOptions.map(({ flags, description }) => [flags, description]))}

Exit codes: 0 done, 1 failed, 2 called wrongly, 3 not running, 4 not authorised.`

const settingsHelp = (): string => `Settings of a service, for --env <name>=<value> and for its env:

${Object.entries(containerSettings)
  .map(([name, { description, expected }]) => {
    const text = `${description.replaceAll('`', '')} Expected: ${expected}.`
    return `  ${name}\n      ${wrap(text, 6)}`
  })
  .join('\n')}`

function overview(commands: readonly CommandDeclaration[]): string {
  const known = new Set(commands.map(({ path }) => path[0]!))
  const parts = sections.map(({ title, words }) => {
    const rows = Object.entries(words).filter(([word]) => known.has(word))
    return rows.length === 0 ? [] : [`${title}:\n${list(rows, 14)}`]
  })
  return `Usage: selvedge <command> [options]

The command line of the Selvedge edge runtime.

${parts.flat().join('\n\n')}

Examples:
  selvedge up                          make this device yours
  selvedge init worker hello           create a small project in TypeScript
  selvedge dev hello                   deploy it, and again at each save
  selvedge curl hello                  call it

selvedge help <command>   what a command does, its options, and examples
selvedge help options     options of all commands: --json, --context, --url, …
selvedge help settings    settings of a service for --env, such as MCM.ACCESS
selvedge --version        the version of this program`
}

function groupHelp(
  path: readonly string[],
  summary: string,
  below: readonly CommandDeclaration[],
  groups: Commands['groups'],
): string {
  const key = path.join(' ')
  return `Usage: selvedge ${key} <command> [options]

${wrap(summary, 0)}

Commands:
${list(rowsBelow(path, below, groups))}

selvedge help ${key} <command>   what a command does, its options, and examples`
}

/** The commands of a group; a group in it is one row. */
function rowsBelow(
  path: readonly string[],
  below: readonly CommandDeclaration[],
  groups: Commands['groups'],
): (readonly [string, string])[] {
  const rows = below.map((each): readonly [string, string] => {
    const inner = each.path.slice(0, path.length + 1)
    if (inner.length < each.path.length) return [inner.at(-1)!, groups[inner.join(' ')] ?? '']
    return [[inner.at(-1)!, ...argumentsOf(each)].join(' '), firstSentence(each.summary)]
  })
  return [...new Map(rows)]
}

function commandHelp(of: CommandDeclaration, below: readonly CommandDeclaration[]): string {
  const { path, summary, args = [], options = [], notes = [], examples = [] } = of
  const required = options.filter((each) => each.required).map(({ flags }) => flags)
  const usage = ['selvedge', ...path, ...argumentsOf(of), ...required, '[options]'].join(' ')
  const parts = [
    `Usage: ${usage}`,
    wrap(summary, 0),
    args.length > 0 && `Arguments:\n${list(args.map((each) => [each.name, describeArgument(each)]))}`,
    options.length > 0 && `Options:\n${list(options.map((each) => [each.flags, each.description]))}`,
    below.length > 0 && `Commands:\n${list(rowsBelow(path, below, {}))}`,
    examples.length > 0 && `Examples:\n${examples.map((each) => `  ${each}`).join('\n')}`,
    notes.length > 0 && notes.join('\n'),
    'selvedge help options   options of all commands: --json, --context, --url, …',
  ]
  return parts.filter((each) => typeof each === 'string').join('\n\n')
}

const argumentsOf = ({ args = [] }: CommandDeclaration): string[] => args.map(({ name }) => name)

const describeArgument = ({
  description,
  choices,
}: NonNullable<CommandDeclaration['args']>[number]): string =>
  choices ? `${description}: ${choices.join(', ')}` : description

/** Of a summary: lists show no more. */
const firstSentence = (summary: string): string =>
  summary
    .replace(/^Short for "[^"]*"\. /, '')
    .split(/(?<=\.) /, 1)[0]!
    .replace(/\.$/, '')

/** Two columns. @param least columns of the first one */
function list(rows: readonly (readonly [string, string])[], least = 0): string {
  const first = Math.min(Math.max(least, ...rows.map(([name]) => name.length + 2)), 32)
  return rows
    .map(([name, text]) => {
      const indent = 2 + first
      const isLong = name.length + 2 > first
      const head = isLong ? `  ${name}\n${' '.repeat(indent)}` : `  ${name.padEnd(first)}`
      return `${head}${wrap(text, indent)}`.trimEnd()
    })
    .join('\n')
}

/** Breaks a text into lines; all but the first one are indented. */
function wrap(text: string, indent: number): string {
  const lines = ['']
  for (const word of text.split(' ')) {
    const line = lines.at(-1)!
    if (line !== '' && indent + line.length + 1 + word.length > width) lines.push(word)
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`
  }
  return lines.join(`\n${' '.repeat(indent)}`)
}
