import * as z from 'zod'
import { method } from './method.ts'
import { notice } from './notices.ts'
import { isoTime } from './values.ts'

const remoteState = z.object({
  url: z
    .string()
    .optional()
    .describe(
      'URL of the service; present on the Unix socket and on the loopback interface, absent over TLS and for services',
    ),
  reachable: z.boolean().nullable().describe('null before the first attempt'),
  since: isoTime.nullable().describe('When it got into this state'),
  lastError: z.string().optional().describe('Why the last attempt failed'),
})

export const getMe = method({
  name: 'getMe',
  summary: 'The attributes of this runtime.',
  params: [],
  ignoresOneMore: true,
  result: z.object({
    nodeId: z.string().describe('Node ID of the device'),
    accountId: z.string().describe('Account associated with this runtime; empty without one'),
    name: z.string().describe('Name of the device'),
    version: z.string().describe('Version of the runtime'),
    linkLocalIp: z.string().describe('Address of the device on its local network; empty without one'),
    time: z
      .object({
        state: z.enum(['trusted', 'held', 'unknown']),
        now: isoTime.describe('The current time as the runtime knows it'),
      })
      .describe('Whether the clock is confirmed by the identity service, plausible, or known to be wrong'),
    network: z
      .object({
        identity: remoteState,
        discovery: remoteState,
        proxy: z
          .string()
          .optional()
          .describe(
            'URL of the HTTP proxy without a password; present with a proxy, where the URLs of the services are',
          ),
      })
      .describe('Which services answer, and since when'),
    revocations: z
      .object({
        checkedAt: isoTime
          .nullable()
          .describe('When the lists of revoked tokens were last confirmed to be the newest'),
        issuedAt: isoTime.nullable().describe('When the oldest of the stored lists was signed'),
      })
      .describe('Age of the lists of revoked tokens in seconds; null if there is none yet'),
    offline: z
      .object({
        tokenEndpoint: z
          .string()
          .describe('Where a lease is exchanged for a local token; a proof for it names this URL'),
        leases: z
          .array(
            z.object({
              clientId: z.string().describe('Project of the client'),
              signIn: z.string().describe('ID of the sign-in or the token that the lease came from'),
              firstAt: isoTime.describe('First local token since the identity service was reachable'),
              lastAt: isoTime.describe('Last local token'),
              tokens: z.number().int().describe('Local tokens since then'),
              leaseExpiresAt: isoTime,
            }),
          )
          .optional()
          .describe(
            'Who worked on a lease since the identity service was last reachable; absent over TLS and for services',
          ),
      })
      .describe('Work without the identity service'),
    notices: z.array(notice).describe('Conditions that need the attention of a person'),
    supports: z.array(z.string()).describe('Methods that this runtime has'),
  }),
  reasons: [],
  access: { caller: 'anyone', withoutApiKey: true },
  priority: 'vital',
  fromServices: 'yes',
  mirrored: ['nodeId', 'accountId', 'name', 'version'],
})
