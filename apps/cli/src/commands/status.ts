import { discoveryPaths, identityPaths } from '@selvedge/protocol'
import { command } from '../command.ts'

type Remote = { reachable: boolean | null; since: string | null; lastError?: string | undefined }

const describe = ({ reachable, since, lastError }: Remote): string => {
  if (reachable === null) return 'not needed so far'
  return reachable ? `reachable since ${since}` : `away since ${since}: ${lastError}`
}

export const status = command({
  path: ['status'],
  summary:
    'Show which parts run, which services the runtime reaches and since when, and what needs attention.',
  run: async ({ runtime, answers, identityUrl, discoveryUrl }) => {
    const { nodeId, accountId, name, version, time, network, notices } = await runtime.getMe()
    const [identity, discovery] = await Promise.all([
      answers(identityUrl + identityPaths.health),
      answers(discoveryUrl + discoveryPaths.health),
    ])
    const services = {
      identity: { url: identityUrl, answers: identity },
      discovery: { url: discoveryUrl, answers: discovery },
    }
    return { runtime: { nodeId, accountId, name, version, time, network, notices }, services }
  },
  human: ({ runtime, services }) =>
    [
      `runtime    ${runtime.version} on ${runtime.name}, node ${runtime.nodeId}`,
      `account    ${runtime.accountId || 'none'}`,
      `time       ${runtime.time.state}, ${runtime.time.now}`,
      `identity   from the runtime: ${describe(runtime.network.identity)}; from here: ${services.identity.answers ? 'answers' : 'no answer'} at ${services.identity.url}`,
      `discovery  from the runtime: ${describe(runtime.network.discovery)}; from here: ${services.discovery.answers ? 'answers' : 'no answer'} at ${services.discovery.url}`,
      ...runtime.notices.map((notice) => `notice     ${notice}`),
    ].join('\n'),
})
