/** Writes what was measured into docs/field.md: rows of other programs stay as they are. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { writeRows } from '../../harness/document-tables.ts'
import { root } from '../../harness/processes.ts'
import type { ComposeFile } from './compose.ts'
import type { Row } from './field.ts'
import type { Isolation } from './isolation.ts'

const path = join(root, 'docs/field.md')
const table = { command: 'npm run field', isSorted: true } as const

export function writeTables(rows: readonly Row[], files: readonly ComposeFile[]): void {
  const text = readFileSync(path, 'utf8')
  const withPrograms = writeRows(text, { name: 'programs', ...table }, rows.map(cellsOf))
  writeFileSync(path, writeRows(withPrograms, { name: 'Compose files', ...table }, files.map(cellsOfFile)))
}

function cellsOf({ program, version, isolation, ofPodman, ofDocker, layers }: Row): string[] {
  const { name, manner, env = {}, used, stored } = program
  const settings = Object.entries(env).flatMap(([key, value]) =>
    key.startsWith('MCM.') ? setting(key, value) : [],
  )
  const filter = layers.includes('packet filter') ? ', packet filter' : ''
  return [
    name,
    version,
    manner,
    settings.join(', ') || 'defaults',
    used,
    stored ? 'yes' : '–',
    `${isolated(isolation)}${filter}`,
    isolated(ofPodman),
    isolated(ofDocker),
  ]
}

/** With the port and the node that a person would write. */
function setting(key: string, value: string): string {
  const target = /^PORT:(.*)$/.exec(value)?.[1]
  return `\`${key}: ${target ?? value.replaceAll('DEVICE', '/dev/…')}\``
}

const isolated = ({ root: user, capabilities, gainsNoPrivileges, hasSeccomp }: Isolation): string =>
  [
    user === 0 ? 'root is root of the device' : 'root is no user of the device',
    `${capabilities} capabilities`,
    ...(gainsNoPrivileges ? ['no new privileges'] : []),
    ...(hasSeccomp ? ['seccomp'] : []),
  ].join(', ')

const cellsOfFile = ({ name, changed, seen, problem }: ComposeFile): string[] => [
  `[${name}](../tests/compose/apps/${name}/compose.yaml)`,
  changed || '–',
  problem === undefined ? seen : `does not run: ${problem.split('\n')[0]}`,
]
