import { commands } from './commands/index.ts'
import { runCli } from './program.ts'

const streams = {
  out: (text: string) => process.stdout.write(text),
  error: (text: string) => process.stderr.write(text),
}

void runCli(process.argv.slice(2), commands, streams).then((code) => {
  process.exitCode = code
})
