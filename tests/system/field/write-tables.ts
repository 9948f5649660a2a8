/** Writes what was measured into docs/field.md: rows of other programs stay as they are. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../harness/processes.ts'
import type { ComposeFile } from './compose.ts'
import type { Row } from './field.ts'
import type { Isolation } from './isolation.ts'

const path = join(root, 'docs/field.md')

export function writeTables(rows: readonly Row[], files: readonly ComposeFile[]): void {
  const text = readFileSync(path, 'utf8')
  const withPrograms = writeRows(text, 'programs', rows.map(cellsOf))
  writeFileSync(path, writeRows(withPrograms, 'Compose files', files.map(cellsOfFile)))
}

function cellsOf({ program, version, isolation, ofPodman, layers }: Row): string[] {
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

/** Puts rows in place of those with the same first cell, in the table between two marks. @throws Error without the marks */
function writeRows(text: string, table: string, rows: readonly string[][]): string {
  const [begin, end] = [`<!-- ${table}: written by "npm run field" -->\n`, `<!-- end of ${table} -->`]
  const [before, rest = ''] = text.split(begin)
  const [found, after] = rest.split(end)
  if (found === undefined || after === undefined) throw new Error(`docs/field.md has no marks of ${table}`)
  const [head = '', line = '', ...old] = found.trim().split('\n').map(cellsIn)
  const names = new Set(rows.map(([name]) => name))
  const all = [
    ...old.filter(([name]) => !names.has(name!)),
    ...rows.map((row) => row.map(escapeCell)),
  ].toSorted(([one = ''], [two = '']) => one.localeCompare(two))
  return `${before}${begin}\n${format([head, [...line].map(() => '-'), ...all] as string[][])}\n\n${end}${after}`
}

const escapeCell = (cell: string): string => cell.replaceAll('|', '\\|').trim()
const cellsIn = (line: string): string[] =>
  line
    .slice(1, -1)
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim())

function format(rows: readonly string[][]): string {
  const widths = rows[0]!.map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)))
  return rows
    .map(
      (row, line) =>
        `| ${row.map((cell, at) => (line === 1 ? '-'.repeat(widths[at]!) : cell.padEnd(widths[at]!))).join(' | ')} |`,
    )
    .join('\n')
}
