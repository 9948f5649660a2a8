import * as z from 'zod'
import { method, param } from './method.ts'
import { edgeAccessToken } from './values.ts'

export const unassociateAccount = method({
  name: 'unassociateAccount',
  summary: 'Removes the account from this runtime.',
  description:
    'No method accepts tokens of that account that were issued before. Its containers stop, and no other account sees them, their storage, logs or images. They are stored until the account is associated again, unless `wipe` removes them.',
  params: [
    edgeAccessToken,
    param(
      'wipe',
      z.boolean().optional(),
      'true or false',
      'Whether to remove all data of the account from the device: images, containers, their storage, volumes, history and logs.',
    ),
  ],
  result: z.object({ accountId: z.string().describe('The account that was removed') }),
  reasons: ['storage_full'],
  access: { caller: 'token', token: 'associated', scope: 'edge:account:unassociate' },
  fromServices: 'MCM.MANAGE',
  priority: 'vital',
  // Containers are stopped gracefully before their storage is removed.
  timeoutMs: 660_000,
})
