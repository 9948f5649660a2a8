import { readOptions } from './options.ts'
import { createScreen } from './screen.ts'
import { simulate } from './simulate.ts'

const interrupted = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => interrupted.abort())

void (async () => {
  try {
    const options = readOptions(process.argv[2] ?? '{}')
    const report = await simulate(options, process.env, createScreen(process.stderr), interrupted.signal)
    process.stdout.write(`${JSON.stringify(report)}\n`, () => process.exit(0))
  } catch (cause) {
    // Services elsewhere have a say in it: no control sequences of theirs reach the terminal.
    const message = (cause as Error).message.replaceAll(/[\p{Cc}\p{Bidi_Control}]+/gu, ' ')
    process.stderr.write(`${message}\n`)
    process.exit((cause as Error).name === 'ConfigError' ? 2 : 1)
  }
})()
