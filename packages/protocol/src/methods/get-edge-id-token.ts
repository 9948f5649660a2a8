import * as z from 'zod'
import { method } from './method.ts'

export const getEdgeIdToken = method({
  name: 'getEdgeIdToken',
  summary: 'An edge ID token of this node from the global cloud.',
  description: 'Valid for ten minutes; cached until one minute before it expires.',
  params: [],
  ignoresOneMore: true,
  result: z.object({ id_token: z.string().describe('Edge ID token (JWT, typ edge-id+jwt)') }),
  reasons: ['identity_unavailable'],
  access: { caller: 'anyone' },
  fromServices: 'MCM.EDGE_ID_TOKEN',
})
