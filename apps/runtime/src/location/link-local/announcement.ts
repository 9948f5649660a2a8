/**
 * What a node announces on the local network, in the TXT record of its DNS-SD service (RFC 6763 § 6): its node ID, for
 * everyone; name and services for nodes of its account, sealed with a key that only they have. The account's ID is not in
 * it. The seal holds the addresses of the node, so that a copy from another address opens nothing.
 */
import { nodeIdPattern, nodeService } from '@selvedge/protocol'
import { parseJson } from '@selvedge/protocol/jsonrpc'
import { deriveKey, openBytes, sealBytes } from '@selvedge/service-kit/tokens'
import * as z from 'zod'

export const serviceType = 'selvedge'

export interface Statement {
  readonly nodeId: string
  readonly name: string
  readonly services: readonly { readonly name: string; readonly path: string }[]
  /** Addresses that the node announces itself from, on this network. */
  readonly hosts: readonly string[]
  /** Unix milliseconds; 0 if the clock is not trusted. */
  readonly at: number
  /** A random word of this run of the node: a recorded goodbye does not fit the next run. */
  readonly run: string
  /** A goodbye. */
  readonly isLeaving: boolean
}

/** An announcement that was received. `statement` is there if a node of the same account sealed it, for where it came from. */
export interface Announcement {
  readonly nodeId: string
  readonly statement: Statement | undefined
}

const sealed = z.object({
  name: z.string().max(255),
  services: z.array(nodeService).max(100),
  hosts: z.array(z.string().max(64)).max(64),
  at: z.number(),
  run: z.string().max(64).default(''),
  isLeaving: z.boolean().default(false),
})

/** Characters of one string of the record, and of all that is sealed: an announcement is one packet (RFC 6762 § 17). */
const lengths = { string: 240, all: 960 } as const
/** Addresses that are stated: IPv4 and link-local ones come first, since announcements are sent from these. */
const maxHosts = 8
/** Nesting of the sealed JSON: an object, its list of services, a service. */
const maxDepth = 3
/** Milliseconds by which a statement may be older or newer, if both clocks are trusted. */
const toleranceMs = 600_000

/** The key of seals. @param accountKey what the nodes of the account share, in base64url */
export const sealKeyOf = (accountKey: string): Buffer =>
  deriveKey(Buffer.from(accountKey, 'base64url'), 'link-local')

/** @param key of {@link sealKeyOf}; undefined without an account: then only the node ID is announced */
export function writeTxt(statement: Statement, key: Buffer | undefined): string[] {
  const { nodeId, ...rest } = statement
  const txt = ['v=1', `id=${nodeId}`]
  if (key === undefined) return txt
  const hosts = rest.hosts.slice(0, maxHosts)
  for (let count = rest.services.length; ; count--) {
    const content = { ...rest, hosts, services: rest.services.slice(0, count) }
    const text = sealBytes(key, Buffer.from(JSON.stringify(content)), nodeId).toString('base64url')
    if (text.length > lengths.all && count > 0) continue
    for (let at = 0; at * lengths.string < text.length; at++)
      txt.push(`s${at}=${text.slice(at * lengths.string, (at + 1) * lengths.string)}`)
    return txt
  }
}

/**
 * Reads a foreign TXT record; never throws.
 *
 * @param strings of the record
 * @param from address that it came from, without zone
 * @param now Unix milliseconds; 0 if the clock is not trusted
 * @returns undefined if it is not an announcement of a node
 */
export function readTxt(
  strings: readonly string[],
  { key, from, now }: { key: Buffer | undefined; from: string; now: number },
): Announcement | undefined {
  const txt = readStrings(strings)
  const nodeId = txt.get('id') ?? ''
  if (txt.get('v') !== '1' || !nodeIdPattern.test(nodeId)) return undefined
  let text = ''
  for (let at = 0; txt.has(`s${at}`) && text.length <= 2 * lengths.all; at++) text += txt.get(`s${at}`)
  const content = key && text !== '' ? open(key, text, nodeId) : undefined
  if (!content?.hosts.includes(from)) return { nodeId, statement: undefined }
  const isOld = now !== 0 && content.at !== 0 && Math.abs(now - content.at) > toleranceMs
  return { nodeId, statement: isOld ? undefined : { nodeId, ...content } }
}

/** Undefined if it was sealed with another key, was changed, or holds something else: a node of the account may be hostile. */
function open(key: Buffer, text: string, nodeId: string): z.infer<typeof sealed> | undefined {
  const plain = openBytes(key, Buffer.from(text, 'base64url'), nodeId)
  if (!plain) return undefined
  try {
    return sealed.parse(parseJson(plain.toString(), maxDepth))
  } catch {
    return undefined
  }
}

/** Strings that are read: the sealed ones, `v` and `id`. */
const maxStrings = 32

/** `key=value` strings; the first one of a key counts (RFC 6763 § 6.4). */
function readStrings(strings: readonly string[]): Map<string, string> {
  const txt = new Map<string, string>()
  for (const text of strings.slice(0, maxStrings)) {
    const at = text.indexOf('=')
    const name = text.slice(0, at).toLowerCase()
    if (at > 0 && !txt.has(name)) txt.set(name, text.slice(at + 1))
  }
  return txt
}
