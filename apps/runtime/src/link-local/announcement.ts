/**
 * What a node says of itself on the local network, in the TXT record of its DNS-SD service (RFC 6763 § 6): that it is there,
 * for everybody; name and services for nodes of its account, sealed with a key that only they have. The account's id is not
 * in it. The seal holds the addresses of the node, so that a copy that somebody else sends opens nothing.
 */
import { nodeIdPattern, nodeService } from '@selvedge/protocol'
import { deriveKey, openBytes, sealBytes } from '@selvedge/service-kit/tokens'
import * as z from 'zod'

export const serviceType = 'selvedge'

export interface Statement {
  readonly nodeId: string
  readonly name: string
  readonly services: readonly { readonly name: string; readonly path: string }[]
  /** Every address that the node announces itself from. */
  readonly hosts: readonly string[]
  /** Unix milliseconds; 0 where the clock is not known to be right. */
  readonly at: number
}

/** What somebody announces. `statement` is there where it is of the same account, and not a copy. */
export interface Announcement {
  readonly nodeId: string
  readonly statement: Statement | undefined
}

const sealed = z.object({
  name: z.string().max(255),
  services: z.array(nodeService).max(100),
  hosts: z.array(z.string().max(64)).max(64),
  at: z.number(),
})

/** Characters of one string of the record, and of all that is sealed: an announcement is one packet (RFC 6762 § 17). */
const lengths = { string: 240, all: 960 } as const
/** Milliseconds by which a statement may be older or newer, where both clocks are right. */
const tolerance = 600_000

const keyOf = (accountKey: string): Buffer => deriveKey(Buffer.from(accountKey, 'base64url'), 'link-local')

/** @param accountKey what the nodes of the account share, in base64url; undefined where there is none */
export function writeTxt(statement: Statement, accountKey: string | undefined): Record<string, string> {
  const txt: Record<string, string> = { v: '1', id: statement.nodeId }
  if (accountKey === undefined) return txt
  const { nodeId, ...rest } = statement
  for (let count = rest.services.length; ; count--) {
    const content = { ...rest, services: rest.services.slice(0, count) }
    const text = sealBytes(keyOf(accountKey), Buffer.from(JSON.stringify(content)), nodeId).toString(
      'base64url',
    )
    if (text.length > lengths.all && count > 0) continue
    for (let at = 0; at * lengths.string < text.length; at++)
      txt[`s${at}`] = text.slice(at * lengths.string, (at + 1) * lengths.string)
    return txt
  }
}

/**
 * @param from address that the announcement came from
 * @param now Unix milliseconds; 0 where the clock is not known to be right
 * @returns undefined where it is none of ours
 */
export function readTxt(
  txt: ReadonlyMap<string, string>,
  { accountKey, from, now }: { accountKey: string | undefined; from: string; now: number },
): Announcement | undefined {
  const nodeId = txt.get('id') ?? ''
  if (txt.get('v') !== '1' || !nodeIdPattern.test(nodeId)) return undefined
  let text = ''
  for (let at = 0; txt.has(`s${at}`) && text.length <= 2 * lengths.all; at++) text += txt.get(`s${at}`)
  const plain =
    accountKey === undefined || text === ''
      ? undefined
      : openBytes(keyOf(accountKey), Buffer.from(text, 'base64url'), nodeId)
  const content = plain && sealed.safeParse(JSON.parse(plain.toString()))
  if (!content?.success) return { nodeId, statement: undefined }
  const { hosts, at } = content.data
  const isOld = now !== 0 && at !== 0 && Math.abs(now - at) > tolerance
  return { nodeId, statement: isOld || !hosts.includes(from) ? undefined : { nodeId, ...content.data } }
}
