import { commands } from './commands/index.ts'
import { runCli } from './program.ts'

process.exitCode = await runCli(process.argv.slice(2), commands, {
  out: (text) => process.stdout.write(text),
  error: (text) => process.stderr.write(text),
})
