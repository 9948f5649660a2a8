import { version } from '@selvedge/protocol'
import { Argument, Command, CommanderError } from 'commander'
import type { CommandDeclaration, Input } from './command.ts'
import { groups } from './commands/index.ts'
import { type ContextFlags, createContext } from './context/context.ts'
import { describeFailure, exitCodes, UsageError } from './failure.ts'
import { cleanResult, indented } from './output/clean.ts'
import { formatHuman } from './output/human.ts'
import { formatJson } from './output/json.ts'
import type { Terminal } from './output/terminal.ts'
import { asQuestion, nextWords, suggest } from './suggest.ts'

/** The program that a table of commands makes. Parsing it runs a command. @param onFailure called for a result that is a failure */
function buildProgram(
  commands: readonly CommandDeclaration[],
  terminal: Terminal,
  onFailure: () => void,
): Command {
  const program = asGroup(new Command('selvedge'), [], commands)
    .description('The command line of the Selvedge edge runtime.')
    .version(version)
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

function declare(
  made: Command,
  { summary, args = [], options = [], notes = [] }: CommandDeclaration,
): Command {
  made.description(summary)
  for (const { name, description, choices } of args) {
    const argument = new Argument(name, description)
    made.addArgument(choices ? argument.choices(choices) : argument)
  }
  for (const { flags, description, required } of options) {
    if (required) made.requiredOption(flags, description)
    else made.option(flags, description)
  }
  if (notes.length > 0) made.addHelpText('after', `\n${notes.join('\n')}`)
  return addGlobalOptions(made)
}

/** A command that only has commands below it: an unknown word is answered with what may be meant. */
const asGroup = (made: Command, path: readonly string[], commands: readonly CommandDeclaration[]): Command =>
  made.on('command:*', ([word = '', next = '']: string[]) => {
    // `selvedge hello logs`: the words are the wrong way round.
    const isSwapped = commands.some((each) => each.path.join(' ') === next)
    const meant =
      isSwapped && path.length === 0 ? [`${next} ${word.slice(0, 80)}`] : suggest(path, word, commands)
    const all =
      path.length === 0 ? 'Run "selvedge --help".' : `There are: ${nextWords(path, commands).join(', ')}.`
    throw new UsageError(
      `unknown command ${JSON.stringify([...path, word.slice(0, 80)].join(' '))}`,
      meant.length === 0
        ? all
        : `${asQuestion(meant)}${path.length === 0 ? ' "selvedge --help" lists all.' : ` ${all}`}`,
    )
  })

/** The text of a result. Foreign text in it stays on its line and loses its control sequences, whatever the command does. */
function format({ human, prints }: CommandDeclaration, result: unknown, asJson: boolean): string {
  if (asJson || prints === 'json') return formatJson(result)
  if (prints === 'script') return String(result)
  return (human ?? formatHuman)((prints === 'text' ? result : cleanResult(result)) as never)
}

const addGlobalOptions = (command: Command): Command =>
  command
    .option('--json', 'print the result as one JSON value')
    .option('-v, --verbose', 'print the calls that are made, as curl lines, on standard error')
    .option('--context <name>', 'device of "selvedge context list"; "default" for no context')
    .option('--state <folder>', 'state folder of the runtime; default $SELVEDGE_STATE or ./.selvedge')
    .option('--url <url>', 'URL of the runtime; default its socket in the state folder')
    .option(
      '--identity-url <url>',
      'URL of the identity service; default $SELVEDGE_IDENTITY_URL or that of the runtime',
    )
    .option(
      '--discovery-url <url>',
      'URL of the discovery service; default $SELVEDGE_DISCOVERY_URL or that of the runtime',
    )

/** Runs the command line and returns the exit code. Errors go to standard error, with what to do next. */
export async function runCli(
  argv: readonly string[],
  commands: readonly CommandDeclaration[],
  terminal: Terminal,
): Promise<number> {
  let code: number = exitCodes.ok
  const onFailure = () => {
    code = exitCodes.failed
  }
  try {
    await buildProgram(commands, terminal, onFailure).parseAsync([...argv], { from: 'user' })
    return code
  } catch (cause) {
    if (cause instanceof CommanderError && isHelp(cause))
      return cause.exitCode === 0 ? exitCodes.ok : exitCodes.usage
    const { code, message, hint } = describeFailure(
      cause instanceof CommanderError ? asUsageError(cause, argv, commands) : cause,
    )
    terminal.note(`error: ${indented(message)}${hint === undefined ? '' : `\nhint: ${indented(hint)}`}`)
    return code
  }
}

/** Help and version are printed where commander throws them. */
const isHelp = ({ code }: CommanderError): boolean => /^commander\.(?:help|helpDisplayed|version)$/.test(code)

/** A mistake in arguments or options that commander found, with how the command is called. */
function asUsageError(
  { message }: CommanderError,
  argv: readonly string[],
  commands: readonly CommandDeclaration[],
): UsageError {
  const [problem = '', ...advice] = message.replace(/^error: /, '').split('\n')
  const words = argv.filter((word) => !word.startsWith('-'))
  const found = commands.find(({ path }) => path.every((word, at) => words[at] === word))
  const help = found ? usageOf(found) : 'Run "selvedge --help".'
  const hints = advice.map((each) => each.replace(/^\((.*)\)$/, '$1'))
  return new UsageError(plain(problem), [...hints, help].join(' '))
}

function usageOf({ path, args = [], options = [] }: CommandDeclaration): string {
  const needed = options.filter(({ required }) => required).map(({ flags }) => flags)
  const words = [
    ...path,
    ...args.map(({ name, choices }) => (choices ? `<${choices.join('|')}>` : name)),
    ...needed,
    '[options]',
  ]
  return `Usage: selvedge ${words.join(' ')}. Run "selvedge ${path.join(' ')} --help".`
}

const plain = (problem: string): string =>
  problem
    .replace(/^command-argument value /, '')
    .replace(/ is invalid for argument '(\w+)'\. Allowed choices are /, ' is not a valid <$1>; allowed are ')
    .replace(/^required option '(.*)' not specified$/, 'the option $1 is missing')
    .replace(/^missing required argument '(.*)'$/, '<$1> is missing')
    .replace(/\.$/, '')
