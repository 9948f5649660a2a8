import { version } from '@selvedge/protocol'
import { Argument, Command, CommanderError } from 'commander'
import type { CommandDeclaration, Input } from './command.ts'
import { groups } from './commands/index.ts'
import { type ContextFlags, createContext } from './context/context.ts'
import { explainParams } from './explain-params.ts'
import { describeFailure, exitCodes, UsageError } from './failure.ts'
import { helpOf, helpTopic } from './help/help.ts'
import { requestsHelp, sharedOptions, wordsOf } from './help/shared-options.ts'
import { cleanResult, indented } from './output/clean.ts'
import { formatHuman } from './output/human.ts'
import { formatJson } from './output/json.ts'
import { createTyped } from './output/program-name.ts'
import type { Terminal } from './output/terminal.ts'
import { asQuestion, suggest } from './suggest.ts'

/** The program that a table of commands makes. Parsing it runs a command. @param onFailure called for a result that is a failure */
function buildProgram(
  commands: readonly CommandDeclaration[],
  terminal: Terminal,
  onFailure: () => void,
): Command {
  const program = asGroup(new Command('selvedge'), [], commands)
    .description('The command line of the Selvedge edge runtime.')
    .version(version)
    .helpCommand(false)
    .helpOption(false)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.out(text.replace(/\n$/, '')),
      writeErr: (text) => terminal.note(text.replace(/\n$/, '')),
      // Errors are thrown as well, and printed in one place.
      outputError: () => undefined,
    })
  // Before the command as well: `selvedge --json me`.
  addGlobalOptions(program)
  const byPath = new Map<string, Command>([['', program]])
  const groupOf = (path: readonly string[]): Command => {
    const key = path.join(' ')
    let group = byPath.get(key)
    if (!group) {
      group = asGroup(groupOf(path.slice(0, -1)).command(path.at(-1)!), path, commands)
      byPath.set(key, group.description(groups[key] ?? ''))
    }
    return group
  }
  for (const each of commands) {
    const made = declare(groupOf(each.path.slice(0, -1)).command(each.path.at(-1)!), each)
    // A command may have others below it: "share" and "share list".
    byPath.set(each.path.join(' '), made)
    made.action(async () => {
      const options = made.optsWithGlobals<ContextFlags & { json?: boolean }>()
      const input: Input = { args: made.args, options: options as Input['options'] }
      const result = await each.run(createContext(options, process.env, terminal), input)
      if (result !== undefined) terminal.out(format(each, result, options.json === true))
      if (each.isFailure?.(result as never, input)) onFailure()
    })
  }
  return program
}

function declare(made: Command, { summary, args = [], options = [] }: CommandDeclaration): Command {
  made.description(summary)
  for (const { name, description, choices } of args) {
    const argument = new Argument(name, description)
    made.addArgument(choices ? argument.choices(choices) : argument)
  }
  for (const { flags, description, required } of options) {
    if (required) made.requiredOption(flags, description)
    else made.option(flags, description)
  }
  return addGlobalOptions(made)
}

/** A command that only has commands below it: an unknown word is answered with what may be meant. */
const asGroup = (made: Command, path: readonly string[], commands: readonly CommandDeclaration[]): Command =>
  made
    .helpOption(false)
    .helpCommand(false)
    .on('command:*', (words: string[]) => {
      throw unknownCommand(path, words, commands)
    })

/** @param path the group, empty for the program @param words the first one is unknown */
function unknownCommand(
  path: readonly string[],
  [word = '', next = '']: readonly string[],
  commands: readonly CommandDeclaration[],
): UsageError {
  // `selvedge hello logs`: the words are the wrong way round.
  const isSwapped = commands.some((each) => each.path.join(' ') === next)
  const meant =
    isSwapped && path.length === 0 ? [`${next} ${word.slice(0, 80)}`] : suggest(path, word, commands)
  const all = ['selvedge', 'help', ...path].join(' ')
  return new UsageError(
    `unknown command ${JSON.stringify([...path, word.slice(0, 80)].join(' '))}`,
    meant.length === 0 ? `"${all}" lists the commands.` : `${asQuestion(meant)} "${all}" lists all.`,
  )
}

/** The text of a result. Foreign text in it stays on its line and loses its control sequences, whatever the command does. */
function format({ human, prints, isVerbatim }: CommandDeclaration, result: unknown, asJson: boolean): string {
  if (asJson || prints === 'json') return formatJson(result)
  if (prints === 'script') return String(result)
  const text = (human ?? formatHuman)((prints === 'text' ? result : cleanResult(result)) as never)
  return prints === 'text' || isVerbatim ? text : createTyped(process.env)(text)
}

const addGlobalOptions = (command: Command): Command =>
  sharedOptions.reduce((made, { flags, description }) => made.option(flags, description), command)

