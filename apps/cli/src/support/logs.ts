/** Logs of services and daemons, for a support bundle with `--with-logs`. */
import { spawnSync } from 'node:child_process'
import type { HistoryEntry, LogLine } from '@selvedge/protocol'
import type { Context } from '../context/context.ts'
import { maskLines } from './mask.ts'

/** Of each log. */
const maxLines = 300
/** Lines before those that are shown: a secret may begin there. */
const contextLines = 200
const maxContainers = 50
const maxJournalBytes = 4 * 1024 * 1024
const units = ['selvedge', 'selvedge-identity', 'selvedge-discovery'] as const

export interface Logs {
  readonly services: unknown
  readonly daemons: unknown
  /** Values of the environments of containers: a service may write them to its log. */
  readonly secrets: readonly string[]
}

/** @param token gets an access token; @throws never: what cannot be read has the reason in its place */
export async function collectLogs(context: Context, token: () => Promise<string>): Promise<Logs> {
  const services = await readServices(context, token).catch((cause: Error) => ({
    logs: { unavailable: cause.message },
    secrets: [],
  }))
  return {
    services: services.logs,
    daemons: readJournal(context, services.secrets),
    secrets: services.secrets,
  }
}

async function readServices({ runtime }: Context, token: () => Promise<string>) {
  const edgeAccessToken = await token()
  const containers = (await runtime.getContainers({ edgeAccessToken })).slice(0, maxContainers)
  const secrets = [edgeAccessToken, ...containers.flatMap(({ env }) => valuesOf(env))]
  const logs: Record<string, unknown> = {}
  for (const { id, name, state } of containers) {
    // The log first: a redeploy after it is then in the history.
    const { lines } = await runtime.getContainerLogs({ edgeAccessToken, id, tail: maxLines + contextLines })
    const { history } = await runtime.getContainerHistory({ edgeAccessToken, id })
    logs[name] = isOfOneRevision(history)
      ? { state, lines: shownLines(lines, secrets) }
      : {
          state,
          leftOut: 'the service had other revisions: their secrets are not known, and could be in its log',
        }
  }
  return { logs, secrets }
}

const valuesOf = (env: Readonly<Record<string, string>>): string[] =>
  Object.entries(env).flatMap(([name, value]) => (name.startsWith('MCM.') ? [] : [value]))

/** Events of a container with which another environment than that of its record began, or was tried. */
const revisionEvents = /^(?:deployed|redeployed|rolled back|deployment failed)$/

/** Whether a container always had the environment that it has now. The oldest events of a long history are missing. */
export function isOfOneRevision(history: readonly Pick<HistoryEntry, 'event'>[]): boolean {
  const [first, ...later] = history
  return first?.event === 'deployed' && !later.some(({ event }) => revisionEvents.test(event))
}

/** Secrets are removed from the whole log, then from each line: the first line shown may contain the end of one. */
function shownLines(lines: readonly LogLine[], secrets: readonly string[]): string[] {
  const texts = maskLines(
    lines.map(({ text }) => text.replaceAll('\n', ' ')),
    secrets,
  )
  return lines.map(({ time, stream }, at) => `${time} ${stream} ${texts[at]}`).slice(-maxLines)
}

function readJournal({ env }: Context, secrets: readonly string[]): object {
  const logs = units.map((unit) => {
    const args = ['--unit', unit, '--lines', String(maxLines), '--output', 'cat', '--no-pager', '--quiet']
    const { stdout, error } = spawnSync('journalctl', args, {
      env: { PATH: env.PATH },
      encoding: 'utf8',
      maxBuffer: maxJournalBytes,
      timeout: 10_000,
    })
    const lines = (stdout ?? '').split('\n').filter(Boolean).slice(-maxLines)
    return [
      unit,
      error && lines.length === 0 ? { unavailable: error.message } : maskLines(lines, secrets),
    ] as const
  })
  return Object.fromEntries(logs)
}
