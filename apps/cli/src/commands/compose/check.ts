import { configBytes } from '@selvedge/protocol'
import { command } from '../../command.ts'
import { type Checked, checkCompose } from '../../compose/check-compose.ts'
import { linesOf } from '../../compose/report.ts'

const listOf = (value: unknown): readonly string[] =>
  typeof value === 'string' ? [value] : Array.isArray(value) ? (value as string[]) : []

export const composeCheck = command({
  path: ['compose', 'check'],
  summary:
    'Check whether a Compose file can be an app on a device: every problem with its line, and what is different here. Nothing is deployed.',
  args: [
    {
      name: '[file]',
      description:
        'Compose file, or a folder with a compose.yaml and perhaps a compose.override.yaml; default: this folder',
    },
  ],
  options: [
    { flags: '-f, --file <file...>', description: 'several Compose files, which are merged in this order' },
    { flags: '--profile <name...>', description: 'services of this profile, too; "*" for all' },
    {
      flags: '--env-file <file...>',
      description: 'files with variables, in place of .env beside the Compose file',
    },
    {
      flags: '--name <name>',
      description: 'name of the app; default: that in the file, else that of the folder',
    },
  ],
  run: (_, { args: [path], options: { file, profile, envFile, name } }) =>
    checkCompose({
      cwd: process.cwd(),
      paths: [...(path === undefined ? [] : [path]), ...listOf(file)],
      profiles: listOf(profile),
      envFiles: listOf(envFile),
      env: process.env,
      name: typeof name === 'string' ? name : undefined,
    }),
  isFailure: ({ plan }: Checked) => plan === null,
  human: describe,
})

const more = (count: number, what: string): string[] => (count > 0 ? [`… and ${count} more ${what}.`] : [])

const counted = (count: number, one: string, many: string) => `${count} ${count === 1 ? one : many}`

function describe({ files, plan, problems, moreProblems, warnings, notes, moreNotes }: Checked): string {
  const blocks = [
    files.length === 0 ? [] : [`Read: ${files.join(', ')}`],
    problems.length === 0 ? [] : ['Problems:', ...linesOf(problems), ...more(moreProblems, 'problems')],
    warnings.length === 0 ? [] : ['Warnings:', ...linesOf(warnings)],
    notes.length === 0 ? [] : ['Different here:', ...linesOf(notes), ...more(moreNotes, 'notes')],
    plan
      ? summaryOf(plan)
      : [
          `${counted(problems.length + moreProblems, 'problem', 'problems')}. The file is not a valid app for a device.`,
        ],
  ]
  return blocks
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n')
}

const sizeOf = (bytes: number): string => `${bytes} ${bytes === 1 ? 'byte' : 'bytes'}`

function summaryOf({ name, services, configs }: NonNullable<Checked['plan']>): string[] {
  const bytesOf = new Map(configs.map((each) => [each.name, configBytes(each).length]))
  return [
    `The app "${name}" is valid: ${counted(services.length, 'service', 'services')}, in the order of their start:`,
    ...services.flatMap((each) => {
      const path = each.isBehindGateway ? `, at ${each.env['MCM.BASE_API_PATH']}` : ''
      const ports = each.env['MCM.PORTS'] === undefined ? '' : `, ports ${each.env['MCM.PORTS']}`
      const files = each.configs.map(
        ({ config, target, mode }) => `    ${target}: ${sizeOf(bytesOf.get(config) ?? 0)}, mode ${mode}`,
      )
      return [`  ${each.name}: ${each.image}${path}${ports}`, ...files]
    }),
  ]
}
