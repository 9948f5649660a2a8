/**
 * The keys that a node is. They are made at first start, kept in one file that is never written again, and never leave the
 * device. A node whose key is lost is another node: that must never happen by accident.
 */
import { createECDH, createPrivateKey, generateKeyPairSync, type KeyObject, randomUUID } from 'node:crypto'
import { readdir, rename } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { type PublicJwk, publicJwk } from '@selvedge/protocol/tokens'
import { readOrWriteOnce, StoreError } from '@selvedge/service-kit/store'
import { nodeIdOf } from '@selvedge/service-kit/tokens'
import * as z from 'zod'

export interface NodeKey {
  readonly nodeId: string
  /** Signs proofs; its thumbprint is the node ID. */
  readonly signing: { readonly privateKey: KeyObject; readonly jwk: PublicJwk }
  /** Agrees the HMAC secret with the cloud. */
  readonly agreement: { readonly privateKey: KeyObject; readonly jwk: PublicJwk }
}

const privateJwk = publicJwk.extend({ d: z.string() })
const keyFile = z.object({ signing: privateJwk, agreement: privateJwk })
type PrivateJwk = z.infer<typeof privateJwk>

/**
 * The key of this node; a new one only in a folder that never held one.
 *
 * @param expected node ID that the rest of the state belongs to, or ""
 * @throws StoreError when the key is damaged, missing or of another node
 */
export async function openNodeKey(path: string, expected: string): Promise<NodeKey> {
  const content = await readOrWriteOnce(path, () => makeKey(path, expected)).catch((cause) => {
    if (cause instanceof StoreError) throw cause
    throw new StoreError(`can't read or store the key of the node in ${path}: ${cause.message}`, { cause })
  })
  const key = parse(content.toString())
  if (!key) {
    const aside = `${path}.damaged-${randomUUID().slice(0, 8)}`
    await rename(path, aside)
    throw unrepairable(`the key of the node is damaged and is set aside as ${aside}. ${whatToDo(path)}`)
  }
  if (expected !== '' && key.nodeId !== expected) {
    throw unrepairable(
      `the key in ${path} is of node ${key.nodeId}, the state beside it of node ${expected}. ${whatToDo(path)}`,
    )
  }
  return key
}

/** @throws StoreError when the folder has held a key before */
async function makeKey(path: string, expected: string): Promise<string> {
  const damaged = (await readdir(dirname(path))).find((name) => name.startsWith(`${basename(path)}.damaged-`))
  if (expected !== '' || damaged) {
    const which =
      expected === '' ? `was set aside as ${join(dirname(path), damaged!)}` : `of node ${expected} is missing`
    throw unrepairable(`the key ${which}. ${whatToDo(path)}`)
  }
  const make = () => generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' })
  return JSON.stringify({ signing: make(), agreement: make() })
}

const unrepairable = (message: string): StoreError => new StoreError(message, { isUnrepairable: true })

const whatToDo = (path: string): string =>
  `Restore ${path} from a backup to stay the same node; to become a new one, start with an empty state folder.`

/**
 * Whether the private part of a key belongs to its public part. Node does not check that, and a node with halves of two keys would sign
 * proofs that no service accepts.
 */
function isPair({ d, x, y }: PrivateJwk): boolean {
  const pair = createECDH('prime256v1')
  pair.setPrivateKey(d, 'base64url')
  // 0x04, then both coordinates of 32 bytes.
  const point = pair.getPublicKey()
  return point.toString('base64url', 1, 33) === x && point.toString('base64url', 33) === y
}

function parse(content: string): NodeKey | undefined {
  try {
    const { signing, agreement } = keyFile.parse(JSON.parse(content))
    if (![signing, agreement].every(isPair)) return undefined
    const open = (jwk: PrivateJwk) => ({
      privateKey: createPrivateKey({ key: jwk, format: 'jwk' }),
      jwk: publicJwk.parse(jwk),
    })
    return { nodeId: nodeIdOf(publicJwk.parse(signing)), signing: open(signing), agreement: open(agreement) }
  } catch {
    return undefined
  }
}
