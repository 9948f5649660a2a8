import * as z from 'zod'
import { method } from './method.ts'
import { edgeAccessToken } from './values.ts'

export const unassociateAccount = method({
  name: 'unassociateAccount',
  summary: 'Removes the account from this runtime.',
  description: 'From then on no token of that account issued up to this moment is accepted by any method.',
  params: [edgeAccessToken],
  result: z.object({ accountId: z.string().describe('The account that was removed') }),
  reasons: ['storage_full'],
  access: { caller: 'token', token: 'associated', scope: 'edge:account:unassociate' },
  priority: 'vital',
})
