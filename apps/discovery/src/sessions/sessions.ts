/** Sessions of nodes with this service: what a ticket holds, and the secrets behind it. */
import { createHash, createHmac, randomBytes } from 'node:crypto'
import {
  OAuthError,
  precisions,
  type SessionRequest,
  type SessionResponse,
  type Sharing,
} from '@selvedge/protocol'
import type { EdgeIdClaims } from '@selvedge/protocol/tokens'
import type { Clock } from '@selvedge/service-kit/clock'
import type { Revocable } from '@selvedge/service-kit/revocations'
import { type SqlStore, sql } from '@selvedge/service-kit/store'
import { createSessionKeeper, deriveKey, type SessionRequestParts } from '@selvedge/service-kit/tokens'

/** The node that sends a request, as it was when its session began. */
export interface SessionNode {
  readonly nodeId: string
  readonly nodeName: string
  readonly accountId: string
  readonly sharing: Sharing
  /** Unix milliseconds; 0 if no track is stored. */
  readonly trackUntil: number
  /** Number of the account's ownership of the node; it grows when a node changes hands. */
  readonly term: number
  /** When the request was sent, by this service's clock. */
  readonly sentAt: number
}

export interface Sessions {
  /** @param accountId the account, as this service knows it @param term of the account's ownership of the node */
  begin(
    node: EdgeIdClaims,
    owner: { readonly accountId: string; readonly term: number },
    request: SessionRequest,
  ): SessionResponse
  /** @throws OAuthError `invalid_token`, also if what its session began with was revoked meanwhile */
  nodeOf(request: SessionRequestParts): SessionNode
}

/** The secret that the replicas of the service share; made by the first of them. */
export async function openSecret(database: SqlStore): Promise<Buffer> {
  const made = randomBytes(32).toString('base64url')
  await database.run(sql`INSERT INTO secrets VALUES ('service', ${made}) ON CONFLICT DO NOTHING`)
  const [row] = await database.run<{ value: string }>(sql`SELECT value FROM secrets WHERE name = 'service'`)
  return Buffer.from(row!.value, 'base64url')
}

export interface SessionsParts {
  /** Shared by the replicas of the service. */
  readonly secret: Uint8Array
  readonly clock: Clock
  /** Seconds. */
  readonly times: { readonly lifeSeconds: number; readonly reportSeconds: number }
  /** Issuers of edge ID tokens. */
  readonly issuers: readonly string[]
  /** Why the token that a session began with is not valid any more; undefined if it is. */
  readonly revokedReason: (claims: Revocable) => string | undefined
}

export function createSessions({ secret, clock, times, issuers, revokedReason }: SessionsParts): Sessions {
  // Tickets of an earlier version of this service say less: their signature is not accepted.
  const keeper = createSessionKeeper(deriveKey(secret, 'tickets, version 2'), clock)
  const accountsKey = deriveKey(secret, 'secrets of accounts')
  const issuerOf = new Map(issuers.map((issuer) => [digestOf(issuer).toString('hex'), issuer]))

  return {
    begin(claims, { accountId, term }, { key, sharing, trackUntil }) {
      const { node_id: nodeId, node_name: nodeName, account_epoch: accountEpoch = 0 } = claims
      const content = write({ nodeId, nodeName, accountId, sharing, trackUntil, term, ...originOf(claims) })
      const { ticket, sessionKey, seal } = keeper.begin(key, content, times.lifeSeconds)
      return {
        ticket,
        key: keeper.jwk,
        session_key: sessionKey,
        expires_in: times.lifeSeconds,
        report_within: times.reportSeconds,
        // A node that left knows the key of before.
        account_key: seal(createHmac('sha256', accountsKey).update(`${accountId} ${accountEpoch}`).digest()),
      }
    },
    nodeOf(request) {
      const { content, sentAt } = keeper.check(request)
      const { issuer, iat, epoch, ...node } = read(content)
      const iss = issuerOf.get(issuer)
      if (iss === undefined) throw new OAuthError('invalid_token', 'the issuer of the session is not trusted')
      const known = epoch === noEpoch ? {} : { epoch }
      // An issuer lists revoked edge ID tokens by their node and time, not by their `jti`.
      const reason = revokedReason({ iss, jti: '', iat, node_id: node.nodeId, ...known })
      if (reason !== undefined) throw new OAuthError('invalid_token', `the session was revoked: ${reason}`)
      return { ...node, sentAt }
    },
  }
}

/** Data to check whether the token that started a session was revoked. */
interface Origin {
  /** Digest of the issuer, in hexadecimal. */
  readonly issuer: string
  readonly iat: number
  readonly epoch: number
}

type Content = Omit<SessionNode, 'sentAt'> & Origin

const noEpoch = 2 ** 48 - 1
const digestOf = (issuer: string): Buffer => createHash('sha256').update(issuer).digest().subarray(0, 8)
const originOf = ({ iss, iat, epoch = noEpoch }: EdgeIdClaims): Origin => ({
  issuer: digestOf(iss).toString('hex'),
  iat: Math.floor(iat),
  epoch,
})

/**
 * Node id, end of the track, precisions, issuer, when its token was issued and with which number, term, length of the account
 * id, account id, name.
 */
function write(content: Content): Buffer {
  const { nodeId, nodeName, accountId, sharing, trackUntil, term, issuer, iat, epoch } = content
  const account = Buffer.from(accountId)
  const head = Buffer.alloc(offsets.account)
  head.write(nodeId, 'hex')
  head.writeUIntBE(trackUntil, offsets.trackUntil, 6)
  head[offsets.sharing] = precisions.indexOf(sharing.account)
  head[offsets.sharing + 1] = precisions.indexOf(sharing.others)
  head.write(issuer, offsets.issuer, 'hex')
  head.writeUIntBE(iat, offsets.iat, 6)
  head.writeUIntBE(epoch, offsets.epoch, 6)
  head.writeUIntBE(term, offsets.term, 6)
  head[offsets.account - 1] = account.length
  return Buffer.concat([head, account, Buffer.from(nodeName)])
}

const offsets = {
  trackUntil: 28,
  sharing: 34,
  issuer: 36,
  iat: 44,
  epoch: 50,
  term: 56,
  account: 63,
} as const

function read(content: Buffer): Content {
  const name = offsets.account + content[offsets.account - 1]!
  const { sharing } = offsets
  return {
    nodeId: content.toString('hex', 0, offsets.trackUntil),
    trackUntil: content.readUIntBE(offsets.trackUntil, 6),
    sharing: { account: precisions[content[sharing]!]!, others: precisions[content[sharing + 1]!]! },
    issuer: content.toString('hex', offsets.issuer, offsets.iat),
    iat: content.readUIntBE(offsets.iat, 6),
    epoch: content.readUIntBE(offsets.epoch, 6),
    term: content.readUIntBE(offsets.term, 6),
    accountId: content.toString('utf8', offsets.account, name),
    nodeName: content.toString('utf8', name),
  }
}
