import { spawnSync } from 'node:child_process'
import { command } from '../../command.ts'
import { UsageError } from '../../failure.ts'
import { installedProgram, nodeOfPrograms } from '../../installed.ts'

export const adminStoreCopy = command({
  path: ['admin', 'store', 'copy'],
  summary: 'Copy the store of a stopped identity service into an empty one, to move an installation.',
  options: [
    {
      flags: '--from <url>',
      description: 'store to read, such as sqlite:.selvedge/identity/identity.db',
      required: true,
    },
    {
      flags: '--to <url>',
      description: 'empty store to fill, such as postgres://user@host/database',
      required: true,
    },
  ],
  run: async (context, { options }) => {
    // A program of the identity service does the work: the command line has no database code.
    const program = installedProgram('identity/dist/store-copy.cjs')
    // In the environment: every user can read arguments, and a URL may hold a password.
    const env = {
      ...context.env,
      SELVEDGE_COPY_FROM: String(options.from),
      SELVEDGE_COPY_TO: String(options.to),
    }
    const { status, stdout, stderr } = spawnSync(nodeOfPrograms(), [program], { env, encoding: 'utf8' })
    if (status !== 0) {
      const problem = stderr.trim().replace(/^error: /, '') || 'the copy failed'
      throw new UsageError(problem, `${nextStep(problem)} The old store was not changed.`)
    }
    return JSON.parse(stdout) as { rows: number; tables: Record<string, number> }
  },
  human: ({ rows }) =>
    `${rows} rows copied. Start the identity service with SELVEDGE_IDENTITY_STORE set to the new store, and with the same secret keys.`,
})

function nextStep(problem: string): string {
  if (problem.includes(' is neither ')) return 'For example: --to postgres://user@host/database.'
  if (problem.startsWith("can't open the database")) return 'Check the URL, and that the database runs.'
  if (problem.includes('is not empty')) return 'Name an empty store.'
  return 'Stop the identity service first.'
}
