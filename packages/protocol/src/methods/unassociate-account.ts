import * as z from 'zod'
import { method, param } from './method.ts'
import { edgeAccessToken } from './values.ts'

export const unassociateAccount = method({
  name: 'unassociateAccount',
  summary: 'Removes the account from this runtime.',
  description:
    'From then on no token of that account issued up to this moment is accepted by any method. Its containers stop, and no other account sees them, their storage, logs or images. They stay for the day the account returns, unless `wipe` removes them.',
  params: [
    edgeAccessToken,
    param(
      'wipe',
      z.boolean().optional(),
      'true or false',
      'Whether to remove all that the account has on the device: images, containers, what they stored, their volumes, history and logs.',
    ),
  ],
  result: z.object({ accountId: z.string().describe('The account that was removed') }),
  reasons: ['storage_full'],
  access: { caller: 'token', token: 'associated', scope: 'edge:account:unassociate' },
  priority: 'vital',
  // Containers end in order before what they stored is removed.
  patienceMs: 660_000,
})
