import { commands } from './commands/index.ts'
import { indented } from './output/clean.ts'
import { createTerminal } from './output/terminal.ts'
import { runCli } from './program.ts'

const terminal = createTerminal(process)

// A failure outside of a command, such as in a callback: Node would print its text as it is.
const fail = (cause: unknown): never => {
  terminal.note(`error: ${indented(cause instanceof Error ? cause.message : String(cause))}`)
  return process.exit(1)
}
process.on('uncaughtException', fail)
process.on('unhandledRejection', fail)

void runCli(process.argv.slice(2), commands, terminal).then((code) => {
  process.exitCode = code
})
