/** A command is a value: the program, its help and the shell completions are made from the table of them. */
import type { Context } from './context/context.ts'

export interface OptionDeclaration {
  /** As commander spells it: `--client-id <id>`. */
  readonly flags: string
  readonly description: string
  readonly required?: true
}

interface ArgumentDeclaration {
  /** As commander spells it: `<method>`, or `[params...]` for any number of them. */
  readonly name: string
  readonly description: string
  /** What it may be; left out: anything. */
  readonly choices?: readonly string[]
}

export interface Input {
  readonly args: readonly string[]
  /** Values by the camel-cased name of their option; true for one without a value, a list for one that may come again. */
  readonly options: Readonly<Record<string, string | true | readonly string[] | undefined>>
}

export interface CommandDeclaration {
  /** Words after `selvedge`. */
  readonly path: readonly string[]
  readonly summary: string
  readonly args?: readonly ArgumentDeclaration[]
  readonly options?: readonly OptionDeclaration[]
  /** Command lines that a user may type, with a comment after two spaces and `#`; printed in the help. */
  readonly examples?: readonly string[]
  /** Printed below the options in the help. */
  readonly notes?: readonly string[]
  /** Gives what `--json` prints. */
  readonly run: (context: Context, input: Input) => Promise<unknown>
  /** The result for people; left out: its members, one a line. Every text in the result is on one line, without control sequences. */
  readonly human?: (result: never) => string
  /** The result is mostly the text of others, such as a log: commands in it are shown as they are. */
  readonly isVerbatim?: true
  /** Whether the result, which is printed, is a failure: the exit code is 1 then. */
  readonly isFailure?: (result: never, input: Input) => boolean
  /**
   * `json`: the result is printed as JSON, always. `script`: it is a text made here, with nothing foreign in it. `text`: texts in
   * the result keep their lines.
   */
  readonly prints?: 'json' | 'script' | 'text'
}

/** The same command by a shorter path. */
export const alias = (path: string, of: CommandDeclaration): CommandDeclaration => ({
  ...of,
  path: path.split(' '),
  summary: `Short for "${of.path.join(' ')}". ${of.summary}`,
})

export const command = <Result>(
  declaration: Omit<CommandDeclaration, 'run' | 'human' | 'isFailure'> & {
    readonly run: (context: Context, input: Input) => Promise<Result>
    readonly human?: (result: Result) => string
    readonly isFailure?: (result: Result, input: Input) => boolean
  },
): CommandDeclaration => declaration as CommandDeclaration
