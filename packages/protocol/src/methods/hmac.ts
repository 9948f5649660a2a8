import * as z from 'zod'
import { method, param } from './method.ts'
import { edgeAccessToken, isoTime, nodeId, uri } from './values.ts'

export const getEdgeHmacCode = method({
  name: 'getEdgeHmacCode',
  summary: 'A code with which this node authorizes requests to a URI of a node, until a given time.',
  params: [
    edgeAccessToken,
    param(
      'expiry',
      z.string().regex(/^[1-9]\d{0,14}$/),
      'Unix seconds as a decimal string',
      'When the code expires.',
    ),
    nodeId,
    uri,
  ],
  result: z.object({ edgeHmacCode: z.string() }),
  reasons: ['identity_unavailable'],
  access: { caller: 'token', token: 'associated' },
  fromServices: 'yes',
})

export const verifyEdgeHmacCode = method({
  name: 'verifyEdgeHmacCode',
  summary:
    'Whether a code was made by a node of this identity service, is for this node and URI, and has not expired.',
  description:
    'Codes that this node made are checked here, offline; those of other nodes by the identity service.',
  params: [
    param('edgeHmacCode', z.string().min(1).max(512), 'a code of getEdgeHmacCode', 'The code.'),
    nodeId,
    uri,
  ],
  result: z.union([
    z.object({ valid: z.literal(true), expiresAt: isoTime }),
    z.object({ valid: z.literal(false), reason: z.enum(['invalid', 'wrong_node', 'wrong_uri', 'expired']) }),
  ]),
  reasons: ['identity_unavailable'],
  access: { caller: 'anyone' },
  fromServices: 'yes',
})
