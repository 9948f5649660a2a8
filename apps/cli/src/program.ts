import { version } from '@selvedge/protocol'
import { Argument, Command, CommanderError } from 'commander'
import type { CommandDeclaration, Input } from './command.ts'
import { groups } from './commands/index.ts'
import { type ContextFlags, createContext } from './context/context.ts'
import { describeFailure, exitCodes } from './failure.ts'
import { cleanResult, indented } from './output/clean.ts'
import { formatHuman } from './output/human.ts'
import { formatJson } from './output/json.ts'
import type { Terminal } from './output/terminal.ts'

/** The program that a table of commands makes. Parsing it runs a command. @param onFailure called for a result that is a failure */
function buildProgram(
  commands: readonly CommandDeclaration[],
  terminal: Terminal,
  onFailure: () => void,
): Command {
  const program = new Command('selvedge')
    .description('The command line of the Selvedge edge runtime.')
    .version(version)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.out(text.replace(/\n$/, '')),
      writeErr: (text) => terminal.note(text.replace(/\n$/, '')),
    })
    .showHelpAfterError('hint: Run "selvedge --help".')
  const byPath = new Map<string, Command>([['', program]])
  const parentOf = (path: readonly string[]): Command => {
    const key = path.join(' ')
    let group = byPath.get(key)
    if (!group) {
      group = makeCommand(path).description(groups[key] ?? '')
      byPath.set(key, group)
    }
    return group
  }
  const makeCommand = (path: readonly string[]): Command =>
    parentOf(path.slice(0, -1))
      .command(path.at(-1)!)
      .showHelpAfterError(`hint: Run "selvedge ${path.join(' ')} --help".`)
  for (const each of commands) {
    const made = makeCommand(each.path).description(each.summary)
    byPath.set(each.path.join(' '), made)
    for (const { name, description, choices } of each.args ?? []) {
      const argument = new Argument(name, description)
      made.addArgument(choices ? argument.choices(choices) : argument)
    }
    for (const { flags, description, required } of each.options ?? []) {
      if (required) made.requiredOption(flags, description)
      else made.option(flags, description)
    }
    addGlobalOptions(made)
    made.action(async () => {
      const flags = made.opts() as ContextFlags & { json?: boolean }
      const input: Input = { args: made.args, options: made.opts() }
      const result = await each.run(createContext(flags, process.env, terminal), input)
      if (result !== undefined) terminal.out(format(each, result, flags.json === true))
      if (each.isFailure?.(result as never, input)) onFailure()
    })
  }
  return program
}

/** The text of a result. Foreign text in it stays on its line and loses its control sequences, whatever the command does. */
function format({ human, prints }: CommandDeclaration, result: unknown, asJson: boolean): string {
  if (asJson || prints === 'json') return formatJson(result)
  if (prints === 'script') return String(result)
  return (human ?? formatHuman)(cleanResult(result) as never)
}

const addGlobalOptions = (command: Command): Command =>
  command
    .option('--json', 'print the result as one JSON value')
    .option('-v, --verbose', 'print the calls that are made, as curl lines, on standard error')
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
    // Commander has printed its own errors by now; help and version are no errors.
    if (cause instanceof CommanderError) return cause.exitCode === 0 ? exitCodes.ok : exitCodes.usage
    const { code, message, hint } = describeFailure(cause)
    terminal.note(`error: ${indented(message)}${hint === undefined ? '' : `\nhint: ${indented(hint)}`}`)
    return code
  }
}
