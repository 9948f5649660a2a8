import { command } from '../../command.ts'
import { runTool, serviceArgument } from '../../context/systemd.ts'

/** Properties of systemd, and what they are called in the result. */
const properties = {
  ActiveState: 'state',
  SubState: 'detail',
  UnitFileState: 'atBoot',
  MainPID: 'pid',
  NRestarts: 'restarts',
  ExecMainStatus: 'exitCode',
  FragmentPath: 'unit',
} as const

export const serviceStatus = command({
  path: ['service', 'status'],
  summary: 'Show what systemd reports about an installed service.',
  args: [serviceArgument],
  run: async (_context, { args: [name = 'selvedge'] }) => {
    const asked = Object.keys(properties).map((each) => `--property=${each}`)
    const out = runTool('systemctl', ['show', ...asked, `${name}.service`])
    const values = new Map(
      out.split('\n').map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
    )
    return {
      service: name,
      ...Object.fromEntries(
        Object.entries(properties).map(([property, member]) => [member, values.get(property) ?? '']),
      ),
    }
  },
})
