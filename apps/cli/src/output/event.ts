/** Events of a runtime for people. Foreign text in them is cleaned by the caller. */
import { ConnectionFailure } from '@selvedge/client'
import { describeNotice, type RuntimeEvent } from '@selvedge/protocol'
import { describeMember } from './member-progress.ts'
import { paceOf } from './progress.ts'

type DataOf<Name extends RuntimeEvent['topic']> = Extract<RuntimeEvent, { topic: Name }>['data']

const links = (name: string, { reachable, lastError }: DataOf<'connectivity'>['identity']): string => {
  if (reachable === null) return `${name} was not tried yet`
  return reachable ? `${name} answers` : `${name} does not answer: ${lastError ?? 'no reason given'}`
}

/** How much of an image has arrived, and how fast. */
function arrived(pull: DataOf<'pulls'>[number]): string {
  const { source, receivedBytes, totalBytes } = pull
  const bytes = totalBytes === null ? '' : `${receivedBytes} of ${totalBytes} bytes`
  return [source, bytes, paceOf(pull)].filter((each) => each !== '').join('  ')
}

/** A line for the deployment, and one for each member. */
const deploymentLines = ({ app, state, why, members }: DataOf<'apps'>[number]): string[] => [
  [app, state, why ?? ''].join('  ').trimEnd(),
  ...members.map((member) => `${app}  ${describeMember(member)}`),
]

const orEmpty = (lines: readonly string[]): readonly string[] => (lines.length === 0 ? ['-'] : lines)

const isOnline = ({ state }: { readonly state: string }): boolean => state !== 'offline'

/** The lines of each topic, without its name. */
const describe: { readonly [Name in RuntimeEvent['topic']]: (data: DataOf<Name>) => readonly string[] } = {
  account: ({ accountId, confirmed }) => [
    `${accountId} ${confirmed ? 'confirmed' : 'not confirmed by the identity service yet'}`,
  ],
  fixes: (fix) =>
    fix === null
      ? ['-']
      : [
          `${fix.latitude}, ${fix.longitude}  ${fix.speed} m/s  ${fix.bearing}°  ${fix.source}  ${fix.fixedAt}`,
        ],
  containers: (all) =>
    orEmpty(
      all.map(({ name, state, health, reason }) => [name, state, health, reason ?? ''].join('  ').trimEnd()),
    ),
  pulls: (all) => orEmpty(all.map(arrived)),
  apps: (all) => orEmpty(all.flatMap(deploymentLines)),
  logs: (lines) =>
    lines.map(
      ({ id, time, stream, text }) =>
        `${time.slice(11, 23)} ${stream === 'stdout' ? ' ' : stream === 'stderr' ? '!' : '#'} ${id}  ${text}`,
    ),
  nodes: ({ account, linkLocal }) => [
    account === null
      ? 'those of the account are unknown: the discovery service does not answer'
      : `${account.filter(isOnline).length} of ${account.length} of the account are online`,
    ...linkLocal.map(({ nodeId, name, addresses }) => `${name ?? nodeId}  ${addresses.join(' ')}`),
  ],
  connectivity: ({ identity, discovery }) => [
    links('the identity service', identity),
    links('the discovery service', discovery),
  ],
  clock: ({ state }) => [state],
  notices: (notices) => orEmpty(notices.map(describeNotice)),
}

/**
 * Lines for an event, each with its topic first.
 *
 * @throws ConnectionFailure for data of another form, which a runtime of another version may send
 */
export function describeEvent(event: RuntimeEvent): string[] {
  const { topic, data, lost } = event
  const missing =
    lost === undefined
      ? []
      : [`${lost} earlier ${lost === 1 ? 'event is' : 'events are'} missing: the reader was too slow`]
  return [...missing, ...linesOf(topic, data)].map((line) => `${topic.padEnd(12)} ${line}`)
}

function linesOf(topic: RuntimeEvent['topic'], data: unknown): readonly string[] {
  try {
    return (describe[topic] as (data: unknown) => readonly string[])(data)
  } catch (cause) {
    throw new ConnectionFailure('bad_answer', `the runtime sent an event of ${topic} in another form`, {
      cause,
    })
  }
}
