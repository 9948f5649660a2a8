import { describeNotice } from '@selvedge/protocol'
import { fingerprintOf } from '@selvedge/protocol/tokens'
import { command } from '../command.ts'
import { checkService, type ServiceCheck } from '../context/check-service.ts'
import { readBearer } from '../context/person.ts'
import { describeUse, networkUse } from '../output/network-use.ts'

type Remote = { reachable: boolean | null; since: string | null; lastError?: string | undefined }

const describe = ({ reachable, since, lastError }: Remote): string => {
  if (reachable === null) return 'not needed so far'
  return reachable ? `reachable since ${since}` : `unavailable since ${since}: ${lastError}`
}

const describeCheck = ({ url, answers, problem }: ServiceCheck): string =>
  url === null ? problem : answers ? `answers at ${url}` : `no answer at ${url}: ${problem}`

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

type Lease = {
  clientId: string
  signIn: string
  firstAt: string
  lastAt: string
  tokens: number
  leaseExpiresAt: string
}

const describeLease = ({ clientId, signIn, firstAt, lastAt, tokens, leaseExpiresAt }: Lease): string =>
  `project ${clientId} works without the identity service since ${firstAt}: ${tokens} local tokens for ${signIn}, the last at ${lastAt}; lease until ${leaseExpiresAt}`

type Login = { readonly email: string | null; readonly accountId: string | null } | null

function describeAccount(accountId: string, login: Login): string {
  if (accountId === '') return 'no account; "selvedge up" makes the device yours'
  if (login === null) return accountId
  return accountId === login.accountId
    ? `${accountId}, that of ${login.email ?? 'your sign-in'}`
    : `${accountId}, not that of ${login.email ?? 'your sign-in'} (${login.accountId ?? 'unknown'})`
}

export const status = command({
  path: ['status'],
  summary:
    'Show which programs run, which services the runtime can reach and since when, and what needs attention.',
  examples: ['selvedge status', 'selvedge status --context kitchen'],
  run: async (context) => {
    const { runtime, signIns, selection } = context
    const { nodeId, accountId, name, version, time, network, revocations, offline, notices } =
      await runtime.getMe()
    const [use, identity, discovery] = await Promise.all([
      networkUse(context),
      checkService(context, 'identity'),
      checkService(context, 'discovery'),
    ])
    const { checkedAt } = revocations
    const age = checkedAt === null ? null : Math.round((Date.parse(time.now) - Date.parse(checkedAt)) / 1000)
    const login = identity.url === null ? undefined : signIns.read(identity.url)
    const person = login && readBearer(login.idToken)
    return {
      runtime: {
        ...{ nodeId, accountId, name, version, time, network, notices },
        // Absent in an earlier runtime.
        leases: (offline as typeof offline | undefined)?.leases ?? [],
        revocations: { ...revocations, ageSeconds: age },
      },
      services: { identity, discovery },
      login: login
        ? {
            ...{ identityUrl: login.identityUrl, clientId: login.clientId },
            ...{ email: person?.email ?? null, accountId: person?.accountId ?? null },
          }
        : null,
      context: selection().context?.name ?? null,
      networkUse: use,
    }
  },
  human: ({ runtime, services, login, context, networkUse: use }) =>
    [
      ...(context === null ? [] : [`context    ${context}`]),
      `runtime    ${runtime.version} on ${runtime.name}, node ${runtime.nodeId}`,
      `account    ${describeAccount(runtime.accountId, login)}`,
      // To compare with what an owner sees of a device that waits.
      ...(runtime.accountId === '' ? [`fingerprint ${fingerprintOf(runtime.nodeId)}`] : []),
      `time       ${runtime.time.state}, ${runtime.time.now}`,
      `identity   from the runtime: ${describe(runtime.network.identity)}; from here: ${describeCheck(services.identity)}`,
      `discovery  from the runtime: ${describe(runtime.network.discovery)}; from here: ${describeCheck(services.discovery)}`,
      ...(runtime.network.proxy === undefined ? [] : [`proxy      ${runtime.network.proxy}`]),
      ...(use === null ? [] : describeUse(use).map((line) => `network    ${line}`)),
      `revoked    ${describeList(runtime.revocations)}`,
      `login      ${login ? `${login.email ?? 'a person'} at ${login.identityUrl}, as ${login.clientId}` : 'none; "selvedge login" signs in'}`,
      ...runtime.leases.map((lease) => `lease      ${describeLease(lease)}`),
      ...runtime.notices.map((notice) => `notice     ${describeNotice(notice)}`),
    ].join('\n'),
})