/** Runs the command line and returns the exit code. Errors go to standard error, with what to do next. */
export async function runCli(
  argv: readonly string[],
  commands: readonly CommandDeclaration[],
  terminal: Terminal,
): Promise<number> {
  let code: number = exitCodes.ok
  const typed = createTyped(process.env)
  const onFailure = () => {
    code = exitCodes.failed
  }
  try {
    const shown = readHelp(argv, commands)
    if (shown?.isRequested) terminal.out(typed(shown.text))
    else if (shown) terminal.note(typed(shown.text))
    if (shown) return shown.isRequested ? exitCodes.ok : exitCodes.usage
    await buildProgram(commands, terminal, onFailure).parseAsync([...argv], { from: 'user' })
    return code
  } catch (cause) {
    if (cause instanceof CommanderError && cause.code === 'commander.version') return exitCodes.ok
    const command = commandOf(argv, commands)
    const { code, message, hint } = {
      ...describeFailure(cause instanceof CommanderError ? asUsageError(cause, command) : cause),
      ...(command && explainParams(cause, command)),
    }
    terminal.note(
      `error: ${indented(message)}${hint === undefined ? '' : `\nhint: ${indented(typed(hint))}`}`,
    )
    return code
  }
}

/**
 * The help that a command line requests, or needs: a group without a command.
 *
 * @returns undefined for a command line that runs a command
 * @throws UsageError for a word that is no command
 */
function readHelp(
  argv: readonly string[],
  commands: readonly CommandDeclaration[],
): { readonly text: string; readonly isRequested: boolean } | undefined {
  const words = wordsOf(argv)
  // Also after a group: "selvedge admin help project".
  const helpAt = words.indexOf('help')
  const isHelpCommand =
    helpAt !== -1 &&
    !isCommandOf(words.slice(0, helpAt), commands) &&
    isKnown(words.slice(0, helpAt), commands)
  const isRequested = isHelpCommand || requestsHelp(argv)
  if (words.length === 0 && argv.some((each) => each === '-V' || each === '--version')) return undefined
  const path = isHelpCommand ? words.toSpliced(helpAt, 1) : words
  let known = path.length
  while (known > 0 && !isKnown(path.slice(0, known), commands)) known--
  const found = path.slice(0, known)
  const isCommand = isCommandOf(found, commands)
  const topic = isHelpCommand && path.length === 1 ? helpTopic(path[0]!) : undefined
  if (topic !== undefined) return { text: topic, isRequested }
  if (!isRequested && (isCommand || path.length > known)) return undefined
  if (!isCommand && path.length > known) throw unknownCommand(found, path.slice(known), commands)
  return { text: helpOf(found, { commands, groups }), isRequested }
}

const isCommandOf = (path: readonly string[], commands: readonly CommandDeclaration[]): boolean =>
  commands.some((each) => each.path.join(' ') === path.join(' '))

/** Whether words are a command or a group of commands. */
const isKnown = (path: readonly string[], commands: readonly CommandDeclaration[]): boolean =>
  commands.some((each) => path.every((word, at) => each.path[at] === word))

/** A mistake in arguments or options that commander found, with how the command is called. */
function asUsageError({ message }: CommanderError, found: CommandDeclaration | undefined): UsageError {
  const [problem = '', ...advice] = message.replace(/^error: /, '').split('\n')
  const help = found ? usageOf(found) : 'Run "selvedge --help".'
  const hints = advice.map((each) => each.replace(/^\((.*)\)$/, '$1'))
  return new UsageError(plain(problem), [...hints, help].join(' '))
}

/** The command that a command line calls: the one with the most words. */
function commandOf(
  argv: readonly string[],
  commands: readonly CommandDeclaration[],
): CommandDeclaration | undefined {
  const words = wordsOf(argv)
  const matching = commands.filter(({ path }) => path.every((word, at) => words[at] === word))
  return matching.toSorted((one, other) => other.path.length - one.path.length)[0]
}

function usageOf({ path, args = [], options = [] }: CommandDeclaration): string {
  const needed = options.filter(({ required }) => required).map(({ flags }) => flags)
  const words = [
    ...path,
    ...args.map(({ name, choices }) => (choices ? `<${choices.join('|')}>` : name)),
    ...needed,
    '[options]',
  ]
  return `Usage: selvedge ${words.join(' ')}. "selvedge help ${path.join(' ')}" explains it.`
}

const plain = (problem: string): string =>
  problem
    .replace(/^command-argument value /, '')
    .replace(/ is invalid for argument '(\w+)'\. Allowed choices are /, ' is not a valid <$1>; allowed are ')
    .replace(/^required option '(.*)' not specified$/, 'the option $1 is missing')
    .replace(
      /^too many arguments for '(\w+)'\. Expected (\d+) arguments? but got \d+: /,
      (_, name: string, count: string) =>
        `"${name}" accepts ${count === '0' ? 'no arguments' : count === '1' ? 'one argument' : `${count} arguments`}, and got: `,
    )
    .replace(/^missing required argument '(.*)'$/, '<$1> is missing')
    .replace(/\.$/, '')
