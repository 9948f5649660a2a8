import { onOneLine } from '@selvedge/protocol/redaction'
import { writeNote } from '@selvedge/service-kit/log'
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
    // Services elsewhere have a say in it.
    writeNote(onOneLine((cause as Error).message))
    process.exit((cause as Error).name === 'ConfigError' ? 2 : 1)
  }
})()
