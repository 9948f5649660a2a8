import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { command } from '../../command.ts'
import { findTool, runTool } from '../../context/systemd.ts'
import { UsageError } from '../../failure.ts'

const socketUnit = 'podman.socket'
const folder = `/etc/systemd/system/${socketUnit}.d`
const dropIn = `${folder}/selvedge.conf`

/** The folder has the mode 0700 after each boot (tmpfiles.d of Podman): without the right to enter it, the mode of the socket is nothing. */
const content = `# Written by "selvedge service podman": the user of the runtime may use the Podman of the system.
[Socket]
SocketGroup=selvedge
SocketMode=0660
ExecStartPre=/usr/bin/install -d -m 0750 -g selvedge /run/podman
`

export const servicePodman = command({
  path: ['service', 'podman'],
  summary:
    'Let the installed runtime use the Podman of the system, for OCI containers. Who may use it can become root: decide that yourself.',
  options: [{ flags: '--off', description: 'remove that right' }],
  run: async (_context, { options }) => {
    findTool('systemctl')
    if (process.getuid?.() !== 0)
      throw new UsageError(
        'only root can change a socket of systemd',
        'Run it with sudo: sudo selvedge service podman',
      )
    const isOn = options.off !== true
    if (isOn) turnOn()
    else rmSync(dropIn, { force: true })
    runTool('systemctl', ['daemon-reload'])
    if (isOn) runTool('systemctl', ['enable', socketUnit])
    runTool('systemctl', ['stop', 'podman.service', socketUnit])
    runTool('systemctl', ['start', socketUnit])
    return { dropIn, on: isOn, socket: '/run/podman/podman.sock' }
  },
  human: ({ on, socket }) =>
    on
      ? `The runtime may use ${socket} now. It tries again by itself.`
      : `The runtime may not use ${socket} any more.`,
})

/** @throws UsageError if there is no Podman, or no user of the runtime */
function turnOn(): void {
  const units = ['/usr/lib/systemd/system', '/lib/systemd/system', '/etc/systemd/system']
  if (!units.some((each) => existsSync(`${each}/${socketUnit}`)))
    throw new UsageError(
      `this system has no ${socketUnit}`,
      'Install Podman first: sudo apt-get install -y podman',
    )
  if (!/^selvedge:/m.test(readFileSync('/etc/group', 'utf8')))
    throw new UsageError(
      'there is no group selvedge',
      'Install the runtime first, with its package or with "selvedge service install".',
    )
  mkdirSync(folder, { recursive: true, mode: 0o755 })
  writeFileSync(dropIn, content, { mode: 0o644 })
}
