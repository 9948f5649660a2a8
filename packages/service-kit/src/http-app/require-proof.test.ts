/** The proofs of an account's tokens are counted together, whatever keys they are bound to. */
import { generateKeyPairSync } from 'node:crypto'
import { type PublicJwk, UsedProofs } from '@selvedge/protocol/tokens'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { expect, it, vi } from 'vitest'
import { createFakeClock } from '../testing/index.ts'
import { createDpopVerifier, createProof, thumbprint } from '../tokens/index.ts'
import { requireBinding } from './require-proof.ts'

it('gives the account of a bound token as the owner of its proof', async () => {
  const clock = createFakeClock()
  const url = 'https://service.example'
  const dpop = createDpopVerifier(Buffer.alloc(32), clock)
  const { privateKey: key, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const jwk = publicKey.export({ format: 'jwk' }) as unknown as PublicJwk
  const proof = () =>
    createProof({ key, jwk, clock, htm: 'GET', htu: `${url}/x`, nonce: dpop.nonce(), accessToken: 't' })
  const use = vi.spyOn(UsedProofs.prototype, 'use')
  for (const account_id of ['a', 'b', undefined]) {
    const request = { method: 'GET', url: '/x?y', headers: { dpop: proof() } } as unknown as FastifyRequest
    const reply = { header: () => reply } as unknown as FastifyReply
    const claims = { iss: 'https://i', cnf: { jkt: thumbprint(jwk) }, ...(account_id && { account_id }) }
    await requireBinding({ dpop, url }, { scheme: 'DPoP', token: 't' }, claims, request, reply)
  }
  expect(use.mock.calls.map(([, , , owner]) => owner)).toEqual(['https://i a', 'https://i b', undefined])
  use.mockRestore()
})
