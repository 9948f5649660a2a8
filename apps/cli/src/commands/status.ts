import { describeNotice, discoveryPaths, identityPaths } from '@selvedge/protocol'
import { command } from '../command.ts'

type Remote = { reachable: boolean | null; since: string | null; lastError?: string | undefined }

const describe = ({ reachable, since, lastError }: Remote): string => {
  if (reachable === null) return 'not needed so far'
  return reachable ? `reachable since ${since}` : `away since ${since}: ${lastError}`
}

const describeList = ({
  ageSeconds,
  issuedAt,
}: {
  ageSeconds: number | null
  issuedAt: string | null
}): string => {
  if (ageSeconds !== null) return `list checked ${ageSeconds} s ago`
  return issuedAt === null ? 'no list so far' : `list of ${issuedAt}, not checked since the start`
}

export const status = command({
  path: ['status'],
  summary:
    'Show which parts run, which services the runtime reaches and since when, and what needs attention.',
  run: async ({ runtime, answers, identityUrl, discoveryUrl, loginFile }) => {
    const { nodeId, accountId, name, version, time, network, revocations, notices } = await runtime.getMe()
    const [identity, discovery] = await Promise.all([
      answers(identityUrl + identityPaths.health),
      answers(discoveryUrl + discoveryPaths.health),
    ])
    const services = {
      identity: { url: identityUrl, answers: identity },
      discovery: { url: discoveryUrl, answers: discovery },
    }
    const { checkedAt } = revocations
    const age = checkedAt === null ? null : Math.round((Date.parse(time.now) - Date.parse(checkedAt)) / 1000)
    const login = loginFile.read()
    return {
      runtime: {
        ...{ nodeId, accountId, name, version, time, network, notices },
        revocations: { ...revocations, ageSeconds: age },
      },
      services,
      login: login ? { identityUrl: login.identityUrl, clientId: login.clientId } : null,
    }
  },
  human: ({ runtime, services, login }) =>
    [
      `runtime    ${runtime.version} on ${runtime.name}, node ${runtime.nodeId}`,
      `account    ${runtime.accountId || 'none'}`,
      `time       ${runtime.time.state}, ${runtime.time.now}`,
      `identity   from the runtime: ${describe(runtime.network.identity)}; from here: ${services.identity.answers ? 'answers' : 'no answer'} at ${services.identity.url}`,
      `discovery  from the runtime: ${describe(runtime.network.discovery)}; from here: ${services.discovery.answers ? 'answers' : 'no answer'} at ${services.discovery.url}`,
      `revoked    ${describeList(runtime.revocations)}`,
      `login      ${login ? `at ${login.identityUrl}, as ${login.clientId}` : 'none; "selvedge login" signs in'}`,
      ...runtime.notices.map((notice) => `notice     ${describeNotice(notice)}`),
    ].join('\n'),
})
