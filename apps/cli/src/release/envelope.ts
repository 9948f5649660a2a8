/**
 * A signed text: DSSE, the "Dead Simple Signing Envelope" (https://github.com/secure-systems-lab/dsse), with Ed25519 signatures.
 * `cosign` and other in-toto tools can check it, too.
 */

export interface Envelope {
  readonly payloadType: string
  readonly payload: Buffer
  /** In the order of the file; what they are worth is decided by the keys of the one who checks. */
  readonly signatures: readonly Buffer[]
}

/** A device reads an envelope before it knows who wrote it. */
export const envelopeLimits = { bytes: 262_144, signatures: 16 } as const

const signatureBytes = 64

/**
 * @param text a JSON object with `payloadType`, `payload` and `signatures: [{sig}]`, both in base64
 * @throws Error with a sentence if it is anything else, or over {@link envelopeLimits}
 */
export function readEnvelope(text: string): Envelope {
  if (Buffer.byteLength(text) > envelopeLimits.bytes)
    throw new Error(`the file is longer than ${envelopeLimits.bytes} bytes; it is not a release file`)
  const { payloadType, payload, signatures } = parseObject(text)
  if (typeof payloadType !== 'string' || typeof payload !== 'string' || !Array.isArray(signatures))
    throw new Error('it is not a signed file: payloadType, payload or signatures is missing')
  if (signatures.length > envelopeLimits.signatures)
    throw new Error(`it has ${signatures.length} signatures; at most ${envelopeLimits.signatures} are read`)
  return {
    payloadType,
    payload: readBase64(payload, 'payload'),
    signatures: signatures.map((each: unknown) => {
      const bytes = readBase64((each as { sig?: unknown } | null)?.sig, 'sig')
      if (bytes.length !== signatureBytes) throw new Error('a signature is not one of Ed25519 (64 bytes)')
      return bytes
    }),
  }
}

export function writeEnvelope({ payloadType, payload, signatures }: Envelope): string {
  const document = {
    payloadType,
    payload: payload.toString('base64'),
    signatures: signatures.map((sig) => ({ sig: sig.toString('base64') })),
  }
  return `${JSON.stringify(document, undefined, 2)}\n`
}

/** The bytes that are signed: type and payload, each with its length, so that no other pair gives the same bytes. */
export const preAuthEncoding = (payloadType: string, payload: Buffer): Buffer =>
  Buffer.concat([
    Buffer.from(`DSSEv1 ${Buffer.byteLength(payloadType)} ${payloadType} ${payload.length} `),
    payload,
  ])

export function parseObject(text: string): Record<string, unknown> {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new Error('it is not JSON')
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Error('it is not a JSON object')
  return value as Record<string, unknown>
}

/**
 * Base64 in exactly one spelling: Node's decoder alone skips what it does not know.
 *
 * @param member its name in the error
 * @throws Error if it is anything else, or empty
 */
export function readBase64(text: unknown, member: string): Buffer {
  const bytes = typeof text === 'string' ? Buffer.from(text, 'base64') : undefined
  if (!bytes?.length || bytes.toString('base64') !== text) throw new Error(`${member} is not base64`)
  return bytes
}
