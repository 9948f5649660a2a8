import * as z from 'zod'
import { method } from './method.ts'
import { edgeAccessToken } from './values.ts'

export const associateAccount = method({
  name: 'associateAccount',
  summary: 'Associates this runtime with the account of the token.',
  description: 'Idempotent for the same account.',
  params: [edgeAccessToken],
  ignoresOneMore: true,
  result: z.object({ accountId: z.string().describe('The account') }),
  reasons: ['already_associated', 'storage_full'],
  access: { caller: 'token', token: 'node', scope: 'edge:account:associate' },
  fromServices: 'MCM.MANAGE',
})
