/** The envelope of a signed file: a device reads it before it knows who wrote it. */
import { describe, expect, it } from 'vitest'
import { envelopeLimits, preAuthEncoding, readEnvelope, writeEnvelope } from './envelope.ts'

const sig = Buffer.alloc(64, 7)
const text = writeEnvelope({ payloadType: 'text/plain', payload: Buffer.from('hello'), signatures: [sig] })
const changed = (changes: object) => JSON.stringify({ ...JSON.parse(text), ...changes })
/** Decodes to the same bytes as `aGVsbG8=`: the last bits before the padding are ignored. */
const otherSpelling = 'aGVsbG9='

it('the bytes that are signed are those of the specification of DSSE', () => {
  const bytes = preAuthEncoding('http://example.com/HelloWorld', Buffer.from('hello world'))
  expect(bytes.toString()).toBe('DSSEv1 29 http://example.com/HelloWorld 11 hello world')
  expect(preAuthEncoding('é', Buffer.from('ü')).toString()).toBe('DSSEv1 2 é 2 ü')
})

describe('an envelope', () => {
  it('is written with its payload and signatures in base64, and read', () => {
    expect(JSON.parse(text)).toEqual({
      payloadType: 'text/plain',
      payload: 'aGVsbG8=',
      signatures: [{ sig: sig.toString('base64') }],
    })
    expect(text.endsWith('}\n')).toBe(true)
    const payload = Buffer.from('hello')
    expect(readEnvelope(text)).toEqual({ payloadType: 'text/plain', payload, signatures: [sig] })
  })

  it('may be as long as the limit, with as many signatures', () => {
    const signatures = Array.from({ length: 16 }, () => ({ sig: sig.toString('base64') }))
    expect(readEnvelope(changed({ signatures })).signatures).toHaveLength(16)
    expect(readEnvelope(text.padEnd(envelopeLimits.bytes)).signatures).toEqual([sig])
  })

  const incomplete = 'payloadType, payload or signatures is missing'
  it.each<[why: string, text: string, message: string]>([
    ['one byte longer than the limit', text.padEnd(envelopeLimits.bytes + 1), 'longer than 262144 bytes'],
    ['longer in bytes, not in characters', `"${'é'.repeat(131_072)}"`, 'longer than 262144 bytes'],
    ['that is no JSON', '{', 'it is not JSON'],
    ['that is null', 'null', 'not a JSON object'],
    ['that is a number', '1', 'not a JSON object'],
    ['that is a text', '"text"', 'not a JSON object'],
    ['that is a list', '[]', 'not a JSON object'],
    ['without a type', changed({ payloadType: undefined }), incomplete],
    ['with a list as its type', changed({ payloadType: ['text/plain'] }), incomplete],
    ['without a payload', changed({ payload: undefined }), incomplete],
    ['with a number as its payload', changed({ payload: 1 }), incomplete],
    ['without a list of signatures', changed({ signatures: undefined }), incomplete],
    ['with an object as its signatures', changed({ signatures: {} }), incomplete],
    ['with an empty payload', changed({ payload: '' }), 'payload is not base64'],
    ['with a payload in another spelling', changed({ payload: otherSpelling }), 'payload is not base64'],
    ['with a payload of base64url', changed({ payload: '-_-_' }), 'payload is not base64'],
    ['with a signature that is a text', changed({ signatures: ['text'] }), 'sig is not base64'],
    ['with a list as a signature', changed({ signatures: [{ sig: ['AAAA'] }] }), 'sig is not base64'],
    [
      'with a signature of 65 bytes',
      changed({ signatures: [{ sig: Buffer.alloc(65).toString('base64') }] }),
      'not one of Ed25519 (64 bytes)',
    ],
  ])('is refused %s', (_, given, message) => {
    expect(() => readEnvelope(given)).toThrow(message)
  })
})
