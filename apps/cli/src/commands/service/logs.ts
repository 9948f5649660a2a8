import { spawn } from 'node:child_process'
import { linesOf } from '@selvedge/protocol/lines'
import { onOneLine } from '@selvedge/protocol/redaction'
import { command } from '../../command.ts'
import { findTool, serviceArgument } from '../../context/systemd.ts'
import { UsageError } from '../../failure.ts'

export const serviceLogs = command({
  path: ['service', 'logs'],
  summary: 'Print the log of an installed service, from the journal of systemd.',
  args: [serviceArgument],
  options: [
    { flags: '--lines <count>', description: 'newest lines to begin with; default 50' },
    { flags: '--follow', description: 'print new lines until interrupted' },
  ],
  run: async ({ terminal }, { args: [name = 'selvedge'], options: { lines = '50', follow } }) => {
    if (!/^\d{1,6}$/.test(String(lines)))
      throw new UsageError(`--lines is ${JSON.stringify(lines)}`, 'Give a number, such as --lines 100.')
    const args = ['--no-pager', '--output=cat', `--unit=${name}.service`, `--lines=${lines}`]
    const journal = spawn(findTool('journalctl'), follow ? [...args, '--follow'] : args, {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let errors = ''
    journal.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      if (errors.length < 1000) errors += chunk
    })
    const ended = new Promise<number | null>((resolve, reject) => {
      journal.on('error', reject)
      journal.on('close', resolve)
    })
    let isEmpty = true
    for await (const line of linesOf(journal.stdout, { maxLine: 65_536, longer: 'split', ends: 'any' })) {
      terminal.out(onOneLine(line))
      isEmpty = false
    }
    const code = await ended
    if (code !== 0 && code !== null) throw new Error(`journalctl failed: ${errors.trim()}`)
    if (isEmpty)
      terminal.note(
        `the journal has no line of ${name}.service. "selvedge service status" shows whether it is installed; only root and the group systemd-journal read it.`,
      )
    return undefined
  },
})
