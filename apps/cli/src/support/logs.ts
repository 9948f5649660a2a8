/** Logs of services and daemons, for a support bundle with `--with-logs`. */
import { spawnSync } from 'node:child_process'
import type { Context } from '../context/context.ts'

/** Of each log. */
const maxLines = 300
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
  return { services: services.logs, daemons: readJournal(context), secrets: services.secrets }
}

async function readServices({ runtime }: Context, token: () => Promise<string>) {
  const edgeAccessToken = await token()
  const containers = (await runtime.getContainers({ edgeAccessToken })).slice(0, maxContainers)
  const logs: Record<string, unknown> = {}
  for (const { id, name, state } of containers) {
    const { lines } = await runtime.getContainerLogs({ edgeAccessToken, id, tail: maxLines })
    logs[name] = { state, lines: lines.map(({ time, stream, text }) => `${time} ${stream} ${text}`) }
  }
  const secrets = containers.flatMap(({ env }) =>
    Object.entries(env).flatMap(([name, value]) => (name.startsWith('MCM.') ? [] : [value])),
  )
  return { logs, secrets: [...secrets, edgeAccessToken] }
}

function readJournal({ env }: Context): object {
  const logs = units.map((unit) => {
    const args = ['--unit', unit, '--lines', String(maxLines), '--output', 'cat', '--no-pager', '--quiet']
    const { stdout, error } = spawnSync('journalctl', args, {
      env: { PATH: env.PATH },
      encoding: 'utf8',
      maxBuffer: maxJournalBytes,
      timeout: 10_000,
    })
    const lines = (stdout ?? '').split('\n').filter(Boolean).slice(-maxLines)
    return [unit, error && lines.length === 0 ? { unavailable: error.message } : lines] as const
  })
  return Object.fromEntries(logs)
}
