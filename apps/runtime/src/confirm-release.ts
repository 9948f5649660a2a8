/**
 * Confirms the release that runs, in an installation of several releases (`packaging/launcher/choose-release`): once the state is open,
 * the API answers and the engines of all deployed services work, the version is written to `confirmed-release` in the state folder.
 * The cloud is not needed. A release on trial that cannot confirm itself exits, and the release before it starts.
 */
import { once } from 'node:events'
import { lstatSync, readlinkSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { type IncomingMessage, request } from 'node:http'
import { basename, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { rpcPath } from '@selvedge/protocol'
import { exitCodes } from '@selvedge/service-kit/lifecycle'
import type { Log } from '@selvedge/service-kit/log'
import { writeOnce } from '@selvedge/service-kit/store'

interface ReleaseChecks {
  /** Folder in which the launcher expects the confirmation: {@link confirmationFolder}. */
  readonly folder: string
  /** Path of the socket of the API. */
  readonly socket: string
  readonly log: Log
  /** Engines that a deployed service needs and that do not work, with the reason. */
  readonly unavailableEngines: () => Promise<readonly string[]>
  /** The program of the runtime. */
  readonly program?: string
  readonly exit?: (code: number) => void
  /** Waits for milliseconds. */
  readonly pause?: (ms: number) => Promise<unknown>
}

const limits = { tries: 30, pauseMs: 2000, answerMs: 5000 }

interface InstalledRelease {
  readonly prefix: string
  readonly version: string
}

/** @param program real path of a program; undefined if it is not below `releases/<version>` */
function installedRelease(program: string): InstalledRelease | undefined {
  const found = /^(.*)\/releases\/([^/]+)\/runtime\//.exec(program)
  return found ? { prefix: found[1]!, version: found[2]! } : undefined
}

/**
 * Where the launcher expects the confirmation. It knows only the environment, so this does not follow a state folder that
 * the settings name: the launcher would end every trial.
 *
 * @param state folder of the settings, for installations without a service manager
 */
export function confirmationFolder(env: NodeJS.ProcessEnv, state: string): string {
  return (env.STATE_DIRECTORY || env.SELVEDGE_STATE || state).split(':')[0]!
}

/** Resolves when the release is confirmed, or is to stay although it is not: without a trial there is nothing to return to. */
export async function confirmRelease(
  {
    folder,
    socket,
    log,
    unavailableEngines,
    program = fileURLToPath(import.meta.url),
    exit = process.exit,
    pause = sleep,
  }: ReleaseChecks,
  { tries, pauseMs }: Pick<typeof limits, 'tries' | 'pauseMs'> = limits,
): Promise<void> {
  const release = installedRelease(program)
  if (release === undefined) return
  const path = join(folder, 'confirmed-release')
  if ((await readFile(path, 'utf8').catch(() => '')) === release.version) return
  let problem = ''
  for (let tried = 0; tried < tries; tried++) {
    if (tried > 0) await pause(pauseMs)
    try {
      problem = (await unavailableEngines()).join('; ')
      if (problem !== '') continue
      await expectAnswers(socket)
      await writeOnce(path, release.version)
      log.info('the release has confirmed itself', { version: release.version })
      return
    } catch (cause) {
      problem = (cause as Error).message
    }
  }
  log.error('the release could not confirm itself', { version: release.version, problem })
  if (isOnTrial(release)) exit(exitCodes.failed)
}

/**
 * Over the socket, so that neither a certificate nor a port decides. A refusal is an answer, too: the API key may be required.
 *
 * @throws Error if the API does not answer with JSON-RPC
 */
async function expectAnswers(socketPath: string): Promise<void> {
  const call = request({
    socketPath,
    path: rpcPath,
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    signal: AbortSignal.timeout(limits.answerMs),
  })
  call.end(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'getMe', params: [''] }))
  const [response] = (await once(call, 'response')) as [IncomingMessage]
  const answer = JSON.parse(await text(response)) as { jsonrpc?: unknown } | null
  if (answer?.jsonrpc !== '2.0') throw new Error('getMe did not answer')
}

const isOnTrial = ({ prefix, version }: InstalledRelease): boolean => versionAt(prefix, 'trial') === version

/** Whether another release was chosen since this one was started, so that the runtime stops for an upgrade or a rollback. */
export function isReplaced(program = fileURLToPath(import.meta.url)): boolean {
  const release = installedRelease(program)
  return release !== undefined && ![undefined, release.version].includes(versionAt(release.prefix, 'current'))
}

function versionAt(prefix: string, name: string): string | undefined {
  const link = join(prefix, name)
  if (!lstatSync(link, { throwIfNoEntry: false })?.isSymbolicLink()) return undefined
  return basename(readlinkSync(link))
}
