import { type ContainerRecord, describeState, type PortRecord, portName } from '@selvedge/protocol'
import { command } from '../../command.ts'
import { accessTokenOf, accessTokenOptions } from '../../context/access-token.ts'
import { explainEmpty } from '../../context/service-access.ts'
import { formatHuman } from '../../output/human.ts'

const units = [
  [86_400, 'd'],
  [3600, 'h'],
  [60, 'min'],
  [1, 's'],
] as const

function uptime(startedAt: string | null, now: number): string {
  if (startedAt === null) return '-'
  const seconds = Math.max(0, Math.round((now - Date.parse(startedAt)) / 1000))
  const [size, unit] = units.find(([each]) => seconds >= each) ?? [1, 's']
  return `${Math.floor(seconds / size)} ${unit}`
}

/** @returns such as `1883/tcp, 5683/udp (network)` */
const portsText = (ports: readonly PortRecord[]): string =>
  ports
    .map((each) => {
      const notes = [
        ...(each.reach === 'network' ? ['network'] : []),
        ...(each.problem === null ? [] : [each.problem]),
      ]
      return portName(each) + (notes.length > 0 ? ` (${notes.join('; ')})` : '')
    })
    .join(', ') || '-'

/** @returns such as `2026-01-01T03:00:00.000Z (last: failed)` */
function timesText(schedule: ContainerRecord['schedule']): string {
  if (!schedule) return '-'
  const { nextAt, last } = schedule
  return (nextAt ?? '-') + (last && last.outcome !== 'succeeded' ? ` (last: ${last.outcome})` : '')
}

export const containerList = command({
  path: ['container', 'list'],
  summary:
    'List the containers of the project: state, time since the start, memory, restarts, path, ports, next time.',
  options: accessTokenOptions,
  examples: ['selvedge ps', 'selvedge ps --json'],
  run: async (context, { options }) => {
    const edgeAccessToken = await accessTokenOf(context, options, 'openid edge:mcm')
    const [containers, { time }] = await Promise.all([
      context.runtime.getContainers({ edgeAccessToken }),
      context.runtime.getMe(),
    ])
    if (containers.length === 0) explainEmpty(context, edgeAccessToken, options)
    return containers.map((each) => ({ ...each, uptime: uptime(each.startedAt, Date.parse(time.now)) }))
  },
  human: (containers) =>
    formatHuman(
      containers.map(
        ({
          id,
          state,
          uptime: up,
          memory,
          restarts,
          basePath,
          health,
          reason,
          ports,
          schedule,
          completed,
        }) => ({
          id,
          state: health === 'unhealthy' ? `${state}, unhealthy` : state,
          uptime: up,
          memory: memory === null ? '-' : `${(memory / 1024 / 1024).toFixed(1)} MiB`,
          restarts,
          path: basePath,
          ...(containers.some((each) => each.ports) && { ports: portsText(ports ?? []) }),
          ...(containers.some((each) => each.schedule) && { 'next time': timesText(schedule) }),
          reason:
            reason ??
            (completed
              ? `exit code ${completed.exitCode} at ${completed.at}`
              : state === 'running'
                ? null
                : describeState(state).meaning),
        }),
      ),
    ),
})
