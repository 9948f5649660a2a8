/** Sessions of nodes with this service: what a ticket holds, and the secrets behind it. */
import { createHmac, randomBytes } from 'node:crypto'
import { precisions, type SessionRequest, type SessionResponse, type Sharing } from '@selvedge/protocol'
import type { EdgeIdClaims } from '@selvedge/protocol/tokens'
import type { Clock } from '@selvedge/service-kit/clock'
import { type SqlStore, sql } from '@selvedge/service-kit/store'
import { createSessionKeeper, deriveKey, type SessionRequestParts } from '@selvedge/service-kit/tokens'

/** The node that sends a request, as it was when its session began. */
export interface SessionNode {
  readonly nodeId: string
  readonly nodeName: string
  readonly accountId: string
  readonly sharing: Sharing
  /** Unix milliseconds; 0 where no track is kept. */
  readonly trackUntil: number
  /** When the request was sent, by this service's clock. */
  readonly sentAt: number
}

export interface Sessions {
  begin(node: EdgeIdClaims, request: SessionRequest): SessionResponse
  /** @throws OAuthError `invalid_token` */
  nodeOf(request: SessionRequestParts): SessionNode
}

/** The secret that the replicas of the service share; made by the first of them. */
export async function openSecret(database: SqlStore): Promise<Buffer> {
  const made = randomBytes(32).toString('base64url')
  await database.run(sql`INSERT INTO secrets VALUES ('service', ${made}) ON CONFLICT DO NOTHING`)
  const [row] = await database.run<{ value: string }>(sql`SELECT value FROM secrets WHERE name = 'service'`)
  return Buffer.from(row!.value, 'base64url')
}

export function createSessions(
  secret: Uint8Array,
  clock: Clock,
  /** Seconds. */
  times: { readonly life: number; readonly reportWithin: number },
): Sessions {
  const keeper = createSessionKeeper(secret, clock)
  const accountsKey = deriveKey(secret, 'secrets of accounts')

  return {
    begin({ node_id, node_name, sub, account_epoch = 0 }, { key, sharing, trackUntil }) {
      const content = write({ nodeId: node_id, nodeName: node_name, accountId: sub, sharing, trackUntil })
      const { ticket, sessionKey, seal } = keeper.begin(key, content, times.life)
      return {
        ticket,
        key: keeper.jwk,
        session_key: sessionKey,
        expires_in: times.life,
        report_within: times.reportWithin,
        // A node that left knows the key of before.
        account_key: seal(createHmac('sha256', accountsKey).update(`${sub} ${account_epoch}`).digest()),
      }
    },
    nodeOf(request) {
      const { content, sentAt } = keeper.check(request)
      return { ...read(content), sentAt }
    },
  }
}

type Content = Omit<SessionNode, 'sentAt'>

/** Node id, end of the track, precisions, length of the account id, account id, name. */
function write({ nodeId, nodeName, accountId, sharing, trackUntil }: Content): Buffer {
  const account = Buffer.from(accountId)
  const head = Buffer.alloc(37)
  head.write(nodeId, 'hex')
  head.writeUIntBE(trackUntil, 28, 6)
  head[34] = precisions.indexOf(sharing.account)
  head[35] = precisions.indexOf(sharing.others)
  head[36] = account.length
  return Buffer.concat([head, account, Buffer.from(nodeName)])
}

function read(content: Buffer): Content {
  const name = 37 + content[36]!
  return {
    nodeId: content.toString('hex', 0, 28),
    trackUntil: content.readUIntBE(28, 6),
    sharing: { account: precisions[content[34]!]!, others: precisions[content[35]!]! },
    accountId: content.toString('utf8', 37, name),
    nodeName: content.toString('utf8', name),
  }
}
