/** Installed services that do not run: what systemd reports, and the last line that the service wrote. */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { runTool } from '../context/systemd.ts'
import { type Check, failed, fixable } from './check.ts'
import { unitNames } from './installed-service.ts'

/** Exit code of a service that waits until a person has repaired its settings or its state. */
const needsRepair = '78'
/** Characters of a line of a log that are shown. */
const maxLine = 400

export interface UnitState {
  /** `not-found` for a unit that is not installed. */
  readonly LoadState: string
  readonly ActiveState: string
  readonly UnitFileState: string
  readonly ExecMainStatus: string
}

export interface Units {
  state(unit: string): UnitState
  /** The last line that the programs of the unit wrote; "" if it wrote nothing, or this user may not read it. */
  lastLine(unit: string): string
}

/** Of systemd; undefined on a machine that does not run it. */
const systemUnits = (): Units | undefined =>
  existsSync('/run/systemd/system') ? { state: readState, lastLine } : undefined

const properties = ['LoadState', 'ActiveState', 'UnitFileState', 'ExecMainStatus'] as const

function readState(unit: string): UnitState {
  const lines = runTool('systemctl', ['show', `--property=${properties.join(',')}`, unit]).split('\n')
  const value = (name: string) =>
    lines.find((line) => line.startsWith(`${name}=`))?.slice(name.length + 1) ?? ''
  return Object.fromEntries(properties.map((name) => [name, value(name)])) as unknown as UnitState
}

function lastLine(unit: string): string {
  const args = ['--no-pager', '--output=cat', '--quiet', '--lines=1', `_SYSTEMD_UNIT=${unit}`]
  const { status, stdout } = spawnSync('/usr/bin/journalctl', args, { encoding: 'utf8' })
  return status === 0 ? stdout.trim() : ''
}

/** A failed check for each installed service that was to run and does not. */
export function checkUnits(units = systemUnits()): readonly Check[] {
  if (!units) return []
  return Object.entries(unitNames).flatMap(([section, name]) => checkUnit(units, section, `${name}.service`))
}

function checkUnit(units: Units, section: string, unit: string): readonly Check[] {
  const {
    LoadState: load,
    ActiveState: active,
    UnitFileState: file,
    ExecMainStatus: code,
  } = units.state(unit)
  if (load === 'masked') return [failed('service', `${unit} is masked`, `sudo systemctl unmask ${unit}`)]
  if (load !== 'loaded' || active === 'active' || active === 'reloading') return []
  // A service that a person stopped and disabled is not missed.
  if (active === 'inactive' && file !== 'enabled') return []
  const line = readable(units.lastLine(unit))
  const detail = `${unit} is ${active}${line === '' ? '' : `; its last line: ${line}`}`
  const restart = ['systemctl', 'restart', unit]
  if (code === needsRepair)
    return [
      failed(
        'service',
        detail,
        `Correct what the line names, in /etc/selvedge/${section}.json or in /etc/selvedge/${section}.env. Then: sudo ${restart.join(' ')}`,
      ),
    ]
  return [fixable('service', detail, restart, `The lines before it: journalctl --unit=${unit} --lines=50`)]
}

/** The message of a line of JSON, with the reason. */
function readable(line: string): string {
  const short = (text: string) => (text.length > maxLine ? `${text.slice(0, maxLine)}…` : text)
  try {
    const { message, error, cause } = JSON.parse(line) as Record<string, unknown>
    const text = (value: unknown) => (typeof value === 'string' ? value : '')
    const why = text(error) || text(cause) || text((cause as { message?: unknown } | undefined)?.message)
    return short(text(message) === '' ? line : why === '' ? text(message) : `${text(message)}: ${why}`)
  } catch {
    return short(line)
  }
}
