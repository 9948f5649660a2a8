import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto'
import { agreeHmacSecret } from '@selvedge/service-kit/tokens'
import { expect, it } from 'vitest'
import { agreeHmac } from './agree-hmac.ts'

const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const hmac_key = publicKey.export({ format: 'jwk' }) as never

it('the node agrees on the same secret with the public key of the service, which is new each time', async () => {
  const [one, other] = [
    await agreeHmac('n', { hmac_key }, 'as stored'),
    await agreeHmac('n', { hmac_key }, ''),
  ]
  expect(one.nodeKey).toBe('as stored')
  expect(other.cloudKey).not.toBe(one.cloudKey)
  expect(other.secret).not.toBe(one.secret)
  const cloudKey = JSON.parse(one.cloudKey)
  expect(Object.keys(cloudKey).sort()).toEqual(['crv', 'kty', 'x', 'y'])
  const theirs = createPublicKey({ key: cloudKey, format: 'jwk' })
  const own = createPrivateKey(privateKey.export({ type: 'pkcs8', format: 'pem' }))
  expect(agreeHmacSecret(own, theirs, 'n').toString('base64url')).toBe(one.secret)
  expect(agreeHmacSecret(own, theirs, 'another node').toString('base64url')).not.toBe(one.secret)
})

it('a key that is no point of P-256 is refused', async () => {
  const x = 'A'.repeat(43)
  await expect(
    agreeHmac('n', { hmac_key: { ...(hmac_key as object), x } as never }, ''),
  ).rejects.toMatchObject({
    code: 'invalid_dpop_proof',
    message: 'claim "node.hmac_key" of the proof is not a point of P-256',
    cause: expect.any(Error),
  })
})
