import { command } from '../command.ts'
import type { Context } from '../context/context.ts'
import { serviceState } from '../context/systemd.ts'
import { UsageError } from '../failure.ts'
import { createProgress } from '../output/progress.ts'
import { spinning } from '../output/spinner.ts'
import { type Installation, readInstallation, rollBack } from '../upgrade/installation.ts'
import { locked } from '../upgrade/lock.ts'
import { awaitTrial, isServiceActive, type Outcome, restartService } from '../upgrade/restart.ts'
import { upgrade as installRelease } from '../upgrade/upgrade.ts'

type Result = Omit<Installation, 'prefix'> & {
  readonly folder: string
  readonly restart?: Outcome | 'restarted' | 'needed'
}

const phases = {
  confirmed: 'it runs, or ran, and has confirmed itself',
  untried: 'it starts next, on trial',
  trial: 'on trial: it was started and has not confirmed itself',
} as const

const restarts = {
  confirmed: 'the runtime was restarted; the release has confirmed itself',
  'rolled back':
    'the release did not confirm itself; the one before runs again. The reason is in the log of the runtime.',
  waiting:
    'the runtime was restarted; the release has not confirmed itself so far. See: selvedge upgrade --status',
  restarted: 'the runtime was restarted',
  needed: 'restart the runtime to use it',
} as const

export const upgrade = command({
  path: ['upgrade'],
  summary:
    'Install another release beside the one that runs; one that does not work is rolled back at its second start.',
  args: [{ name: '[archive]', description: 'selvedge-<version>-linux-<architecture>.tar.gz' }],
  options: [
    {
      flags: '--release-file <file>',
      description: 'signed list of the files; default: the one beside the archive',
    },
    { flags: '--rollback', description: 'return to the previous release' },
    { flags: '--status', description: 'show the releases, and which one runs' },
    { flags: '--allow-downgrade', description: 'accept a release that is older than the installed one' },
    { flags: '--skip-restart', description: 'do not restart the service' },
    {
      flags: '--prefix <folder>',
      description: 'folder of the installation; default: the one of this program',
    },
  ],
  run: async (context, { args: [archive], options }): Promise<Result> => {
    const ways = [archive !== undefined, options.rollback === true, options.status === true]
    if (ways.filter(Boolean).length !== 1)
      throw new UsageError(
        'name an archive, --rollback or --status',
        'For example: selvedge upgrade --status',
      )
    const read = () => readInstallation(option(options.prefix), stateOf(context))
    if (options.status) return describe(read())
    const { prefix } = read()
    // The service's own user reads and runs the new release.
    process.umask(0o022)
    const progress = createProgress(context.terminal, 'checking and copying')
    const version = await locked(prefix, () =>
      archive === undefined
        ? rollBack(read())
        : installRelease(read(), {
            archive,
            releaseFile: option(options.releaseFile),
            allowDowngrade: options.allowDowngrade === true,
            now: context.now(),
            onProgress: progress.show,
          }).finally(progress.end),
    )
    if (options.skipRestart === true || !isServiceActive()) return { ...describe(read()), restart: 'needed' }
    restartService()
    // A release that ran before is not on trial: there is nothing to wait for.
    const restart =
      archive === undefined
        ? 'restarted'
        : await spinning(
            context.terminal,
            `waiting until ${version} confirms itself`,
            awaitTrial(version, read),
          )
    return { ...describe(read()), restart }
  },
  isFailure: ({ restart }) => restart === 'rolled back',
  human: ({ folder, current, previous, failed, phase, releases, restart }) =>
    [
      `folder     ${folder}`,
      `current    ${current}: ${phases[phase]}`,
      `previous   ${previous ?? 'none'}`,
      ...(failed === undefined ? [] : [`failed     ${failed}: it did not confirm itself`]),
      `releases   ${releases.join(', ')}`,
      ...(restart === undefined ? [] : [`restart    ${restarts[restart]}`]),
    ].join('\n'),
})

const option = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)

const stateOf = ({ state }: Context): string => (state.isNamed ? state.path : serviceState)

const describe = ({ prefix: folder, ...rest }: Installation): Result => ({ folder, ...rest })
