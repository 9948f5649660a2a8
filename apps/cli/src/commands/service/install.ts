import {
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { command } from '../../command.ts'
import { findTool, runTool } from '../../context/systemd.ts'
import { UsageError } from '../../failure.ts'
import { createProgress } from '../../output/progress.ts'
import { sync } from '../../upgrade/durable.ts'
import { installRelease, linkCommand } from './releases.ts'

/** The folder of a tarball: this program is `<folder>/cli/dist/main.cjs`. */
const ownFolder = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '')
const name = 'selvedge'
const packaged = `/usr/lib/systemd/system/${name}.service`
const unitFolder = '/etc/systemd/system'
const installed = `${unitFolder}/${name}.service`
/** Units that the one of the runtime wants. */
const helpers = [`${name}-join-key.path`, `${name}-join-key.service`]

export const serviceInstall = command({
  path: ['service', 'install'],
  summary: 'Install the runtime of an unpacked tarball as a service of systemd, and start it.',
  options: [{ flags: '--prefix <folder>', description: 'folder of the installation; default /opt/selvedge' }],
  run: async ({ terminal }, { options: { prefix = '/opt/selvedge' } }) => {
    const template = join(ownFolder, 'systemd', `${name}.service`)
    expectInstallable(template)
    // The service's own user reads and runs what is written here.
    process.umask(0o022)
    const progress = createProgress(terminal, 'installing')
    const folder = await installRelease(ownFolder, String(prefix), progress.show).finally(progress.end)
    const settings = writeSettings(folder)
    const replaced = writeUnit(installed, unitFor(folder, readFileSync(template, 'utf8')))
    for (const each of helpers)
      writeUnit(`${unitFolder}/${each}`, readFileSync(join(ownFolder, 'systemd', each), 'utf8'))
    if (replaced !== undefined)
      terminal.note(
        `the unit was a different one; it is now ${replaced}. Make changes with: systemctl edit ${name}`,
      )
    linkCommand(`/usr/local/bin/${name}`, join(folder, 'current/bin/selvedge'))
    terminal.note(`starting ${name}.service …`)
    runTool('systemctl', ['daemon-reload'])
    runTool('systemctl', ['enable', `${name}.service`])
    runTool('systemctl', ['restart', `${name}.service`])
    return { service: name, folder, settings, unit: installed, ...(replaced && { replaced }) }
  },
})

/** @throws UsageError if the service cannot be installed here; nothing has changed then */
function expectInstallable(template: string): void {
  if (!existsSync(template))
    throw new UsageError(
      'this command line does not come from a tarball, and has no service to install',
      'The Debian package installs its service itself. Otherwise unpack selvedge-<version>-linux-<architecture>.tar.gz, and run its bin/selvedge.',
    )
  for (const tool of ['systemctl', 'systemd-sysusers'] as const) findTool(tool)
  if (process.getuid?.() !== 0)
    throw new UsageError(
      'only root can install a service',
      `Run it with sudo: ${ownFolder}/bin/selvedge service install`,
    )
  if (existsSync(packaged))
    throw new UsageError(`a Debian package has installed ${packaged}`, `Remove it first: apt remove ${name}`)
  const found = lstatSync(installed, { throwIfNoEntry: false })
  if (found && !found.isFile())
    throw new UsageError(
      `${installed} is a link or a folder: the service is masked, or has the unit of another installation`,
      `Remove it first: systemctl unmask ${name}`,
    )
}

/** @returns where an earlier unit is now, if it was another one: it may have been edited */
function writeUnit(path: string, text: string): string | undefined {
  mkdirSync(unitFolder, { recursive: true, mode: 0o755 })
  const isOther = existsSync(path) && readFileSync(path, 'utf8') !== text
  const replaced = isOther ? `${path}.old` : undefined
  if (replaced !== undefined) copyFileSync(path, replaced)
  const draft = `${path}.new`
  writeFileSync(draft, text, { mode: 0o644 })
  sync(draft)
  renameSync(draft, path)
  sync(unitFolder)
  return replaced
}

/**
 * The unit of the package, for this folder: each start first chooses the release. A release on trial may exit with any code, also with
 * the one after which nothing is started again.
 */
export const unitFor = (folder: string, unit: string): string =>
  unit
    .replaceAll(`/usr/lib/${name}/`, `${folder}/current/`)
    .replace(/^# 78:.*\nRestartPreventExitStatus=.*\n/m, '')
    .replace(/^ExecStart=/m, `ExecStartPre=+${folder}/choose-release\nExecStart=`)

/** The user of the service, and its settings unless an earlier installation left some. @returns path of the settings */
function writeSettings(folder: string): string {
  const read = (file: string) => readFileSync(join(folder, 'current/systemd', file), 'utf8')
  const path = '/etc/selvedge/runtime.json'
  for (const each of ['/etc/selvedge', '/etc/sysusers.d']) mkdirSync(each, { recursive: true, mode: 0o755 })
  if (!existsSync(path)) writeFileSync(path, read('settings.json'), { mode: 0o644, flag: 'wx' })
  const users = `/etc/sysusers.d/${name}.conf`
  writeFileSync(users, read('sysusers.conf'), { mode: 0o644 })
  runTool('systemd-sysusers', [users])
  return path
}
